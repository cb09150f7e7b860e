/* SPDX-License-Identifier: Apache-2.0 */
/* What a spec is made of: text, memory that Python keeps, and functions of Python. Workers call these with the
 * interpreter's lock, which they wait for; an exception becomes the error of the sample, and the cause of what is raised. */
#include "binding.h"

/* ---------------------------------------------------------------------------------------- callbacks */

/* The code of a leat.Error; any other exception counts as a failure to read. */
static int code_of(PyObject *exception) {
    PyObject *name = exception ? PyObject_GetAttrString(exception, "code") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    int code = LEAT_ERR_IO;
    for (int i = LEAT_ERR_ARGUMENT; text && i >= LEAT_ERR_CANCELLED; i--)
        if (strcmp(leat_error_name(i), text) == 0) code = i;
    Py_XDECREF(name);
    PyErr_Clear();
    return code;
}

/* Keeps the exception that a callback has raised, for the one that will be raised in its place, and tells the engine. */
int take_exception(Pipeline *self, leat_error *err) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    PyObject *name = type ? PyType_GetName((PyTypeObject *)type) : NULL;
    PyObject *text = name ? PyUnicode_FromFormat("%U: %S", name, value) : NULL;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    snprintf(err->message, sizeof err->message, "%.900s", utf8 ? utf8 : "an exception in Python");
    PyErr_Clear();
    const int code = code_of(value);
    if (!self->cause) self->cause = Py_XNewRef(value);
    Py_XDECREF(name);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return code;
}

enum { LONG_COPY = 32768 }; /* bytes from which other threads of Python go on meanwhile */

/* What source gave for one field: (address, bytes, shape). It is copied if there is room: then its memory can be used for others
 * when the item is gone. Where there is none, the memory stays until the next call on this thread. */
static int take_value(PyObject *given, leat_value_out *out) {
    unsigned long long address;
    Py_ssize_t bytes;
    PyObject *shape;
    if (!PyArg_ParseTuple(given, "KnO!", &address, &bytes, &PyTuple_Type, &shape)) return -1;
    out->data = (const void *)(uintptr_t)address;
    out->bytes = (size_t)bytes;
    if (out->room && out->bytes <= out->room_bytes) {
        PyThreadState *others = out->bytes >= LONG_COPY ? PyEval_SaveThread() : NULL;
        memcpy(out->room, out->data, out->bytes);
        if (others) PyEval_RestoreThread(others);
        out->data = NULL;
    }
    const Py_ssize_t n = PyTuple_Size(shape);
    for (Py_ssize_t i = 0; i < n && i < LEAT_NDIM_MAX; i++)
        out->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    return PyErr_Occurred() ? -1 : 0;
}

typedef struct called { /* a function that the engine calls: lives in a capsule of self->callbacks */
    Pipeline *self;
    PyObject *function; /* that of a source is held by self->sources, and gone when the pipeline is closed */
    bool owned;
    PyObject *stopping; /* stopping(): whether the pipeline is being closed; for filter and map */
    int n_fields;       /* of a source */
} called;

static _Thread_local const call *calls;

bool pipeline_is_calling(const Pipeline *self) {
    const call *c = calls;
    while (c && c->self != self) c = c->outer;
    return c != NULL;
}

void call_begin(call *c, const Pipeline *self) {
    *c = (call){.self = self, .outer = calls, .gil = PyGILState_Ensure()};
    calls = c;
}

void call_end(const call *c) {
    PyGILState_Release(c->gil);
    calls = c->outer;
}

/* Unless the pipeline is told to stop, also while this thread waits for the interpreter: functions may be gone then, and what is
 * left of a task is not worth waiting for. */
static bool begin_calling(call *c, const Pipeline *self) {
    if (self->closing) return false;
    call_begin(c, self);
    if (!self->closing) return true;
    call_end(c);
    return false;
}

static int read_at(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    called *c = user;
    Pipeline *self = c->self;
    call now;
    if (!begin_calling(&now, self)) return LEAT_ERR_CANCELLED;
    PyObject *values = PyObject_CallFunction(c->function, "K", (unsigned long long)i);
    bool good = values && PySequence_Size(values) == c->n_fields;
    if (values && !good && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "a source has given another number of fields than it declared");
    for (int k = 0; good && k < c->n_fields; k++) {
        PyObject *value = PySequence_GetItem(values, k);
        good = value && take_value(value, &out[k]) == 0;
        Py_XDECREF(value);
    }
    Py_XDECREF(values);
    const int rc = good ? 0 : take_exception(self, err);
    call_end(&now);
    return rc;
}

