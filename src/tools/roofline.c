/* SPDX-License-Identifier: Apache-2.0 */
/* The ceiling that a pipeline is held against: the least that any program must do with the same data, in a
 * bare loop, with the same number of threads. For encoded images that is decoding them in full with
 * libjpeg-turbo as it comes, from memory. For everything else it is memcpy of as many bytes as a sample of the output
 * has, into a ring as large as ours, out of memory that is as large as the source: the bytes of a sample there are read
 * once and written as often as it takes. With a cache that memory holds what the cache would. */
#include <stdio.h>

#include <jpeglib.h>
#include <setjmp.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "leat/leat_tools.h"
#include "plan/planner.h"
#include "plan/preview.h"

enum { IMAGES_MAX = 2000, THREADS_MAX = 256 };
static const size_t preload_max = (size_t)1 << 30, ring_max = (size_t)1 << 30;
static const size_t from_max = (size_t)1 << 28; /* more than any cache holds */

typedef struct encoded { /* an image file in memory */
    size_t offset, bytes;
    bool jpeg;
} encoded;

typedef struct ceiling {
    leat__buf bytes;  /* all files, one after the other                     */
    leat__buf images; /* of struct encoded                                  */
    size_t n_images, n_jpegs;
    unsigned codecs; /* a bit for each leat__codec of them                */
    int per_sample;  /* images that a sample has                           */
    bool fast;       /* JPEGs by the fast transform, as the pipeline does  */
    uint8_t *from, *ring;
    size_t ring_bytes, record; /* record: bytes of a sample in the ring */
    size_t from_bytes, piece;  /* piece: bytes of a sample in the source */
    bool gathers;              /* samples of the source come in no order */
    leat__mutex mutex;
    leat__cond change;
    int n_running;
    atomic_int go, stop; /* go: -1 = do not begin                              */
    uint64_t seconds_ns;
} ceiling;

typedef struct climber { /* one thread of the loop */
    ceiling *roof;
    int number, of;
    pthread_t thread;
    uint64_t items, bytes, ns;
    int rc;
    leat_error err;
} climber;

/* ------------------------------------------------------------------------------------------- decode */

typedef struct bare_jpeg {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
} bare_jpeg;

static void on_error(j_common_ptr info) {
    longjmp(((bare_jpeg *)info->client_data)->failed, 1);
}
static void on_message(j_common_ptr info, int level) {
    (void)info, (void)level;
}

static bool bare_begin(bare_jpeg *jpeg) {
    jpeg->info.err = jpeg_std_error(&jpeg->errors);
    jpeg->errors.error_exit = on_error;
    jpeg->errors.emit_message = on_message;
    jpeg->info.client_data = jpeg;
    if (setjmp(jpeg->failed)) return false;
    jpeg_create_decompress(&jpeg->info);
    return true;
}

/* One picture in full, as a program would that knows nothing but libjpeg's manual. False: it is damaged. */
static bool bare_decode(bare_jpeg *jpeg, bool fast, const uint8_t *bytes, size_t n, leat__buf *pixels,
                        uint64_t *written) {
    struct jpeg_decompress_struct *info = &jpeg->info;
    if (setjmp(jpeg->failed)) {
        jpeg_abort_decompress(info);
        return false;
    }
    jpeg_mem_src(info, bytes, n);
    jpeg_read_header(info, TRUE);
    if ((uint64_t)info->image_width * info->image_height > LEAT_DECODE_PIXELS_MAX) longjmp(jpeg->failed, 1);
    const bool four = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = four ? JCS_CMYK : JCS_RGB;
    info->dct_method = fast ? JDCT_IFAST : JDCT_ISLOW;
    jpeg_start_decompress(info);
    const size_t stride = (size_t)info->output_width * (size_t)info->output_components;
    if (!leat__buf_reserve(pixels, stride * info->output_height)) longjmp(jpeg->failed, 1);
    while (info->output_scanline < info->output_height) {
        JSAMPROW rows[16];
        for (unsigned i = 0; i < 16; i++) rows[i] = pixels->data + stride * (info->output_scanline + i);
        const unsigned left = info->output_height - info->output_scanline;
        jpeg_read_scanlines(info, rows, LEAT_MIN(left, 16u));
    }
    *written += stride * info->output_height;
    jpeg_finish_decompress(info);
    return true;
}

