/* SPDX-License-Identifier: Apache-2.0 */
/* The module leat._leat: types, errors as exceptions, and the few functions of leat_tools.h that have no pipeline. */
#include "binding.h"

/* The class of the exception is chosen in Python, where classes with two parents are easily written. */
PyObject *raise_error(const leat_error *err, PyObject *text) {
    PyObject *errors = PyImport_ImportModule("leat._base.errors");
    if (!errors) return NULL;
    PyObject *sample = err->sample == LEAT_NO_SAMPLE || err->stage == LEAT_STAGE_NONE
                           ? Py_NewRef(Py_None)
                           : PyLong_FromUnsignedLongLong(err->sample);
    PyObject *message = PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    PyObject *made = NULL;
    if (sample && message)
        made = PyObject_CallMethod(errors, "make", "sOsOiiO", leat_error_name(err->code), message,
                                   err->stage ? leat_stage_name(err->stage) : "", sample, err->column,
                                   err->sys, text ? text : Py_None);
    if (made) PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    Py_XDECREF(message);
    Py_XDECREF(sample);
    Py_DECREF(errors);
    return NULL;
}

int call_progress(PyObject *progress, const char *what, uint64_t done, uint64_t total) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    int stop = PyErr_Occurred() ? -1 : PyErr_CheckSignals();
    if (stop == 0 && progress != Py_None) {
        PyObject *answer =
            PyObject_CallFunction(progress, "sKK", what, (unsigned long long)done, (unsigned long long)total);
        stop = answer ? 0 : -1;
        Py_XDECREF(answer);
    }
    PyGILState_Release(gil);
    return stop;
}

/* --------------------------------------------------------------------------------------------- tools */

/* Between the steps of a tool that works for long: whether Ctrl-C was pressed. */
static int go_on(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)user, (void)what, (void)done, (void)total;
    const PyGILState_STATE gil = PyGILState_Ensure();
    const int stop = PyErr_CheckSignals();
    PyGILState_Release(gil);
    return stop;
}

static PyObject *class_counts(const leat_info *info) {
    PyObject *counts = PyList_New(info->n_classes);
    for (int i = 0; counts && i < info->n_classes; i++) {
        PyObject *pair = Py_BuildValue("sK", info->classes[i].name, (unsigned long long)info->classes[i].n);
        if (!pair || PyList_SetItem(counts, i, pair) < 0) Py_CLEAR(counts);
    }
    return counts;
}

/* info(path, look_at) -> dict: what a folder, TFRecords or a list of images hold. */
static PyObject *module_info(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *path;
    long long look_at;
    if (!PyArg_ParseTuple(args, "O&L", PyUnicode_FSConverter, &path, &look_at)) return NULL;
    const leat_tool_config config = {.progress = go_on};
    leat_info info = {0};
    leat_error err;
    PyThreadState *thread = PyEval_SaveThread();
    const int rc = leat_info_read(&info, PyBytes_AsString(path), look_at, &config, &err);
    PyEval_RestoreThread(thread);
    Py_DECREF(path);
    PyObject *result = NULL;
    if (rc < 0) {
        if (!PyErr_Occurred()) raise_error(&err, NULL);
    } else {
        PyObject *classes = class_counts(&info);
        if (classes)
            result = Py_BuildValue("{s:s,s:K,s:K,s:K,s:N,s:K,s:K,s:(ii),s:(ii),s:(dd)}", "kind", info.kind,
                                   "samples", (unsigned long long)info.n_samples, "files",
                                   (unsigned long long)info.n_files, "bytes", (unsigned long long)info.bytes,
                                   "classes", classes, "looked_at", (unsigned long long)info.n_looked_at,
                                   "bad", (unsigned long long)info.n_bad, "width", info.width_min,
                                   info.width_max, "height", info.height_min, info.height_max, "mean_size",
                                   info.height_mean, info.width_mean);
    }
    leat_info_free(&info);
    return result;
}

