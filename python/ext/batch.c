/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and Tensor. A Tensor shows one field of a batch to others, by the buffer protocol and by DLPack; the object that took it
 * holds the lease, and the slot goes back with the last of them. */
#include "binding.h"

#include <stdlib.h>

#include "dlpack.h"

/* --------------------------------------------------------------------------------------------- lease */

enum { ALIGN = 256, PAGE = 4096 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t tensor_bytes(const leat_tensor *t) {
    size_t bytes = leat_dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++) bytes *= (size_t)t->shape[i];
    return bytes;
}

/* Slots are contiguous: strides follow from the shape. */
static bool is_contiguous(const leat_tensor *t) {
    int64_t stride = (int64_t)leat_dtype_size(t->dtype);
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->stride[i] != stride) return false;
        stride *= t->shape[i];
    }
    return true;
}

static size_t copy_bytes(const leat_batch *batch) {
    const size_t n = (size_t)batch->n;
    size_t bytes = aligned(sizeof(lease)) + aligned((size_t)batch->n_tensors * sizeof(leat_tensor)) +
                   2 * aligned(n * sizeof(uint64_t)) + aligned(n * sizeof(char *));
    for (int i = 0; i < batch->n_tensors; i++) {
        bytes += aligned(tensor_bytes(&batch->tensor[i]));
        if (batch->tensor[i].offsets) bytes += aligned((n + 1) * sizeof(int64_t));
    }
    for (int i = 0; i < batch->n; i++) bytes += strlen(leat_batch_params(batch, i)) + 1;
    return bytes;
}

/* The next piece of a block that copy_bytes has measured. */
static void *cut(char **at, const void *from, size_t bytes) {
    void *piece = *at;
    if (bytes) memcpy(piece, from, bytes);
    *at += aligned(bytes);
    return piece;
}

/* All of a batch in one block. Pictures come first, so that they begin where slots begin: on a page. */
static lease *copy_batch(const leat_batch *from) {
    void *block = NULL;
    if (posix_memalign(&block, PAGE, copy_bytes(from))) return NULL;
    char *at = block;
    const size_t n = (size_t)from->n;
    leat_tensor tensor[64];
    const int n_tensors = from->n_tensors < 64 ? from->n_tensors : 64;
    for (int i = 0; i < n_tensors; i++) {
        tensor[i] = from->tensor[i];
        tensor[i].data = cut(&at, from->tensor[i].data, tensor_bytes(&from->tensor[i]));
    }
    for (int i = 0; i < n_tensors; i++)
        if (tensor[i].offsets) tensor[i].offsets = cut(&at, tensor[i].offsets, (n + 1) * sizeof(int64_t));
    lease *held = (lease *)at;
    at += aligned(sizeof *held);
    *held = (lease){.batch = *from, .copied = true};
    held->batch.lease = block;
    held->batch.n_tensors = n_tensors;
    held->batch.tensor = cut(&at, tensor, (size_t)n_tensors * sizeof *tensor);
    held->batch.sample = cut(&at, from->sample, n * sizeof *from->sample);
    held->batch.position = cut(&at, from->position, n * sizeof *from->position);
    held->params = (char **)at;
    at += aligned(n * sizeof *held->params);
    for (int i = 0; i < from->n; i++) {
        held->params[i] = at;
        at += strlen(strcpy(at, leat_batch_params(from, i))) + 1;
    }
    return held;
}

lease *lease_new(leat_batch *batch, bool copy) {
    lease *held = copy ? copy_batch(batch) : malloc(sizeof *held);
    if (held && !copy) *held = (lease){.batch = *batch};
    if (held) atomic_init(&held->refs, 1);
    if (!held || copy) leat_batch_release(batch);
    return held;
}

static lease *lease_keep(lease *held) {
    atomic_fetch_add(&held->refs, 1);
    return held;
}

/* Any thread, with or without the interpreter. */
void lease_drop(lease *held) {
    if (!held || atomic_fetch_sub(&held->refs, 1) != 1) return;
    if (held->copied) {
        free(held->batch.lease);
    } else {
        leat_batch_release(&held->batch);
        free(held);
    }
}

/* -------------------------------------------------------------------------------------------- Tensor */

typedef struct {
    PyObject_HEAD lease *held;
    leat_tensor t;
    Py_ssize_t shape[LEAT_NDIM_MAX], strides[LEAT_NDIM_MAX];
} Tensor;

