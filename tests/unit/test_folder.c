/* SPDX-License-Identifier: Apache-2.0 */
/* The folder source: what it finds and what it leaves out, names of any kind, files that change meanwhile. */
#include "unit/testing_folder.h"

static void refuse_folder(const char *path, int labels, int code, const char *part) {
    const leat__open_options open = options_now(NULL);
    const leat__folder_options options = {.path = path, .labels = labels};
    leat__source *source = NULL;
    leat_error err;
    const int rc = leat__folder_open(&source, &options, &open, &err);
    if (rc != code || !strstr(err.message, part)) fail_msg("%s: %s", leat_error_name(rc), err.message);
    if (strchr(err.message, '\n')) fail_msg("not one line: %s", err.message);
    assert_null(source);
}

static void test_tree(void **state) {
    (void)state;
    static const char *const dirs[] = {"tree",           "tree/b",   "tree/a",       "tree/a/deep",
                                       "tree/a/deep/er", "tree/a-b", "tree/.hidden", "tree/empty"};
    static const char *const files[] = {"tree/b/2.JPG",          "tree/b/1.jpeg",     "tree/a/x.PnG",
                                        "tree/a/deep/er/y.webp", "tree/a-b/z.gif",    "tree/.hidden/no.png",
                                        "tree/a/.no.png",        "tree/a/notes.txt",  "tree/a/png",
                                        "tree/a/.png",           "tree/b/3.bmp",      "tree/b/4.png.txt",
                                        "tree/b/5.png~",         "tree/a/deep/k.jpe", "tree/a/deep/l.jfif"};
    for (size_t i = 0; i < LEAT_COUNT(dirs); i++) make_dir(in_dir("%s", dirs[i]));
    for (size_t i = 0; i < LEAT_COUNT(files); i++) touch(in_dir("%s", files[i]));
    /* "a" with all that is below it comes before "a-b", whatever the bytes say. */
    static const char labelled[] = "a/x.PnG:0 a/deep/k.jpe:0 a/deep/l.jfif:0 a/deep/er/y.webp:0 a-b/z.gif:1 "
                                   "b/1.jpeg:2 b/2.JPG:2 b/3.bmp:2";
    assert_string_equal(listing(open_folder(in_dir("tree"), LEAT_LABELS_AUTO, false, NULL)), labelled);
    assert_string_equal(listing(open_folder(in_dir("tree/"), LEAT_LABELS_DIR, false, NULL)), labelled);
    leat__source *source = open_folder(in_dir("tree"), LEAT_LABELS_AUTO, false, NULL);
    static const char *const classes[] = {"a", "a-b", "b", "empty"};
    assert_int_equal(source->n_classes, 4);
    for (int i = 0; i < 4; i++) assert_string_equal(source->class_name[i], classes[i]);
    leat__source_free(&source);
    /* In the root there is no label to be had. */
    touch(in_dir("tree/root.png"));
    source = open_folder(in_dir("tree"), LEAT_LABELS_AUTO, false, NULL);
    assert_non_null(strstr(source->warning, "1 images lie in"));
    assert_string_equal(listing(source), labelled);
    source = open_folder(in_dir("tree"), LEAT_LABELS_NONE, false, NULL);
    assert_int_equal(source->n_samples, 9);
    assert_int_equal(source->n_fields, 1);
    assert_int_equal(strncmp(listing(source), "root.png:-1 a/x.PnG:-1", 22), 0);
    leat_pipeline *pipeline =
        open_spec(spec_of("folder %s | batch 100", in_dir("tree")), &(leat_config){.no_side_files = 1});
    assert_string_equal(leat_pipeline_class(pipeline, 1), "a-b");
    assert_null(leat_pipeline_class(pipeline, 4));
    leat_batch b;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    assert_int_equal(((int64_t *)b.tensor[1].data)[4], 1);
    assert_int_equal(b.tensor[0].offsets[1], strlen(in_dir("tree/a/x.PnG")));
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

static void test_empty(void **state) {
    (void)state;
    refuse_folder(in_dir("missing"), LEAT_LABELS_AUTO, LEAT_ERR_NOT_FOUND, "missing");
    make_dir(in_dir("empty"));
    refuse_folder(in_dir("empty"), LEAT_LABELS_AUTO, LEAT_ERR_NOT_FOUND, "no images");
    touch(in_dir("empty/notes.txt"));
    refuse_folder(in_dir("empty"), LEAT_LABELS_AUTO, LEAT_ERR_NOT_FOUND, "1 other files seen");
    touch(in_dir("empty/a.png"));
    refuse_folder(in_dir("empty"), LEAT_LABELS_DIR, LEAT_ERR_NOT_FOUND, "labels=none");
    refuse_folder(in_dir("empty/a.png"), LEAT_LABELS_AUTO, LEAT_ERR_NOT_FOUND, "a.png");
    make_dir(in_dir("new\nline"));
    refuse_folder(in_dir("new\nline"), LEAT_LABELS_AUTO, LEAT_ERR_NOT_FOUND, "no images");
    refuse_folder("", LEAT_LABELS_AUTO, LEAT_ERR_NOT_FOUND, "");
}

static void test_links(void **state) {
    (void)state;
    make_dir(in_dir("links"));
    make_dir(in_dir("links/a"));
    make_dir(in_dir("links/b"));
    make_dir(in_dir("outside"));
    touch(in_dir("links/a/1.png"));
    touch(in_dir("links/b/2.png"));
    touch(in_dir("outside/3.png"));
    assert_int_equal(symlink("../a/1.png", in_dir("links/b/link.png")), 0); /* a file is a file */
    assert_int_equal(symlink("nowhere", in_dir("links/b/broken.png")), 0);
    assert_int_equal(symlink("self.png", in_dir("links/b/self.png")), 0);
    assert_int_equal(symlink("..", in_dir("links/a/up")), 0);
    assert_int_equal(symlink(".", in_dir("links/a/here")), 0);
    assert_int_equal(symlink("../b", in_dir("links/a/beside")), 0);
    assert_int_equal(symlink("../a", in_dir("links/b/beside")), 0);
    assert_int_equal(symlink("../outside", in_dir("links/out")), 0);
    assert_int_equal(symlink("../../outside", in_dir("links/a/dir.png")),
                     0); /* a folder with the name of an image */
    assert_string_equal(listing(open_folder(in_dir("links"), LEAT_LABELS_AUTO, false, NULL)),
                        "a/1.png:0 b/2.png:1 b/link.png:1");
    assert_string_equal(listing(open_folder(in_dir("links"), LEAT_LABELS_AUTO, true, NULL)),
                        "a/1.png:0 a/beside/2.png:0 a/beside/link.png:0 a/dir.png/3.png:0"
                        " b/2.png:1 b/link.png:1 b/beside/1.png:1 b/beside/dir.png/3.png:1 out/3.png:2");
}

static void test_odd_names(void **state) {
    (void)state;
    make_dir(in_dir("odd"));
    char name[300];
    memset(name, 'n', 255);
    memcpy(name + 251, ".png", 5);
    static const char *const dirs[] = {"sp ace",   "new\nline", "bad\xff\xfe", "one\x01two", "one",
                                       "quo'te\"", "-dash",     "\x7f",        "a.png"};
    static const char *const files[] = {"new\nline.png", "\xff\xfe.png", "sp ace.png", "\x01\x02.png",
                                        "quo'te\".png",  "%s%n.png",     "-n.png"};
    int n = 0;
    for (size_t i = 0; i < LEAT_COUNT(dirs); i++) {
        make_dir(in_dir("odd/%s", dirs[i]));
        for (size_t k = 0; k < LEAT_COUNT(files); k++, n++)
            write_png(in_dir("odd/%s/%s", dirs[i], files[k]), 3, 3, (unsigned)n);
        write_png(in_dir("odd/%s/%s", dirs[i], name), 3, 3, (unsigned)n++);
    }
    /* Every name leads to its file. */
    tape t = record_spec(spec_of("folder %s | decode | batch 10", in_dir("odd")), NULL);
    if (t.rc != LEAT_END) fail_msg("%s", t.message);
    assert_int_equal(t.n_samples, n);
    tape again = record_spec(spec_of("folder %s | decode | batch 10", in_dir("odd")), NULL);
    same_tape(&t, &again, "odd names");
    tape_free(&t);
    tape_free(&again);
    leat__source *source = open_folder(in_dir("odd"), LEAT_LABELS_AUTO, false, NULL);
    assert_int_equal(source->n_classes, LEAT_COUNT(dirs));
    leat__source_free(&source);
    /* A message with such a name is one line, however long the name is. */
    static const char *const bad[] = {"new\nline.png", "\xff\xfe.png"};
    for (int i = 0; i < 3; i++) {
        write_file(in_dir("odd/one/%s", i < 2 ? bad[i] : name), "", 0);
        t = record_spec(spec_of("folder %s | decode | batch 1000", in_dir("odd")),
                        &(leat_config){.no_side_files = 1});
        assert_true(t.rc == LEAT_ERR_DECODE && !strchr(t.message, '\n') && strstr(t.message, "decode: "));
        tape_free(&t);
        unlink(in_dir("odd/one/%s", i < 2 ? bad[i] : name));
    }
}

static void test_deep_tree(void **state) {
    (void)state;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", in_dir("deep"));
    make_dir(path);
    while (strlen(path) < PATH_MAX - 300) {
        strcat(path, "/abcdefghijklmnopqrstuvwxyz0123456789");
        make_dir(path);
    }
    strcat(path, "/x.png");
    write_png(path, 3, 3, 1);
    tape t = record_spec(spec_of("folder %s | decode | batch 2", in_dir("deep")),
                         &(leat_config){.no_side_files = 1});
    assert_int_equal(t.n_samples, 1);
    tape_free(&t);
}

static void test_no_images(void **state) {
    (void)state;
    make_dir(in_dir("kinds"));
    make_dir(in_dir("kinds/a"));
    assert_int_equal(mkfifo(in_dir("kinds/a/fifo.jpg"), 0666), 0);
    make_dir(in_dir("kinds/a/folder.jpg"));
    write_png(in_dir("kinds/a/x.jpg"), 3, 3, 1);
    tape t = record_spec(spec_of("folder %s | decode | batch 2", in_dir("kinds")),
                         &(leat_config){.no_side_files = 1});
    assert_int_equal(t.n_samples, 1); /* a PNG whatever its name */
    tape_free(&t);
    /* Something else takes the place of an image after the scan. */
    leat_pipeline *pipeline = open_spec(spec_of("folder %s | decode | resize 2 | batch 2", in_dir("kinds")),
                                        &(leat_config){.no_side_files = 1, .synchronous = 1});
    unlink(in_dir("kinds/a/x.jpg"));
    assert_int_equal(mkfifo(in_dir("kinds/a/x.jpg"), 0666), 0);
    t = record(pipeline, -1);
    assert_int_equal(t.rc, LEAT_ERR_IO);
    assert_non_null(strstr(t.message, "regular file"));
    assert_int_equal(t.stage, LEAT_STAGE_READ);
    tape_free(&t);
    leat_pipeline_close(&pipeline);
    unlink(in_dir("kinds/a/x.jpg"));
    /* A hole of many gigabytes is no image, and costs no memory. */
    write_file(in_dir("kinds/a/hole.jpg"), "", 0);
    if (truncate(in_dir("kinds/a/hole.jpg"), (off_t)40 << 30) == 0) {
        t = record_spec(spec_of("folder %s | decode | resize 2 | batch 2", in_dir("kinds")),
                        &(leat_config){.no_side_files = 1});
        assert_int_equal(t.rc, LEAT_ERR_LIMIT);
        tape_free(&t);
    }
}

static void test_unreadable(void **state) {
    (void)state;
    make_dir(in_dir("closed"));
    make_dir(in_dir("closed/a"));
    touch(in_dir("closed/a/1.png"));
    chmod(test_dir, 0755);
    chmod(in_dir("closed/a"), 0);
    /* Root reads everything: be somebody else for a moment. */
    const bool root = geteuid() == 0;
    if (root) assert_int_equal(seteuid(65534), 0);
    refuse_folder(in_dir("closed"), LEAT_LABELS_AUTO, LEAT_ERR_IO, "closed/a");
    if (root) assert_int_equal(seteuid(0), 0);
    chmod(in_dir("closed/a"), 0777);
}

static void test_vanishing(void **state) {
    (void)state;
    make_dir(in_dir("vanish"));
    for (unsigned i = 0; i < 6; i++) write_png(in_dir("vanish/%u.png", i), 4, 4, i);
    leat_pipeline *pipeline =
        open_spec(spec_of("folder %s | decode | batch 2 | options on_error=skip", in_dir("vanish")),
                  &(leat_config){.no_side_files = 1, .synchronous = 1});
    unlink(in_dir("vanish/1.png"));
    write_png(in_dir("vanish/3.png"), 40, 40, 1);              /* grew */
    assert_int_equal(truncate(in_dir("vanish/4.png"), 10), 0); /* shrank */
    tape t = record(pipeline, -1);
    assert_true(t.rc == LEAT_END && t.n_samples == 3);
    leat_bad bad;
    static const char *const says[] = {"vanish/1.png", "vanish/3.png had", "vanish/4.png had"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(leat_pipeline_bad(pipeline, (uint64_t)i, &bad), 0);
        assert_non_null(strstr(bad.message, says[i]));
        assert_int_equal(bad.stage, LEAT_STAGE_READ);
    }
    tape_free(&t);
    leat_pipeline_close(&pipeline);
    /* The first file is gone, but others tell the size just as well. */
    pipeline = open_spec(spec_of("folder %s | decode | batch 2 | options on_error=skip", in_dir("vanish")),
                         &(leat_config){.no_side_files = 1});
    leat_pipeline_close(&pipeline);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),       cmocka_unit_test(test_empty),     cmocka_unit_test(test_links),
        cmocka_unit_test(test_odd_names),  cmocka_unit_test(test_deep_tree), cmocka_unit_test(test_no_images),
        cmocka_unit_test(test_unreadable), cmocka_unit_test(test_vanishing),
    };
    return cmocka_run_group_tests_name("folder", tests, begin_files, end_files);
}
