/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remote/s3.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/remote/sigv4.h"

/* ------------------------------------------------------------------------------------------------ keys */

static const char *environment(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

/* One that is too long is as good as none. */
static void copy(char *out, size_t cap, const char *from, size_t n) {
    if (n < cap) memcpy(out, from, n);
    out[n < cap ? n : 0] = 0;
}

typedef struct wish { /* a name in a section of a shared file, and where its value goes */
    const char *name;
    char *out;
    size_t cap;
} wish;

static void trim(const char **text, size_t *n) {
    while (*n > 0 && (**text == ' ' || **text == '\t')) ++*text, --*n;
    while (*n > 0 && ((*text)[*n - 1] == ' ' || (*text)[*n - 1] == '\t' || (*text)[*n - 1] == '\r')) --*n;
}

/* Takes what is wished for from a section of an INI file: [name] or [profile name]. */
static void read_section(const char *text, size_t n, const char *section, const wish *wishes, int n_wishes) {
    bool inside = false;
    for (const char *end = text + n; text < end;) {
        const char *line = text, *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        text = stop ? stop + 1 : end;
        const bool nested = length > 0 && (*line == ' ' || *line == '\t');
        trim(&line, &length);
        if (length >= 2 && line[0] == '[' && line[length - 1] == ']') {
            line++, length -= 2;
            if (length > 8 && memcmp(line, "profile ", 8) == 0) line += 8, length -= 8;
            trim(&line, &length);
            inside = length == strlen(section) && memcmp(line, section, length) == 0;
            continue;
        }
        const char *equals = memchr(line, '=', length);
        if (!inside || !equals || nested || *line == '#' || *line == ';') continue;
        size_t n_name = (size_t)(equals - line), n_value = length - n_name - 1;
        const char *value = equals + 1;
        trim(&line, &n_name);
        trim(&value, &n_value);
        for (int i = 0; i < n_wishes; i++)
            if (!*wishes[i].out && n_name == strlen(wishes[i].name) &&
                memcmp(line, wishes[i].name, n_name) == 0)
                copy(wishes[i].out, wishes[i].cap, value, n_value);
    }
}

static void read_shared(const char *variable, const char *usual, const char *section, const wish *wishes,
                        int n) {
    enum { SHARED_MAX = 1 << 20 };
    char path[PATH_MAX];
    const char *named = environment(variable), *home = environment("HOME");
    const int used =
        *named ? snprintf(path, sizeof path, "%s", named) : snprintf(path, sizeof path, "%s/%s", home, usual);
    leat__buf bytes = {.kind = LEAT_MEM_PLAN};
    if ((*named || *home) && (size_t)used < sizeof path &&
        leat__file_read_all(path, &bytes, SHARED_MAX, NULL) == 0)
        read_section((const char *)bytes.data, bytes.size, section, wishes, n);
    leat__buf_free(&bytes);
}

static void take_first(char *out, size_t cap, const char *const *variables, int n) {
    *out = 0;
    for (int i = 0; i < n && !*out; i++) {
        const char *value = environment(variables[i]);
        copy(out, cap, value, strlen(value));
    }
}

uint64_t leat__s3_environment(void) {
    static const char *const all[] = {"LEAT_S3_ENDPOINT",
                                      "AWS_ENDPOINT_URL_S3",
                                      "AWS_ENDPOINT_URL",
                                      "AWS_REGION",
                                      "AWS_DEFAULT_REGION",
                                      "AWS_PROFILE",
                                      "AWS_DEFAULT_PROFILE",
                                      "AWS_ACCESS_KEY_ID",
                                      "AWS_SECRET_ACCESS_KEY",
                                      "AWS_SESSION_TOKEN",
                                      "AWS_SHARED_CREDENTIALS_FILE",
                                      "AWS_CONFIG_FILE",
                                      "HOME"};
    uint64_t hash = 0;
    for (size_t i = 0; i < LEAT_COUNT(all); i++) {
        const char *value = environment(all[i]);
        hash = leat__hash(value, strlen(value) + 1, hash);
    }
    return hash;
}

void leat__s3_find_keys(leat__s3_keys *keys) {
    static const char *const
        endpoints[] = {"LEAT_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"},
        *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION"},
        *const profiles[] = {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}, *const ids[] = {"AWS_ACCESS_KEY_ID"},
        *const secrets[] = {"AWS_SECRET_ACCESS_KEY"}, *const tokens[] = {"AWS_SESSION_TOKEN"};
    *keys = (leat__s3_keys){0};
    take_first(keys->endpoint, sizeof keys->endpoint, endpoints, 3);
    take_first(keys->region, sizeof keys->region, regions, 2);
    take_first(keys->profile, sizeof keys->profile, profiles, 2);
    take_first(keys->key_id, sizeof keys->key_id, ids, 1);
    take_first(keys->secret, sizeof keys->secret, secrets, 1);
    if (*keys->key_id && *keys->secret) take_first(keys->token, sizeof keys->token, tokens, 1);
    else *keys->key_id = *keys->secret = 0;
    if (!*keys->profile) copy(keys->profile, sizeof keys->profile, "default", 7);
    const wish all[] = {{"region", keys->region, sizeof keys->region},
                        {"aws_access_key_id", keys->key_id, sizeof keys->key_id},
                        {"aws_secret_access_key", keys->secret, sizeof keys->secret},
                        {"aws_session_token", keys->token, sizeof keys->token}};
    const int n = *keys->key_id ? 1 : 4; /* never the key of one place with the secret of another */
    read_shared("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", keys->profile, all, n);
    const int rest = *keys->key_id ? 1 : 4;
    if (rest > 1 || !*keys->region) read_shared("AWS_CONFIG_FILE", ".aws/config", keys->profile, all, rest);
    if (!*keys->secret) *keys->key_id = *keys->token = 0;
    if (!*keys->region) copy(keys->region, sizeof keys->region, "us-east-1", 9);
}

/* --------------------------------------------------------------------------------------------- request */

int leat__s3_split(const char *url, char *bucket, size_t cap, const char **key, leat_error *err) {
    const char *begin = url + strlen("s3://"), *slash = strchr(begin, '/');
    const size_t n = slash ? (size_t)(slash - begin) : strlen(begin);
    const bool plain =
        strspn(begin, "abcdefghijklmnopqrstuvwxyz0123456789.-_ABCDEFGHIJKLMNOPQRSTUVWXYZ") >= n;
    char shown[400];
    if (n == 0 || n >= cap || !plain)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "%s has no name of a bucket: write s3://bucket/key",
                          leat__printable(shown, sizeof shown, url, strlen(url)));
    copy(bucket, cap, begin, n);
    *key = slash ? slash + 1 : "";
    return 0;
}

