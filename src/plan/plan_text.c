/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a plan for people. */
#include <stdarg.h>
#include <stdio.h>

#include "base/cpu.h"
#include "order/branch.h"
#include "plan/select.h"
#include "sample/called.h"
#include "sample/labels.h"

typedef struct printer { /* as snprintf: counts what does not fit */
    char *text;
    size_t cap, n;
} printer;

static void print(printer *p, const char *fmt, ...) LEAT_PRINTF(2, 3);
static void print(printer *p, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const size_t room = p->n < p->cap ? p->cap - p->n : 0;
    const int n = vsnprintf(room ? p->text + p->n : NULL, room, fmt, args);
    va_end(args);
    if (n > 0) p->n += (size_t)n;
}

static void print_shape(printer *p, const leat__output *out) {
    const leat_field *field = &out->field;
    print(p, "%s ", leat_dtype_name(field->dtype));
    if (field->ragged) {
        print(p, "(any length");
        for (int i = 1; i < field->ndim; i++) print(p, ", %" PRId64, field->shape[i]);
        print(p, ")");
        return;
    }
    print(p, "(");
    for (int i = 0; i < field->ndim; i++) {
        if (out->by_bucket && field->shape[i] < 0) {
            print(p, "%sby bucket", i ? ", " : "");
            continue;
        }
        if (out->unsized && field->shape[i] < 0) {
            print(p, "%sany", i ? ", " : "");
            continue;
        }
        const bool differs = out->padded && field->shape[i] < 0;
        print(p, "%s%s%" PRId64, i ? ", " : "", differs ? "up to " : "",
              differs ? out->most[i] : field->shape[i]);
    }
    print(p, ")");
}

static const char *how_combined(leat__branch_kind kind) {
    static const char *const how[] = {"one after the other", "side by side", "mixed"};
    return how[kind];
}

static void print_branch(printer *p, const leat__branch *branch) {
    print(p, "%d parts %s (", branch->n, how_combined(branch->kind));
    for (int k = 0; k < branch->n; k++) {
        const uint64_t n = leat__order_length(&branch->order[k]);
        if (n == LEAT_ENDLESS) print(p, "%swithout end", k ? ", " : "");
        else print(p, "%s%" PRIu64, k ? ", " : "", n);
    }
    print(p, " samples)");
}

static void print_turns(printer *p, uint64_t cycle, uint64_t block) {
    print(p, "%" PRIu64 " shards in turn, %" PRIu64 " records each", cycle, block);
}

static void print_part(printer *p, const leat__order_verb *v) {
    if (v->kind == LEAT_ORDER_TAKE) print(p, "the first %" PRIu64, v->count);
    if (v->kind == LEAT_ORDER_SKIP) print(p, "without the first %" PRIu64, v->count);
    if (v->kind == LEAT_ORDER_SHARD) print(p, "part %" PRIu64 " of %" PRIu64, v->index, v->count);
}

static void print_verbs(printer *p, const leat__plan *plan) {
    const leat__order *order = &plan->order;
    const leat__stream_plan *stream = plan->stream;
    if (stream && stream->cycle) print_turns(p, leat__stream_plan_cycle(stream), stream->cycle_block);
    if (stream && stream->n_parts)
        print(p, "%d parts %s, as they are read", stream->n_parts, how_combined(stream->kind));
    bool begun = stream && (stream->cycle || stream->n_parts);
    for (int i = 0; stream && i < stream->n_before; i++, begun = true) {
        if (begun) print(p, ", ");
        print_part(p, &stream->before[i]);
    }
    if (stream && stream->n_filters) print(p, "%sfiltered while it is read", begun ? ", " : "");
    begun = begun || (stream && stream->n_filters);
    if (begun && order->n_verbs) print(p, ", ");
    for (int i = 0; i < order->n_verbs; i++) {
        const leat__order_verb *v = &order->verb[i];
        if (i) print(p, ", ");
        switch (v->kind) {
        case LEAT_ORDER_SHUFFLE:
            if (v->blocks)
                print(p, "shuffle of %" PRIu64 " blocks in groups of %" PRIu64, v->blocks->n,
                      v->blocks->group);
            else if (v->window && v->window < order->length[i] / LEAT_MAX(v->unit, (uint64_t)1))
                print(p, "shuffle in windows of %" PRIu64, v->window);
            else
                print(p, "shuffle of all (%s)",
                      order->length[i] > LEAT_PERMUTE_TABLE_MAX ? "computed, no memory" : "a table");
            if (v->unit) print(p, ", %" PRIu64 " samples together", v->unit);
            print(p, ", seed %" PRIu64, v->seed);
            break;
        case LEAT_ORDER_TAKE:
        case LEAT_ORDER_SKIP:
        case LEAT_ORDER_SHARD: print_part(p, v); break;
        case LEAT_ORDER_REPEAT:
            if (v->count == LEAT_ENDLESS) print(p, "repeated without end");
            else print(p, "%" PRIu64 " times", v->count);
            break;
        case LEAT_ORDER_PICK: print(p, "%" PRIu64 " chosen of %" PRIu64, v->count, order->length[i]); break;
        case LEAT_ORDER_BALANCE:
            print(p, "%u classes in blocks of %" PRIu64, v->balance->n_classes,
                  leat__balance_block(v->balance));
            if (v->balance->drawn) print(p, ", seed %" PRIu64, v->seed);
            break;
        case LEAT_ORDER_INTERLEAVE: print_turns(p, v->count, v->interleave->block); break;
        case LEAT_ORDER_BUCKET:
            print(p, "batches of %d buckets as they become full, %.1f MB", v->bucket->n_buckets,
                  (double)(v->bucket->n * 2 * sizeof(uint32_t) + v->bucket->n_of) / 1e6);
            break;
        case LEAT_ORDER_BRANCH: print_branch(p, v->branch); break;
        }
    }
    if (order->n_verbs == 0 && !begun) print(p, "as it is");
}

