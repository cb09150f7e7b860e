/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG: accurate integer IDCT and fancy upsampling, the pixels that Pillow and torchvision give; options.fast takes the
 * IDCT that TensorFlow takes unless told otherwise.
 *
 * libjpeg-turbo reads the headers of every file. What is regular is then decoded by our own decoder (jpeg_own.c), which
 * gives the same bytes in half the time; everything else goes through libjpeg-turbo's plain libjpeg API. The moment our
 * own decoder meets anything irregular, libjpeg-turbo takes over (take_over): it decodes the file from its beginning, the
 * rows that were given out already are dropped, and from there on rows and messages are its own. Whether a file is damaged
 * is therefore always decided by libjpeg-turbo.
 *
 * Every picture meets the libjpeg object as it was created: the public struct is restored from a copy, which
 * also forgets the tables of the picture before (see jpeg_memory.c), so that results do not depend on what a
 * worker decoded earlier. libjpeg reports trouble by a callback that must not return; ours jumps to the one
 * setjmp in guarded(), under which every call into libjpeg runs.
 *
 * What counts as damage. libjpeg goes on after most damage, fills with gray and counts a warning. Pillow and
 * TensorFlow let such pictures pass unless the data ends early; in training they are poison, so here:
 *   error     the data ends before the end mark (ends.c; Pillow and TensorFlow refuse these too), bad Huffman or
 *             arithmetic codes, a segment that ends early or is longer than its restart interval needs, a
 *             lost restart marker, an impossible progression
 *   no error  bytes without meaning before another marker (frequent in the wild, the pixels are complete),
 *             unknown JFIF or Adobe versions, odd spectral selection in a sequential scan, anything after the
 *             end mark
 *
 * Guards: no markers are saved, EXIF is read by ourselves; scans are counted, because a small file can
 * ask for passes over a large picture without end. */
#include "decode/codec.h"
#include "decode/jpeg/jpeg_memory.h"
#include "decode/jpeg/jpeg_own.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>

enum { ROWS_AT_ONCE = 16 };

typedef struct jpeg_state {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_decompress_struct fresh; /* as created                               */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    leat__jpeg_memory *memory;
    leat__arena *arena;
    jmp_buf jump;
    leat_error *err; /* of the call now under guarded()          */
    int code;
    int scans_max;
    uint8_t *cmyk; /* one row, when the file is CMYK           */
    int channels;
    leat__jpeg_own *own;
    bool is_own;   /* it decodes this picture                  */
    int scale;     /* rows are of the picture at 1 / scale     */
    bool boxed;    /* only wanted is asked for                 */
    int n_given;   /* rows                                     */
    uint8_t *line; /* one row of libjpeg-turbo's, after it took over */
    size_t apart;  /* 0: channels of a pixel are neighbours    */
    /* what steps are to do */
    uint8_t *dst;
    ptrdiff_t stride;
    int n_rows;
    bool fast;
    leat__box wanted, taken;
} jpeg_state;

/* ----------------------------------------------------------------------------------------- callbacks */

static int code_of(int message) {
    switch (message) {
    case JERR_IMAGE_TOO_BIG: return LEAT_ERR_LIMIT;
#if JPEG_LIB_VERSION < 70 /* the jpeg8 interface has no such message */
    case JERR_ARITH_NOTIMPL:
#endif
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_NOTIMPL:
    case JERR_SOF_UNSUPPORTED: return LEAT_ERR_UNSUPPORTED;
    default: return LEAT_ERR_DECODE;
    }
}

static void on_error(j_common_ptr jpeg) {
    jpeg_state *s = jpeg->client_data;
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY && s->memory) {
        s->code = leat__decode_alloc_failed(s->arena, "jpeg", leat__jpeg_memory_wanted(s->memory), s->err);
    } else {
        char words[JMSG_LENGTH_MAX];
        jpeg->err->format_message(jpeg, words);
        s->code = leat__fail(s->err, code_of(jpeg->err->msg_code), "jpeg: %s", words);
    }
    longjmp(s->jump, 1);
}

static bool is_damage(const struct jpeg_error_mgr *errors) {
    switch (errors->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL: return false;
    case JWRN_EXTRANEOUS_DATA:
        return errors->msg_parm.i[1] >= JPEG_RST0 && errors->msg_parm.i[1] <= JPEG_RST0 + 7;
    default: return true;
    }
}

/* Negative levels are warnings, others traces. */
static void on_message(j_common_ptr jpeg, int level) {
    if (level >= 0) return;
    jpeg->err->num_warnings++;
    if (is_damage(jpeg->err)) on_error(jpeg);
}

static void print_nothing(j_common_ptr jpeg) {
    (void)jpeg;
}

