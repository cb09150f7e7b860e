/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the binding share. Only the limited API of Python 3.11 is used, so that one library serves all
 * later versions.
 *
 *     module.c     the module, its types, errors as exceptions
 *     spec.c       what a pipeline is made of: text, arrays, functions of Python
 *     pipeline.c   Pipeline: opening, waiting for batches without holding the interpreter, closing
 *     questions.c  what a Pipeline answers about itself
 *     slots.c      memory for batches that Python gives
 *     stats.c      the counters of a pipeline as a dict
 *     batch.c      Batch and Tensor: memory handed over by the buffer protocol and DLPack
 *     writer.c     Writer: TFRecord files; tf.train.Examples as bytes
 *     doctor.c     what leat_doctor found, as a dict
 *     pack.c       leat_pack and its like: reports as dicts
 *
 * A lease is what keeps the memory of a batch. It is counted by an atomic number and not by Python, because consumers let
 * go of memory in threads that Python does not know, and after the interpreter has ended. */
#ifndef LEAT_PYTHON_BINDING_H
#define LEAT_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_GIL_DISABLED
#error \
    "leat is built for the limited API, which free-threaded builds of Python do not have: use a build with the GIL"
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <leat/leat.h>
#include <leat/leat_tools.h>

typedef struct module_state {
    PyTypeObject *pipeline_type;
    PyTypeObject *batch_type;
    PyTypeObject *tensor_type;
    PyTypeObject *writer_type;
} module_state;

/* Sets the exception for an error of leat; text, which may be NULL, is the pipeline text it is about. Returns NULL. */
PyObject *raise_error(const leat_error *err, PyObject *text);
/* Calls a function of Python, which may be None, with what a tool or an opening reports; not 0 = stop, an exception or a signal
 * has come. In any thread. */
int call_progress(PyObject *progress, const char *what, uint64_t done, uint64_t total);

/* -------------------------------------------------------------------------------------------- batch.c */

typedef struct lease {
    atomic_int refs;
    leat_batch batch; /* of a slot, or a description of the copy behind this struct */
    bool copied;
    char **params; /* (n) of a copy, NULL = none were asked for */
} lease;

/* A lease on a batch that was just handed over; it takes the batch. If copy, the memory is copied and the slot given back
 * at once. NULL without memory: the batch is released then. Needs no interpreter. */
lease *lease_new(leat_batch *batch, bool copy);
void lease_drop(lease *held);

/* A Batch; takes the lease, also when it fails. */
PyObject *batch_wrap(module_state *state, lease *held);
/* A tuple of make(tensor) for each field; takes the lease, also when it fails. */
PyObject *batch_arrays(module_state *state, lease *held, PyObject *make);

/* The batch of a Batch, as long as that lives; NULL and an exception for another object. */
const leat_batch *batch_of(module_state *state, PyObject *object);

extern PyType_Spec batch_spec, tensor_spec;

/* --------------------------------------------------------------------------------------------- pack.c */

