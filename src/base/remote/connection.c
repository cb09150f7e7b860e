/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remote/connection.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"

enum { CONNECT_S = 10, SLOW_BYTES = 1000, TIMEOUT_MAX_S = 3600, RECEIVED = 64 << 10 };

/* The thread's connection; the key closes it when the thread ends. */
static _Thread_local leat__line *mine;
static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void close_line(void *user) {
    leat__line *line = user;
    if (line->easy && line->pid == (int64_t)getpid()) line->curl->easy_cleanup(line->easy);
    leat__free(line);
    mine = NULL;
}

static void make_key(void) {
    has_key = pthread_key_create(&key, close_line) == 0;
}

uint64_t leat__line_timeout_s(void) {
    const char *text = getenv("LEAT_REMOTE_TIMEOUT");
    const long long given = text ? strtoll(text, NULL, 10) : 0;
    return given > 0 ? (uint64_t)LEAT_MIN(given, (long long)TIMEOUT_MAX_S) : LEAT_REMOTE_TIMEOUT_S;
}

/* -------------------------------------------------------------------------------------- what arrives */

static bool header_is(const char *line, size_t n, const char *name, const char **value, size_t *n_value) {
    const size_t m = strlen(name);
    if (n <= m || strncasecmp(line, name, m) != 0 || line[m] != ':') return false;
    const char *begin = line + m + 1, *end = line + n;
    while (begin < end && (*begin == ' ' || *begin == '\t')) begin++;
    while (end > begin && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' ')) end--;
    *value = begin;
    *n_value = (size_t)(end - begin);
    return true;
}

static bool read_number(const char **text, const char *end, uint64_t *out) {
    const char *at = *text;
    *out = 0;
    for (; at < end && *at >= '0' && *at <= '9' && *out < UINT64_MAX / 16; at++)
        *out = *out * 10 + (uint64_t)(*at - '0');
    const bool any = at > *text;
    *text = at;
    return any;
}

/* "bytes 0-499/1234", or "bytes * /0" when nothing lies there. */
static bool read_range(const char *text, size_t n, uint64_t *begin, uint64_t *size) {
    const char *end = text + n;
    uint64_t last;
    *begin = 0;
    if (n < 8 || strncasecmp(text, "bytes ", 6) != 0) return false;
    text += 6;
    if (*text == '*') text++;
    else if (!read_number(&text, end, begin) || text == end || *text++ != '-' ||
             !read_number(&text, end, &last))
        return false;
    return text < end && *text++ == '/' && read_number(&text, end, size);
}

static void copy_text(char *out, size_t cap, const char *from, size_t n) {
    n = LEAT_MIN(n, cap - 1);
    memcpy(out, from, n);
    out[n] = 0;
}

/* A new answer begins: after a redirection or a "100 Continue" what came before it does not count. */
static void begin_answer(leat__line *line) {
    line->status = 0;
    line->has_length = line->has_range = false;
    line->length = line->range_begin = line->range_size = line->retry_after_s = 0;
    *line->etag = *line->type = *line->region = *line->reason = 0;
    line->message_n = 0;
}

static void read_status(leat__line *line, const char *text, size_t n) {
    const char *space = memchr(text, ' ', n), *end = text + n;
    uint64_t status = 0;
    begin_answer(line);
    if (!space) return;
    space++;
    if (read_number(&space, end, &status)) line->status = (long)status;
    while (space < end && *space == ' ') space++;
    while (end > space && (end[-1] == '\r' || end[-1] == '\n')) end--;
    copy_text(line->reason, sizeof line->reason, space, (size_t)(end - space));
}

static size_t take_header(char *bytes, size_t one, size_t count, void *user) {
    leat__line *line = user;
    const size_t n = one * count;
    const char *value;
    size_t n_value;
    if (n > 5 && strncasecmp(bytes, "HTTP/", 5) == 0) read_status(line, bytes, n);
    else if (header_is(bytes, n, "content-length", &value, &n_value))
        line->has_length = read_number(&value, value + n_value, &line->length);
    else if (header_is(bytes, n, "content-range", &value, &n_value))
        line->has_range = read_range(value, n_value, &line->range_begin, &line->range_size);
    else if (header_is(bytes, n, "etag", &value, &n_value))
        copy_text(line->etag, sizeof line->etag, value, n_value);
    else if (header_is(bytes, n, "content-type", &value, &n_value))
        copy_text(line->type, sizeof line->type, value, n_value);
    else if (header_is(bytes, n, "x-amz-bucket-region", &value, &n_value))
        copy_text(line->region, sizeof line->region, value, n_value);
    else if (header_is(bytes, n, "retry-after", &value, &n_value))
        read_number(&value, value + n_value, &line->retry_after_s);
    return n;
}

