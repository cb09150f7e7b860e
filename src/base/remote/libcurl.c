/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remote/libcurl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { GLOBAL_DEFAULT = 3, VERSION_AGE = 3 };

typedef struct version_head { /* the beginning of curl_version_info_data, which never changes */
    int age;
    const char *text;
    unsigned number;
} version_head;

/* Written once, before any thread reads it. */
static leat__libcurl loaded;
static leat_error why_not;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool take(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol); /* C has no other way from an object to a function */
    return symbol != NULL;
}

static bool take_all(void *library) {
    return take(library, "curl_global_init", &loaded.global_init) &&
           take(library, "curl_easy_init", &loaded.easy_init) &&
           take(library, "curl_easy_cleanup", &loaded.easy_cleanup) &&
           take(library, "curl_easy_setopt", &loaded.easy_setopt) &&
           take(library, "curl_easy_getinfo", &loaded.easy_getinfo) &&
           take(library, "curl_easy_perform", &loaded.easy_perform) &&
           take(library, "curl_easy_strerror", &loaded.easy_strerror) &&
           take(library, "curl_slist_append", &loaded.list_append) &&
           take(library, "curl_slist_free_all", &loaded.list_free) &&
           take(library, "curl_version_info", &loaded.version_info);
}

/* LEAT_LIBCURL names another one, such as that of an environment of Python or conda. */
static void *find_library(void) {
    static const char *const usual[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    const char *named = getenv("LEAT_LIBCURL");
    if (named && *named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (size_t i = 0; i < LEAT_COUNT(usual) && !library; i++)
        library = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

#define REMEDY                                                                               \
    "install it (Debian, Ubuntu: apt install libcurl4; Fedora: dnf install libcurl; conda: " \
    "conda install libcurl), or name its file in LEAT_LIBCURL"

/* The library stays loaded: threads that are left behind may be in it. */
static void load(void) {
    void *library = find_library();
    if (!library) {
        leat__fail(&why_not, LEAT_ERR_IO, "remote files are read by libcurl, which is not there: " REMEDY);
    } else if (!take_all(library)) {
        leat__fail(&why_not, LEAT_ERR_IO,
                   "the libcurl of this machine lacks functions that leat needs: " REMEDY);
    } else {
        const version_head *version = loaded.version_info(VERSION_AGE);
        if (version->number < LEAT_LIBCURL_OLDEST)
            leat__fail(&why_not, LEAT_ERR_IO,
                       "libcurl %.30s is too old, remote files need " LEAT_LIBCURL_OLDEST_TEXT
                       " or later: " REMEDY,
                       version->text);
        else if (loaded.global_init(GLOBAL_DEFAULT) != 0)
            leat__fail(&why_not, LEAT_ERR_MEMORY, "libcurl %.30s could not be set up", version->text);
    }
    why_not.sys = ENOSYS; /* the machine's fault, and no sample's */
}

const leat__libcurl *leat__libcurl_load(leat_error *err) {
    pthread_once(&once, load);
    if (why_not.code == 0) return &loaded;
    if (err) *err = why_not;
    return NULL;
}