/* synth(folder, n_images, n_classes, height, width, png, seed): a labelled practice set. */
static PyObject *module_synth(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *path;
    leat_synth_config synth = {0};
    unsigned long long n, seed;
    if (!PyArg_ParseTuple(args, "O&KiiipK", PyUnicode_FSConverter, &path, &n, &synth.n_classes, &synth.height,
                          &synth.width, &synth.format, &seed))
        return NULL;
    synth.n_images = n;
    synth.seed = seed;
    const leat_tool_config config = {.progress = go_on};
    leat_error err;
    PyThreadState *thread = PyEval_SaveThread();
    const int rc = leat_synth(PyBytes_AsString(path), &synth, &config, &err);
    PyEval_RestoreThread(thread);
    Py_DECREF(path);
    if (rc == 0) Py_RETURN_NONE;
    return PyErr_Occurred() ? NULL : raise_error(&err, NULL);
}

/* op_elsewhere(name) -> (operation, argument): what another library calls so; None where there is none. */
static PyObject *module_elsewhere(PyObject *module, PyObject *name) {
    (void)module;
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    if (!bytes) return NULL;
    const char *argument, *op = leat_op_elsewhere(PyBytes_AsString(bytes), &argument);
    Py_DECREF(bytes);
    return Py_BuildValue("zz", op, argument);
}

static PyMethodDef methods[] = {
    {"op_elsewhere", module_elsewhere, METH_O, "op_elsewhere(name) -> (operation or None, argument or None)"},
    {"info", module_info, METH_VARARGS, "info(path, look_at) -> dict"},
    {"synth", module_synth, METH_VARARGS, "synth(folder, n, classes, height, width, png, seed)"},
    {"pack", (PyCFunction)(void (*)(void))module_pack, METH_VARARGS | METH_KEYWORDS,
     "pack(source, out, ...) -> dict"},
    {"pack_join", module_pack_join, METH_VARARGS, "pack_join(out, prefix, progress) -> dict"},
    {"pack_verify", module_pack_verify, METH_VARARGS, "pack_verify(out, prefix, progress) -> list"},
    {"channel_sums", tensor_sums, METH_VARARGS,
     "channel_sums(tensor, axis) -> (count, [(sum, sum of squares)])"},
    {"example", module_example, METH_O, "example([(name, dtype, values, offsets or None)]) -> bytes"},
    {NULL, NULL, 0, NULL},
};

/* -------------------------------------------------------------------------------------------- module */

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out ? PyModule_AddType(module, *out) : -1;
}

static int module_exec(PyObject *module) {
    module_state *state = PyModule_GetState(module);
    /* Callbacks of workers find their interpreter by PyGILState, which knows the main one only. */
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "leat works in the main interpreter only, not in sub-interpreters");
        return -1;
    }
    if (strcmp(leat_version(), LEAT_VERSION) != 0) {
        PyErr_Format(PyExc_ImportError,
                     "leat was built with headers of version %s and a library of version %s", LEAT_VERSION,
                     leat_version());
        return -1;
    }
    if (add_type(module, &pipeline_spec, &state->pipeline_type) < 0) return -1;
    if (add_type(module, &batch_spec, &state->batch_type) < 0) return -1;
    if (add_type(module, &tensor_spec, &state->tensor_type) < 0) return -1;
    if (add_type(module, &writer_spec, &state->writer_type) < 0) return -1;
    return PyModule_AddStringConstant(module, "version", LEAT_VERSION);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    const module_state *state = PyModule_GetState(module);
    Py_VISIT(state->pipeline_type);
    Py_VISIT(state->batch_type);
    Py_VISIT(state->tensor_type);
    Py_VISIT(state->writer_type);
    return 0;
}

static int module_clear(PyObject *module) {
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->pipeline_type);
    Py_CLEAR(state->batch_type);
    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->writer_type);
    return 0;
}

static void module_free(void *module) {
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_leat",
    .m_doc = "The binding of libleat; leat wraps it.",
    .m_size = sizeof(module_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__leat(void);
PyMODINIT_FUNC PyInit__leat(void) {
    return PyModuleDef_Init(&definition);
}
