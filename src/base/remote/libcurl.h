/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl, loaded when the first remote file is opened: leat needs no headers of it to build and no TLS library of its own. The
 * few functions and numbers that leat uses are declared here. They belong to the library's binary interface, which has been the
 * same since libcurl.so.4 exists. */
#ifndef LEAT_BASE_REMOTE_LIBCURL_H
#define LEAT_BASE_REMOTE_LIBCURL_H

#include "base/error.h"

#define LEAT_LIBCURL_OLDEST_TEXT \
    "7.61.0" /* the system's own on the oldest distributions that wheels run on */
#define LEAT_LIBCURL_OLDEST 0x073d00

enum leat__curl_option {
    LEAT_CURL_LOW_SPEED_LIMIT = 19,
    LEAT_CURL_LOW_SPEED_TIME = 20,
    LEAT_CURL_NOPROGRESS = 43,
    LEAT_CURL_FOLLOWLOCATION = 52,
    LEAT_CURL_FILETIME = 69,
    LEAT_CURL_HTTP_VERSION = 84,
    LEAT_CURL_BUFFERSIZE = 98,
    LEAT_CURL_NOSIGNAL = 99,
    LEAT_CURL_CONNECTTIMEOUT_MS = 156,
    LEAT_CURL_PROTOCOLS = 181,
    LEAT_CURL_TCP_KEEPALIVE = 213,
    LEAT_CURL_PATH_AS_IS = 234,
    LEAT_CURL_WRITEDATA = 10001,
    LEAT_CURL_URL = 10002,
    LEAT_CURL_RANGE = 10007,
    LEAT_CURL_ERRORBUFFER = 10010,
    LEAT_CURL_USERAGENT = 10018,
    LEAT_CURL_HTTPHEADER = 10023,
    LEAT_CURL_HEADERDATA = 10029,
    LEAT_CURL_XFERINFODATA = 10057,
    LEAT_CURL_CAINFO = 10065,
    LEAT_CURL_WRITEFUNCTION = 20011,
    LEAT_CURL_HEADERFUNCTION = 20079,
    LEAT_CURL_XFERINFOFUNCTION = 20219
};
enum { LEAT_CURL_HTTP_1_1 = 2, LEAT_CURL_HTTP_AND_HTTPS = 1 | 2, LEAT_CURL_ERROR_SIZE = 256 };

enum leat__curl_info {
    LEAT_CURL_REDIRECT_URL = 0x100000 + 31,
    LEAT_CURL_RESPONSE_CODE = 0x200000 + 2,
    LEAT_CURL_FILETIME_T = 0x600000 + 14
};

enum leat__curl_code {
    LEAT_CURL_OK = 0,
    LEAT_CURL_BAD_PROTOCOL = 1,
    LEAT_CURL_BAD_URL = 3,
    LEAT_CURL_NO_PROXY = 5,
    LEAT_CURL_NO_HOST = 6,
    LEAT_CURL_NO_CONNECTION = 7,
    LEAT_CURL_CUT_OFF = 18,
    LEAT_CURL_WRITE_ERROR = 23,
    LEAT_CURL_NO_MEMORY = 27,
    LEAT_CURL_TIMED_OUT = 28,
    LEAT_CURL_NO_TLS = 35,
    LEAT_CURL_STOPPED = 42,
    LEAT_CURL_NOTHING = 52,
    LEAT_CURL_NOT_SENT = 55,
    LEAT_CURL_NOT_RECEIVED = 56,
    LEAT_CURL_NOT_TRUSTED = 60,
    LEAT_CURL_NO_CA = 77
};

typedef struct leat__curl_list {
    char *data;
    struct leat__curl_list *next;
} leat__curl_list;

typedef struct leat__libcurl {
    int (*global_init)(long flags);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *easy);
    int (*easy_setopt)(void *easy, int option, ...);
    int (*easy_getinfo)(void *easy, int info, ...);
    int (*easy_perform)(void *easy);
    const char *(*easy_strerror)(int code);
    leat__curl_list *(*list_append)(leat__curl_list *list, const char *text);
    void (*list_free)(leat__curl_list *list);
    void *(*version_info)(int age);
} leat__libcurl;

/* Loads it once for the process. NULL with a message that says which package to install. Any thread. */
const leat__libcurl *leat__libcurl_load(leat_error *err);

#endif