PyObject *module_pack(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *module_pack_join(PyObject *module, PyObject *args);
PyObject *module_pack_verify(PyObject *module, PyObject *args);

/* Adds up channels: for the fitting of normalisation. */
PyObject *tensor_sums(PyObject *module, PyObject *args);

/* ----------------------------------------------------------------------------------------- pipeline.c */

enum { ARRAYS_MAX = 32, MESSAGES_MAX = 8, MESSAGE_BYTES = 1000 };

typedef struct kept_view {
    struct kept_view *next;
    Py_buffer buffer;
} kept_view;

typedef struct {
    PyObject_HEAD leat_spec *spec;
    leat_pipeline *pipeline; /* NULL = closed */
    leat_config config;
    pthread_mutex_t mutex; /* guards busy */
    pthread_cond_t idle;
    bool busy; /* a thread is inside of the pipeline */
    pthread_mutex_t log_mutex;
    pid_t owner;
    pthread_t opener; /* the thread that is opening */
    bool opening;
    atomic_bool closing; /* it is told to stop */
    bool left;           /* a thread closes it, or has */
    bool done;           /* it has                     */
    PyObject *text, *cache_dir;
    PyObject *progress;    /* callable or NULL: progress(what, done, total)  */
    PyObject *slot_memory; /* callable or NULL: memory for a batch, with the buffer protocol */
    PyObject *sources;     /* list: functions that read samples, of the text and its parts */
    PyObject *callbacks;   /* list: capsules of what the engine calls                      */
    PyObject *cause;       /* the first exception of a callback                            */
    kept_view *views;      /* memory of arrays */
    const char *first;     /* "arrays | ", "source | " or "": what the engine has read before the text */
    unsigned long long copies;
    int n_messages;
    char message[MESSAGES_MAX][MESSAGE_BYTES];
} Pipeline;

extern PyType_Spec pipeline_spec;

/* Whether it can be asked; an exception if not. It may be asked while another thread waits in next, but not while one closes.
 * The interpreter's lock is held from this question to the call of the engine: making an object may run a finaliser, which
 * may let another thread close. */
bool pipeline_is_open(const Pipeline *self);

/* ---------------------------------------------------------------------------------------- questions.c */

PyObject *pipeline_stats(PyObject *object, PyObject *ignored);
PyObject *pipeline_bad(PyObject *object, PyObject *ignored);
PyObject *pipeline_plan(PyObject *object, PyObject *ignored);
PyObject *pipeline_name(PyObject *object, PyObject *number);
PyObject *pipeline_classes(PyObject *object, PyObject *ignored);
PyObject *pipeline_fields(PyObject *object, PyObject *ignored);
PyObject *pipeline_size(PyObject *object, PyObject *ignored);
PyObject *pipeline_batches(PyObject *object, PyObject *epoch);
PyObject *pipeline_messages(PyObject *object, PyObject *ignored);

/* -------------------------------------------------------------------------------------------- slots.c */

/* leat_config.slot_alloc and slot_free: memory that self->slot_memory(bytes) gives. */
void *slot_alloc(void *user, size_t bytes, size_t alignment);
void slot_free(void *user, void *memory, size_t bytes);

/* --------------------------------------------------------------------------------------------- spec.c */

/* Makes self->spec of what (text, arrays, source, callbacks, parts) describe; -1 and an exception if an argument is wrong.
 * parts: [(name, text, arrays, source, callbacks, parts)]. Mistakes in the text are told when it is opened. */
typedef struct spec_given {
    PyObject *text, *arrays, *source, *callbacks, *parts;
} spec_given;
/* The callbacks that this thread is in, the innermost first. */
typedef struct call {
    const Pipeline *self;
    const struct call *outer;
    PyGILState_STATE gil;
} call;
/* A callback that takes the interpreter's lock, and its end. */
void call_begin(call *c, const Pipeline *self);
void call_end(const call *c);
/* Whether this thread is in a function that the pipeline has called. */
bool pipeline_is_calling(const Pipeline *self);
int pipeline_visit_functions(Pipeline *self, visitproc visit, void *arg);
int pipeline_spec_build(Pipeline *self, const spec_given *given);
/* The exception of a callback becomes the error of the engine, and the cause of the exception that this will raise. */
int take_exception(Pipeline *self, leat_error *err);
/* The axes of a tensor as a tuple. */
PyObject *shape_of(const leat_tensor *t);

/* -------------------------------------------------------------------------------------------- stats.c */

PyObject *latency_dict(const leat_latency *latency);
/* All counters; copies: batches that the binding has copied. */
PyObject *stats_dict(const leat_pipeline *pipeline, unsigned long long copies);

/* ------------------------------------------------------------------------------------------- writer.c */

extern PyType_Spec writer_spec;
/* example([(name, "i64", "f32" or "bytes", values, offsets or None)]) -> bytes */
PyObject *module_example(PyObject *module, PyObject *features);

/* ------------------------------------------------------------------------------------------- doctor.c */

/* As `leat doctor --json` prints it; NULL and an exception without memory. */
PyObject *doctor_dict(const leat_doctor_report *report);

#endif
