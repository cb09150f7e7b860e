/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remote/request.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/locks.h"
#include "base/remote/connection.h"
#include "base/remote/refusal.h"

enum { AGAIN = 1 }; /* err says why */
#define MS ((uint64_t)1000000)
static const uint64_t keys_every_ns = 60000 * MS, pause_first_ns = 100 * MS, pause_max_ns = 10000 * MS;

/* --------------------------------------------------------------------------------------------- send */

static bool begins(const char *text, const char *with) {
    return strncasecmp(text, with, strlen(with)) == 0;
}

static bool same_host(const char *a, const char *b) {
    a = strstr(a, "://"), b = strstr(b, "://");
    if (!a || !b) return false;
    const size_t n = strcspn(a + 3, "/?#"), m = strcspn(b + 3, "/?#");
    return n == m && strncasecmp(a + 3, b + 3, n) == 0;
}

/* The address may have spaces and letters of any alphabet, as names of files do. */
static bool encode_address(const char *url, char *out, size_t cap) {
    size_t used = 0;
    for (; *url; url++) {
        const uint8_t c = (uint8_t)*url;
        const int n = c <= ' ' || c >= 127 ? snprintf(out + used, cap - used, "%%%02X", c)
                                           : snprintf(out + used, cap - used, "%c", c);
        used += (size_t)n;
        if (used >= cap) return false;
    }
    return true;
}

static bool is_redirection(long status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Follows what the server says where to look instead, to https only, or on the same host. No header but libcurl's own goes
 * there. */
static int send_http(leat__line *line, const char *range, int *code, leat_error *err) {
    char *url = line->s3.url;
    if (!encode_address(line->ask->url, url, sizeof line->s3.url))
        return leat__refuse(line, ENAMETOOLONG, err, "the address is too long");
    for (int i = 0; i <= LEAT_REMOTE_REDIRECTS; i++) {
        *code = leat__line_send(line, url, range, NULL);
        if (*code != LEAT_CURL_OK || !is_redirection(line->status)) return 0;
        const char *to = NULL;
        line->curl->easy_getinfo(line->easy, LEAT_CURL_REDIRECT_URL, &to);
        if (!to || strlen(to) >= sizeof line->s3.url) return leat__refuse_status(line, err);
        if (!begins(to, "https://") &&
            !(begins(url, "http://") && begins(to, "http://") && same_host(url, to)))
            return leat__refuse(
                line, EPROTO, err,
                "the server sends us on to an address that is not https: use that address itself "
                "if you trust it");
        memmove(url, to, strlen(to) + 1);
    }
    return leat__refuse(line, EPROTO, err, "the server sends us on and on: check the address");
}

static int send_s3(leat__line *line, const char *range, int *code, leat_error *err) {
    char signed_range[80];
    const uint64_t now = leat__now_ns();
    const uint64_t environment = leat__s3_environment();
    if (line->keys_ns == 0 || now - line->keys_ns > keys_every_ns || line->environment != environment) {
        leat__s3_find_keys(&line->keys);
        line->environment = environment;
        line->keys_ns = now;
    }
    if (range) snprintf(signed_range, sizeof signed_range, "bytes=%s", range);
    LEAT_TRY(leat__s3_request_make(&line->s3, &line->keys, line->ask->url, line->ask->query,
                                   range ? signed_range : NULL, leat__wall_ns() / 1000000000, err));
    leat__curl_list *headers = NULL;
    for (int i = 0; i < line->s3.n_headers; i++) {
        leat__curl_list *longer = line->curl->list_append(headers, line->s3.header[i]);
        if (!longer) {
            line->curl->list_free(headers);
            return leat__fail_memory(err, sizeof line->s3.header[0], "a request");
        }
        headers = longer;
    }
    *code = leat__line_send(line, line->s3.url, range, headers);
    line->curl->easy_setopt(line->easy, LEAT_CURL_HTTPHEADER, NULL);
    line->curl->list_free(headers);
    return 0;
}

/* Asks for what is still missing. */
static int send(leat__line *line, int *code, leat_error *err) {
    const leat__ask *ask = line->ask;
    char range[64];
    if (ask->all) line->n = ask->all->size = 0;
    else if (!ask->etag) line->n = 0;
    line->from = ask->offset + line->n;
    snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, line->from, ask->offset + ask->n - 1);
    return begins(ask->url, "s3://") ? send_s3(line, ask->all ? NULL : range, code, err)
                                     : send_http(line, ask->all ? NULL : range, code, err);
}

/* -------------------------------------------------------------------------------------------- judge */

static bool is_passing(int code) {
    static const int those[] = {LEAT_CURL_NO_HOST,   LEAT_CURL_NO_CONNECTION, LEAT_CURL_CUT_OFF,
                                LEAT_CURL_TIMED_OUT, LEAT_CURL_NO_TLS,        LEAT_CURL_NOTHING,
                                LEAT_CURL_NOT_SENT,  LEAT_CURL_NOT_RECEIVED,  LEAT_CURL_NO_PROXY};
    for (size_t i = 0; i < LEAT_COUNT(those); i++)
        if (code == those[i]) return true;
    return false;
}