static bool other_decode(leat__decoder *decoder, const uint8_t *bytes, size_t n, leat__buf *pixels,
                         uint64_t *written) {
    const leat__decode_options options = {.channels = 3, .reference = true};
    leat__picture_info info;
    if (leat__decode_begin(decoder, bytes, n, &options, &info, NULL) < 0) return false;
    const size_t stride = (size_t)info.width * (size_t)info.channels;
    const bool good = leat__buf_reserve(pixels, stride * (size_t)info.height) &&
                      leat__decode_rows(decoder, pixels->data, (ptrdiff_t)stride, info.height, NULL) == 0;
    *written += good ? stride * (size_t)info.height : 0;
    return leat__decode_end(decoder, NULL) == 0 && good;
}

static void decode_loop(climber *self, uint64_t begin, uint64_t until) {
    const ceiling *roof = self->roof;
    const encoded *images = (const encoded *)roof->images.data;
    leat__buf pixels = {.kind = LEAT_MEM_TOOL};
    leat__decoder *decoder = roof->n_jpegs < roof->n_images ? leat__decoder_new(&self->err) : NULL;
    bare_jpeg *jpeg = leat__alloc(LEAT_MEM_TOOL, sizeof *jpeg);
    if (jpeg && bare_begin(jpeg) && (decoder || roof->n_jpegs == roof->n_images)) {
        uint64_t now = begin;
        /* Each thread begins elsewhere, so that all together see every picture equally often. */
        for (size_t i = roof->n_images * (size_t)self->number / (size_t)self->of; now < until; i++) {
            const encoded *image = &images[i % roof->n_images];
            const uint8_t *bytes = roof->bytes.data + image->offset;
            const bool good = image->jpeg
                                  ? bare_decode(jpeg, roof->fast, bytes, image->bytes, &pixels, &self->bytes)
                                  : other_decode(decoder, bytes, image->bytes, &pixels, &self->bytes);
            self->items += good;
            if (atomic_load(&self->roof->stop)) break;
            now = leat__now_ns();
        }
        jpeg_destroy_decompress(&jpeg->info);
    } else {
        self->rc = leat__fail_memory(&self->err, sizeof *jpeg, "a decoder");
    }
    leat__free(jpeg);
    leat__decoder_free(&decoder);
    leat__buf_free(&pixels);
}

/* --------------------------------------------------------------------------------------------- copy */

static void copy_sample(const ceiling *roof, uint8_t *to, const uint8_t *from) {
    for (size_t done = 0; done < roof->record; done += roof->piece)
        memcpy(to + done, from, LEAT_MIN(roof->piece, roof->record - done));
}

static void copy_loop(climber *self, uint64_t begin, uint64_t until) {
    const ceiling *roof = self->roof;
    const size_t n = roof->ring_bytes / roof->record;
    const size_t first = n * (size_t)self->number / (size_t)self->of;
    const size_t end = LEAT_MAX(n * (size_t)(self->number + 1) / (size_t)self->of, first + 1);
    /* The clock is read about once a megabyte. */
    const size_t run = LEAT_CLAMP(((size_t)1 << 20) / roof->record, (size_t)1, (size_t)65536);
    const size_t n_from = roof->from_bytes / roof->piece;
    size_t at = first, next = n_from * (size_t)self->number / (size_t)self->of;
    for (uint64_t now = begin; now < until; now = leat__now_ns()) {
        for (size_t i = 0; i < run; i++) {
            const size_t from =
                roof->gathers ? leat__mix64(self->items + i + (uint64_t)self->number) % n_from : next;
            copy_sample(roof, roof->ring + at * roof->record, roof->from + from * roof->piece);
            if (++at == end) at = first;
            if (++next == n_from) next = 0;
        }
        self->items += run;
        if (atomic_load(&self->roof->stop)) break;
    }
    self->bytes = self->items * roof->record;
}

/* ------------------------------------------------------------------------------------------ threads */

static void *climb(void *argument) {
    climber *self = argument;
    ceiling *roof = self->roof;
    leat__lock(&roof->mutex);
    while (atomic_load(&roof->go) == 0) leat__cond_wait(&roof->change, &roof->mutex);
    leat__unlock(&roof->mutex);
    if (atomic_load(&roof->go) > 0) {
        const uint64_t begin = leat__now_ns(), until = begin + roof->seconds_ns;
        if (roof->n_images > 0) decode_loop(self, begin, until);
        else copy_loop(self, begin, until);
        self->ns = leat__now_ns() - begin;
    }
    leat__lock(&roof->mutex);
    roof->n_running--;
    pthread_cond_broadcast(&roof->change);
    leat__unlock(&roof->mutex);
    return NULL;
}

