/* SPDX-License-Identifier: Apache-2.0 */
/* What moves with a picture: boxes and places taken along moves, against counting points one by one, and whole
 * pipelines, however they run. tests/cli/test_coordinates.py compares values with other libraries. */
#include "unit/testing.h"

#include "image/warp/warp.h"
#include "sample/coordinates.h"
#include "unit/testing_scenes.h"

static leat__move a_move(const double m[9], int height, int width, int to_height, int to_width, bool cuts) {
    leat__move move = {
        .height_before = height, .width_before = width, .height = to_height, .width = to_width, .cuts = cuts};
    memcpy(move.m, m, sizeof move.m);
    return move;
}

static void same_box(const double got[4], double x0, double y0, double x1, double y1) {
    const double want[4] = {x0, y0, x1, y1};
    for (int i = 0; i < 4; i++)
        if (!(got[i] >= want[i] - 1e-9 && got[i] <= want[i] + 1e-9))
            fail_msg("%g %g %g %g instead of %g %g %g %g", got[0], got[1], got[2], got[3], x0, y0, x1, y1);
}

static void test_upright(void **state) {
    (void)state;
    const double box[4] = {10, 20, 50, 40}, crop[9] = {1, 0, -30, 0, 1, -10, 0, 0, 1},
                 border[9] = {1, 0, 5, 0, 1, 5, 0, 0, 1}, half[9] = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 1};
    double out[4], visible;
    const leat__move moves[] = {a_move(crop, 100, 100, 30, 40, true), a_move(border, 30, 40, 40, 50, true),
                                a_move(half, 40, 50, 20, 25, false)};
    assert_true(leat__move_box(moves, 1, box, out, &visible));
    same_box(out, 0, 10, 20, 30);
    assert_true(visible == 0.5);
    /* What was cut off does not come back with a border. */
    assert_true(leat__move_box(moves, 2, box, out, &visible));
    same_box(out, 5, 15, 25, 35);
    assert_true(leat__move_box(moves, 3, box, out, &visible));
    same_box(out, 2.5, 7.5, 12.5, 17.5);
    /* A box beyond the picture is cut to it first. */
    assert_true(leat__move_box(moves, 1, (double[4]){-50, -50, 500, 500}, out, &visible));
    same_box(out, 0, 0, 40, 30);
    /* Lost: beside the part, without area, no numbers. */
    assert_false(leat__move_box(moves, 1, (double[4]){0, 0, 30, 100}, out, &visible));
    assert_false(leat__move_box(moves, 1, (double[4]){40, 20, 40, 30}, out, &visible));
    assert_false(leat__move_box(moves, 1, (double[4]){40, 30, 50, 20}, out, &visible));
    const double nan = (double)__builtin_nanf(""), inf = (double)__builtin_inff();
    assert_false(leat__move_box(moves, 3, (double[4]){nan, 0, 50, 50}, out, &visible));
    assert_false(leat__move_box(moves, 3, (double[4]){0, 0, inf, inf}, out, &visible));
    leat__move nothing = moves[0];
    nothing.lost = true;
    assert_false(leat__move_box(&nothing, 1, box, out, &visible));
    double place[2];
    assert_false(leat__move_place(&nothing, 1, box, place));
    assert_true(place[0] == -1 && place[1] == -1);
    assert_true(leat__move_place(moves, 3, (double[2]){40, 30}, place));
    assert_true(place[0] == 7.5 && place[1] == 12.5);
    assert_false(
        leat__move_place(moves, 3, (double[2]){20, 30}, place)); /* shown by the border, but cut off */
    assert_true(place[0] == -2.5);
}

/* Chains of random matrices: the box holds all points of it that stay inside all the way, and no more than about a
 * step of the grid beyond them. */
static void test_against_points(void **state) {
    (void)state;
    enum { RUNS = 400, GRID = 60, CHAIN = 4 };
    int met = 0;
    for (uint64_t run = 0; run < RUNS; run++) {
        leat__rng rng = leat__rng_at(4, run, 0, 0);
        leat__move moves[CHAIN];
        const int n = 1 + (int)leat__rng_below(&rng, CHAIN);
        const bool tilted = run % 3 == 0;
        for (int i = 0; i < n; i++) {
            double m[9];
            const double a = leat__rng_unit(&rng) - 0.5, b = leat__rng_unit(&rng) - 0.5;
            const double turn[9] = {
                1 + a, b, 10 * a, -b, 1 - a / 2, 12 * b, tilted ? a * 0.004 : 0, tilted ? b * 0.004 : 0, 1};
            memcpy(m, turn, sizeof m);
            leat__matrix_centre(m, 50, 50);
            moves[i] = a_move(m, 100, 100, 100, 100, true);
        }
        const double x = 60 * leat__rng_unit(&rng), y = 60 * leat__rng_unit(&rng),
                     w = 5 + 35 * leat__rng_unit(&rng), h = 5 + 35 * leat__rng_unit(&rng),
                     box[4] = {x, y, x + w, y + h};
        double out[4], visible, low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9}, place[2];
        int inside = 0;
        for (int k = 0; k <= GRID * GRID; k++) {
            const double p[2] = {x + w * (k % (GRID + 1)) / GRID, y + h * (k / (GRID + 1)) / GRID};
            if (!leat__move_place(moves, n, p, place)) continue;
            inside++;
            for (int axis = 0; axis < 2; axis++) {
                low[axis] = LEAT_MIN(low[axis], place[axis]);
                high[axis] = LEAT_MAX(high[axis], place[axis]);
            }
        }
        const bool left = leat__move_box(moves, n, box, out, &visible);
        if (!left) {
            assert_int_equal(inside, 0);
            continue;
        }
        assert_true(IN(0.0, visible, 1.0));
        if (inside < 200) continue;
        met++;
        const double step = 4; /* points of the grid are up to so far apart behind an enlarging chain */
        for (int axis = 0; axis < 2; axis++) {
            assert_true(IN(low[axis] - step, out[axis], low[axis] + 1e-9));
            assert_true(IN(high[axis] - 1e-9, out[2 + axis], high[axis] + step));
        }
    }
    assert_true(met > 150);
}