static void print_order(printer *p, const leat__plan *plan) {
    const uint64_t n = leat__order_length(&plan->order);
    print(p, "order     ");
    print_verbs(p, plan);
    if (n == LEAT_ENDLESS)
        print(p, "; %s\n", plan->stream ? "length not known before it was read once" : "without end");
    else print(p, "; %" PRIu64 " samples an epoch\n", n);
}

static const char *resample_name(leat__resample resample) {
    static const char *const names[LEAT_N_RESAMPLES] = {
        [LEAT_RESAMPLE_NONE] = "",
        [LEAT_RESAMPLE_TF_NEAREST] = "nearest (tf)",
        [LEAT_RESAMPLE_TF_BILINEAR] = "bilinear (tf)",
        [LEAT_RESAMPLE_TF_BICUBIC] = "bicubic (tf)",
        [LEAT_RESAMPLE_TF_AREA] = "area (tf)",
        [LEAT_RESAMPLE_TF_BILINEAR_AA] = "bilinear, antialiased (tf)",
        [LEAT_RESAMPLE_TF_BICUBIC_AA] = "bicubic, antialiased (tf)",
        [LEAT_RESAMPLE_TF_LANCZOS3] = "lanczos3 (tf)",
        [LEAT_RESAMPLE_TF_LANCZOS3_AA] = "lanczos3, antialiased (tf)",
        [LEAT_RESAMPLE_TF_LANCZOS5] = "lanczos5 (tf)",
        [LEAT_RESAMPLE_TF_LANCZOS5_AA] = "lanczos5, antialiased (tf)",
        [LEAT_RESAMPLE_TF_GAUSSIAN] = "gaussian (tf)",
        [LEAT_RESAMPLE_TF_GAUSSIAN_AA] = "gaussian, antialiased (tf)",
        [LEAT_RESAMPLE_TF_MITCHELL] = "mitchellcubic (tf)",
        [LEAT_RESAMPLE_TF_MITCHELL_AA] = "mitchellcubic, antialiased (tf)",
        [LEAT_RESAMPLE_PIL_NEAREST] = "nearest (pil)",
        [LEAT_RESAMPLE_PIL_BOX] = "box, antialiased (pil)",
        [LEAT_RESAMPLE_PIL_BILINEAR] = "bilinear, antialiased (pil)",
        [LEAT_RESAMPLE_PIL_HAMMING] = "hamming, antialiased (pil)",
        [LEAT_RESAMPLE_PIL_BICUBIC] = "bicubic, antialiased (pil)",
        [LEAT_RESAMPLE_PIL_LANCZOS] = "lanczos, antialiased (pil)",
    };
    return names[resample];
}