PyObject *shape_of(const leat_tensor *t) {
    PyObject *shape = PyTuple_New(t->ndim);
    for (int i = 0; shape && i < t->ndim; i++) {
        PyObject *number = PyLong_FromLongLong(t->shape[i]);
        if (!number || PyTuple_SetItem(shape, i, number) < 0) Py_CLEAR(shape);
    }
    return shape;
}

static int find_dtype(const char *name) {
    for (int i = 0; i < LEAT_DTYPE_COUNT; i++)
        if (strcmp(leat_dtype_name(i), name) == 0) return i;
    PyErr_Format(PyExc_TypeError, "there is no type %s", name);
    return -1;
}

static int numbers_of(PyObject *tuple, int64_t *out, int *n) {
    *n = (int)PyTuple_Size(tuple);
    if (*n < 0 || *n > LEAT_NDIM_MAX) {
        PyErr_Format(PyExc_ValueError, "%d axes; there can be %d", *n, LEAT_NDIM_MAX);
        return -1;
    }
    for (int i = 0; i < *n; i++) out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    return PyErr_Occurred() ? -1 : 0;
}

static size_t bytes_of(const leat_tensor *t) {
    size_t bytes = leat_dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++) bytes *= (size_t)t->shape[i];
    return bytes;
}

/* [(name, dtype, shape, memory)], or without memory. The memory is the engine's, for the time of the call: what Python
 * keeps must be a copy. */
