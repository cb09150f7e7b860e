/* SPDX-License-Identifier: Apache-2.0 */
/* leat_pack, leat_pack_join and leat_pack_verify: reports as dicts, messages as a list. */
#include "binding.h"

typedef struct packing { /* what the callbacks of one call share */
    PyObject *progress;  /* callable or None                     */
    PyObject *messages;  /* [(is a warning, text)]               */
} packing;

static int on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    const packing *p = user;
    return call_progress(p->progress, what, done, total);
}

static void on_log(void *user, int level, const char *message) {
    const packing *p = user;
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject *entry = text ? Py_BuildValue("ON", level == LEAT_LOG_WARNING ? Py_True : Py_False, text) : NULL;
    if (!entry || PyList_Append(p->messages, entry) < 0) PyErr_Clear();
    Py_XDECREF(entry);
    PyGILState_Release(gil);
}

static PyObject *report_dict(const leat_pack_report *r, const packing *p) {
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:O}", "samples", (unsigned long long)r->n_samples,
                         "rejected", (unsigned long long)r->n_bad, "duplicates",
                         (unsigned long long)r->n_duplicates, "shards", (unsigned long long)r->n_shards,
                         "kept_shards", (unsigned long long)r->n_kept, "bytes", (unsigned long long)r->bytes,
                         "source_bytes", (unsigned long long)r->source_bytes, "messages", p->messages);
}

/* The result of a call, or its exception. Without a report the messages are the result. */
static PyObject *finish(packing *p, int rc, const leat_error *err, const leat_pack_report *report) {
    PyObject *result = NULL;
    if (rc < 0) {
        if (!PyErr_Occurred()) raise_error(err, NULL);
    } else {
        result = report ? report_dict(report, p) : Py_NewRef(p->messages);
    }
    Py_CLEAR(p->messages);
    return result;
}

PyObject *module_pack(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *names[] = {"source",      "out",    "height",  "width",      "quality",  "shards",
                            "shard_bytes", "prefix", "shuffle", "seed",       "skip",     "force",
                            "features",    "store",  "split",   "quarantine", "augment",  "copies",
                            "part",        "parts",  "how",     "threads",    "progress", NULL};
    PyObject *source, *out, *quarantine = NULL;
    leat_pack_config pack = {0};
    leat_tool_config tool = {0};
    leat_pack_report report;
    leat_error err;
    packing p = {.progress = Py_None};
    unsigned long long shard_bytes = 0, seed = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O&O&|$iiiiKzpKppzzzO&ziiiiiO", names, PyUnicode_FSConverter, &source,
            PyUnicode_FSConverter, &out, &pack.height, &pack.width, &pack.quality, &pack.n_shards,
            &shard_bytes, &pack.prefix, &pack.shuffle, &seed, &pack.on_error, &pack.force, &pack.features,
            &pack.store, &pack.split, PyUnicode_FSConverter, &quarantine, &pack.augment, &pack.copies,
            &pack.part, &pack.n_parts, &pack.how, &tool.n_threads, &p.progress))
        return NULL;
    pack.shard_bytes = shard_bytes;
    pack.seed = seed;
    if (quarantine) pack.quarantine = PyBytes_AsString(quarantine);
    tool.progress = on_progress;
    tool.log = on_log;
    tool.user = &p;
    p.messages = PyList_New(0);
    int rc = LEAT_ERR_MEMORY;
    if (p.messages) {
        const char *from = PyBytes_AsString(source), *to = PyBytes_AsString(out);
        PyThreadState *thread = PyEval_SaveThread();
        rc = leat_pack(from, to, &pack, &report, &tool, &err);
        PyEval_RestoreThread(thread);
    }
    Py_DECREF(source);
    Py_DECREF(out);
    Py_XDECREF(quarantine);
    return p.messages ? finish(&p, rc, &err, &report) : NULL;
}

/* ------------------------------------------------------------------------------- a pack that is there */

typedef int (*pack_work)(const char *out, const char *prefix, packing *p, leat_pack_report *report,
                         const leat_tool_config *tool, leat_error *err);

static PyObject *work_on_pack(PyObject *args, pack_work work, leat_pack_report *report) {
    PyObject *out;
    const char *prefix;
    leat_error err;
    packing p = {.progress = Py_None};
    if (!PyArg_ParseTuple(args, "O&zO", PyUnicode_FSConverter, &out, &prefix, &p.progress)) return NULL;
    p.messages = PyList_New(0);
    int rc = LEAT_ERR_MEMORY;
    if (p.messages) {
        const leat_tool_config tool = {.progress = on_progress, .log = on_log, .user = &p};
        const char *to = PyBytes_AsString(out);
        PyThreadState *thread = PyEval_SaveThread();
        rc = work(to, prefix, &p, report, &tool, &err);
        PyEval_RestoreThread(thread);
    }
    Py_DECREF(out);
    return p.messages ? finish(&p, rc, &err, report) : NULL;
}

static int join(const char *out, const char *prefix, packing *p, leat_pack_report *report,
                const leat_tool_config *tool, leat_error *err) {
    (void)p;
    return leat_pack_join(out, prefix, report, tool, err);
}

static int on_bad(void *user, const leat_check_bad *bad) {
    const packing *p = user;
    char where[40] = "", text[1200];
    if (bad->record != LEAT_NO_SAMPLE)
        snprintf(where, sizeof where, ": record %llu", (unsigned long long)bad->record);
    snprintf(text, sizeof text, "%.800s%s: %.300s", bad->path, where, bad->reason);
    on_log((void *)p, LEAT_LOG_WARNING, text);
    return 0;
}

static int verify(const char *out, const char *prefix, packing *p, leat_pack_report *report,
                  const leat_tool_config *tool, leat_error *err) {
    (void)report;
    leat_check_report counted;
    return leat_pack_verify(out, prefix, on_bad, p, &counted, tool, err);
}

PyObject *module_pack_join(PyObject *module, PyObject *args) {
    (void)module;
    leat_pack_report report;
    return work_on_pack(args, join, &report);
}

PyObject *module_pack_verify(PyObject *module, PyObject *args) {
    (void)module;
    return work_on_pack(args, verify, NULL);
}