/* A horizon that runs through the box: what lies in front of it is bounded by the picture. */
static void test_horizon(void **state) {
    (void)state;
    const double m[9] = {1, 0, 0, 0, 1, 0, -0.02, 0, 1}; /* at x = 50 */
    const leat__move move = a_move(m, 100, 100, 100, 100, true);
    double out[4], visible, place[2];
    assert_true(leat__move_box(&move, 1, (double[4]){10, 10, 90, 30}, out, &visible));
    same_box(out, 12.5, 12.5, 100, 90); /* the ray of its lower edge leaves at the right: 30 at x = 33.3 */
    assert_true(visible > 0 && visible < 1);
    assert_false(leat__move_box(&move, 1, (double[4]){60, 10, 90, 30}, out, &visible));
    assert_false(leat__move_place(&move, 1, (double[2]){60, 10}, place));
    assert_true(place[0] == -1);
    assert_true(leat__move_place(&move, 1, (double[2]){25, 10}, place));
    assert_true(place[0] == 50 && place[1] == 20);
}

static void test_invert(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(1, 2, 3, 4);
    for (int run = 0; run < 200; run++) {
        double m[9], back[9], product[9];
        for (int i = 0; i < 9; i++) m[i] = leat__rng_unit(&rng) * 4 - 2;
        m[0] += 5, m[4] += 5, m[8] += 5;
        assert_true(leat__matrix_invert(back, m));
        leat__matrix_multiply(product, back, m);
        for (int i = 0; i < 9; i++) assert_true(IN(-1e-9, product[i] - (i % 4 == 0), 1e-9));
    }
    assert_false(leat__matrix_invert((double[9]){0}, (double[9]){1, 2, 3, 2, 4, 6, 0, 0, 1}));
    assert_false(leat__matrix_invert((double[9]){0}, (double[9]){0, 0, 5, 0, 0, 5, 0, 0, 1}));
    const double nan = (double)__builtin_nanf("");
    assert_false(leat__matrix_invert((double[9]){0}, (double[9]){nan, 0, 5, 0, 1, 5, 0, 0, 1}));
}

/* ---------------------------------------------------------------------------------------- pipelines */

static const char *const texts[] = {
    "random_crop 6 | random_flip_left_right",
    "random_resized_crop 9 | random_rotation 0.1 | rot90 | normalize imagenet",
    "affine rotate=30 zoom=0.3 perspective=0.2 | resize 8 8 | random_flip | random_brightness "
    "0.3",
    "resize 12 12 | cache | random_crop 7 | random_flip_left_right",
    "resize_with_pad 12 | random_crop 9 | cache freeze=true | random_flip_up_down",
    "cast box f32 scale=0.5 | random_crop 6 padding=3 | cast point f32 scale=2 | random_zoom 0.3",
    "random_translation 0.3 0.3 | sample_distorted_bounding_box 8 box_field=box | resize 6 6 field=mask",
};

#define SCENES "tfrecord %s | options fuse=%s | " SCENE_PARSE " | shuffle | %s | batch 4"

/* The same bytes fused or not, with any threads, and from every state. */
static void test_however_it_runs(void **state) {
    (void)state;
    write_scenes(in_dir("scenes.tfrecord"), 23, 10, 24);
    const char *path = in_dir("scenes.tfrecord");
    for (size_t i = 0; i < LEAT_COUNT(texts); i++) {
        leat_pipeline *pipeline =
            open_spec(spec_of(SCENES, path, "on", texts[i]), &(leat_config){.n_epochs = 2});
        char states[16][1024];
        tape want = {0};
        leat_batch b;
        leat_error err;
        do {
            assert_true(leat_pipeline_state(pipeline, states[want.n_batches], sizeof states[0], NULL) == 0);
            want.rc = leat_pipeline_next(pipeline, &b, &err);
            if (want.rc < 0) fail_msg("%s: %s", texts[i], err.message);
            if (want.rc == 0) tape_add(&want, &b);
            leat_batch_release(&b);
        } while (want.rc == 0);
        leat_pipeline_close(&pipeline);
        assert_int_equal(want.n_batches, 12);
        for (int from = 0; from < want.n_batches; from++) {
            const leat_config config = {
                .n_threads = 1 + from % 3, .synchronous = from % 4 == 3, .n_epochs = 2};
            pipeline = open_spec(spec_of(SCENES, path, from % 2 ? "on" : "off", texts[i]), &config);
            assert_int_equal(leat_pipeline_restore(pipeline, states[from], NULL), 0);
            tape got = record(pipeline, -1);
            same_tail(&want, from, &got, texts[i]);
            tape_free(&got);
            leat_pipeline_close(&pipeline);
        }
        tape_free(&want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_upright), cmocka_unit_test(test_against_points),
                                       cmocka_unit_test(test_horizon), cmocka_unit_test(test_invert),
                                       cmocka_unit_test(test_however_it_runs)};
    return cmocka_run_group_tests_name("follow", tests, begin_files, end_files);
}
