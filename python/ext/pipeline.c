/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline: a spec and the pipeline on it. Everything that can take long runs without the interpreter's lock; while next
 * waits, the interpreter is asked twenty times a second whether Ctrl-C was pressed.
 *
 * Threads. leat_pipeline_next is for one thread at a time: `busy` sees to that, and is never waited for with the
 * interpreter's lock. After fork the child may touch neither its mutex nor the pipeline. */
#include "binding.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TRACE_EVENTS = 32768 }; /* as `leat run --trace` */

/* ------------------------------------------------------------------------------------------- opening */

static int on_waiting(void *user) {
    call now; /* a handler may close the pipeline, whose next() is this thread's own */
    call_begin(&now, user);
    const int stop = PyErr_CheckSignals();
    call_end(&now);
    return stop;
}

static int on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    Pipeline *self = user;
    /* Other threads of the engine may report too; only the one that opens can raise. */
    if (!self->opening || !pthread_equal(pthread_self(), self->opener)) return 0;
    return call_progress(self->progress ? self->progress : Py_None, what, done, total);
}

/* Warnings are kept for Python to issue, since this may be any thread. */
static void on_log(void *user, int level, const char *message) {
    Pipeline *self = user;
    if (level != LEAT_LOG_WARNING || !self->opening) return;
    pthread_mutex_lock(&self->log_mutex);
    if (self->n_messages < MESSAGES_MAX)
        snprintf(self->message[self->n_messages++], MESSAGE_BYTES, "%s", message);
    pthread_mutex_unlock(&self->log_mutex);
}

static PyObject *fail(Pipeline *self, const leat_error *err) {
    if (PyErr_Occurred()) return NULL; /* Ctrl-C, or what progress raised */
    PyObject *shown = PyUnicode_FromFormat("%s%U", self->first, self->text);
    if (!shown) return NULL;
    raise_error(err, shown);
    Py_DECREF(shown);
    if (self->cause &&
        !PyObject_IsInstance(self->cause, PyExc_Exception)) { /* Ctrl-C in a callback is no error */
        PyErr_SetObject((PyObject *)Py_TYPE(self->cause), self->cause);
        Py_CLEAR(self->cause);
    } else if (self->cause) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        PyException_SetCause(value, self->cause);
        self->cause = NULL;
        PyErr_Restore(type, value, traceback);
    }
    return NULL;
}

static int open_feed(Pipeline *self) {
    leat_error err;
    self->opening = true;
    self->opener = pthread_self();
    PyThreadState *thread = PyEval_SaveThread();
    const int rc = leat_pipeline_open(&self->pipeline, self->spec, &self->config, &err);
    PyEval_RestoreThread(thread);
    self->opening = false;
    if (rc < 0) fail(self, &err);
    return rc;
}

static PyObject *pipeline_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"text",        "arrays",     "source",           "callbacks",     "parts",
                            "threads",     "slots",      "synchronous",      "on_error",      "max_bad",
                            "seed",        "memory",     "cache_dir",        "no_side_files", "trust_cache",
                            "rank",        "world_size", "local_world_size", "params",        "trace",
                            "top",         "progress",   "slot_memory",      "resize_batch",  "step_first",
                            "step_stride", NULL};
    spec_given given = {NULL, Py_None, Py_None, Py_None, Py_None};
    PyObject *cache_dir = NULL, *progress = Py_None, *slot_memory = Py_None;
    leat_config config = {.n_epochs = -1};
    int top = 1;
    long long max_bad = 0;
    unsigned long long seed = 0, step_first = 0, step_stride = 0;
    int trace = 0;
    Py_ssize_t memory = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "U|$OOOOiipiLKnO&ppiiipppOOpKK:Pipeline", names, &given.text, &given.arrays,
            &given.source, &given.callbacks, &given.parts, &config.n_threads, &config.n_slots,
            &config.synchronous, &config.on_error, &max_bad, &seed, &memory, PyUnicode_FSConverter,
            &cache_dir, &config.no_side_files, &config.trust_cache, &config.rank, &config.world_size,
            &config.local_world_size, &config.params, &trace, &top, &progress, &slot_memory,
            &config.resize_batch, &step_first, &step_stride))
        return NULL;
    Pipeline *self = (Pipeline *)PyType_GenericAlloc(type, 0);
    if (!self) {
        Py_XDECREF(cache_dir);
        return NULL;
    }
    pthread_mutex_init(&self->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&self->idle, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&self->log_mutex, NULL);
    self->owner = getpid();
    self->text = Py_NewRef(given.text);
    self->cache_dir = cache_dir;
    if (progress != Py_None) self->progress = Py_NewRef(progress);
    if (slot_memory != Py_None) {
        self->slot_memory = Py_NewRef(slot_memory);
        config.slot_alloc = slot_alloc;
        config.slot_free = slot_free;
    }
    config.top = top ? 0 : -1;
    config.max_bad = max_bad;
    config.trace_events = trace ? TRACE_EVENTS : 0;
    config.seed = seed;
    config.step_first = step_first;
    config.step_stride = step_stride;
    config.memory_max_bytes = (size_t)memory;
    if (cache_dir) config.cache_dir = PyBytes_AsString(cache_dir);
    config.log = on_log;
    config.progress = on_progress;
    config.waiting = on_waiting;
    config.user = self;
    self->config = config;
    if (pipeline_spec_build(self, &given) == 0 && open_feed(self) == 0) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