static const char *buffer_format(int dtype) {
    switch (dtype) {
    case LEAT_DTYPE_U8:
    case LEAT_DTYPE_BYTES: return "B";
    case LEAT_DTYPE_I8: return "b";
    case LEAT_DTYPE_U16:
    case LEAT_DTYPE_BF16: return "H"; /* the protocol has no word for bfloat16 */
    case LEAT_DTYPE_I16: return "h";
    case LEAT_DTYPE_U32: return "I";
    case LEAT_DTYPE_I32: return "i";
    case LEAT_DTYPE_U64: return "Q";
    case LEAT_DTYPE_I64: return "q";
    case LEAT_DTYPE_F16: return "e";
    case LEAT_DTYPE_F32: return "f";
    case LEAT_DTYPE_F64: return "d";
    default: return "?";
    }
}

static PyObject *tensor_wrap(module_state *state, lease *held, const leat_tensor *t) {
    Tensor *self = (Tensor *)PyType_GenericAlloc(state->tensor_type, 0);
    if (!self) return NULL;
    self->held = lease_keep(held);
    self->t = *t;
    for (int i = 0; i < t->ndim; i++) {
        self->shape[i] = (Py_ssize_t)t->shape[i];
        self->strides[i] = (Py_ssize_t)t->stride[i];
    }
    return (PyObject *)self;
}

static void tensor_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    lease_drop(((Tensor *)self)->held);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static int tensor_getbuffer(PyObject *object, Py_buffer *view, int flags) {
    Tensor *self = (Tensor *)object;
    const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    const bool wants_c = !strided || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
    const bool wants_f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && self->t.ndim > 1;
    view->obj = NULL;
    if ((wants_c && !is_contiguous(&self->t)) || wants_f) {
        PyErr_SetString(PyExc_BufferError,
                        "the tensor does not lie in memory in the order that is asked for");
        return -1;
    }
    view->buf = self->t.data;
    view->len = (Py_ssize_t)tensor_bytes(&self->t);
    view->readonly = 0; /* the memory is the reader's until it lets go of it */
    view->itemsize = (Py_ssize_t)leat_dtype_size(self->t.dtype);
    view->format = flags & PyBUF_FORMAT ? (char *)buffer_format(self->t.dtype) : NULL;
    view->ndim = self->t.ndim;
    view->shape = flags & PyBUF_ND ? self->shape : NULL;
    view->strides = strided ? self->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    view->obj = Py_NewRef(object);
    return 0;
}

static DLDataType dlpack_type(int dtype) {
    const uint8_t bits = (uint8_t)(8 * leat_dtype_size(dtype));
    switch (dtype) {
    case LEAT_DTYPE_I8:
    case LEAT_DTYPE_I16:
    case LEAT_DTYPE_I32:
    case LEAT_DTYPE_I64: return (DLDataType){DL_INT, bits, 1};
    case LEAT_DTYPE_F16:
    case LEAT_DTYPE_F32:
    case LEAT_DTYPE_F64: return (DLDataType){DL_FLOAT, bits, 1};
    case LEAT_DTYPE_BF16: return (DLDataType){DL_BFLOAT, bits, 1};
    case LEAT_DTYPE_BOOL: return (DLDataType){DL_BOOL, bits, 1};
    default: return (DLDataType){DL_UINT, bits, 1};
    }
}

typedef struct exported { /* what a capsule points to: one allocation, freed by its deleter */
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
    lease *held;
    int64_t shape[LEAT_NDIM_MAX], strides[LEAT_NDIM_MAX];
} exported;

static void exported_free(exported *e) {
    lease_drop(e->held);
    free(e);
}
static void delete_plain(DLManagedTensor *self) {
    exported_free(self->manager_ctx);
}
static void delete_versioned(DLManagedTensorVersioned *self) {
    exported_free(self->manager_ctx);
}

/* A consumer renames the capsule that it has taken; what was never taken is freed here. */
static void destroy_capsule(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *t = PyCapsule_GetPointer(capsule, "dltensor");
        t->deleter(t);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *t = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        t->deleter(t);
    }
}