static PyObject *describe(const leat_tensor *tensors, int n, bool with_memory) {
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        const leat_tensor *t = &tensors[i];
        static char nothing;
        PyObject *shape = shape_of(t), *item = NULL;
        PyObject *memory = with_memory
                               ? PyMemoryView_FromMemory(t->data ? t->data : &nothing,
                                                         t->data ? (Py_ssize_t)bytes_of(t) : 0, PyBUF_READ)
                               : NULL;
        if (shape && memory) item = Py_BuildValue("ssOO", t->name, leat_dtype_name(t->dtype), shape, memory);
        else if (shape && !with_memory)
            item = Py_BuildValue("ssO", t->name, leat_dtype_name(t->dtype), shape);
        Py_XDECREF(shape);
        Py_XDECREF(memory);
        if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

/* What random numbers of a function are to depend on: (seed, epoch, position, operation). */
static PyObject *describe_info(const leat_sample_info *info) {
    return Py_BuildValue("KKKK", (unsigned long long)info->seed, (unsigned long long)info->epoch,
                         (unsigned long long)info->position, (unsigned long long)info->operation);
}

static int call_filter(void *user, const leat_sample_info *info, const leat_tensor *fields, int n,
                       leat_error *err) {
    called *c = user;
    call now;
    if (!begin_calling(&now, c->self)) return LEAT_ERR_CANCELLED;
    PyObject *in = describe(fields, n, true), *about = describe_info(info);
    PyObject *answer =
        in && about ? PyObject_CallFunctionObjArgs(c->function, about, in, c->stopping, NULL) : NULL;
    int rc = answer ? PyObject_IsTrue(answer) : -1;
    if (rc < 0) rc = take_exception(c->self, err);
    Py_XDECREF(answer);
    Py_XDECREF(about);
    Py_XDECREF(in);
    call_end(&now);
    return rc;
}

/* make(name, dtype, shape) of one call of a map: memory for a field, to be written before the call ends. */
static PyObject *make_field(PyObject *capsule, PyObject *args) {
    const leat_sample_info *info = PyCapsule_GetPointer(capsule, NULL);
    const char *name, *dtype;
    PyObject *shape;
    leat_field field = {0};
    leat_error err;
    if (!info || !PyArg_ParseTuple(args, "ssO!", &name, &dtype, &PyTuple_Type, &shape)) return NULL;
    field.dtype = find_dtype(dtype);
    if (field.dtype < 0 || numbers_of(shape, field.shape, &field.ndim) < 0) return NULL;
    if ((size_t)snprintf(field.name, sizeof field.name, "%s", name) >= sizeof field.name)
        return PyErr_Format(PyExc_ValueError, "the name %.60s... is longer than 63 bytes", name);
    void *memory = leat_map_make(info, &field, &err);
    if (!memory) return raise_error(&err, NULL);
    size_t bytes = leat_dtype_size(field.dtype);
    for (int i = 0; i < field.ndim; i++) bytes *= (size_t)field.shape[i];
    return PyMemoryView_FromMemory(memory, (Py_ssize_t)bytes, PyBUF_WRITE);
}

static PyObject *is_stopping(PyObject *capsule, PyObject *ignored) {
    (void)ignored;
    const called *c = PyCapsule_GetPointer(capsule, NULL);
    return c ? PyBool_FromLong(c->self->closing) : NULL;
}

static PyMethodDef make_method = {"make", make_field, METH_VARARGS, NULL};
static PyMethodDef stopping_method = {"stopping", is_stopping, METH_NOARGS, NULL};

/* The function writes what it makes into memory of `make`, so nothing is left to do when it returns. */
static int call_map(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                    const leat_tensor *out, int n_out, leat_error *err) {
    called *c = user;
    call now;
    if (!begin_calling(&now, c->self)) return LEAT_ERR_CANCELLED;
    PyObject *given = describe(in, n_in, true), *wanted = describe(out, n_out, false);
    PyObject *about = describe_info(info), *place = PyCapsule_New((void *)(uintptr_t)info, NULL, NULL);
    PyObject *make = place ? PyCFunction_New(&make_method, place) : NULL;
    PyObject *done =
        given && wanted && about && make
            ? PyObject_CallFunctionObjArgs(c->function, about, given, c->stopping, wanted, make, NULL)
            : NULL;
    const int rc = done ? 0 : take_exception(c->self, err);
    Py_XDECREF(done);
    Py_XDECREF(make);
    Py_XDECREF(place);
    Py_XDECREF(about);
    Py_XDECREF(wanted);
    Py_XDECREF(given);
    call_end(&now);
    return rc;
}

/* -------------------------------------------------------------------------------------------- arrays */

static int take_view(Pipeline *self, PyObject *object, Py_buffer **out) {
    kept_view *taken = PyMem_Calloc(1, sizeof *taken); /* a buffer may point into itself: it is never moved */
    if (!taken) return PyErr_NoMemory(), -1;
    if (PyObject_GetBuffer(object, &taken->buffer, PyBUF_STRIDES) < 0) {
        PyMem_Free(taken);
        return -1;
    }
    taken->next = self->views;
    self->views = taken;
    *out = &taken->buffer;
    return 0;
}

/* Numbers for a ragged array: n, or one more. */
static int take_places(Pipeline *self, const char *name, PyObject *given, const int64_t **out, int64_t *n) {
    Py_buffer *view;
    if (take_view(self, given, &view) < 0) return -1;
    if (view->itemsize != sizeof(int64_t) || view->ndim != 1 ||
        (view->strides && view->shape[0] > 1 && view->strides[0] != sizeof(int64_t))) {
        PyErr_Format(PyExc_TypeError, "array %s: offsets must be 64-bit numbers in a row", name);
        return -1;
    }
    *out = view->buf;
    *n = view->shape[0];
    return 0;
}

/* (name, dtype, memory[, offsets or None[, ends or None[, layout]]]). The memory is used as it is and kept. */
static int take_array(Pipeline *self, PyObject *given, leat_tensor *out) {
    const char *name, *dtype;
    PyObject *memory, *offsets = Py_None, *ends = Py_None;
    Py_buffer *view;
    int layout = LEAT_LAYOUT_NONE;
    if (!PyArg_ParseTuple(given, "ssO|OOi", &name, &dtype, &memory, &offsets, &ends, &layout)) return -1;
    *out = (leat_tensor){.name = name, .dtype = find_dtype(dtype), .layout = layout};
    if (out->dtype < 0 || take_view(self, memory, &view) < 0) return -1;
    if ((size_t)view->itemsize != leat_dtype_size(out->dtype) || view->ndim < 1 ||
        view->ndim > LEAT_NDIM_MAX) {
        PyErr_Format(PyExc_TypeError, "array %s: %d axes of values of %zd bytes do not fit %s", name,
                     view->ndim, view->itemsize, dtype);
        return -1;
    }
    out->data = view->buf;
    out->ndim = view->ndim;
    bool strided = !view->strides || view->len == view->itemsize; /* ctypes gives none: contiguous */
    for (int i = 0; i < view->ndim; i++) {
        out->shape[i] = view->shape[i];
        if (view->strides) strided |= (out->stride[i] = view->strides[i]) != 0;
    }
    if (!strided && view->len > 0) { /* the engine would read more memory than there is */
        PyErr_Format(PyExc_TypeError, "array %s: one value stands for all: copy the array first", name);
        return -1;
    }
    if (offsets == Py_None) return 0;
    int64_t n_ends = 0;
    if (take_places(self, name, offsets, &out->offsets, &out->shape[0]) < 0) return -1;
    if (ends == Py_None) out->shape[0]--;
    else if (take_places(self, name, ends, &out->ends, &n_ends) < 0) return -1;
    if (out->shape[0] < 0 || (out->ends && n_ends != out->shape[0])) {
        PyErr_Format(PyExc_ValueError, "array %s: its offsets do not fit its ends", name);
        return -1;
    }
    return 0;
}

/* Whether a text begins with `list`, whose table the arrays are then. -1 and an exception without memory. */
static int is_table(PyObject *text) {
    PyObject *list = PyUnicode_FromString("list");
    const Py_ssize_t found = list ? PyUnicode_Tailmatch(text, list, 0, 4, -1) : -1;
    Py_XDECREF(list);
    return (int)found;
}

/* Slices of arrays, or the table of a text that begins with `list`. */
static int add_arrays(Pipeline *self, leat_spec *spec, const spec_given *given) {
    PyObject *arrays = given->arrays;
    leat_tensor tensor[ARRAYS_MAX];
    const Py_ssize_t n = PySequence_Size(arrays);
    if (n < 1 || n > ARRAYS_MAX) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "1 to %d arrays, not %zd", ARRAYS_MAX, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *array = PySequence_GetItem(arrays, i);
        const int rc = array ? take_array(self, array, &tensor[i]) : -1;
        Py_XDECREF(array); /* the caller holds the list */
        if (rc < 0) return -1;
    }
    const int table = is_table(given->text);
    if (table < 0) return -1;
    if (table) leat_spec_table(spec, tensor, (int)n);
    else leat_spec_arrays(spec, tensor, (int)n);
    return 0;
}

