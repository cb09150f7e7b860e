/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of remote files that need no server: hashes and signatures against published examples, addresses and keys of S3, lists of
 * objects, the words of a server, and what of an address may stand in a message. */
#include <stdio.h>
#include <stdlib.h>

#include "base/remote/refusal.h"
#include "base/remote/remote.h"
#include "base/remote/s3.h"
#include "base/remote/sigv4.h"
#include "testing.h"

static void assert_hex(const uint8_t *bytes, const char *hex) {
    char text[2 * LEAT_SHA256_BYTES + 1];
    for (int i = 0; i < LEAT_SHA256_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    assert_string_equal(text, hex);
}

/* FIPS 180-4, and lengths around the ends of blocks against each other. */
static void test_sha256(void **state) {
    (void)state;
    uint8_t out[LEAT_SHA256_BYTES];
    leat__sha256("", 0, out);
    assert_hex(out, LEAT_SHA256_OF_NOTHING);
    leat__sha256("abc", 3, out);
    assert_hex(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    leat__sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, out);
    assert_hex(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char many[1000];
    memset(many, 'a', sizeof many);
    leat__sha256(many, sizeof many, out);
    assert_hex(out, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

/* RFC 4231, cases 2 and 6. */
static void test_hmac(void **state) {
    (void)state;
    uint8_t out[LEAT_SHA256_BYTES], key[131];
    leat__hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out);
    assert_hex(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    const char *text = "Test Using Larger Than Block-Size Key - Hash Key First";
    leat__hmac_sha256(key, sizeof key, text, strlen(text), out);
    assert_hex(out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* "GET Object" and "GET Bucket (List Objects)" of the examples in Amazon's description of the signature. */
static void test_signatures(void **state) {
    (void)state;
    leat__sigv4 request = {.key_id = "AKIAIOSFODNN7EXAMPLE",
                           .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                           .token = "",
                           .region = "us-east-1",
                           .host = "examplebucket.s3.amazonaws.com",
                           .path = "/test.txt",
                           .query = "",
                           .payload_sha = LEAT_SHA256_OF_NOTHING,
                           .date = "20130524T000000Z",
                           .range = "bytes=0-9"};
    char out[1024], small[20];
    assert_true(leat__sigv4_sign(&request, out, sizeof out));
    assert_non_null(strstr(out, "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"));
    assert_non_null(
        strstr(out, "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
    request.range = NULL;
    request.path = "/";
    request.query = "max-keys=2&prefix=J";
    assert_true(leat__sigv4_sign(&request, out, sizeof out));
    assert_non_null(
        strstr(out, "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
    assert_false(leat__sigv4_sign(&request, small, sizeof small));
}

static void make(leat__s3_request *out, leat__s3_keys *keys, const char *url) {
    leat_error err;
    assert_int_equal(leat__s3_request_make(out, keys, url, NULL, NULL, 1369353600, &err), 0);
}

static void test_addresses(void **state) {
    (void)state;
    static leat__s3_request r;
    leat__s3_keys keys = {.region = "eu-west-1"};
    make(&r, &keys, "s3://bucket/a b/c+d.jpg");
    assert_string_equal(r.url, "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/c%2Bd.jpg");
    assert_int_equal(r.n_headers, 0);
    make(&r, &keys, "s3://my.bucket/key"); /* no certificate is for a name with two points */
    assert_string_equal(r.url, "https://s3.eu-west-1.amazonaws.com/my.bucket/key");
    snprintf(keys.endpoint, sizeof keys.endpoint, "https://storage.example:443/");
    snprintf(keys.key_id, sizeof keys.key_id, "id");
    snprintf(keys.secret, sizeof keys.secret, "secret");
    make(&r, &keys, "s3://bucket/key");
    assert_string_equal(r.url, "https://storage.example:443/bucket/key");
    assert_int_equal(r.n_headers, 3);
    for (int i = 0; i < r.n_headers; i++) assert_null(strstr(r.header[i], "secret"));
    leat_error err;
    assert_int_equal(leat__s3_request_make(&r, &keys, "s3://", NULL, NULL, 0, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat__s3_request_make(&r, &keys, "s3://a b/c", NULL, NULL, 0, &err), LEAT_ERR_ARGUMENT);
}

static int add_key(void *user, const char *key, leat_error *err) {
    char *text = user;
    (void)err;
    strcat(strcat(text, key), "|");
    return 0;
}

static int parse(const char *xml, char *keys, char *token, size_t cap) {
    leat_error err;
    *keys = 0;
    const int rc = leat__listing_parse(xml, strlen(xml), add_key, keys, token, cap, &err);
    if (rc < 0) assert_true(leat__error_is_fault(&err));
    return rc;
}

static void test_lists(void **state) {
    (void)state;
    char keys[1000], token[20];
    assert_int_equal(
        parse("<?xml version='1.0'?><ListBucketResult "
              "xmlns='x'><Name>b</Name><Contents><Key>a&amp;b&#x20AC;&#65;"
              "</Key><Owner><ID>1</ID></Owner></Contents><Contents><Key>c</Key></Contents><CommonPrefixes>"
              "<Key>none</Key></CommonPrefixes><NextContinuationToken>t&lt;1</NextContinuationToken>"
              "</ListBucketResult>",
              keys, token, sizeof token),
        0);
    assert_string_equal(keys, "a&b\xe2\x82\xac"
                              "A|c|");
    assert_string_equal(token, "t<1");
    assert_int_equal(parse("<ListBucketResult/><ListBucketResult></ListBucketResult>", keys, token, 20), 0);
    static const char *const wrong[] = {
        "",
        "<Error><Code>x</Code></Error>",
        "<ListBucketResult><Contents><Key>a",
        "<ListBucketResult>",
        "<ListBucketResult><Contents><Key>&nbsp;</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>&#0;</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>&#x110000;</Key></Contents></ListBucketResult>",
        "<ListBucketResult><NextContinuationToken>longer than there is "
        "room</NextContinuationToken></ListBucketResult>"};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++)
        assert_int_equal(parse(wrong[i], keys, token, sizeof token), LEAT_ERR_IO);
}

static void test_words_of_a_server(void **state) {
    (void)state;
    static const struct {
        const char *body, *words;
    } all[] = {{"<Error><Code>NoSuchKey</Code><Message>The key\n does not exist.</Message></Error>",
                "NoSuchKey: The key does not exist."},
               {"<html><head><title>404 Not Found</title></head><body>x", "404 Not Found"},
               {"plain\r\n text ", "plain text"},
               {"<b>bold</b> <i", "bold"},
               {"", ""}};
    char out[200];
    for (size_t i = 0; i < LEAT_COUNT(all); i++)
        assert_string_equal(leat__server_message(all[i].body, strlen(all[i].body), out, sizeof out),
                            all[i].words);
}

static void test_names_without_secrets(void **state) {
    (void)state;
    static const struct {
        const char *path, *shown, *name;
    } all[] = {{"https://h/a/b.rec?sig=1#x", "https://h/a/b.rec", "b.rec"},
               {"http://me:secret@h:80/b?c/d", "http://h:80/b", "b"},
               {"https://h?q", "https://h", "h"},
               {"s3://b/what?.jpg", "s3://b/what?.jpg", "what?.jpg"},
               {"/tmp/what?.jpg", "/tmp/what?.jpg", "what?.jpg"},
               {"plain", "plain", "plain"}};
    for (size_t i = 0; i < LEAT_COUNT(all); i++) {
        char shown[100];
        const char *name;
        assert_string_equal(leat__printable(shown, sizeof shown, all[i].path, strlen(all[i].path)),
                            all[i].shown);
        const size_t n = leat__path_name(all[i].path, &name);
        assert_int_equal(n, strlen(all[i].name));
        assert_memory_equal(name, all[i].name, n);
    }
    assert_true(leat__is_remote("HTTPS://x") && leat__is_remote("s3://b") && !leat__is_remote("s3:/b"));
    assert_false(leat__is_remote("") || leat__is_remote("https") || leat__is_remote("/https://"));
}

static void test_keys_of_the_environment(void **state) {
    (void)state;
    static leat__s3_keys keys;
    setenv("HOME", "/nowhere", 1);
    setenv("AWS_ACCESS_KEY_ID", "id", 1);
    unsetenv("AWS_SECRET_ACCESS_KEY");
    unsetenv("AWS_REGION");
    unsetenv("AWS_DEFAULT_REGION");
    unsetenv("AWS_PROFILE");
    leat__s3_find_keys(&keys);
    assert_string_equal(keys.key_id, ""); /* half a pair is none */
    assert_string_equal(keys.region, "us-east-1");
    assert_string_equal(keys.profile, "default");
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    setenv("AWS_SESSION_TOKEN", "token", 1);
    setenv("AWS_REGION", "eu-north-1", 1);
    leat__s3_find_keys(&keys);
    assert_string_equal(keys.key_id, "id");
    assert_string_equal(keys.secret, "secret");
    assert_string_equal(keys.token, "token");
    assert_string_equal(keys.region, "eu-north-1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_signatures),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_words_of_a_server),
        cmocka_unit_test(test_names_without_secrets),
        cmocka_unit_test(test_keys_of_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