static bool is_passing_status(long status) {
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

static int judge_transport(const leat__line *line, int code, leat_error *err) {
    const leat__ask *ask = line->ask;
    char shown[500];
    leat__printable(shown, sizeof shown, ask->url, strlen(ask->url));
    if (code == LEAT_CURL_STOPPED)
        return leat__fail(err, LEAT_ERR_CANCELLED, "reading %s was stopped", shown);
    if (line->fault == LEAT_BODY_NO_MEMORY) return leat__fail_memory(err, line->n, shown);
    if (line->fault == LEAT_BODY_TOO_LONG && ask->all)
        return leat__fail(err, LEAT_ERR_LIMIT, "%s has more than %zu bytes, which is the limit", shown,
                          ask->bytes_max);
    if (line->fault == LEAT_BODY_TOO_LONG)
        return leat__refuse(line, EPROTO, err, "the server sends more bytes than were asked for");
    if (line->fault == LEAT_BODY_ENOUGH) return 0;
    leat__refuse_transport(line, code, err);
    return is_passing(code) ? AGAIN : err->code;
}

#define NO_RANGES                                                                                            \
    "the server gives whole files only, not parts of them (it ignores the header Range): use a server that " \
    "does, such as nginx or any object storage, or a list of files"

/* Size and number of bytes, as a good answer tells them: 0, AGAIN or an error. */
static int read_answer(leat__line *line, leat__answer *answer, leat_error *err) {
    const leat__ask *ask = line->ask;
    answer->ranges = line->status == 206;
    if (ask->all) {
        answer->size = line->n;
        return 0;
    }
    if (line->status == 200) {
        if (line->from > 0) return leat__refuse(line, ENOTSUP, err, NO_RANGES);
        if (line->fault == LEAT_BODY_ENOUGH && !line->has_length)
            return leat__refuse(line, EPROTO, err, "the server does not say how long the file is");
        answer->size = line->has_length ? line->length : line->n;
        return 0;
    }
    if (line->status == 416 && ask->offset == 0 && !ask->etag && line->has_range && line->range_size == 0) {
        answer->size = 0; /* of an empty file there are no parts */
        return 0;
    }
    if (line->status != 206 || !line->has_range || line->range_begin != line->from) {
        leat__refuse(line, EPROTO, err, "the server sends other bytes than were asked for");
        return AGAIN;
    }
    answer->size = line->range_size;
    return 0;
}

/* The file must be the one that was opened, and the bytes must all be there. */
static int check_answer(const leat__line *line, const leat__answer *answer, leat_error *err) {
    const leat__ask *ask = line->ask;
    if (begins(line->type, "text/html"))
        return leat__refuse(
            line, EPROTO, err,
            "the server answers with a web page where a file is expected: open the address in a "
            "browser, it may be a login or a directory");
    const bool other = ask->etag && *ask->etag && *line->etag && strcmp(ask->etag, line->etag) != 0;
    if (ask->etag && (other || answer->size != ask->size))
        return leat__refuse(line, ESTALE, err,
                            "it has changed since it was opened: begin again when no program writes to it");
    const uint64_t there = answer->size > ask->offset ? answer->size - ask->offset : 0;
    if (!ask->all && line->n < LEAT_MIN((uint64_t)ask->n, there)) {
        leat__refuse(line, ECONNRESET, err, "the answer ends too early");
        return AGAIN;
    }
    return 0;
}

static int judge(leat__line *line, int code, leat__answer *answer, leat_error *err) {
    if (code != LEAT_CURL_OK) {
        const int rc = judge_transport(line, code, err);
        if (rc != 0) return rc;
    }
    const bool empty = line->status == 416;
    if (line->status != 200 && line->status != 206 && !empty) {
        leat__refuse_status(line, err);
        return is_passing_status(line->status) ? AGAIN : err->code;
    }
    int rc = read_answer(line, answer, err);
    if (rc == 0) rc = check_answer(line, answer, err);
    if (rc != 0) return rc;
    int64_t date = -1;
    line->curl->easy_getinfo(line->easy, LEAT_CURL_FILETIME_T, &date);
    answer->n = line->n;
    answer->date_s = LEAT_MAX(date, (int64_t)0);
    memcpy(answer->etag, line->etag, sizeof answer->etag);
    return 0;
}

/* -------------------------------------------------------------------------------------------- retry */

/* Twice as long after every try, and at random between half of it and all of it, so that a thousand readers that failed together
 * do not come back together. No result depends on it. */
static void pause_before(int tries, const leat__line *line) {
    const uint64_t asked = LEAT_MIN(line->retry_after_s * 1000 * MS, pause_max_ns),
                   most = LEAT_MIN(pause_first_ns << tries, pause_max_ns);
    const uint64_t now = leat__now_ns(), facts[] = {now, (uint64_t)(uintptr_t)line};
    uint64_t left = asked + most / 2 + leat__hash(facts, sizeof facts, 0) % (most / 2);
    for (; left > 0 && !leat__account_stopped();) {
        const uint64_t part = LEAT_MIN(left, 50 * MS);
        leat__sleep_ns(part);
        left -= part;
    }
}

int leat__request(const leat__ask *ask, leat__answer *answer, leat_error *err) {
    leat_error ignored;
    if (!err) err = &ignored;
    leat__lock_check_work();
    *answer = (leat__answer){0};
    leat__line *line = leat__line_get(err);
    if (!line) return err->code;
    const uint64_t began = leat__now_ns(), patience = leat__line_timeout_s() * 1000 * MS;
    line->ask = ask;
    line->n = 0;
    line->last_byte_ns = began;
    for (int tries = 1;; tries++) {
        int code = 0;
        int rc = send(line, &code, err);
        if (rc == 0) rc = judge(line, code, answer, err);
        if (rc != AGAIN) return rc;
        const uint64_t now = leat__now_ns();
        if (tries == LEAT_REMOTE_TRIES || now - line->last_byte_ns >= patience || leat__account_stopped()) {
            const leat_error last = *err;
            leat__fail(err, last.code, "%.850s (tried %d times in %.1f s)", last.message, tries,
                       (double)(now - began) / 1e9);
            err->sys = last.sys;
            return err->code;
        }
        leat__account_retried();
        pause_before(tries, line);
    }
}
