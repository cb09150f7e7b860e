/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a bucket. The parser knows what ListObjectsV2 answers with and no more of XML: elements without attributes that
 * matter, text with the five entities and numbers. It is here and not in format/, since base includes no other room. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/remote/remote.h"
#include "base/remote/request.h"
#include "base/remote/s3.h"
#include "base/remote/sigv4.h"

enum { KEY_BYTES = 4 * 1024 + 1, PAGE_BYTES = 64 << 20, PAGES_MAX = 100000 };

/* ---------------------------------------------------------------------------------------------- parser */

static int fail_listing(leat_error *err, const char *what) {
    leat__fail(err, LEAT_ERR_IO, "the server's list of objects cannot be read: %s", what);
    if (err) err->sys = EPROTO;
    return LEAT_ERR_IO;
}

static size_t write_utf8(uint32_t code, char out[4]) {
    if (code < 0x80) return out[0] = (char)code, 1;
    if (code < 0x800) return out[0] = (char)(0xc0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
    const bool four = code >= 0x10000;
    size_t n = 0;
    if (four) out[n++] = (char)(0xf0 | code >> 18);
    out[n++] = (char)(four ? 0x80 | (code >> 12 & 63) : 0xe0 | code >> 12);
    out[n++] = (char)(0x80 | (code >> 6 & 63));
    out[n++] = (char)(0x80 | (code & 63));
    return n;
}

/* The character that &name; stands for, of n bytes between & and ;. 0: unknown. */
static uint32_t entity(const char *name, size_t n) {
    static const struct {
        const char *name;
        char is;
    } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < LEAT_COUNT(known); i++)
        if (n == strlen(known[i].name) && memcmp(name, known[i].name, n) == 0) return (uint8_t)known[i].is;
    if (n < 2 || name[0] != '#') return 0;
    const bool hex = name[1] == 'x';
    uint32_t code = 0;
    for (size_t i = hex ? 2 : 1; i < n; i++) {
        const char c = name[i];
        const uint32_t digit = c >= '0' && c <= '9'          ? (uint32_t)(c - '0')
                               : hex && c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                               : hex && c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                             : 99;
        code = code * (hex ? 16 : 10) + digit;
        if (digit == 99 || code > 0x10ffff) return 0;
    }
    return code;
}

static bool unescape(const char *text, size_t n, char *out, size_t cap) {
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        char bytes[4] = {text[i]};
        size_t m = 1, step = 1;
        if (text[i] == '&') {
            const char *stop = memchr(text + i, ';', n - i);
            const uint32_t code = stop ? entity(text + i + 1, (size_t)(stop - text) - i - 1) : 0;
            if (code == 0) return false;
            m = write_utf8(code, bytes);
            step = (size_t)(stop - text) - i + 1;
        }
        if (bytes[0] == 0 || used + m >= cap) return false;
        memcpy(out + used, bytes, m);
        used += m;
        i += step;
    }
    out[used] = 0;
    return true;
}

typedef struct tag { /* <Key> or </Key>: its name, and where what is behind it begins */
    const char *name;
    size_t n;
    bool closing;
    size_t end;
} tag;

/* The next tag from `at` on: 1, 0 if there is none, or an error. */
static int next_tag(const char *xml, size_t n, size_t at, tag *out, size_t *begin, leat_error *err) {
    const char *open = memchr(xml + at, '<', n - at);
    if (!open) return 0;
    const char *close = memchr(open, '>', n - (size_t)(open - xml));
    if (!close) return fail_listing(err, "it is cut off");
    *begin = (size_t)(open - xml);
    out->closing = open[1] == '/';
    out->name = open + 1 + out->closing;
    out->n = 0;
    while (out->name + out->n < close && !strchr(" \t\r\n/", out->name[out->n])) out->n++;
    out->end = (size_t)(close - xml) + 1;
    return 1;
}

static bool is_tag(const tag *t, bool closing, const char *name) {
    return t->closing == closing && t->n == strlen(name) && memcmp(t->name, name, t->n) == 0;
}