static void free_called(PyObject *capsule) {
    called *c = PyCapsule_GetPointer(capsule, NULL);
    if (c->owned) Py_XDECREF(c->function);
    Py_XDECREF(c->stopping);
    PyMem_Free(c);
}

/* The functions themselves, which the capsules hide from the collector: a method of the object that holds the pipeline is a cycle. */
int pipeline_visit_functions(Pipeline *self, visitproc visit, void *arg) {
    const Py_ssize_t n = self->callbacks ? PyList_Size(self->callbacks) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const called *c = PyCapsule_GetPointer(PyList_GetItem(self->callbacks, i), NULL);
        if (c->owned) Py_VISIT(c->function);
    }
    return 0;
}

/* What the engine gets as `user`: it lives as long as the pipeline. NULL and an exception without memory. */
static called *keep_called(Pipeline *self, PyObject *function, bool owned) {
    called *c = PyMem_Calloc(1, sizeof *c);
    PyObject *capsule = c ? PyCapsule_New(c, NULL, free_called) : NULL;
    if (!capsule) {
        PyMem_Free(c);
        return PyErr_NoMemory(), NULL;
    }
    *c = (called){.self = self, .function = owned ? Py_NewRef(function) : function, .owned = owned};
    PyObject *place = PyCapsule_New(c, NULL, NULL); /* it owns nothing: that would be a cycle */
    c->stopping = place ? PyCFunction_New(&stopping_method, place) : NULL;
    Py_XDECREF(place);
    const int rc = c->stopping ? PyList_Append(self->callbacks, capsule) : -1;
    Py_DECREF(capsule);
    return rc < 0 ? NULL : c;
}