/* Makes the pipeline busy for this thread; false if another one has it for 50 ms more. Those are measured by the clock that does
 * not jump: the wall clock may be set back while the thread waits. */
static bool hold(Pipeline *self) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 50000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&self->mutex);
    for (int rc = 0; self->busy && rc == 0;) rc = pthread_cond_timedwait(&self->idle, &self->mutex, &until);
    const bool held = !self->busy;
    self->busy = true;
    pthread_mutex_unlock(&self->mutex);
    return held;
}

static void let_go(Pipeline *self) {
    pthread_mutex_lock(&self->mutex);
    self->busy = false;
    pthread_cond_signal(&self->idle);
    pthread_mutex_unlock(&self->mutex);
}

/* ------------------------------------------------------------------------------------------- closing */

/* Finite: what waits in next is told to come back. With the interpreter's lock, which is released meanwhile. False: the pipeline is only told
 * to stop. This thread is in a callback of it, where the collector of garbage may run too, and cannot wait for its own end; or
 * another thread is closing it. */
static bool close_feed(Pipeline *self) {
    if (self->left) return self->done || self->owner != getpid();
    self->closing = true;
    if (self->pipeline && self->owner == getpid()) {
        leat_pipeline_cancel(self->pipeline);
        if (pipeline_is_calling(self)) return false;
        self->left = true; /* other threads leave it alone from here on */
        PyThreadState *thread = PyEval_SaveThread();
        while (!hold(self)) continue;
        leat_pipeline_close(&self->pipeline);
        let_go(self);
        PyEval_RestoreThread(thread);
    }
    self->left = self->done = true;
    for (kept_view *next, *v = self->views; v; v = next) {
        next = v->next;
        PyBuffer_Release(&v->buffer);
        PyMem_Free(v);
    }
    self->views = NULL;
    return true;
}

static int pipeline_traverse(PyObject *object, visitproc visit, void *arg) {
    Pipeline *self = (Pipeline *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->progress);
    Py_VISIT(self->slot_memory);
    Py_VISIT(self->sources);
    Py_VISIT(self->callbacks);
    Py_VISIT(self->cause);
    return pipeline_visit_functions(self, visit, arg);
}

/* Workers may call what is cleared here: they are stopped by now. */
static int pipeline_clear(PyObject *object) {
    Pipeline *self = (Pipeline *)object;
    if (!close_feed(self)) return 0;
    Py_CLEAR(self->progress);
    Py_CLEAR(self->slot_memory);
    Py_CLEAR(self->sources);
    Py_CLEAR(self->callbacks);
    Py_CLEAR(self->cause);
    return 0;
}

static void free_object(Pipeline *self) {
    PyObject *object = (PyObject *)self;
    PyTypeObject *type = Py_TYPE(object);
    pipeline_clear(object);
    if (self->owner == getpid()) leat_spec_free(&self->spec);
    Py_CLEAR(self->text);
    Py_CLEAR(self->cache_dir);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static void *free_elsewhere(void *object) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    free_object(object);
    PyGILState_Release(gil);
    return NULL;
}

/* In a callback of its own the object is freed by another thread, which can wait for the callback to end. */
static void pipeline_dealloc(PyObject *object) {
    pthread_t thread;
    PyObject_GC_UnTrack(object);
    if (close_feed((Pipeline *)object)) free_object((Pipeline *)object);
    else if (pthread_create(&thread, NULL, free_elsewhere, object) == 0) pthread_detach(thread);
}

static void *close_elsewhere(void *object) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    close_feed(object);
    Py_DECREF((PyObject *)object);
    PyGILState_Release(gil);
    return NULL;
}