static PyObject *export_tensor(const leat_tensor *t, lease *held, bool versioned, bool copied) {
    exported *e = calloc(1, sizeof *e);
    if (!e) return PyErr_NoMemory();
    const int64_t item = (int64_t)leat_dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++) {
        e->shape[i] = t->shape[i];
        e->strides[i] = t->stride[i] / item;
    }
    const DLTensor described = {.data = t->data,
                                .device = {DL_CPU, 0},
                                .ndim = t->ndim,
                                .dtype = dlpack_type(t->dtype),
                                .shape = e->shape,
                                .strides = e->strides};
    e->held = lease_keep(held);
    e->plain = (DLManagedTensor){.dl_tensor = described, .manager_ctx = e, .deleter = delete_plain};
    e->versioned = (DLManagedTensorVersioned){.version = {1, 0},
                                              .manager_ctx = e,
                                              .deleter = delete_versioned,
                                              .flags = copied ? DL_FLAG_COPIED : 0,
                                              .dl_tensor = described};
    PyObject *capsule = versioned ? PyCapsule_New(&e->versioned, "dltensor_versioned", destroy_capsule)
                                  : PyCapsule_New(&e->plain, "dltensor", destroy_capsule);
    if (!capsule) exported_free(e);
    return capsule;
}

/* The tensor alone in memory of its own. */
static lease *copy_tensor(const Tensor *self) {
    leat_tensor alone = self->t;
    alone.offsets = NULL;
    leat_batch batch = {.n_tensors = 1, .tensor = &alone};
    PyThreadState *thread = PyEval_SaveThread();
    lease *held = lease_new(&batch, true);
    PyEval_RestoreThread(thread);
    if (!held) PyErr_NoMemory();
    return held;
}

static PyObject *tensor_dlpack(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    Tensor *self = (Tensor *)object;
    PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream, &max_version, &device,
                                     &copy))
        return NULL;
    int kind = DL_CPU, number = 0, major = 0, minor = 0;
    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &kind, &number)) return NULL;
    if (kind != DL_CPU) {
        PyErr_SetString(PyExc_BufferError, "the batches of leat lie in the memory of the CPU");
        return NULL;
    }
    if (max_version != Py_None && !PyArg_ParseTuple(max_version, "ii", &major, &minor)) return NULL;
    const int wants_copy = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (wants_copy < 0) return NULL;
    if (!wants_copy) return export_tensor(&self->t, self->held, major >= 1, false);
    lease *held = copy_tensor(self);
    if (!held) return NULL;
    PyObject *capsule = export_tensor(held->batch.tensor, held, major >= 1, true);
    lease_drop(held);
    return capsule;
}

static PyObject *tensor_dlpack_device(PyObject *self, PyObject *ignored) {
    (void)self, (void)ignored;
    return Py_BuildValue("ii", DL_CPU, 0);
}

static PyObject *tensor_name(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(((Tensor *)self)->t.name ? ((Tensor *)self)->t.name : "");
}
static PyObject *tensor_dtype(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(leat_dtype_name(((Tensor *)self)->t.dtype));
}

static PyObject *tuple_of(const Py_ssize_t *numbers, int n) {
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *number = PyLong_FromSsize_t(numbers[i]);
        if (!number || PyTuple_SetItem(tuple, i, number) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}
static PyObject *tensor_shape(PyObject *self, void *closure) {
    (void)closure;
    return tuple_of(((Tensor *)self)->shape, ((Tensor *)self)->t.ndim);
}
static PyObject *tensor_strides(PyObject *self, void *closure) {
    (void)closure;
    return tuple_of(((Tensor *)self)->strides, ((Tensor *)self)->t.ndim);
}
static PyObject *tensor_nbytes(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromSize_t(tensor_bytes(&((Tensor *)self)->t));
}
static PyObject *tensor_address(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromVoidPtr(((Tensor *)self)->t.data);
}

static Py_ssize_t tensor_length(PyObject *self) {
    return ((Tensor *)self)->t.ndim ? ((Tensor *)self)->shape[0] : 0;
}

/* tensor[i]: the same memory without its first axis. */
static PyObject *tensor_item(PyObject *object, Py_ssize_t i) {
    Tensor *self = (Tensor *)object;
    if (self->t.ndim < 1 || i < 0 || i >= self->shape[0]) {
        PyErr_SetString(PyExc_IndexError, "there is no such place in the tensor");
        return NULL;
    }
    leat_tensor part = self->t;
    part.data = (char *)part.data + i * self->strides[0];
    part.ndim--;
    memmove(part.shape, part.shape + 1, (size_t)part.ndim * sizeof part.shape[0]);
    memmove(part.stride, part.stride + 1, (size_t)part.ndim * sizeof part.stride[0]);
    return tensor_wrap(PyType_GetModuleState(Py_TYPE(object)), self->held, &part);
}

static PyMethodDef tensor_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The memory as a DLPack capsule, legacy or versioned as max_version says."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "(1, 0): the CPU"},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef tensor_getset[] = {
    {"name", tensor_name, NULL, "name of the field", NULL},
    {"dtype", tensor_dtype, NULL, "u8, f32, ...", NULL},
    {"shape", tensor_shape, NULL, "number of values along each axis", NULL},
    {"strides", tensor_strides, NULL, "in bytes", NULL},
    {"nbytes", tensor_nbytes, NULL, "bytes of all values", NULL},
    {"address", tensor_address, NULL, "where the first value lies", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, tensor_dealloc},      {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getset},        {Py_bf_getbuffer, tensor_getbuffer},
    {Py_sq_length, tensor_length},        {Py_sq_item, tensor_item},
    {Py_tp_doc, "One field of a batch."}, {0, NULL},
};
PyType_Spec tensor_spec = {.name = "leat._leat.Tensor",
                           .basicsize = sizeof(Tensor),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = tensor_slots};