/* Lets all threads go at once and waits for them; the program may stop them. */
static int run_threads(ceiling *roof, climber *climbers, int n, const leat_config *config, leat_error *err) {
    int started = 0, rc = 0;
    for (; started < n && rc == 0; started += rc == 0) {
        climbers[started] = (climber){.roof = roof, .number = started, .of = n};
        rc = leat__thread_start(&climbers[started].thread, climb, &climbers[started], "leat-roofline", err);
    }
    const uint64_t begin = leat__now_ns();
    leat__lock(&roof->mutex);
    roof->n_running = started;
    atomic_store(&roof->go, rc == 0 ? 1 : -1);
    pthread_cond_broadcast(&roof->change);
    while (roof->n_running > 0) {
        leat__cond_wait_for(&roof->change, &roof->mutex, 100000000);
        leat__unlock(&roof->mutex);
        const uint64_t done = LEAT_MIN(leat__now_ns() - begin, roof->seconds_ns);
        if (rc == 0 && config->progress &&
            config->progress(config->user, "measuring the ceiling", done / 1000000,
                             roof->seconds_ns / 1000000)) {
            atomic_store(&roof->stop, 1);
            rc = leat__fail(err, LEAT_ERR_CANCELLED, "measuring the ceiling was cancelled");
        }
        leat__lock(&roof->mutex);
    }
    leat__unlock(&roof->mutex);
    for (int i = 0; i < started; i++) {
        pthread_join(climbers[i].thread, NULL);
        if (rc == 0 && climbers[i].rc < 0) {
            rc = climbers[i].rc;
            if (err) *err = climbers[i].err;
        }
    }
    return rc;
}

static int climb_all(ceiling *roof, leat_roofline *out, const leat_config *config, leat_error *err) {
    const int n = LEAT_CLAMP(config->synchronous     ? 1
                             : config->n_threads > 0 ? config->n_threads
                                                     : leat__cpu_count(),
                             1, THREADS_MAX);
    climber *climbers = leat__alloc(LEAT_MEM_TOOL, (size_t)n * sizeof *climbers);
    if (!climbers) return leat__fail_memory(err, (size_t)n * sizeof *climbers, "threads");
    const int rc = run_threads(roof, climbers, n, config, err);
    for (int i = 0; rc == 0 && i < n; i++) {
        if (climbers[i].ns == 0) continue;
        const double s = (double)climbers[i].ns * 1e-9;
        const int per_sample = roof->n_images ? roof->per_sample : 1;
        out->samples += climbers[i].items / (uint64_t)per_sample;
        out->samples_per_s += (double)climbers[i].items / per_sample / s;
        out->bytes_per_s += (double)climbers[i].bytes / s;
    }
    leat__free(climbers);
    if (rc == 0 && out->samples == 0)
        return leat__fail(err, LEAT_ERR_DECODE, "none of %zu images could be decoded by a bare loop",
                          roof->n_images);
    return rc;
}

/* ---------------------------------------------------------------------------------- what to work on */

static bool keep_image(ceiling *roof, const leat__value *value) {
    const leat__codec codec = leat__codec_detect(value->data, value->bytes);
    const encoded image = {
        .offset = roof->bytes.size, .bytes = value->bytes, .jpeg = codec == LEAT_CODEC_JPEG};
    if (codec == LEAT_CODEC_UNKNOWN) return true;
    if (!leat__buf_append(&roof->bytes, value->data, value->bytes) ||
        !leat__buf_append(&roof->images, &image, sizeof image))
        return false;
    roof->n_images++;
    roof->n_jpegs += image.jpeg;
    roof->codecs |= 1u << codec;
    return true;
}

static bool decodes(const leat__step *step) {
    return step->kind == LEAT_STEP_PASS && step->as.pass->decode;
}

