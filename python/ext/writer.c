/* SPDX-License-Identifier: Apache-2.0 */
/* Writer: TFRecord files, record by record or batch by batch; and tf.train.Examples as bytes. */
#include "binding.h"

#include <unistd.h>

typedef struct {
    PyObject_HEAD leat_writer *writer; /* NULL = closed */
    pthread_mutex_t mutex;             /* one thread at a time; calls work without the interpreter's lock */
    pid_t owner;
} Writer;

/* Waits for another thread's call without the interpreter's lock, so that this thread can end it. */
static void writer_lock(Writer *self) {
    if (pthread_mutex_trylock(&self->mutex) == 0) return;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&self->mutex);
    PyEval_RestoreThread(thread);
}

static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    PyObject *path;
    leat_writer_config config = {0};
    if (!PyArg_ParseTuple(args, "O&iii", PyUnicode_FSConverter, &path, &config.compression, &config.level,
                          &config.n_shards))
        return NULL;
    Writer *self = (Writer *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    leat_error err;
    if (self) {
        pthread_mutex_init(&self->mutex, NULL);
        self->owner = getpid();
        if (leat_writer_open(&self->writer, PyBytes_AsString(path), &config, &err) < 0) {
            raise_error(&err, NULL);
            Py_CLEAR(self);
        }
    }
    Py_DECREF(path);
    return (PyObject *)self;
}

static void writer_dealloc(PyObject *object) {
    Writer *self = (Writer *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->owner == getpid()) leat_writer_abort(&self->writer); /* after fork the files are the parent's */
    pthread_mutex_destroy(&self->mutex);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *closed_error(void) {
    PyErr_SetString(PyExc_ValueError, "the writer is closed");
    return NULL;
}

static PyObject *finished(int rc, const leat_error *err) {
    if (rc < 0) return raise_error(err, NULL);
    Py_RETURN_NONE;
}

/* A record of n bytes, or the samples of a batch. */
static PyObject *writer_add(Writer *self, const void *record, size_t n, const leat_batch *batch) {
    leat_error err;
    int rc = 0;
    writer_lock(self);
    const bool open = self->writer != NULL;
    if (open) {
        PyThreadState *thread = PyEval_SaveThread();
        rc = batch ? leat_writer_add_batch(self->writer, batch, &err)
                   : leat_writer_add_record(self->writer, record, n, &err);
        PyEval_RestoreThread(thread);
    }
    pthread_mutex_unlock(&self->mutex);
    return open ? finished(rc, &err) : closed_error();
}

static PyObject *writer_write(PyObject *object, PyObject *record) {
    Py_buffer view;
    if (PyObject_GetBuffer(record, &view, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *result = writer_add((Writer *)object, view.buf, (size_t)view.len, NULL);
    PyBuffer_Release(&view);
    return result;
}

static PyObject *writer_write_batch(PyObject *object, PyObject *given) {
    const leat_batch *batch = batch_of(PyType_GetModuleState(Py_TYPE(object)), given);
    return batch ? writer_add((Writer *)object, NULL, 0, batch) : NULL;
}

static PyObject *writer_close(PyObject *object, PyObject *unused) {
    (void)unused;
    Writer *self = (Writer *)object;
    leat_error err;
    writer_lock(self);
    PyThreadState *thread = PyEval_SaveThread();
    const int rc = leat_writer_close(&self->writer, &err);
    PyEval_RestoreThread(thread);
    pthread_mutex_unlock(&self->mutex);
    return finished(rc, &err);
}

static PyObject *writer_abort(PyObject *object, PyObject *unused) {
    (void)unused;
    Writer *self = (Writer *)object;
    writer_lock(self);
    leat_writer_abort(&self->writer);
    pthread_mutex_unlock(&self->mutex);
    Py_RETURN_NONE;
}

static PyObject *writer_closed(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(((Writer *)object)->writer == NULL);
}

static PyMethodDef methods[] = {
    {"write", writer_write, METH_O, "write(record): one record of these bytes"},
    {"write_batch", writer_write_batch, METH_O, "write_batch(batch): an Example for each sample"},
    {"close", writer_close, METH_NOARGS, "close(): the files appear"},
    {"abort", writer_abort, METH_NOARGS, "abort(): removes what was written"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {{"closed", writer_closed, NULL, NULL, NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Writer(path, compression, level, shards)"},
    {Py_tp_new, (void *)writer_new},
    {Py_tp_dealloc, (void *)writer_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

PyType_Spec writer_spec = {
    .name = "leat._leat.Writer", .basicsize = sizeof(Writer), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

/* ------------------------------------------------------------------------------------------ Examples */

enum { FEATURES_MAX = 256 };

typedef struct held {
    Py_buffer view[2 * FEATURES_MAX];
    int n;
    leat_feature feature[FEATURES_MAX];
} held;

/* (name, dtype, values, offsets or None): the memory stays Python's. */
static int take_feature(held *h, PyObject *given, leat_feature *f) {
    PyObject *values, *offsets;
    const char *dtype;
    if (!PyArg_ParseTuple(given, "ssOO", &f->name, &dtype, &values, &offsets)) return -1;
    f->dtype = dtype[0] == 'f' ? LEAT_DTYPE_F32 : dtype[0] == 'i' ? LEAT_DTYPE_I64 : LEAT_DTYPE_BYTES;
    Py_buffer *view = &h->view[h->n];
    if (PyObject_GetBuffer(values, view, PyBUF_C_CONTIGUOUS) < 0) return -1;
    h->n++;
    f->values = view->buf;
    f->n = (size_t)view->len / leat_dtype_size(f->dtype);
    if (offsets == Py_None) return 0;
    Py_buffer *places = &h->view[h->n];
    if (PyObject_GetBuffer(offsets, places, PyBUF_C_CONTIGUOUS) < 0) return -1;
    h->n++;
    f->offsets = places->buf;
    f->n = (size_t)places->len / sizeof(int64_t) - 1;
    return 0;
}

static PyObject *make_example(held *h, PyObject *features) {
    const Py_ssize_t n = PySequence_Size(features);
    if (n < 0) return NULL;
    if (n > FEATURES_MAX) {
        PyErr_Format(PyExc_ValueError, "example(): %zd features; at most %d are possible", n,
                     (int)FEATURES_MAX);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *given = PySequence_GetItem(features, i);
        const int rc = given ? take_feature(h, given, &h->feature[i]) : -1;
        Py_XDECREF(given); /* the list that it is in holds it */
        if (rc < 0) return NULL;
    }
    leat_error err;
    const int64_t size = leat_example(h->feature, (int)n, NULL, 0, &err);
    if (size < 0) return raise_error(&err, NULL);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes && leat_example(h->feature, (int)n, PyBytes_AsString(bytes), (size_t)size, &err) < 0) {
        Py_CLEAR(bytes);
        raise_error(&err, NULL);
    }
    return bytes;
}

PyObject *module_example(PyObject *module, PyObject *features) {
    (void)module;
    held *h = PyMem_Calloc(1, sizeof *h);
    if (!h) return PyErr_NoMemory();
    PyObject *bytes = make_example(h, features);
    for (int i = 0; i < h->n; i++) PyBuffer_Release(&h->view[i]);
    PyMem_Free(h);
    return bytes;
}
