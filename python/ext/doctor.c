/* SPDX-License-Identifier: Apache-2.0 */
/* What leat_doctor found, as a dict of the keys that `leat doctor --json` has. */
#include "binding.h"

static int add(PyObject *list, PyObject *entry) {
    const int rc = entry ? PyList_Append(list, entry) : -1;
    Py_XDECREF(entry);
    return rc;
}

static PyObject *ceilings_of(const leat_doctor_report *r) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < r->n_ceilings; i++) {
        const leat_ceiling *c = &r->ceiling[i];
        if (add(list, Py_BuildValue("{s:s,s:d,s:s}", "name", c->name, "rate", c->rate, "how", c->how)) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *remedies_of(const leat_doctor_report *r) {
    static const char *const kinds[] = {"text", "option", "command", "advice"};
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < r->n_remedies; i++) {
        const leat_remedy *m = &r->remedies[i];
        if (add(list, Py_BuildValue("{s:s,s:s,s:s,s:d,s:d,s:d,s:K,s:s,s:s,s:s}", "name", m->name, "kind",
                                    kinds[m->kind], "title", m->title, "rate", m->rate, "gain", m->gain,
                                    "spread", m->spread, "write_bytes", (unsigned long long)m->write_bytes,
                                    "cost", m->cost, "how", m->how, "command", m->command)) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *moments_of(const leat_doctor_report *r) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < r->n_moments; i++) {
        const leat_moment *m = &r->moments[i];
        if (add(list, Py_BuildValue("(dddd)", m->at_s, m->rate, m->wait, m->idle)) < 0) Py_CLEAR(list);
    }
    return list;
}

PyObject *doctor_dict(const leat_doctor_report *r) {
    const char *binding = r->binding >= 0 ? r->ceiling[r->binding].name : NULL;
    return Py_BuildValue("{s:s,s:d,s:d,s:d,s:O,s:s,s:i,s:s,s:z,s:i,s:s,s:N,s:N,s:N,s:N}", "spec", r->text,
                         "samples_per_s", r->rate, "seconds", r->seconds, "wait", r->wait, "input_binds",
                         r->input_binds ? Py_True : Py_False, "cause",
                         leat_bottleneck_name(r->verdict.bottleneck), "percent", r->verdict.percent,
                         "sentence", r->verdict.sentence, "binding", binding, "threads", r->stats.n_threads,
                         "note", r->note, "ceilings", ceilings_of(r), "remedies", remedies_of(r), "moments",
                         moments_of(r), "latency", latency_dict(&r->latency));
}