int leat__listing_parse(const char *xml, size_t n, leat__listing_key_fn fn, void *user, char *token,
                        size_t cap, leat_error *err) {
    char key[KEY_BYTES];
    bool contents = false, whole = false, any = false;
    const char *text = NULL; /* behind the <Key> or token that is open */
    tag t;
    *token = 0;
    for (size_t at = 0, begin = 0; at < n; at = t.end) {
        const int rc = next_tag(xml, n, at, &t, &begin, err);
        if (rc < 0) return rc;
        if (rc == 0) break;
        if (is_tag(&t, false, "ListBucketResult")) any = true;
        else if (is_tag(&t, true, "ListBucketResult")) whole = true;
        else if (is_tag(&t, false, "Contents")) contents = true;
        else if (is_tag(&t, true, "Contents")) contents = false;
        else if ((contents && is_tag(&t, false, "Key")) || is_tag(&t, false, "NextContinuationToken"))
            text = xml + t.end;
        else if (text && (is_tag(&t, true, "Key") || is_tag(&t, true, "NextContinuationToken"))) {
            const bool is_key = is_tag(&t, true, "Key");
            if (!unescape(text, (size_t)(xml + begin - text), is_key ? key : token,
                          is_key ? sizeof key : cap))
                return fail_listing(err, "a key has characters that XML does not allow, or too many");
            text = NULL;
            if (is_key) LEAT_TRY(fn(user, key, err));
        }
    }
    if (!any)
        return fail_listing(err, "it has no ListBucketResult: is LEAT_S3_ENDPOINT a server that speaks S3?");
    return whole ? 0 : fail_listing(err, "it is cut off");
}

/* ------------------------------------------------------------------------------------------------ glob */

typedef struct matching {
    const char *bucket, *pattern; /* pattern NULL: all below the prefix */
    leat__listing_fn fn;
    void *user;
} matching;

/* Texts that lie beside data: the manifest and the lists of a pack, names of classes. */
static bool is_beside(const char *name) {
    static const char *const endings[] = {".json", ".tsv", ".txt"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < LEAT_COUNT(endings); i++)
        if (strcmp(ending, endings[i]) == 0) return true;
    return false;
}

/* Names that begin with a point are no data: indexes lie there. A pattern never matches them, as in a shell. */
static int match_key(void *user, const char *key, leat_error *err) {
    const matching *m = user;
    char url[KEY_BYTES + 300];
    const char *slash = strrchr(key, '/'), *name = slash ? slash + 1 : key;
    if (*name == 0 || *name == '.' || (!m->pattern && is_beside(name))) return 0;
    if (m->pattern && fnmatch(m->pattern, key, FNM_PATHNAME | FNM_PERIOD) != 0) return 0;
    const int n = snprintf(url, sizeof url, "s3://%s/%s", m->bucket, key);
    return (size_t)n < sizeof url ? m->fn(m->user, url, err) : 0;
}

/* The query of one page; its parts stand in the order of their names, as signatures want them. */
static bool page_query(const char *prefix, size_t n_prefix, const char *token, char *out, size_t cap) {
    int n = 0;
    if (*token) {
        n = snprintf(out, cap, "continuation-token=");
        if (!leat__uri_encode(token, strlen(token), false, out + n, cap - (size_t)n)) return false;
        n = (int)strlen(out);
    }
    n += snprintf(out + n, cap - (size_t)n, "%slist-type=2&prefix=", n ? "&" : "");
    return (size_t)n < cap && leat__uri_encode(prefix, n_prefix, false, out + n, cap - (size_t)n);
}

int leat__remote_glob(const char *pattern, leat__listing_fn fn, void *user, leat_error *err) {
    char bucket[256], query[8192], token[2048] = "";
    const char *key;
    LEAT_TRY(leat__s3_split(pattern, bucket, sizeof bucket, &key, err));
    const size_t n = strcspn(key, "*?["), all = strlen(key);
    const bool folder = n == all && (all == 0 || key[all - 1] == '/');
    if (n == all && !folder) return fn(user, pattern, err);
    matching m = {.bucket = bucket, .pattern = folder ? NULL : key, .fn = fn, .user = user};
    leat__buf page = {.kind = LEAT_MEM_INDEX};
    int rc = 0;
    for (int pages = 0; rc == 0 && pages < PAGES_MAX && (pages == 0 || *token); pages++) {
        leat__answer answer;
        const uint64_t last = leat__hash(token, strlen(token), 0);
        if (!page_query(key, n, token, query, sizeof query)) rc = fail_listing(err, "its names are too long");
        if (rc == 0)
            rc = leat__request(
                &(leat__ask){.url = pattern, .query = query, .all = &page, .bytes_max = PAGE_BYTES}, &answer,
                err);
        if (rc == 0)
            rc = leat__listing_parse((const char *)page.data, page.size, match_key, &m, token, sizeof token,
                                     err);
        if (rc == 0 && *token && leat__hash(token, strlen(token), 0) == last)
            rc = fail_listing(err, "its pages have no end");
    }
    leat__buf_free(&page);
    return rc;
}