/* --------------------------------------------------------------------------------------------- Batch */

typedef struct {
    PyObject_HEAD lease *held;
} Batch;

PyObject *batch_wrap(module_state *state, lease *held) {
    Batch *self = (Batch *)PyType_GenericAlloc(state->batch_type, 0);
    if (self) self->held = held;
    else lease_drop(held);
    return (PyObject *)self;
}

const leat_batch *batch_of(module_state *state, PyObject *object) {
    if (Py_TYPE(object) == state->batch_type) return &((Batch *)object)->held->batch;
    PyErr_SetString(PyExc_TypeError, "this is not a batch of the binding");
    return NULL;
}

PyObject *batch_arrays(module_state *state, lease *held, PyObject *make) {
    PyObject *tuple = PyTuple_New(held->batch.n_tensors);
    for (int i = 0; tuple && i < held->batch.n_tensors; i++) {
        PyObject *tensor = tensor_wrap(state, held, &held->batch.tensor[i]);
        PyObject *array = tensor ? PyObject_CallFunctionObjArgs(make, tensor, NULL) : NULL;
        Py_XDECREF(tensor);
        if (!array || PyTuple_SetItem(tuple, i, array) < 0) Py_CLEAR(tuple);
    }
    lease_drop(held);
    return tuple;
}