/* Bytes that do not fit end the transfer: the answer is longer than it may be, or longer than is needed. */
static size_t take_body(char *bytes, size_t one, size_t count, void *user) {
    leat__line *line = user;
    const leat__ask *ask = line->ask;
    const size_t n = one * count;
    line->last_byte_ns = leat__now_ns();
    if (line->status != 200 && line->status != 206) { /* a refusal: its text is for the message */
        const size_t part = LEAT_MIN(n, sizeof line->message - 1 - line->message_n);
        memcpy(line->message + line->message_n, bytes, part);
        line->message_n += part;
        return n;
    }
    if (ask->all) {
        if (line->n + n > ask->bytes_max) line->fault = LEAT_BODY_TOO_LONG;
        else if (!leat__buf_append(ask->all, bytes, n)) line->fault = LEAT_BODY_NO_MEMORY;
        else line->n += n;
    } else {
        const size_t part = LEAT_MIN(n, ask->n - line->n);
        memcpy(ask->into + line->n, bytes, part);
        line->n += part;
        if (part < n) line->fault = line->status == 200 ? LEAT_BODY_ENOUGH : LEAT_BODY_TOO_LONG;
    }
    return line->fault == LEAT_BODY_GOOD ? n : 0;
}

/* libcurl asks now and then whether to go on. */
static int look_around(void *user, int64_t total, int64_t now, int64_t up_total, int64_t up_now) {
    (void)user, (void)total, (void)now, (void)up_total, (void)up_now;
    return leat__account_stopped();
}

/* -------------------------------------------------------------------------------------------- open, send */

static bool set_up(leat__line *line) {
    const leat__libcurl *curl = line->curl;
    void *easy = line->easy = curl->easy_init();
    const char *bundle = getenv("CURL_CA_BUNDLE"), *file = getenv("SSL_CERT_FILE");
    if (bundle && *bundle) file = bundle;
    if (!easy) return false;
    const uint64_t timeout = leat__line_timeout_s();
    const struct {
        int option;
        long value;
    } numbers[] = {{LEAT_CURL_NOSIGNAL, 1},
                   {LEAT_CURL_HTTP_VERSION, LEAT_CURL_HTTP_1_1},
                   {LEAT_CURL_PROTOCOLS, LEAT_CURL_HTTP_AND_HTTPS},
                   {LEAT_CURL_FOLLOWLOCATION, 0},
                   {LEAT_CURL_PATH_AS_IS, 1},
                   {LEAT_CURL_BUFFERSIZE, RECEIVED},
                   {LEAT_CURL_FILETIME, 1},
                   {LEAT_CURL_TCP_KEEPALIVE, 1},
                   {LEAT_CURL_NOPROGRESS, 0},
                   {LEAT_CURL_CONNECTTIMEOUT_MS, (long)LEAT_MIN(timeout * 500, (uint64_t)CONNECT_S * 1000)},
                   {LEAT_CURL_LOW_SPEED_LIMIT, SLOW_BYTES},
                   {LEAT_CURL_LOW_SPEED_TIME, (long)LEAT_MAX(timeout / 3, UINT64_C(1))}};
    bool good = true;
    for (size_t i = 0; i < LEAT_COUNT(numbers); i++)
        good = curl->easy_setopt(easy, numbers[i].option, numbers[i].value) == 0 && good;
    good = curl->easy_setopt(easy, LEAT_CURL_USERAGENT, "leat/" LEAT_VERSION) == 0 && good;
    good = curl->easy_setopt(easy, LEAT_CURL_ERRORBUFFER, line->error) == 0 && good;
    good = curl->easy_setopt(easy, LEAT_CURL_HEADERFUNCTION, take_header) == 0 && good;
    good = curl->easy_setopt(easy, LEAT_CURL_HEADERDATA, line) == 0 && good;
    good = curl->easy_setopt(easy, LEAT_CURL_WRITEFUNCTION, take_body) == 0 && good;
    good = curl->easy_setopt(easy, LEAT_CURL_WRITEDATA, line) == 0 && good;
    good = curl->easy_setopt(easy, LEAT_CURL_XFERINFOFUNCTION, look_around) == 0 && good;
    if (file && *file) good = curl->easy_setopt(easy, LEAT_CURL_CAINFO, file) == 0 && good;
    return good;
}

leat__line *leat__line_get(leat_error *err) {
    if (mine && mine->pid == (int64_t)getpid()) return mine;
    /* After a fork the parent goes on with its connection: the child must not even close it. */
    const leat__libcurl *curl = leat__libcurl_load(err);
    if (!curl) return NULL;
    pthread_once(&once, make_key);
    leat__account *before = leat__account_use(NULL); /* it outlives a pipeline */
    leat__line *line = leat__alloc(LEAT_MEM_WORKER, sizeof *line);
    leat__account_use(before);
    if (line) {
        *line = (leat__line){.curl = curl, .pid = (int64_t)getpid()};
        if (set_up(line) && has_key && pthread_setspecific(key, line) == 0) return mine = line;
        if (line->easy) curl->easy_cleanup(line->easy);
        leat__free(line);
    }
    leat__fail_memory(err, sizeof *line, "a connection");
    return NULL;
}

int leat__line_send(leat__line *line, const char *url, const char *range, const leat__curl_list *headers) {
    const leat__libcurl *curl = line->curl;
    begin_answer(line);
    *line->error = 0;
    line->fault = LEAT_BODY_GOOD;
    if (curl->easy_setopt(line->easy, LEAT_CURL_URL, url) != 0 ||
        curl->easy_setopt(line->easy, LEAT_CURL_RANGE, range) != 0 ||
        curl->easy_setopt(line->easy, LEAT_CURL_HTTPHEADER, headers) != 0)
        return LEAT_CURL_NO_MEMORY;
    return curl->easy_perform(line->easy);
}