/* Host and path for the bucket: at Amazon the bucket is a part of the host's name where a certificate can have it. */
static int make_address(const leat__s3_keys *keys, const char *bucket, char *scheme_host, size_t cap,
                        char *path, size_t path_cap) {
    int n, m;
    if (*keys->endpoint) {
        const char *scheme = strstr(keys->endpoint, "://") ? "" : "https://";
        size_t length = strlen(keys->endpoint);
        while (length > 0 && keys->endpoint[length - 1] == '/') length--;
        n = snprintf(scheme_host, cap, "%s%.*s", scheme, (int)length, keys->endpoint);
        m = snprintf(path, path_cap, "/%s/", bucket);
    } else if (strchr(bucket, '.')) {
        n = snprintf(scheme_host, cap, "https://s3.%s.amazonaws.com", keys->region);
        m = snprintf(path, path_cap, "/%s/", bucket);
    } else {
        n = snprintf(scheme_host, cap, "https://%s.s3.%s.amazonaws.com", bucket, keys->region);
        m = snprintf(path, path_cap, "/");
    }
    return (size_t)n < cap && (size_t)m < path_cap;
}

static bool add_header(leat__s3_request *out, const char *name, const char *value) {
    char *to = out->header[out->n_headers++];
    return (size_t)snprintf(to, sizeof out->header[0], "%s: %s", name, value) < sizeof out->header[0];
}

static bool sign(leat__s3_request *out, const leat__s3_keys *keys, const char *host, const char *path,
                 const char *query, const char *range, int64_t now_s) {
    char date[32], authorization[1024];
    struct tm utc;
    const time_t seconds = (time_t)now_s;
    if (!gmtime_r(&seconds, &utc) || strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", &utc) == 0) return false;
    const leat__sigv4 request = {.key_id = keys->key_id,
                                 .secret = keys->secret,
                                 .token = keys->token,
                                 .region = keys->region,
                                 .host = host,
                                 .path = path,
                                 .query = query,
                                 .payload_sha = LEAT_SHA256_OF_NOTHING,
                                 .date = date,
                                 .range = range};
    return leat__sigv4_sign(&request, authorization, sizeof authorization) &&
           add_header(out, "Authorization", authorization) &&
           add_header(out, "x-amz-content-sha256", LEAT_SHA256_OF_NOTHING) &&
           add_header(out, "x-amz-date", date) &&
           (!*keys->token || add_header(out, "x-amz-security-token", keys->token));
}

/* As libcurl writes the header Host: without the port that the scheme has anyway. Changes address. */
static const char *host_of(char *address) {
    const char *const usual = strncmp(address, "https", 5) == 0 ? ":443" : ":80";
    const size_t n = strlen(address), m = strlen(usual);
    if (n > m && strcmp(address + n - m, usual) == 0) address[n - m] = 0;
    const char *scheme = strstr(address, "://");
    return scheme ? scheme + 3 : address;
}

int leat__s3_request_make(leat__s3_request *out, const leat__s3_keys *keys, const char *url,
                          const char *query, const char *range, int64_t now_s, leat_error *err) {
    char bucket[256], address[1024], path[4096], shown[400];
    const char *key = "";
    out->n_headers = 0;
    LEAT_TRY(leat__s3_split(url, bucket, sizeof bucket, &key, err));
    if (query) key = "";
    bool fits = make_address(keys, bucket, address, sizeof address, path, sizeof path);
    if (fits && *keys->endpoint && query && path[1]) path[strlen(path) - 1] = 0; /* /bucket, without a key */
    const size_t used = strlen(path);
    fits = fits && leat__uri_encode(key, strlen(key), true, path + used, sizeof path - used);
    const int n =
        snprintf(out->url, sizeof out->url, "%s%s%s%s", address, path, query ? "?" : "", query ? query : "");
    fits = fits && (size_t)n < sizeof out->url;
    if (fits && *keys->key_id)
        fits = sign(out, keys, host_of(address), path, query ? query : "", range, now_s);
    if (fits) return 0;
    return leat__fail(err, LEAT_ERR_LIMIT, "%s: the address is too long",
                      leat__printable(shown, sizeof shown, url, strlen(url)));
}
