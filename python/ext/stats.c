/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a pipeline as a dict, with the names that `leat run --json` has. */
#include "binding.h"

enum { WORKERS_MAX = 256 };

static PyObject *stages_dict(const double *stage_s) {
    PyObject *stages = PyDict_New();
    for (int i = 1; stages && i < LEAT_STAGE_COUNT; i++) {
        PyObject *seconds = PyFloat_FromDouble(stage_s[i]);
        if (!seconds || PyDict_SetItemString(stages, leat_stage_name(i), seconds) < 0) Py_CLEAR(stages);
        Py_XDECREF(seconds);
    }
    return stages;
}

/* [[seconds, batches]]: so many were handed over within less than these seconds, and not within half of them. */
PyObject *latency_dict(const leat_latency *latency) {
    PyObject *list = PyList_New(0);
    double below_s = 2e-6;
    for (int i = 0; list && i < LEAT_LATENCY_COUNT; i++, below_s *= 2) {
        if (latency->count[i] == 0) continue;
        PyObject *pair = Py_BuildValue("[dK]", below_s, (unsigned long long)latency->count[i]);
        if (!pair || PyList_Append(list, pair) < 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list ? Py_BuildValue("{s:d,s:d,s:N}", "mean_s",
                                latency->batches ? latency->sum_s / (double)latency->batches : 0, "max_s",
                                latency->max_s, "below_s", list)
                : NULL;
}

static PyObject *worker_dict(const leat_worker_stats *w) {
    PyObject *stages = stages_dict(w->stage_s);
    return stages ? Py_BuildValue("{s:K,s:K,s:d,s:d,s:d,s:d,s:N}", "samples", (unsigned long long)w->samples,
                                  "bytes_read", (unsigned long long)w->bytes_read, "cpu_s", w->cpu_s,
                                  "idle_s", w->idle_s, "read_wait_s", w->read_wait_s, "queue_s", w->queue_s,
                                  "stages", stages)
                  : NULL;
}

static PyObject *workers_list(const leat_worker_stats *workers, int n) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        PyObject *one = worker_dict(&workers[i]);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

PyObject *stats_dict(const leat_pipeline *pipeline, unsigned long long copies) {
    typedef unsigned long long ull;
    leat_stats s;
    leat_latency waited;
    char tuning[200];
    leat_worker_stats *each = PyMem_Calloc(WORKERS_MAX, sizeof *each);
    if (!each) return PyErr_NoMemory();
    /* Making an object may run a finaliser, which may let another thread close: the engine is asked first. */
    leat_pipeline_stats(pipeline, &s);
    leat_pipeline_tuning(pipeline, tuning, sizeof tuning);
    leat_pipeline_latency(pipeline, &waited);
    const int n = leat_pipeline_workers(pipeline, each, WORKERS_MAX);
    PyObject *workers = workers_list(each, n < WORKERS_MAX ? n : WORKERS_MAX);
    PyObject *latency = workers ? latency_dict(&waited) : NULL;
    PyMem_Free(each);
    PyObject *stages = latency ? stages_dict(s.stage_s) : NULL;
    if (!stages) {
        Py_XDECREF(workers);
        Py_XDECREF(latency);
        return NULL;
    }
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:i,s:i,s:i,s:i,s:K,s:K,s:K,s:d,s:d,s:d,s:d,s:d,"
        "s:d,s:d,s:d,s:d,s:d,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:d,s:s,s:N,s:N,s:N}",
        "samples", (ull)s.samples, "samples_made", (ull)s.samples_made, "batches", (ull)s.batches,
        "bytes_read", (ull)s.bytes_read, "bytes_out", (ull)s.bytes_out, "bad_samples", (ull)s.bad_samples,
        "slots", (ull)s.slots, "slots_added", (ull)s.slots_added, "slots_max", s.slots_max, "threads",
        s.n_threads, "readers", s.n_readers, "shards", s.shards, "copies", copies, "grown", (ull)s.grown,
        "read_ahead", (ull)s.read_ahead, "open_s", s.open_s, "first_batch_s", s.first_batch_s, "wait_s",
        s.wait_s, "full_s", s.full_s, "slots_full_s", s.slots_full_s, "cpu_s", s.cpu_s, "read_wait_s",
        s.read_wait_s, "queue_s", s.queue_s, "readers_s", s.readers_s, "readers_wait_s", s.readers_wait_s,
        "memory_bytes", (ull)s.memory_bytes, "memory_max_bytes", (ull)s.memory_max_bytes, "cache_hits",
        (ull)s.cache_hits, "cache_misses", (ull)s.cache_misses, "cache_bad", (ull)s.cache_bad, "cache_bytes",
        (ull)s.cache_bytes, "retries", (ull)s.retries, "tuned", (ull)s.tuned, "tuned_s", s.tuned_s, "tuning",
        tuning, "stages", stages, "latency", latency, "workers", workers);
}