/* (n, [(name, dtype, shape, ragged[, layout])], max_bytes, identity, function, readers): 0 readers: only workers read */
static int add_source(Pipeline *self, leat_spec *spec, PyObject *given) {
    unsigned long long n, max_bytes, identity, n_readers;
    PyObject *fields, *function;
    leat_field field[ARRAYS_MAX] = {0};
    if (!PyArg_ParseTuple(given, "KO!KKOK", &n, &PyList_Type, &fields, &max_bytes, &identity, &function,
                          &n_readers))
        return -1;
    const int n_fields = (int)PyList_Size(fields);
    for (int i = 0; i < n_fields && i < ARRAYS_MAX; i++) {
        const char *name, *dtype;
        PyObject *shape;
        if (!PyArg_ParseTuple(PyList_GetItem(fields, i), "ssO!p|i", &name, &dtype, &PyTuple_Type, &shape,
                              &field[i].ragged, &field[i].layout))
            return -1;
        snprintf(field[i].name, sizeof field[i].name, "%s", name);
        field[i].dtype = find_dtype(dtype);
        if (field[i].dtype < 0 || numbers_of(shape, field[i].shape, &field[i].ndim) < 0) return -1;
    }
    called *c = PyList_Append(self->sources, function) < 0 ? NULL : keep_called(self, function, false);
    if (!c) return -1;
    c->n_fields = n_fields;
    leat_spec_source(spec, &(leat_source_callbacks){.n = n,
                                                    .n_fields = n_fields,
                                                    .field = field,
                                                    .max_bytes = max_bytes,
                                                    .read_at = read_at,
                                                    .thread_safe = 1,
                                                    .no_read_ahead = n_readers == 0,
                                                    .n_readers = n_readers,
                                                    .identity = identity,
                                                    .user = c});
    return 0;
}

/* [(name, is a map, function)] */
static int add_callbacks(Pipeline *self, leat_spec *spec, PyObject *given) {
    const Py_ssize_t n = PySequence_Size(given);
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *name;
        int is_map;
        PyObject *function, *item = PySequence_GetItem(given, i);
        const bool good = item && PyArg_ParseTuple(item, "spO", &name, &is_map, &function);
        called *c = good ? keep_called(self, function, true) : NULL;
        if (c && is_map) leat_spec_map(spec, name, call_map, c, 1);
        else if (c) leat_spec_filter(spec, name, call_filter, c, 1);
        Py_XDECREF(item);
        if (!c) return -1;
    }
    return n >= 0 ? 0 : -1;
}

/* --------------------------------------------------------------------------------------------- specs */

static leat_spec *build(Pipeline *self, const spec_given *given);

/* [(name, text, arrays, source, callbacks, parts)] */
static int add_parts(Pipeline *self, leat_spec *spec, PyObject *parts) {
    const Py_ssize_t n = PySequence_Size(parts);
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *name;
        spec_given part;
        PyObject *item = PySequence_GetItem(parts, i);
        const bool good = item && PyArg_ParseTuple(item, "sUOOOO", &name, &part.text, &part.arrays,
                                                   &part.source, &part.callbacks, &part.parts);
        leat_spec *made = good ? build(self, &part) : NULL;
        if (made) leat_spec_part(spec, name, made);
        Py_XDECREF(item);
        if (!made) return -1;
        leat_spec_free(&made);
    }
    return n >= 0 ? 0 : -1;
}

/* Names of files need not be UTF-8: Python carries other bytes as surrogates. */
static int add_text(leat_spec *spec, PyObject *given) {
    PyObject *bytes = PyUnicode_AsEncodedString(given, "utf-8", "surrogateescape");
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    if (text && *text) leat_spec_add(spec, text);
    Py_XDECREF(bytes);
    return text ? 0 : -1;
}

/* NULL and an exception if an argument is wrong. */
static leat_spec *build(Pipeline *self, const spec_given *given) {
    leat_spec *spec = leat_spec_new(NULL);
    if (!spec) return PyErr_NoMemory(), NULL;
    if ((given->callbacks == Py_None || add_callbacks(self, spec, given->callbacks) == 0) &&
        (given->arrays == Py_None || add_arrays(self, spec, given) == 0) &&
        (given->source == Py_None || add_source(self, spec, given->source) == 0) &&
        (given->parts == Py_None || add_parts(self, spec, given->parts) == 0) &&
        add_text(spec, given->text) == 0)
        return spec;
    leat_spec_free(&spec);
    return NULL;
}

int pipeline_spec_build(Pipeline *self, const spec_given *given) {
    /* Columns count from the beginning of what the engine has read, and that is the source. */
    self->first = given->source != Py_None                                 ? "source | "
                  : given->arrays != Py_None && is_table(given->text) == 0 ? "arrays | "
                                                                           : "";
    self->callbacks = PyList_New(0);
    self->sources = PyList_New(0);
    if (!self->callbacks || !self->sources) return -1;
    self->spec = build(self, given);
    return self->spec ? 0 : -1;
}