static void on_progress(j_common_ptr jpeg) {
    jpeg_state *s = jpeg->client_data;
    if (s->jpeg.input_scan_number <= s->scans_max) return;
    s->code = leat__fail(s->err, LEAT_ERR_LIMIT, "jpeg: more than %d scans; that is the limit", s->scans_max);
    longjmp(s->jump, 1);
}

static void open_source(j_decompress_ptr jpeg) {
    (void)jpeg;
}

/* All bytes were there from the beginning. */
static boolean on_bytes_used_up(j_decompress_ptr jpeg) {
    jpeg_state *s = jpeg->client_data;
    s->code = leat__fail(s->err, LEAT_ERR_DECODE, "jpeg: " LEAT_TRUNCATED);
    longjmp(s->jump, 1);
}

static void skip_bytes(j_decompress_ptr jpeg, long n) {
    if (n <= 0) return;
    if ((size_t)n > jpeg->src->bytes_in_buffer) on_bytes_used_up(jpeg);
    jpeg->src->next_input_byte += n;
    jpeg->src->bytes_in_buffer -= (size_t)n;
}

/* Runs a step; whatever goes wrong in libjpeg ends here. Steps take what they need from s, so that no local
 * variable lives across the jump. */
static int guarded(jpeg_state *s, void (*step)(jpeg_state *), leat_error *err) {
    s->err = err;
    s->code = 0;
    if (setjmp(s->jump) == 0) step(s);
    return s->code;
}

/* ---------------------------------------------------------------------------------------------- steps */

static void create_step(jpeg_state *s) {
    jpeg_create_decompress(&s->jpeg);
}

static void header_step(jpeg_state *s) {
    jpeg_read_header(&s->jpeg, TRUE);
}

static void begin_step(jpeg_state *s) {
    struct jpeg_decompress_struct *jpeg = &s->jpeg;
    jpeg->dct_method = s->fast ? JDCT_IFAST : JDCT_ISLOW;
    jpeg->do_fancy_upsampling = TRUE;
    jpeg->scale_num = 1;
    jpeg->scale_denom = (unsigned)s->scale;
    if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK)
        jpeg->out_color_space = JCS_CMYK;
    else jpeg->out_color_space = s->channels == 1 ? JCS_GRAYSCALE : s->channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
    jpeg_start_decompress(jpeg);
}

static void rows_step(jpeg_state *s) {
    JSAMPROW rows[ROWS_AT_ONCE];
    while (s->n_rows > 0) {
        const int n = LEAT_MIN(s->n_rows, (int)ROWS_AT_ONCE);
        for (int i = 0; i < n; i++) rows[i] = s->dst + i * s->stride;
        const int got = (int)jpeg_read_scanlines(&s->jpeg, rows, (JDIMENSION)n);
        if (got <= 0) ERREXIT(&s->jpeg, JERR_BAD_STATE); /* cannot be: our source never suspends */
        s->dst += got * s->stride;
        s->n_rows -= got;
    }
}

/* A crop asked for exactly has wrong pixels at its borders where chroma is upsampled from neighbours: two more columns
 * on either side make it exact. */
static void region_step(jpeg_state *s) {
    enum { MARGIN = 2 };
    const int end = LEAT_MIN(s->wanted.x + s->wanted.width + MARGIN, (int)s->jpeg.output_width);
    JDIMENSION x = (JDIMENSION)LEAT_MAX(s->wanted.x - MARGIN, 0), width = (JDIMENSION)end - x;
    if (width < s->jpeg.output_width) jpeg_crop_scanline(&s->jpeg, &x, &width);
    s->taken = (leat__box){.x = (int)x,
                           .y = s->wanted.y,
                           .width = (int)width,
                           .height = (int)s->jpeg.output_height - s->wanted.y};
    if (s->wanted.y > 0) jpeg_skip_scanlines(&s->jpeg, (JDIMENSION)s->wanted.y);
}

static void finish_step(jpeg_state *s) {
    jpeg_finish_decompress(&s->jpeg);
}

/* TensorFlow's arithmetic. Adobe stores the inks inverted, which makes the formula simpler. */
static void cmyk_to_rgb(uint8_t *dst, int channels, const uint8_t *src, int width, bool inverted) {
    const unsigned flip = inverted ? 0 : 255;
    for (int x = 0; x < width; x++, src += 4, dst += channels) {
        const unsigned k = src[3] ^ flip;
        const unsigned r = (src[0] ^ flip) * k / 255, g = (src[1] ^ flip) * k / 255,
                       b = (src[2] ^ flip) * k / 255;
        if (channels == 1) {
            dst[0] = leat__gray_of(r, g, b);
            continue;
        }
        dst[0] = (uint8_t)r, dst[1] = (uint8_t)g, dst[2] = (uint8_t)b;
        if (channels == 4) dst[3] = 255;
    }
}