static void print_pass(printer *p, const leat__plan *plan, const leat__step *step) {
    const leat__pass_plan *pass = step->as.pass;
    print(p, "one pass: %s\n", pass->text);
    if (pass->decode)
        print(p, "            decode to %s rows%s as they are needed%s%s\n",
              pass->decode_options.channels == 1   ? "gray"
              : pass->decode_options.channels == 3 ? "RGB"
              : pass->decode_options.channels == 4 ? "RGBA"
                                                   : "the stored",
              pass->decode_options.deep ? " of 16 bits" : "",
              pass->decode_options.orient ? ", turned by EXIF" : "",
              pass->decode_options.fast ? ", fast IDCT" : "");
    if (pass->scaled)
        print(p, "            JPEGs at 1/2, 1/4 or 1/8 where the part still has the pixels of the output: "
                 "scale=auto, not the pixels of exact decoding\n");
    if (pass->crop.draw)
        print(p, "            %s\n",
              pass->decode ? "only the part that is needed, drawn before decoding"
                           : "a part of the picture, in place");
    if (pass->size.draw) print(p, "            resize by its own size %s\n", resample_name(pass->resample));
    else if (pass->resample)
        print(p, "            resize to %dx%d %s\n", pass->height, pass->width,
              resample_name(pass->resample));
    if (pass->pad.draw) print(p, "            with a border\n");
    if (pass->warp.draw) print(p, "            one inverse map, sampled with order %d\n", pass->warp.order);
    int measured = 0;
    for (int i = 0; i < pass->n_points; i++) measured += pass->point[i].measured;
    if (measured)
        print(p, "            the picture is measured first, %d time%s\n", measured, measured > 1 ? "s" : "");
    if (pass->n_points)
        print(p, "            %d operation%s on values while they are in the first cache\n", pass->n_points,
              pass->n_points > 1 ? "s" : "");
    if (pass->n_flips) print(p, "            flips by the order of writing\n");
    if (pass->hole.draw) print(p, "            a part erased\n");
    print(p, "            store as %s %s%s\n", leat_dtype_name(pass->dtype),
          pass->nchw ? "channels first" : "channels last",
          step->output < 0     ? ", for the next step"
          : plan->non_temporal ? ", past the caches into the batch"
                               : " into the batch");
}

enum { LOOK_AT = 16 };

typedef struct looked {
    int n; /* pictures                                          */
    struct {
        int n, n_own;       /* of a codec, and those for our own decoder of it   */
        const char *detour; /* why the first other one is not                    */
    } of[LEAT_CODEC_COUNT];
} looked;

void leat__plan_look(const leat__plan *plan, int pass, leat__look_fn *see, void *user) {
    const leat__source *source = plan->source;
    bool only[LEAT_STEPS_MAX] = {false};
    leat_error ignored;
    /* Only of files on disks: the program is not called for this, and a server not asked. */
    if (plan->stream || !source->home || source->waits) return;
    leat__tools *tools = leat__tools_new(plan, &ignored);
    if (!tools) return;
    for (int i = 0; i < pass; i++) only[i] = plan->step[i].kind == LEAT_STEP_PARSE;
    const uint64_t n = LEAT_MIN(source->n_samples, (uint64_t)LOOK_AT);
    tools->only = only;
    for (uint64_t i = 0; i < n; i++) {
        const leat__where at = {.sample = source->n_samples / n * i};
        const leat__value *value = &tools->value[plan->step[pass].value];
        leat__picture_info info;
        if (leat__run_sample(tools, &at, &ignored) < 0 || value->dtype != LEAT_DTYPE_BYTES ||
            leat__decode_info(tools->decoder, value->data, value->bytes, NULL, &info, NULL) < 0)
            continue;
        see(user, &info);
    }
    leat__tools_delete(&tools);
}

static void see_decoder(void *user, const leat__picture_info *info) {
    looked *found = user;
    found->n++;
    found->of[info->codec].n++;
    found->of[info->codec].n_own += !info->detour;
    if (!found->of[info->codec].detour) found->of[info->codec].detour = info->detour;
}

static void print_found(printer *p, const looked *found, leat__codec codec, const char *name) {
    const char *detour = found->of[codec].detour;
    if (found->of[codec].n == 0) return;
    print(p, "            of %d %s looked at, %d are ordinary%s%s%s\n", found->of[codec].n, name,
          found->of[codec].n_own, detour ? "; others are not: " : "", detour ? detour : "",
          detour ? " (see leat info)" : "");
}

