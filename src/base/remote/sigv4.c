/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remote/sigv4.h"

#include <stdio.h>
#include <string.h>

/* --------------------------------------------------------------------------------------------- SHA-256 */

enum { BLOCK = 64 };

typedef struct sha256 {
    uint32_t state[8];
    uint64_t n;
    uint8_t block[BLOCK];
} sha256;

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int by) {
    return x >> by | x << (32 - by);
}

static void mix_block(sha256 *s, const uint8_t *block) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        const uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, s->state, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t one =
            v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + choice + rounds[i] + w[i];
        const uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + majority;
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++) s->state[i] += v[i];
}

static void sha_begin(sha256 *s) {
    *s = (sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                            0x1f83d9ab, 0x5be0cd19}};
}

static void sha_add(sha256 *s, const void *bytes, size_t n) {
    const uint8_t *from = bytes;
    while (n > 0) {
        const size_t at = (size_t)(s->n % BLOCK), part = LEAT_MIN(n, BLOCK - at);
        memcpy(s->block + at, from, part);
        s->n += part;
        from += part;
        n -= part;
        if (at + part == BLOCK) mix_block(s, s->block);
    }
}

static void sha_end(sha256 *s, uint8_t out[LEAT_SHA256_BYTES]) {
    static const uint8_t padding[BLOCK] = {0x80};
    uint8_t bits[8];
    const uint64_t n = s->n;
    for (int i = 0; i < 8; i++) bits[i] = (uint8_t)(n * 8 >> (56 - 8 * i));
    sha_add(s, padding, 1 + (size_t)((BLOCK + 55 - n % BLOCK) % BLOCK));
    sha_add(s, bits, sizeof bits);
    for (int i = 0; i < LEAT_SHA256_BYTES; i++) out[i] = (uint8_t)(s->state[i / 4] >> (24 - i % 4 * 8));
}

void leat__sha256(const void *bytes, size_t n, uint8_t out[LEAT_SHA256_BYTES]) {
    sha256 s;
    sha_begin(&s);
    sha_add(&s, bytes, n);
    sha_end(&s, out);
}

void leat__hmac_sha256(const void *key, size_t n_key, const void *bytes, size_t n,
                       uint8_t out[LEAT_SHA256_BYTES]) {
    uint8_t inner[BLOCK] = {0}, outer[BLOCK];
    if (n_key > BLOCK) leat__sha256(key, n_key, inner);
    else if (n_key) memcpy(inner, key, n_key);
    for (int i = 0; i < BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    sha256 s;
    sha_begin(&s);
    sha_add(&s, inner, BLOCK);
    sha_add(&s, bytes, n);
    sha_end(&s, out);
    sha_begin(&s);
    sha_add(&s, outer, BLOCK);
    sha_add(&s, out, LEAT_SHA256_BYTES);
    sha_end(&s, out);
}

static void write_hex(const uint8_t bytes[LEAT_SHA256_BYTES], char out[LEAT_SHA256_HEX]) {
    static const char digit[] = "0123456789abcdef";
    for (int i = 0; i < LEAT_SHA256_BYTES; i++) {
        out[2 * i] = digit[bytes[i] >> 4];
        out[2 * i + 1] = digit[bytes[i] & 15];
    }
    out[LEAT_SHA256_HEX - 1] = 0;
}

/* ------------------------------------------------------------------------------------------- signature */

bool leat__uri_encode(const char *text, size_t n, bool keep_slash, char *out, size_t cap) {
    static const char digit[] = "0123456789ABCDEF";
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = (uint8_t)text[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slash);
        if (used + 4 > cap) return false;
        if (plain) {
            out[used++] = (char)c;
        } else {
            out[used++] = '%';
            out[used++] = digit[c >> 4];
            out[used++] = digit[c & 15];
        }
    }
    if (used >= cap) return false;
    out[used] = 0;
    return true;
}

static void sign_text(const uint8_t *key, size_t n_key, const char *text, uint8_t out[LEAT_SHA256_BYTES]) {
    leat__hmac_sha256(key, n_key, text, strlen(text), out);
}

/* The key of a day, a region and a service. */
static bool derive_key(const leat__sigv4 *r, const char *day, uint8_t out[LEAT_SHA256_BYTES]) {
    char secret[256];
    if ((size_t)snprintf(secret, sizeof secret, "AWS4%s", r->secret) >= sizeof secret) return false;
    sign_text((const uint8_t *)secret, strlen(secret), day, out);
    sign_text(out, LEAT_SHA256_BYTES, r->region, out);
    sign_text(out, LEAT_SHA256_BYTES, "s3", out);
    sign_text(out, LEAT_SHA256_BYTES, "aws4_request", out);
    return true;
}

/* The headers that are signed, in the order of their names, each as "name:value\n"; their names. */
static bool signed_headers(const leat__sigv4 *r, char *headers, size_t cap, char *names, size_t names_cap) {
    const bool token = *r->token;
    const int n =
        snprintf(headers, cap, "host:%s\n%s%s%sx-amz-content-sha256:%s\nx-amz-date:%s\n%s%s%s", r->host,
                 r->range ? "range:" : "", r->range ? r->range : "", r->range ? "\n" : "", r->payload_sha,
                 r->date, token ? "x-amz-security-token:" : "", r->token, token ? "\n" : "");
    const int m = snprintf(names, names_cap, "host;%sx-amz-content-sha256;x-amz-date%s",
                           r->range ? "range;" : "", token ? ";x-amz-security-token" : "");
    return (size_t)n < cap && (size_t)m < names_cap;
}

bool leat__sigv4_sign(const leat__sigv4 *r, char *out, size_t cap) {
    char headers[6000], names[128], canonical[16000], text[512], day[9], hex[LEAT_SHA256_HEX];
    uint8_t hash[LEAT_SHA256_BYTES], key[LEAT_SHA256_BYTES];
    snprintf(day, sizeof day, "%.8s", r->date);
    if (!signed_headers(r, headers, sizeof headers, names, sizeof names) || !derive_key(r, day, key))
        return false;
    const int n = snprintf(canonical, sizeof canonical, "GET\n%s\n%s\n%s\n%s\n%s", r->path, r->query, headers,
                           names, r->payload_sha);
    if ((size_t)n >= sizeof canonical) return false;
    leat__sha256(canonical, (size_t)n, hash);
    write_hex(hash, hex);
    const int m = snprintf(text, sizeof text, "AWS4-HMAC-SHA256\n%s\n%s/%s/s3/aws4_request\n%s", r->date, day,
                           r->region, hex);
    if ((size_t)m >= sizeof text) return false;
    sign_text(key, sizeof key, text, hash);
    write_hex(hash, hex);
    const int used = snprintf(
        out, cap, "AWS4-HMAC-SHA256 Credential=%s/%s/%s/s3/aws4_request,SignedHeaders=%s,Signature=%s",
        r->key_id, day, r->region, names, hex);
    return (size_t)used < cap;
}
