/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remote/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

/* The text between <name> and </name>; false if there is none. */
static bool element(const char *body, size_t n, const char *name, const char **text, size_t *n_text) {
    char open[32], close[32];
    const size_t a = (size_t)snprintf(open, sizeof open, "<%s>", name),
                 b = (size_t)snprintf(close, sizeof close, "</%s>", name);
    for (size_t i = 0; i + a <= n; i++) {
        if (strncasecmp(body + i, open, a) != 0) continue;
        for (size_t k = i + a; k + b <= n; k++)
            if (strncasecmp(body + k, close, b) == 0) {
                *text = body + i + a;
                *n_text = k - i - a;
                return true;
            }
    }
    return false;
}

/* Words without tags, with one space between any two. */
static size_t add_words(char *out, size_t used, size_t cap, const char *text, size_t n) {
    bool tag = false, gap = used > 0;
    for (size_t i = 0; i < n && used + 2 < cap; i++) {
        const char c = text[i];
        if (c == '<') tag = true;
        const bool blank = tag || (c >= 0 && c <= ' ') || c == 127;
        if (c == '>') tag = false;
        if (!blank && gap && used > 0) out[used++] = ' ';
        if (!blank) out[used++] = c;
        gap = blank;
    }
    out[used] = 0;
    return used;
}

const char *leat__server_message(const char *body, size_t n, char *out, size_t cap) {
    const char *text;
    size_t used = 0, m;
    *out = 0;
    if (element(body, n, "Code", &text, &m)) {
        used = add_words(out, 0, cap, text, m);
        if (used && used + 2 < cap) out[used++] = ':', out[used] = 0;
        if (element(body, n, "Message", &text, &m)) add_words(out, used, cap, text, m);
    } else if (element(body, n, "title", &text, &m)) {
        add_words(out, 0, cap, text, m);
    } else {
        add_words(out, 0, cap, body, n);
    }
    return out;
}

static const char *shown_url(const leat__line *line, char *out, size_t cap) {
    return leat__printable(out, cap, line->ask->url, strlen(line->ask->url));
}

static int blame_machine(leat_error *err, int sys) {
    err->sys = sys;
    return err->code;
}

int leat__refuse(const leat__line *line, int sys, leat_error *err, const char *what) {
    char shown[500];
    leat__fail(err, LEAT_ERR_IO, "cannot read %s: %s", shown_url(line, shown, sizeof shown), what);
    return blame_machine(err, sys);
}

int leat__refuse_transport(const leat__line *line, int code, leat_error *err) {
    static const struct {
        int code, sys;
        const char *remedy;
    } known[] = {
        {LEAT_CURL_BAD_URL, EPROTO, ": check the address"},
        {LEAT_CURL_NO_PROXY, EHOSTUNREACH, ": check the proxy that https_proxy or http_proxy names"},
        {LEAT_CURL_NO_HOST, EHOSTUNREACH, ": check the name of the host and the network"},
        {LEAT_CURL_NO_CONNECTION, ECONNREFUSED, ": check host and port, the network, and https_proxy"},
        {LEAT_CURL_TIMED_OUT, ETIMEDOUT,
         ": the server does not answer (LEAT_REMOTE_TIMEOUT is how long to wait)"},
        {LEAT_CURL_NOT_TRUSTED, EPROTO,
         ": name the file of the authority that it comes from in SSL_CERT_FILE"},
        {LEAT_CURL_NO_CA, EPROTO, ": check the file that CURL_CA_BUNDLE or SSL_CERT_FILE names"},
        {LEAT_CURL_CUT_OFF, ECONNRESET, ""},
    };
    char shown[500], text[300];
    const char *what = *line->error ? line->error : line->curl->easy_strerror(code), *remedy = "";
    int sys = EIO;
    for (size_t i = 0; i < LEAT_COUNT(known); i++)
        if (known[i].code == code) remedy = known[i].remedy, sys = known[i].sys;
    leat__fail(err, LEAT_ERR_IO, "cannot read %s: %s%s", shown_url(line, shown, sizeof shown),
               leat__printable(text, sizeof text, what, strlen(what)), remedy);
    return blame_machine(err, sys);
}

static const char *remedy_of(const leat__line *line, bool s3, const char *message, char *room, size_t cap) {
    const long status = line->status;
    if (s3 && status >= 300 && status < 400 && *line->region) {
        snprintf(room, cap, "the bucket is in another region: set AWS_REGION=%s", line->region);
        return room;
    }
    if (s3 && strstr(message, "Expired")) return "the session has expired: get new credentials";
    if (s3 && strstr(message, "NoSuchBucket")) return "check the name of the bucket, and LEAT_S3_ENDPOINT";
    if (s3 && strstr(message, "RequestTimeTooSkewed")) return "set this machine's clock";
    if (s3 && (status == 400 || status == 401 || status == 403)) {
        if (line->s3.n_headers) return "check the credentials, AWS_REGION and what they may read";
        snprintf(room, cap,
                 "there are no credentials in the environment or in profile '%s' of ~/.aws/credentials: set "
                 "AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                 line->keys.profile);
        return room;
    }
    switch (status) {
    case 401:
    case 403: return "this address needs a login, or a signed address that has not expired";
    case 404:
    case 410: return s3 ? "check the key; upper and lower case differ" : "check the address";
    case 407: return "the proxy needs a login: https_proxy=http://user:password@host:port";
    case 429:
    case 503: return "the server has too many requests: ask for fewer at once (options read_ahead=N)";
    default:
        return status >= 300 && status < 400 ? "check the address" : "try again later, or ask who runs it";
    }
}

int leat__refuse_status(const leat__line *line, leat_error *err) {
    char shown[500], message[300], reason[90], room[300];
    const bool s3 = strncmp(line->ask->url, "s3://", 5) == 0;
    leat__server_message(line->message, line->message_n, message, sizeof message);
    leat__printable(message, sizeof message, message, strlen(message));
    leat__printable(reason, sizeof reason, line->reason, strlen(line->reason));
    const bool same = strcasecmp(message, reason) == 0;
    const char *remedy = remedy_of(line, s3, message, room, sizeof room);
    const bool gone = line->status == 404 || line->status == 410;
    leat__fail(err, gone ? LEAT_ERR_NOT_FOUND : LEAT_ERR_IO, "cannot read %s: %ld%s%s%s%s: %s",
               shown_url(line, shown, sizeof shown), line->status, *reason ? " " : "", reason,
               *message && !same ? ": " : "", same ? "" : message, remedy);
    return blame_machine(err, gone ? ENOENT : line->status == 403 ? EACCES : EIO);
}