/* The collector calls this before it clears anything: workers may be in functions that are garbage too. In such a function itself the object
 * is kept until another thread has closed it. */
static void pipeline_finalize(PyObject *object) {
    PyObject *type, *value, *traceback;
    pthread_t thread;
    PyErr_Fetch(&type, &value, &traceback);
    if (!close_feed((Pipeline *)object)) {
        Py_INCREF(object);
        if (pthread_create(&thread, NULL, close_elsewhere, object) == 0) pthread_detach(thread);
    }
    PyErr_Restore(type, value, traceback);
}

static PyObject *pipeline_close(PyObject *self, PyObject *ignored) {
    (void)ignored;
    if (close_feed((Pipeline *)self)) Py_CLEAR(((Pipeline *)self)->sources); /* which may hold processes */
    Py_RETURN_NONE;
}

/* ------------------------------------------------------------------------------------------- running */

static PyObject *fail_closed(void) {
    PyErr_SetString(PyExc_ValueError, "the pipeline is closed");
    return NULL;
}

/* The pipeline for this thread alone: true, and the interpreter's lock is released then; or an exception. */
static bool enter(Pipeline *self, PyThreadState **thread) {
    if (self->owner != getpid()) {
        leat_error err = {.code = LEAT_ERR_FORKED};
        snprintf(
            err.message, sizeof err.message,
            "this iterator was started before fork(): iterate in the process that uses the batches, or start "
            "processes with multiprocessing.get_context('spawn')");
        raise_error(&err, NULL);
        return false;
    }
    if (pipeline_is_calling(self)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a pipeline cannot be used in a function that it calls itself, nor in a handler of a "
                        "signal that comes while it waits; close() is possible");
        return false;
    }
    *thread = PyEval_SaveThread();
    while (!hold(self)) {
        PyEval_RestoreThread(*thread); /* another thread waits there for a batch */
        if (PyErr_CheckSignals() < 0) return false;
        *thread = PyEval_SaveThread();
    }
    if (self->pipeline && !self->closing) return true;
    let_go(self);
    PyEval_RestoreThread(*thread);
    fail_closed();
    return false;
}

static void leave(Pipeline *self, PyThreadState *thread) {
    let_go(self);
    PyEval_RestoreThread(thread);
}

/* Waits for the next batch: 1 and its lease, 0 when all epochs are over, -1 and an exception. A program that keeps nearly all
 * batches that memory allows gets copies, so that the engine always has slots to fill. */
static int take(Pipeline *self, lease **held) {
    enum { LEFT_MIN = 2 };
    PyThreadState *thread;
    leat_batch batch;
    leat_error err;
    if (!enter(self, &thread)) return -1;
    const int rc = leat_pipeline_next(self->pipeline, &batch, &err);
    const bool copy = rc == 0 && batch.n_left < LEFT_MIN;
    *held = rc == 0 ? lease_new(&batch, copy) : NULL;
    self->copies += copy && *held;
    leave(self, thread);
    if (rc == LEAT_END) return 0;
    if (rc < 0) {
        if (self->closing && !PyErr_Occurred()) fail_closed();
        else fail(self, &err);
        return -1;
    }
    if (!*held) PyErr_NoMemory();
    return *held ? 1 : -1;
}

/* next() -> Batch, or None when all epochs are over. */
static PyObject *pipeline_next(PyObject *object, PyObject *ignored) {
    (void)ignored;
    lease *held;
    const int rc = take((Pipeline *)object, &held);
    if (rc == 0) Py_RETURN_NONE;
    return rc < 0 ? NULL : batch_wrap(PyType_GetModuleState(Py_TYPE(object)), held);
}

/* next_arrays(make, epoch, step): the same, but of the batches of that epoch before that step only make(tensor) of each
 * field, as a tuple: in a loop over small batches every object counts. */
static PyObject *pipeline_next_arrays(PyObject *object, PyObject *const *args, Py_ssize_t n) {
    if (n != 3) {
        PyErr_SetString(PyExc_TypeError, "next_arrays(make, epoch, step)");
        return NULL;
    }
    const unsigned long long epoch = PyLong_AsUnsignedLongLong(args[1]);
    const unsigned long long step = PyLong_AsUnsignedLongLong(args[2]);
    if (PyErr_Occurred()) return NULL;
    lease *held;
    const int rc = take((Pipeline *)object, &held);
    if (rc == 0) Py_RETURN_NONE;
    if (rc < 0) return NULL;
    module_state *state = PyType_GetModuleState(Py_TYPE(object));
    const bool plain = held->batch.epoch == epoch && held->batch.step < step;
    return plain ? batch_arrays(state, held, args[0]) : batch_wrap(state, held);
}