/* The first APP1 segment that says it is EXIF. */
static int find_orientation(const uint8_t *bytes, size_t n) {
    size_t at = 2;
    while (n - at >= 4 && bytes[at] == 0xff) {
        const uint8_t marker = bytes[at + 1];
        if (marker == 0xff) { /* fill */
            at++;
            continue;
        }
        if (marker == 0xda || marker == 0xd9) break;
        const size_t length = (size_t)bytes[at + 2] << 8 | bytes[at + 3];
        if (length < 2 || length > n - at - 2) break;
        if (marker == 0xe1 && length >= 8 && memcmp(bytes + at + 4, "Exif\0", 5) == 0)
            return leat__exif_block_orientation(bytes + at + 4, length - 2);
        at += 2 + length;
    }
    return 1;
}

/* ---------------------------------------------------------------------------------------------- codec */

static int init(void *state, leat__arena *arena, leat_error *err) {
    jpeg_state *s = state;
    s->arena = arena;
    s->own = leat__jpeg_own_new();
    if (!s->own) return leat__fail_memory(err, sizeof *s, "decoder");
    s->jpeg.err = jpeg_std_error(&s->errors);
    s->errors.error_exit = on_error;
    s->errors.emit_message = on_message;
    s->errors.output_message = print_nothing;
    s->jpeg.client_data = s;
    const int rc = guarded(s, create_step, err);
    if (rc < 0) {
        jpeg_destroy_decompress(&s->jpeg); /* half of one is fine */
        leat__jpeg_own_free(s->own);
        return rc;
    }
    s->memory = leat__jpeg_memory_attach((j_common_ptr)&s->jpeg, arena);
    if (!s->memory) {
        jpeg_destroy_decompress(&s->jpeg);
        leat__jpeg_own_free(s->own);
        return leat__fail_memory(err, sizeof *s, "decoder");
    }
    s->source = (struct jpeg_source_mgr){.init_source = open_source,
                                         .fill_input_buffer = on_bytes_used_up,
                                         .skip_input_data = skip_bytes,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = open_source};
    s->progress.progress_monitor = on_progress;
    s->jpeg.src = &s->source;
    s->jpeg.progress = &s->progress;
    s->fresh = s->jpeg;
    return 0;
}

static void destroy(void *state) {
    jpeg_state *s = state;
    s->jpeg = s->fresh;
    leat__jpeg_memory_detach(s->memory, (j_common_ptr)&s->jpeg);
    jpeg_destroy_decompress(&s->jpeg);
    leat__jpeg_own_free(s->own);
}

static int header(void *state, leat__decode_job *job, leat_error *err) {
    jpeg_state *s = state;
    s->jpeg = s->fresh;
    jpeg_abort_decompress(&s->jpeg); /* the manager's lists of the picture before */
    s->source.next_input_byte = job->bytes;
    s->source.bytes_in_buffer = job->n;
    s->scans_max = job->options.scans_max;
    s->fast = job->options.fast;
    s->cmyk = s->line = NULL;
    s->is_own = s->boxed = false;
    s->n_given = 0;
    s->apart = 0;
    LEAT_TRY(guarded(s, header_step, err));

    if (s->jpeg.data_precision != 8)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED, "jpeg: %d bits a sample, only 8 can be decoded",
                          s->jpeg.data_precision);
    const int n = s->jpeg.num_components;
    if (n != 1 && n != 3 && n != 4)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED, "jpeg: %d components, only 1, 3 and 4 can be decoded",
                          n);
    job->info.width = (int)s->jpeg.image_width;
    job->info.height = (int)s->jpeg.image_height;
    job->info.stored_channels = n;
    job->info.channels = n == 1 ? 1 : 3;
    job->info.bits = 8;
    job->info.orientation = find_orientation(job->bytes, job->n);
    job->info.progressive = s->jpeg.progressive_mode;
    job->scan = (size_t)(s->source.next_input_byte - job->bytes);
    job->several = s->jpeg.progressive_mode || s->jpeg.comps_in_scan < n;
    job->info.detour = leat__jpeg_own_look(s->own, &s->jpeg);
    return 0;
}

/* From here on libjpeg-turbo decodes the picture, in the memory of our own decoder's coefficients if that has some. */
static int leave_own(jpeg_state *s, leat_error *err) {
    size_t n;
    void *memory = leat__jpeg_own_memory(s->own, &n);
    s->is_own = false;
    if (memory) leat__jpeg_memory_lend(s->memory, memory, n);
    return guarded(s, begin_step, err);
}