/* Which decoder takes the files, from a few of them. `leat info` looks at all files and gives all reasons. */
static void print_decoder(printer *p, const leat__plan *plan) {
    int step = 0;
    while (step < plan->n_steps &&
           (plan->step[step].kind != LEAT_STEP_PASS || !plan->step[step].as.pass->decode))
        step++;
    if (step == plan->n_steps) return;
    const leat__pass_plan *pass = plan->step[step].as.pass;
    print(p,
          "pictures  of up to %.0f million pixels, and %.0f MB while one is decoded; a larger one is a bad "
          "sample\n",
          (double)LEAT_DECODE_PIXELS_MAX / 1e6, (double)LEAT_DECODE_MEMORY_MAX / 1e6);
    looked found = {0};
    leat__plan_look(plan, step, see_decoder, &found);
    const int n_jpeg = found.of[LEAT_CODEC_JPEG].n, n_png = found.of[LEAT_CODEC_PNG].n,
              n_webp = found.of[LEAT_CODEC_WEBP].n;
    if (found.n > 0 && n_jpeg + n_png + n_webp == 0) {
        print(p, "decoder   of GIF or BMP: none of %d pictures looked at is a JPEG, a PNG or a WebP\n",
              found.n);
        return;
    }
    if (n_png > 0) {
        print(p, "decoder   PNG: leat's own for ordinary files, libpng for the others, with equal bytes\n");
        print_found(p, &found, LEAT_CODEC_PNG, "PNGs");
    }
    if (n_webp > 0) {
        print(p, "decoder   WebP: leat's own for lossy files, libwebp for the others, with equal bytes\n");
        print_found(p, &found, LEAT_CODEC_WEBP, "WebPs");
    }
    if (n_png + n_webp > 0 && n_jpeg == 0) return;
    print(p,
          "decoder   JPEG: leat's own for ordinary files, libjpeg-turbo for the others, with equal bytes%s\n",
          pass->decode_options.fast ? "; fast IDCT" : "");
    print_found(p, &found, LEAT_CODEC_JPEG, "JPEGs");
    if (!plan->jpeg_store) {
        print(p, "            no positions: %s\n",
              plan->positions ? "pictures are decoded whole" : "they are switched off");
        return;
    }
    const leat__jpeg_store_facts facts = leat__jpeg_store_facts_of(plan->jpeg_store);
    print(p,
          "            positions of %" PRIu64
          " files are there; those of others are noted as they are read\n",
          facts.n_loaded);
    print(p, "            %s, %.1f MB at most\n",
          facts.rows_only ? "one for each row of blocks, as memory is short"
                          : "for every 64 pixels of a row of blocks",
          (double)facts.bytes_max / 1e6);
}

static void print_cache(printer *p, const leat__plan *plan) {
    char text[900];
    if (!plan->cache) return;
    leat__cache_describe(plan->cache, text, sizeof text);
    print(p, "cache     %s\n", text);
    if (plan->caching.freeze)
        print(p, "            what is random before it is drawn once for each sample, and stays so in all "
                 "epochs\n");
}

static void print_steps(printer *p, const leat__plan *plan) {
    for (int i = 0; i < plan->n_steps; i++) {
        if (i == plan->caching.step) print_cache(p, plan);
        const leat__step *step = &plan->step[i];
        print(p, "%-10s", leat_stage_name(step->stage));
        for (int k = 0, n = 0; step->parts && k < LEAT_PARTS_MAX; k++)
            if (step->parts >> k & 1) print(p, "%s%d", n++ ? ", " : "part ", k + 1);
        if (step->parts) print(p, ": ");
        if (step->choice) print(p, "branch %d of choice %d: ", step->branch, step->choice);
        switch (step->kind) {
        case LEAT_STEP_PARSE:
            print(p, "tf.train.Example:");
            for (int k = 0; k < step->as.parse.n; k++) print(p, " %s", step->as.parse.feature[k].name);
            print(p, "\n");
            break;
        case LEAT_STEP_RAW: print(p, "bytes as %s, in place\n", leat_dtype_name(step->as.raw.dtype)); break;
        case LEAT_STEP_RESHAPE: print(p, "another shape, in place\n"); break;
        case LEAT_STEP_CONVERT:
            print(p, "to %s%s\n", leat_dtype_name(step->as.convert.dtype),
                  step->as.convert.affine ? " with scale and offset" : "");
            break;
        case LEAT_STEP_PASS: print_pass(p, plan, step); break;
        case LEAT_STEP_ONE_HOT: print(p, "a number for each of %d classes\n", step->as.one_hot.n); break;
        case LEAT_STEP_ENUMERATE:
            print(p, "%s\n",
                  step->as.enumerate.position ? "the place in the epoch" : "the number of the sample");
            break;
        case LEAT_STEP_STACK: print(p, "%d fields side by side\n", step->as.stack.n); break;
        case LEAT_STEP_COPY: print(p, "another field as it is here, the same memory\n"); break;
        case LEAT_STEP_PATH: print(p, "the path of the file\n"); break;
        case LEAT_STEP_RELABEL:
            if (step->as.relabel->from) print(p, "other numbers for labels\n");
            else print(p, "labels are those of %zu classes\n", step->as.relabel->n);
            break;
        case LEAT_STEP_MAP:
            print(p, "a function of the program%s\n", step->as.map.part ? ", the same call" : "");
            break;
        case LEAT_STEP_EVAL:
            print(p, "an expression%s\n", step->as.eval.part ? ", in the same program" : "");
            break;
        case LEAT_STEP_CHOOSE:
            print(p, "choice %d: %s%s\n", step->as.choice->number + 1, step->as.choice->op.name,
                  step->as.choice->applies ? ", or nothing" : "");
            break;
        case LEAT_STEP_DRAW: print(p, "%d numbers for the device\n", step->as.device->n_numbers); break;
        case LEAT_STEP_TRAIL:
            print(p, "how a picture has moved%s\n",
                  step->as.kept.resumes ? ", taken up again" : ", to be kept");
            break;
        case LEAT_STEP_COORDINATES:
            print(p, "%s %s\n",
                  step->as.coords.part ? step->as.coords.plan->label_name[step->as.coords.part - 1]
                                       : step->as.coords.plan->name,
                  step->as.coords.part ? "of what is left" : "along the way of its picture");
            break;
        case LEAT_STEP_PICTURE:
            print(p, "%s, from one picture in memory to another\n", step->as.picture->op.name);
            break;
        }
    }
    if (plan->n_steps == plan->caching.step) print_cache(p, plan);
}