static int read_sample(leat__plan *plan, leat__tools *tools, leat__preview *preview, uint64_t i, uint64_t n) {
    leat__where at = {0};
    leat_error ignored; /* bad samples are the pipeline's to report */
    if (preview) {
        const int rc = leat__preview_next(preview, &at.piece, &at.n_pieces, &ignored);
        if (rc != 0) return rc;
    } else {
        const uint64_t length = leat__order_length(&plan->order);
        const uint64_t of = length == LEAT_ENDLESS ? plan->source->n_samples : length;
        /* Evenly over the epoch: neighbours in a folder are of one class and often of one size. */
        at.sample = leat__order_map(&plan->order, 0, (uint64_t)((__uint128_t)i * of / n)).sample;
    }
    return leat__run_sample(tools, &at, &ignored);
}

/* Runs samples through everything that comes before the first decode step, and keeps the files. */
static int preload(ceiling *roof, leat__plan *plan, leat_error *err) {
    leat__plan *head = leat__alloc(LEAT_MEM_TOOL, sizeof *head);
    leat__tools *tools = leat__alloc(LEAT_MEM_TOOL, sizeof *tools);
    leat__preview *preview = NULL;
    int rc = head && tools ? 0 : leat__fail_memory(err, sizeof *head + sizeof *tools, "a plan");
    if (rc == 0) {
        *head = *plan;
        head->cache = NULL;
        head->caching = (leat__caching){0};
        for (int i = plan->n_steps - 1; i >= 0; i--)
            if (decodes(&plan->step[i])) head->n_steps = i;
        rc = leat__tools_init(tools, head, NULL, err);
    }
    if (rc == 0 && plan->stream) rc = leat__preview_new(&preview, plan, err);
    const uint64_t length = leat__order_length(&plan->order);
    const uint64_t n = LEAT_MIN(LEAT_MIN(length, plan->source->n_samples), (uint64_t)IMAGES_MAX);
    for (uint64_t i = 0; rc == 0 && i < n && roof->bytes.size < preload_max; i++) {
        const int got = read_sample(plan, tools, preview, i, n);
        if (got == 1) break;
        if (got < 0) continue;
        int kept = 0;
        for (int k = head->n_steps; k < plan->n_steps && rc == 0; k++) {
            const leat__value *value = &tools->value[plan->step[k].value];
            if (!decodes(&plan->step[k]) || value->dtype != LEAT_DTYPE_BYTES) continue;
            roof->fast = plan->step[k].as.pass->decode_options.fast;
            if (!keep_image(roof, value))
                rc = leat__fail_memory(err, roof->bytes.size, "images for the ceiling");
            kept++;
        }
        roof->per_sample = LEAT_MAX(kept, 1);
    }
    if (rc == 0 && roof->n_images == 0)
        rc = leat__fail(err, LEAT_ERR_DECODE, "%s: no image could be read", plan->source->title);
    leat__preview_free(&preview);
    if (tools) leat__tools_free(tools);
    leat__free(tools);
    leat__free(head);
    return rc;
}

/* Whether the first samples come in another order than that of the source. */
static bool is_shuffled(leat__order *order) {
    const uint64_t n = LEAT_MIN(leat__order_length(order), (uint64_t)8);
    for (uint64_t i = 1; i < n; i++)
        if (leat__order_map(order, 0, i).sample < leat__order_map(order, 0, i - 1).sample) return true;
    return false;
}

/* What is copied from. The records of a stream are not counted before they were read: they come from where the ring's bytes do. */
static void size_source(ceiling *roof, leat__plan *plan) {
    const leat__source *source = plan->source;
    const bool known = !plan->stream && source->n_samples > 0 && source->bytes_max > 0;
    const bool cached = plan->caching.wanted;
    roof->piece = roof->record;
    roof->from_bytes = roof->ring_bytes;
    if (!cached && !known) return;
    /* Short pieces would measure the calls, and not the bytes. */
    if (!cached)
        roof->piece = LEAT_CLAMP(source->bytes_max, LEAT_MIN(roof->record, (size_t)1024), roof->record);
    const uint64_t most = LEAT_MAX((cached ? ring_max : from_max) / roof->piece, (size_t)1);
    roof->from_bytes = (size_t)LEAT_CLAMP(source->n_samples, (uint64_t)1, most) * roof->piece;
    roof->gathers = cached || is_shuffled(&plan->order);
}

