/* SPDX-License-Identifier: Apache-2.0 */
/* What a Pipeline answers about itself: counters, bad samples, plan, names, fields, sizes, messages. None of them takes long, so
 * all hold the interpreter's lock. */
#include "binding.h"

PyObject *pipeline_stats(PyObject *object, PyObject *ignored) {
    (void)ignored;
    const Pipeline *self = (Pipeline *)object;
    if (!pipeline_is_open(self)) return NULL;
    return stats_dict(self->pipeline, self->copies);
}

/* bad() -> [(sample, epoch, stage, name of the code, message)] */
PyObject *pipeline_bad(PyObject *object, PyObject *ignored) {
    (void)ignored;
    const Pipeline *self = (Pipeline *)object;
    if (!pipeline_is_open(self)) return NULL;
    PyObject *list = PyList_New(0);
    leat_bad bad;
    for (uint64_t i = 0; list && !self->closing && leat_pipeline_bad(self->pipeline, i, &bad) == 0; i++) {
        PyObject *item = Py_BuildValue("KKsss", (unsigned long long)bad.sample, (unsigned long long)bad.epoch,
                                       leat_stage_name(bad.stage), leat_error_name(bad.code), bad.message);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

PyObject *pipeline_plan(PyObject *object, PyObject *ignored) {
    (void)ignored;
    const Pipeline *self = (Pipeline *)object;
    if (!pipeline_is_open(self)) return NULL;
    const size_t n = leat_pipeline_plan(self->pipeline, NULL, 0);
    char *text = PyMem_Malloc(n + 1);
    if (!text) return PyErr_NoMemory();
    leat_pipeline_plan(self->pipeline, text, n + 1);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyMem_Free(text);
    return result;
}

PyObject *pipeline_name(PyObject *object, PyObject *number) {
    const Pipeline *self = (Pipeline *)object;
    char text[4300];
    const unsigned long long sample = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() || !pipeline_is_open(self)) return NULL;
    leat_pipeline_name(self->pipeline, sample, text, sizeof text);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *pipeline_classes(PyObject *object, PyObject *ignored) {
    (void)ignored;
    const Pipeline *self = (Pipeline *)object;
    if (!pipeline_is_open(self)) return NULL;
    PyObject *list = PyList_New(0);
    const char *name;
    for (int i = 0; list && !self->closing && (name = leat_pipeline_class(self->pipeline, i)); i++) {
        PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
        if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* fields() -> [(name, dtype, shape of one sample, ragged, layout, whether it holds classes of pixels)] */
PyObject *pipeline_fields(PyObject *object, PyObject *ignored) {
    (void)ignored;
    static const char *const layouts[] = {"", "nhwc", "nchw"};
    const Pipeline *self = (Pipeline *)object;
    if (!pipeline_is_open(self)) return NULL;
    leat_field field[64];
    int n = leat_pipeline_fields(self->pipeline, field, 64);
    if (n > 64) n = 64;
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        leat_tensor described = {.ndim = field[i].ndim};
        memcpy(described.shape, field[i].shape, sizeof described.shape);
        PyObject *shape = shape_of(&described);
        PyObject *item = shape ? Py_BuildValue("ssNOsO", field[i].name, leat_dtype_name(field[i].dtype),
                                               shape, field[i].ragged ? Py_True : Py_False,
                                               layouts[field[i].layout], field[i].mask ? Py_True : Py_False)
                               : NULL;
        if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

/* (batches, samples, turns) of an epoch; -1 = unknown or without end. */
PyObject *pipeline_size(PyObject *object, PyObject *ignored) {
    (void)ignored;
    const Pipeline *self = (Pipeline *)object;
    if (!pipeline_is_open(self)) return NULL;
    return Py_BuildValue("LLi", (long long)leat_pipeline_length(self->pipeline, UINT64_MAX),
                         (long long)leat_pipeline_samples(self->pipeline),
                         leat_pipeline_repeats(self->pipeline));
}

/* How many batches that epoch has, -1 if not known. */
PyObject *pipeline_batches(PyObject *object, PyObject *given) {
    const Pipeline *self = (Pipeline *)object;
    const unsigned long long epoch = PyLong_AsUnsignedLongLong(given);
    if (PyErr_Occurred() || !pipeline_is_open(self)) return NULL;
    return PyLong_FromLongLong((long long)leat_pipeline_length(self->pipeline, epoch));
}

PyObject *pipeline_messages(PyObject *object, PyObject *ignored) {
    (void)ignored;
    Pipeline *self = (Pipeline *)object;
    PyObject *list = PyList_New(0);
    pthread_mutex_lock(&self->log_mutex);
    for (int i = 0; list && i < self->n_messages; i++) {
        PyObject *text =
            PyUnicode_DecodeUTF8(self->message[i], (Py_ssize_t)strlen(self->message[i]), "replace");
        if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    self->n_messages = 0;
    pthread_mutex_unlock(&self->log_mutex);
    return list;
}