static int begin(void *state, leat__decode_job *job, leat_error *err) {
    jpeg_state *s = state;
    s->channels = job->info.channels;
    s->scale = job->info.scale;
    s->is_own =
        !job->info.detour && !job->options.reference && leat__jpeg_own_begin(s->own, job, s->channels);
    if (s->is_own) return 0;
    LEAT_TRY(leave_own(s, err));
    if (s->jpeg.out_color_space == JCS_CMYK) {
        s->cmyk = leat__decode_alloc(job, (size_t)job->info.width, 4, err);
        if (!s->cmyk) return err->code;
    }
    return 0;
}

/* libjpeg-turbo's next row into s->line, and the part of it that is wanted to dst, which may be NULL. */
static int read_line(jpeg_state *s, uint8_t *dst, leat_error *err) {
    s->dst = s->line, s->stride = 0, s->n_rows = 1;
    LEAT_TRY(guarded(s, rows_step, err));
    const size_t channels = (size_t)s->channels, width = (size_t)s->wanted.width;
    const uint8_t *part = s->line + (size_t)(s->wanted.x - s->taken.x) * channels;
    if (dst && s->apart) leat__channels_part(dst, s->apart, part, width);
    else if (dst) memcpy(dst, part, width * channels);
    return 0;
}

/* From our own decoder, up to and with the rows that it gave. A scaled picture has few rows: libjpeg-turbo gives all of
 * them, and those above the part are dropped. */
static int take_over(jpeg_state *s, leat__decode_job *job, leat_error *err) {
    LEAT_TRY(leave_own(s, err));
    s->taken = (leat__box){.width = job->info.width, .height = job->info.height};
    if (!s->boxed) s->wanted = s->taken;
    else if (s->scale == 1) LEAT_TRY(guarded(s, region_step, err));
    s->line = leat__decode_alloc(job, (size_t)job->info.width, (size_t)s->channels, err);
    if (!s->line) return err->code;
    for (int i = s->taken.y; i < s->wanted.y + s->n_given; i++) LEAT_TRY(read_line(s, NULL, err));
    return 0;
}

static int rows(void *state, leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int n_rows,
                leat_error *err) {
    jpeg_state *s = state;
    if (s->is_own) {
        int done;
        const bool all = leat__jpeg_own_rows(s->own, dst, stride, n_rows, &done);
        s->n_given += done;
        if (all) return 0;
        LEAT_TRY(take_over(s, job, err));
        dst += done * stride;
        n_rows -= done;
    }
    if (s->line) {
        for (int i = 0; i < n_rows; i++) LEAT_TRY(read_line(s, dst + i * stride, err));
        return 0;
    }
    if (!s->cmyk) {
        s->dst = dst, s->stride = stride, s->n_rows = n_rows;
        return guarded(s, rows_step, err);
    }
    for (int i = 0; i < n_rows; i++, dst += stride) {
        s->dst = s->cmyk, s->stride = 0, s->n_rows = 1;
        LEAT_TRY(guarded(s, rows_step, err));
        cmyk_to_rgb(dst, s->channels, s->cmyk, job->info.width, s->jpeg.saw_Adobe_marker);
    }
    return 0;
}

static int region(void *state, leat__decode_job *job, const leat__box *box, leat__box *taken,
                  leat_error *err) {
    jpeg_state *s = state;
    (void)job;
    if (s->cmyk || (s->scale > 1 && !s->is_own)) return 0; /* rare: rows come whole */
    s->wanted = *box;
    s->boxed = true;
    if (s->is_own) {
        leat__jpeg_own_region(s->own, box);
        *taken = *box;
        return 0;
    }
    LEAT_TRY(guarded(s, region_step, err));
    *taken = s->taken;
    return 0;
}

/* Only those of our own decoder, and of libjpeg-turbo after it. */
static bool planes(void *state, leat__decode_job *job, size_t apart) {
    jpeg_state *s = state;
    (void)job;
    if (!s->is_own) return false;
    s->apart = apart;
    leat__jpeg_own_planes(s->own, apart);
    return true;
}

static int end(void *state, leat__decode_job *job, bool complete, leat_error *err) {
    jpeg_state *s = state;
    int rc = 0;
    if (s->is_own && s->boxed && s->n_given == s->wanted.height && !leat__jpeg_own_finish(s->own))
        rc = take_over(s, job, err);
    if (s->is_own) leat__jpeg_own_seal(s->own);
    if (complete && s->is_own && !leat__jpeg_own_ends(s->own)) rc = take_over(s, job, err);
    if (complete && !s->is_own && rc == 0) rc = guarded(s, finish_step, err);
    jpeg_abort_decompress(&s->jpeg);
    return rc;
}

const leat__codec_ops leat__codec_jpeg = {.name = "jpeg",
                                          .scales = true,
                                          .state_bytes = sizeof(jpeg_state),
                                          .init = init,
                                          .destroy = destroy,
                                          .header = header,
                                          .begin = begin,
                                          .region = region,
                                          .planes = planes,
                                          .rows = rows,
                                          .end = end};
