/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for batches that a function of Python gives, for example pinned memory of a framework.
 *
 * The engine frees a batch's memory in any thread, with or without the interpreter's lock, perhaps after the pipeline is gone.
 * So what holds the memory is noted in front of it, and a batch that is freed is put on a list. The interpreter lets go of
 * what is on the list when it comes to it (Py_AddPendingCall). After the end of the interpreter nothing is let go of. */
#include "binding.h"

typedef struct held { /* in front of the memory that the engine gets */
    Py_buffer view;
    struct held *next;
} held;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held *dead; /* memory that the engine has given back; under lock */

/* With the interpreter's lock. */
static int drop_dead(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    held *list = dead;
    dead = NULL;
    pthread_mutex_unlock(&lock);
    while (list) {
        held *next = list->next;
        Py_buffer view = list->view; /* the note lies in the memory that goes */
        PyBuffer_Release(&view);
        list = next;
    }
    return 0;
}

/* The memory begins behind the note, at a multiple of the alignment. */
static void *place(const Py_buffer *view, size_t alignment) {
    const uintptr_t begin = (uintptr_t)view->buf + sizeof(held);
    return (void *)((begin + alignment - 1) / alignment * alignment);
}

void *slot_alloc(void *user, size_t bytes, size_t alignment) {
    Pipeline *self = user;
    const size_t all = bytes + alignment + sizeof(held);
    const PyGILState_STATE gil = PyGILState_Ensure();
    drop_dead(NULL);
    PyObject *given = PyObject_CallFunction(self->slot_memory, "n", (Py_ssize_t)all);
    held note = {.next = NULL};
    void *memory = NULL;
    if (given && PyObject_GetBuffer(given, &note.view, PyBUF_WRITABLE) == 0) {
        if ((size_t)note.view.len >= all) memory = place(&note.view, alignment);
        else {
            PyErr_Format(PyExc_ValueError, "the memory for a batch has %zd bytes, %zu were asked for",
                         note.view.len, all);
            PyBuffer_Release(&note.view);
        }
    }
    Py_XDECREF(given);
    if (memory) memcpy((held *)memory - 1, &note, sizeof note);
    else {
        leat_error ignored;
        take_exception(self, &ignored);
    }
    PyGILState_Release(gil);
    return memory;
}

void slot_free(void *user, void *memory, size_t bytes) {
    (void)user; /* may be gone */
    (void)bytes;
    held *note = (held *)memory - 1;
    pthread_mutex_lock(&lock);
    note->next = dead;
    dead = note;
    pthread_mutex_unlock(&lock);
    if (Py_IsInitialized()) Py_AddPendingCall(drop_dead, NULL); /* if it is full, a later one does it */
}