static void batch_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    lease_drop(((Batch *)self)->held);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* tensors() -> [(Tensor, offsets or None)], in the order of the fields. */
static PyObject *batch_tensors(PyObject *object, PyObject *ignored) {
    (void)ignored;
    lease *held = ((Batch *)object)->held;
    module_state *state = PyType_GetModuleState(Py_TYPE(object));
    PyObject *list = PyList_New(held->batch.n_tensors);
    for (int i = 0; list && i < held->batch.n_tensors; i++) {
        const leat_tensor *t = &held->batch.tensor[i];
        PyObject *tensor = tensor_wrap(state, held, t), *offsets = Py_None;
        if (tensor && t->offsets) {
            const leat_tensor described = {.name = t->name,
                                           .data = (void *)t->offsets,
                                           .dtype = LEAT_DTYPE_I64,
                                           .ndim = 1,
                                           .shape = {held->batch.n + 1},
                                           .stride = {sizeof(int64_t)}};
            offsets = tensor_wrap(state, held, &described);
        } else {
            Py_INCREF(offsets);
        }
        PyObject *pair = tensor && offsets ? PyTuple_Pack(2, tensor, offsets) : NULL;
        Py_XDECREF(tensor);
        Py_XDECREF(offsets);
        if (!pair || PyList_SetItem(list, i, pair) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *numbers(const uint64_t *values, int n) {
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *number =
            values[i] == LEAT_NO_SAMPLE ? PyLong_FromLong(-1) : PyLong_FromUnsignedLongLong(values[i]);
        if (!number || PyList_SetItem(list, i, number) < 0) Py_CLEAR(list);
    }
    return list;
}
static PyObject *batch_samples(PyObject *self, PyObject *ignored) {
    (void)ignored;
    return numbers(((Batch *)self)->held->batch.sample, ((Batch *)self)->held->batch.n);
}
static PyObject *batch_positions(PyObject *self, PyObject *ignored) {
    (void)ignored;
    return numbers(((Batch *)self)->held->batch.position, ((Batch *)self)->held->batch.n);
}

static PyObject *batch_params(PyObject *self, PyObject *ignored) {
    (void)ignored;
    const lease *held = ((Batch *)self)->held;
    PyObject *list = PyList_New(held->batch.n);
    for (int i = 0; list && i < held->batch.n; i++) {
        PyObject *text =
            PyUnicode_FromString(held->copied ? held->params[i] : leat_batch_params(&held->batch, i));
        if (!text || PyList_SetItem(list, i, text) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *batch_number(PyObject *self, void *closure) {
    const leat_batch *batch = &((Batch *)self)->held->batch;
    switch (*(const char *)closure) {
    case 'n': return PyLong_FromLong(batch->n);
    case 'v': return PyLong_FromLong(batch->n_valid);
    case 'e': return PyLong_FromUnsignedLongLong(batch->epoch);
    case 's': return PyLong_FromUnsignedLongLong(batch->step);
    default: return PyBool_FromLong(((Batch *)self)->held->copied);
    }
}

static PyMethodDef batch_methods[] = {
    {"tensors", batch_tensors, METH_NOARGS, "[(Tensor, offsets or None)] in the order of the fields"},
    {"samples", batch_samples, METH_NOARGS, "numbers of the samples in the dataset"},
    {"positions", batch_positions, METH_NOARGS, "their positions in the epoch"},
    {"params", batch_params, METH_NOARGS, "what was drawn for each sample"},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef batch_getset[] = {
    {"n", batch_number, NULL, "samples", "n"},
    {"n_valid", batch_number, NULL, "the first so many are real", "v"},
    {"epoch", batch_number, NULL, "from 0", "e"},
    {"step", batch_number, NULL, "which batch of its epoch, from 0", "s"},
    {"copied", batch_number, NULL, "whether it is a copy, because too many batches were kept", "c"},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot batch_slots[] = {
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_methods, batch_methods},
    {Py_tp_getset, batch_getset},
    {Py_tp_doc, "What leat hands over: the memory stays as long as it is referenced."},
    {0, NULL},
};
PyType_Spec batch_spec = {.name = "leat._leat.Batch",
                          .basicsize = sizeof(Batch),
                          .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          .slots = batch_slots};

/* ---------------------------------------------------------------------------------------------- sums */

enum { CHANNELS_MAX = 64 };

static double value_at(const leat_tensor *t, size_t i) {
    switch (t->dtype) {
    case LEAT_DTYPE_U8: return ((const uint8_t *)t->data)[i];
    case LEAT_DTYPE_U16: return ((const uint16_t *)t->data)[i];
    case LEAT_DTYPE_F32: return (double)((const float *)t->data)[i];
    default: return ((const double *)t->data)[i];
    }
}

/* channel_sums(tensor, axis) -> (count, [(sum, sum of squares)]); axis -1 = all values are one channel. */
PyObject *tensor_sums(PyObject *module, PyObject *args) {
    module_state *state = PyModule_GetState(module);
    Tensor *self;
    int axis;
    if (!PyArg_ParseTuple(args, "O!i", state->tensor_type, &self, &axis)) return NULL;
    const leat_tensor *t = &self->t;
    const bool known = t->dtype == LEAT_DTYPE_U8 || t->dtype == LEAT_DTYPE_U16 ||
                       t->dtype == LEAT_DTYPE_F32 || t->dtype == LEAT_DTYPE_F64;
    const size_t channels = axis >= 0 && axis < t->ndim ? (size_t)t->shape[axis] : 1;
    if (!known || channels > CHANNELS_MAX || axis >= t->ndim || !is_contiguous(t)) {
        PyErr_Format(PyExc_TypeError,
                     "statistics are made of u8, u16, f32 and f64 of at most %d channels, not %s",
                     CHANNELS_MAX, leat_dtype_name(t->dtype));
        return NULL;
    }
    size_t inner = 1, n = tensor_bytes(t) / leat_dtype_size(t->dtype);
    for (int i = axis + 1; i < t->ndim && axis >= 0; i++) inner *= (size_t)t->shape[i];
    if (axis < 0) inner = n ? n : 1;
    double sum[CHANNELS_MAX] = {0}, square[CHANNELS_MAX] = {0};
    PyThreadState *thread = PyEval_SaveThread();
    for (size_t i = 0; i < n;) {
        const size_t c = i / inner % channels;
        for (const size_t end = i + inner; i < end; i++) {
            const double x = value_at(t, i);
            sum[c] += x;
            square[c] += x * x;
        }
    }
    PyEval_RestoreThread(thread);
    PyObject *list = PyList_New((Py_ssize_t)channels);
    for (size_t c = 0; list && c < channels; c++) {
        PyObject *pair = Py_BuildValue("dd", sum[c], square[c]);
        if (!pair || PyList_SetItem(list, (Py_ssize_t)c, pair) < 0) Py_CLEAR(list);
    }
    return list ? Py_BuildValue("nN", (Py_ssize_t)(channels ? n / channels : 0), list) : NULL;
}