static int prepare_ring(ceiling *roof, leat__plan *plan, leat_error *err) {
    for (int i = 0; i < plan->n_outputs; i++) roof->record += plan->output[i].usual;
    roof->record = LEAT_MAX(roof->record, (size_t)1);
    const size_t n = (size_t)LEAT_MAX(plan->n_slots_begin, 1) * (size_t)plan->batch;
    roof->ring_bytes = LEAT_CLAMP(ring_max / roof->record, (size_t)1, n) * roof->record;
    size_source(roof, plan);
    roof->from = leat__alloc_pages(roof->from_bytes);
    roof->ring = leat__alloc_pages(roof->ring_bytes);
    if (!roof->from || !roof->ring)
        return leat__fail_memory(err, roof->from_bytes + roof->ring_bytes, "the ring of the ceiling");
    /* Every page is there before the clock runs, and none of them is the zero page. */
    memset(roof->from, 1, roof->from_bytes);
    memset(roof->ring, 2, roof->ring_bytes);
    return 0;
}

static void describe(const ceiling *roof, char *what, size_t cap) {
    static const char *const library[LEAT_CODEC_COUNT] = {[LEAT_CODEC_JPEG] = "libjpeg-turbo",
                                                          [LEAT_CODEC_PNG] = "libpng",
                                                          [LEAT_CODEC_WEBP] = "libwebp",
                                                          [LEAT_CODEC_GIF] = "giflib"};
    const char *how = roof->n_jpegs > 0 ? "libjpeg-turbo and other codecs" : "the bare codecs";
    for (int i = 0; i < LEAT_CODEC_COUNT; i++)
        if (roof->codecs == 1u << i && library[i]) how = library[i];
    if (roof->n_images > 0)
        snprintf(what, cap, "%s decoding %zu files in full, from memory%s", how, roof->n_images,
                 roof->fast && roof->n_jpegs > 0 ? ", with the fast IDCT" : "");
    else if (roof->piece == roof->record)
        snprintf(what, cap, "memcpy of %zu bytes a sample out of %.1f MB into a ring of %.1f MB",
                 roof->record, (double)roof->from_bytes / 1e6, (double)roof->ring_bytes / 1e6);
    else
        snprintf(what, cap, "memcpy of %zu to %zu bytes a sample out of %.1f MB into a ring of %.1f MB",
                 roof->piece, roof->record, (double)roof->from_bytes / 1e6, (double)roof->ring_bytes / 1e6);
}

int leat_roofline_measure(leat_roofline *out, const leat_spec *spec, const leat_config *pipeline,
                          double seconds, leat_error *err) {
    leat__error_clear(err);
    if (!out) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_roofline_measure: out is NULL");
    *out = (leat_roofline){0};
    if (pipeline) LEAT_TRY(LEAT_CHECK_RESERVED(leat_config, pipeline, err));
    LEAT_TRY(leat_spec_error(spec, err));
    const leat_config config = pipeline ? *pipeline : (leat_config){0};
    leat__plan *plan = leat__alloc(LEAT_MEM_TOOL, sizeof *plan);
    if (!plan) return leat__fail_memory(err, sizeof *plan, "a plan");
    int rc = leat__plan_build(plan, spec, &config, err);
    if (rc < 0) {
        leat__free(plan);
        return rc;
    }
    ceiling roof = {.bytes.kind = LEAT_MEM_TOOL, .images.kind = LEAT_MEM_TOOL};
    roof.seconds_ns = (uint64_t)(LEAT_CLAMP(seconds, 0.001, 86400.0) * 1e9);
    bool pictures = false;
    for (int i = plan->caching.step; i < plan->n_steps; i++) pictures |= decodes(&plan->step[i]);
    rc = pictures ? preload(&roof, plan, err) : prepare_ring(&roof, plan, err);
    if (rc == 0) rc = leat__mutex_init(&roof.mutex, LEAT_LOCK_TOOL, err);
    if (rc == 0) {
        rc = leat__cond_init(&roof.change, err);
        if (rc == 0) {
            rc = climb_all(&roof, out, &config, err);
            pthread_cond_destroy(&roof.change);
        }
        leat__mutex_destroy(&roof.mutex);
    }
    describe(&roof, out->what, sizeof out->what);
    leat__buf_free(&roof.bytes);
    leat__buf_free(&roof.images);
    leat__free_pages(roof.from);
    leat__free_pages(roof.ring);
    leat__plan_free(plan);
    leat__free(plan);
    return rc;
}