/* sample(epoch, position) -> Batch of one, in memory of its own. */
static PyObject *pipeline_sample(PyObject *object, PyObject *args) {
    Pipeline *self = (Pipeline *)object;
    unsigned long long epoch, position;
    PyThreadState *thread;
    leat_batch batch;
    leat_error err;
    if (!PyArg_ParseTuple(args, "KK", &epoch, &position) || !enter(self, &thread)) return NULL;
    const int rc = leat_pipeline_sample(self->pipeline, epoch, position, &batch, &err);
    lease *held = rc == 0 ? lease_new(&batch, true) : NULL;
    leave(self, thread);
    if (rc < 0) return fail(self, &err);
    if (!held) return PyErr_NoMemory();
    return batch_wrap(PyType_GetModuleState(Py_TYPE(object)), held);
}

bool pipeline_is_open(const Pipeline *self) {
    if (self->pipeline && !self->closing) return true;
    fail_closed();
    return false;
}

/* state(): behind the last batch; state(epoch, step): behind so many batches of that epoch. */
static PyObject *pipeline_state(PyObject *object, PyObject *const *args, Py_ssize_t n) {
    Pipeline *self = (Pipeline *)object;
    PyThreadState *thread;
    leat_error err;
    char text[1024];
    unsigned long long at[2] = {0};
    if (n != 0 && n != 2) {
        PyErr_SetString(PyExc_TypeError, "state() or state(epoch, step)");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        at[i] = PyLong_AsUnsignedLongLong(args[i]);
        if (PyErr_Occurred()) return NULL;
    }
    int rc;
    if (n) { /* a question, for any thread */
        if (!pipeline_is_open(self)) return NULL;
        rc = leat_pipeline_state_at(self->pipeline, at[0], at[1], text, sizeof text, &err);
    } else {
        if (!enter(self, &thread)) return NULL;
        rc = leat_pipeline_state(self->pipeline, text, sizeof text, &err);
        leave(self, thread);
    }
    return rc < 0 ? fail(self, &err)
                  : PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

static PyObject *pipeline_restore(PyObject *object, PyObject *given) {
    Pipeline *self = (Pipeline *)object;
    PyThreadState *thread;
    leat_error err;
    PyObject *bytes = PyUnicode_AsEncodedString(given, "utf-8", "surrogateescape");
    if (!bytes || !enter(self, &thread)) {
        Py_XDECREF(bytes);
        return NULL;
    }
    const int rc = leat_pipeline_restore(self->pipeline, PyBytes_AsString(bytes), &err);
    leave(self, thread);
    Py_DECREF(bytes);
    if (rc < 0) return fail(self, &err);
    Py_RETURN_NONE;
}

/* --------------------------------------------------------------------------------------------- tools */

/* view(path, samples, versions, size, strip) -> (rows, width, height): a contact sheet. */
static PyObject *pipeline_view(PyObject *object, PyObject *args) {
    Pipeline *self = (Pipeline *)object;
    PyObject *path;
    leat_view_config view = {0};
    leat_view_report report = {0};
    leat_error err;
    PyThreadState *thread;
    if (!PyArg_ParseTuple(args, "O&iiip", PyUnicode_FSConverter, &path, &view.n_samples, &view.n_versions,
                          &view.size, &view.strip))
        return NULL;
    if (!enter(self, &thread)) {
        Py_DECREF(path);
        return NULL;
    }
    const int rc = leat_view(self->spec, PyBytes_AsString(path), &view, &self->config, &report, &err);
    leave(self, thread);
    Py_DECREF(path);
    return rc < 0 ? fail(self, &err) : Py_BuildValue("iii", report.n_samples, report.width, report.height);
}

/* doctor(seconds, step_ms, at_once, folder or None, threads) -> dict: why the pipeline is as fast as it is. */
static PyObject *pipeline_doctor(PyObject *object, PyObject *args) {
    Pipeline *self = (Pipeline *)object;
    leat_doctor_config doctor = {0};
    leat_doctor_report report;
    leat_error err;
    PyThreadState *thread;
    int threads;
    if (!PyArg_ParseTuple(args, "ddizi", &doctor.seconds, &doctor.step_ms, &doctor.at_once, &doctor.folder,
                          &threads))
        return NULL;
    if (!enter(self, &thread)) return NULL;
    leat_config config = self->config;
    config.n_threads = threads; /* a pipeline that was opened for questions only has none of its own */
    config.synchronous = 0;
    config.slot_alloc = NULL; /* the batches of trials are leat's own */
    config.slot_free = NULL;
    config.log = NULL;
    const int rc = leat_doctor(&report, self->spec, &config, &doctor, &err);
    leave(self, thread);
    if (rc < 0) return fail(self, &err);
    PyObject *found = doctor_dict(&report);
    leat_doctor_free(&report);
    return found;
}

/* trace(path) -> how many events were written. */
static PyObject *pipeline_trace(PyObject *object, PyObject *args) {
    Pipeline *self = (Pipeline *)object;
    PyObject *path;
    leat_error err = {0};
    PyThreadState *thread;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
    if (!enter(self, &thread)) {
        Py_DECREF(path);
        return NULL;
    }
    const uint64_t cap = leat_trace_events(self->pipeline, NULL, 0) + TRACE_EVENTS;
    leat_event *events = malloc((size_t)cap * sizeof *events);
    const uint64_t there = events ? leat_trace_events(self->pipeline, events, cap) : 0;
    const uint64_t n = there < cap ? there : cap; /* workers may have added some */
    const int rc = events ? leat_trace_write(events, n, PyBytes_AsString(path), &err) : LEAT_ERR_MEMORY;
    free(events);
    leave(self, thread);
    Py_DECREF(path);
    if (!err.code && rc < 0) return PyErr_NoMemory();
    return rc < 0 ? fail(self, &err) : PyLong_FromUnsignedLongLong(n);
}

static PyObject *pipeline_is_closed(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(((Pipeline *)self)->closing || ((Pipeline *)self)->owner != getpid());
}

static PyMethodDef pipeline_methods[] = {
    {"next", pipeline_next, METH_NOARGS, "The next batch in order, or None when all epochs are over."},
    {"next_arrays", (PyCFunction)(void (*)(void))pipeline_next_arrays, METH_FASTCALL,
     "next_arrays(make, epoch, step): next(), as a tuple of make(tensor) before that "
     "step of that epoch."},
    {"sample", pipeline_sample, METH_VARARGS, "sample(epoch, position): one sample as a batch of one."},
    {"state", (PyCFunction)(void (*)(void))pipeline_state, METH_FASTCALL,
     "state(): the position after the last batch, as text; state(epoch, step): after "
     "so many of that epoch."},
    {"restore", pipeline_restore, METH_O, "Goes on where that text was taken."},
    {"stats", pipeline_stats, METH_NOARGS, "What has happened so far, as a dict."},
    {"bad", pipeline_bad, METH_NOARGS, "[(sample, epoch, stage, code, message)] of bad samples."},
    {"plan", pipeline_plan, METH_NOARGS, "What will run, as lines of text."},
    {"name", pipeline_name, METH_O, "Where a sample comes from."},
    {"classes", pipeline_classes, METH_NOARGS, "Names of the classes."},
    {"fields", pipeline_fields, METH_NOARGS,
     "[(name, dtype, shape of one sample, ragged, layout, whether it is a mask)]"},
    {"size", pipeline_size, METH_NOARGS, "(batches, samples, turns) of an epoch"},
    {"batches", pipeline_batches, METH_O, "batches(epoch): how many that epoch has, -1 if not known."},
    {"messages", pipeline_messages, METH_NOARGS, "Warnings since the last call."},
    {"view", pipeline_view, METH_VARARGS, "view(path, samples, versions, size): writes a contact sheet."},
    {"doctor", pipeline_doctor, METH_VARARGS,
     "doctor(seconds, step_ms, at_once, folder, threads): why it is slow, as `leat doctor --json` tells."},
    {"trace", pipeline_trace, METH_VARARGS, "trace(path): writes what every thread did, as JSON."},
    {"close", pipeline_close, METH_NOARGS, "Stops the workers. Batches stay valid."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef pipeline_getset[] = {
    {"closed", pipeline_is_closed, NULL, "whether it can still be used in this process", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot pipeline_slots[] = {
    {Py_tp_new, pipeline_new},       {Py_tp_dealloc, pipeline_dealloc},   {Py_tp_traverse, pipeline_traverse},
    {Py_tp_clear, pipeline_clear},   {Py_tp_finalize, pipeline_finalize}, {Py_tp_methods, pipeline_methods},
    {Py_tp_getset, pipeline_getset}, {Py_tp_doc, "An open pipeline."},    {0, NULL},
};
PyType_Spec pipeline_spec = {.name = "leat._leat.Pipeline",
                             .basicsize = sizeof(Pipeline),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                             .slots = pipeline_slots};