static void print_shares(printer *p, const leat__budget *b) {
    const struct {
        const char *name;
        size_t bytes;
    } share[] = {{"for batches", b->slots},         {"for the cache", b->cache},
                 {"records of streams", b->window}, {"positions in JPEGs", b->positions},
                 {"read ahead", b->read_ahead},     {"buffers of readers", b->reading},
                 {"buffers of workers", b->scratch}};
    const char *between = "          ";
    for (size_t i = 0; i < LEAT_COUNT(share); i++) {
        if (!share[i].bytes) continue;
        print(p, "%s%.1f MB %s", between, (double)share[i].bytes / 1e6, share[i].name);
        between = ", ";
    }
    print(p, "\n");
}

size_t leat__plan_text(const leat__plan *plan, int n_threads, char *text, size_t cap) {
    printer p = {.text = text, .cap = text ? cap : 0};
    print(&p, "source    %s\n", plan->source->title);
    print_order(&p, plan);
    print_steps(&p, plan);
    print_decoder(&p, plan);
    for (int i = 0; i < plan->n_outputs; i++) {
        print(&p, "%-10s%s ", i ? "" : "sample", plan->output[i].field.name);
        print_shape(&p, &plan->output[i]);
        print(&p, "\n");
    }
    bool unsized = false;
    for (int i = 0; i < plan->n_outputs; i++) unsized |= plan->output[i].unsized;
    print(&p, "batch     %d sample%s, %s%.1f MB%s\n", plan->batch, plan->batch == 1 ? "" : "s",
          unsized ? "with its own size, up to " : "", (double)plan->slot_bytes / 1e6,
          plan->drop_remainder    ? "; a last batch that is not full is left out"
          : leat__plan_pads(plan) ? "; a last batch that is not full is filled up"
                                  : "");
    if (plan->world > 1)
        print(&p, "rank      %d of %d, %d on this machine; %" PRIu64 " samples in a batch of all\n",
              plan->rank, plan->world, plan->local, leat__plan_global_batch(plan));
    for (int i = 0; i < plan->n_group_ops; i++)
        print(&p, "mix       %s of neighbours in groups of %d, where they lie\n", plan->group_op[i].op.name,
              plan->group);
    print(&p, "memory    %d to %d batches, %.1f MB at most; the budget is %.1f MB\n", plan->n_slots_begin,
          plan->n_slots, (double)plan->n_slots * (double)plan->slot_bytes / 1e6,
          (double)plan->budget.whole / 1e6);
    print_shares(&p, &plan->budget);
    print(&p, "work      %d threads, %d sample%s a task, %s kernels\n", n_threads, plan->grain,
          plan->grain > 1 ? "s" : "",
          leat__cpu_flags() & LEAT_CPU_AVX2   ? "AVX2"
          : leat__cpu_flags() & LEAT_CPU_NEON ? "NEON"
                                              : "plain C");
    print(&p, "seed      %" PRIu64 ", bad samples: %s\n", plan->seed,
          plan->on_error == LEAT_ON_ERROR_SKIP      ? "skip"
          : plan->on_error == LEAT_ON_ERROR_REPLACE ? "replace"
                                                    : "raise");
    return p.n;
}
