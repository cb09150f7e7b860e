/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the state of a run. The first byte chooses:
 *     bits 0-2  one of the pipelines below   bits 3-5  batches before its own state is taken
 *     bit 6     the rest is the state itself; otherwise the rest are edits of that state, three bytes each
 *     bit 7     the checksum of an edited state is made anew, so that what is behind it is reached
 * Whatever it says, it is refused with one line, or the pipeline goes on from there to its end or to an error, and gives a
 * state again that restores to the same batch. The compressed shards lie in memory and are opened by their descriptors.
 * tries: run/state.c stream/marks.c */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/hash.h"
#include "format/example.h"
#include "format/tfrecord.h"
#include "leat/leat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = sizeof "leat-state 2 check=0123456789abcdef" }; /* and a space */
#define SHARD_A 190 /* descriptors: their numbers are part of the names, and so of the states */
#define SHARD_B 191
#define NAME_A "/dev/fd/190"
#define NAME_B "/dev/fd/191"

static const char *const texts[8] = {
    "synth 40 2 2 | shuffle | batch 3",
    "synth 40 2 2 | shuffle 7 | repeat 3 | skip 5 | shard 1/2 | batch 4 drop_remainder=true",
    "sample_from 'synth 20 2 2 | shuffle' 'synth 9 2 2' weights=2,1 | take 25 | shuffle 8 | batch 4",
    "zip a='synth 20 2 2 | shuffle' b='synth 20 2 2' | repeat 2 | batch 4",
    "tfrecord " NAME_A " " NAME_B " | parse label:int64 | batch 4",
    "tfrecord " NAME_A " " NAME_B
    " | interleave 2 | shuffle 5 | repeat 3 | take 50 | parse label:int64 | batch 3",
    "tfrecord " NAME_A " | parse label:int64 | filter label!=3 | batch 4",
    "sample_from 'tfrecord " NAME_A " | shuffle 4' 'tfrecord " NAME_B "' | parse label:int64 | batch 3",
};

static void require(bool truth) {
    if (!truth) abort();
}

/* n records with one number each, compressed. */
static void make_shard(int fd, int n, int first) {
    leat__buf plain = {0}, example = {0};
    for (int i = 0; i < n; i++) {
        const int64_t label = first + i;
        const leat__feature_value value = {"label", LEAT_FEATURE_INT64, 1, &label};
        leat_error err;
        uint8_t header[LEAT_TFRECORD_HEADER], footer[LEAT_TFRECORD_FOOTER];
        example.size = 0;
        require(leat__example_write(&example, &value, 1, &err) == 0);
        leat__tfrecord_write_header(header, example.size);
        leat__tfrecord_write_footer(footer, example.data, example.size);
        require(leat__buf_append(&plain, header, sizeof header) &&
                leat__buf_append(&plain, example.data, example.size) &&
                leat__buf_append(&plain, footer, sizeof footer));
    }
    uLongf packed = compressBound((uLong)plain.size);
    uint8_t *bytes = malloc(packed);
    require(bytes && compress2(bytes, &packed, plain.data, (uLong)plain.size, 6) == Z_OK);
    const int made = memfd_create("shard", 0);
    require(made >= 0 && write(made, bytes, packed) == (ssize_t)packed && dup2(made, fd) == fd);
    close(made);
    free(bytes);
    leat__buf_free(&plain);
    leat__buf_free(&example);
}

static leat_pipeline *open_text(const char *text) {
    static bool made;
    if (!made) make_shard(SHARD_A, 17, 0), make_shard(SHARD_B, 6, 100);
    made = true;
    leat_spec *spec = leat_spec_new(text);
    const leat_config config = {
        .synchronous = 1, .n_epochs = 2, .no_side_files = 1, .memory_max_bytes = 64 << 20, .resize_batch = 1};
    leat_pipeline *pipeline = NULL;
    leat_error err = {0};
    if (leat_pipeline_open(&pipeline, spec, &config, &err) != 0)
        fprintf(stderr, "%s: %s\n", text, err.message);
    require(pipeline);
    leat_spec_free(&spec);
    return pipeline;
}

/* Up to n batches; their bytes, and how it ended. */
static int take(leat_pipeline *pipeline, int n, uint64_t *digest) {
    leat_batch b;
    leat_error err;
    int rc = 0;
    for (int i = 0; i < n && (rc = leat_pipeline_next(pipeline, &b, &err)) == 0; i++) {
        *digest =
            leat__hash(b.tensor[0].data, (size_t)(b.tensor[0].shape[0] * b.tensor[0].stride[0]), *digest);
        leat_batch_release(&b);
    }
    require(rc >= 0 || (err.message[0] && !strchr(err.message, '\n')));
    return rc;
}

static size_t edit(char *state, size_t n, size_t cap, const uint8_t *edits, size_t n_edits) {
    static const char signs[] = "0123456789 =,:-.|x";
    for (size_t i = 0; i + 3 <= n_edits; i += 3) {
        const size_t at = (edits[i] + 256u * (edits[i + 1] & 3)) % (n + 1);
        const char sign = edits[i + 2] & 0x80 ? (char)edits[i + 2] : signs[edits[i + 2] % (sizeof signs - 1)];
        if (edits[i + 1] & 0x80 && n + 1 < cap) { /* one more */
            memmove(state + at + 1, state + at, n - at);
            state[at] = sign;
            n++;
        } else if (edits[i + 1] & 0x40 && at < n) { /* one less */
            memmove(state + at, state + at + 1, n - at - 1);
            n--;
        } else if (at < n) state[at] = sign;
    }
    state[n] = 0;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char state[4096], again[4096];
    leat_error err;
    if (size < 1) return 0;
    leat_pipeline *pipeline = open_text(texts[data[0] & 7]);
    uint64_t digest = 0;
    size_t n;
    take(pipeline, data[0] >> 3 & 7, &digest);
    if (data[0] & 0x40) {
        n = size - 1 < sizeof state - 1 ? size - 1 : sizeof state - 1;
        memcpy(state, data + 1, n);
        state[n] = 0;
    } else {
        require(leat_pipeline_state(pipeline, state, sizeof state, &err) == 0);
        n = edit(state, strlen(state), sizeof state, data + 1, size - 1);
    }
    if (data[0] & 0x80 && n > HEAD) {
        char check[17];
        snprintf(check, sizeof check, "%016llx", (unsigned long long)leat__hash(state + HEAD, n - HEAD, 0));
        memcpy(state + HEAD - 17, check, 16);
    }
    if (leat_pipeline_restore(pipeline, state, &err) != 0) {
        require(err.message[0] && !strchr(err.message, '\n'));
    } else if (leat_pipeline_state(pipeline, again, sizeof again, &err) == 0) {
        uint64_t first = 0, second = 0;
        const int rc = take(pipeline, 2, &first);
        if (rc >= 0) {
            const int back = leat_pipeline_restore(pipeline, again, &err);
            /* A stream may have been read to its end meanwhile, which shows that the state has lied. */
            require(back == 0 || (back == LEAT_ERR_STATE && strstr(texts[data[0] & 7], "tfrecord")));
            require(back != 0 || (take(pipeline, 2, &second) == rc && first == second));
        }
    }
    leat_pipeline_close(&pipeline);
    return 0;
}
