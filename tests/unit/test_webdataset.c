/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives with samples: every way to write a name and a size, grouping, fields, damage that costs one sample, samples
 * that are too large to be read at once, and indexes that are kept. */
#include "unit/testing.h"

#include "base/clock.h"
#include "format/tar.h"
#include "source/source.h"
#include "unit/testing_tar.h"

#include "format/kept/sidefile.h"

/* ------------------------------------------------------------------------------------------ samples */

static leat__source *try_open(const char *path, const char *const *fields, int n, const char *cache,
                              leat_error *err) {
    const leat__webdataset_options options = {.patterns = &path, .n = 1, .fields = fields, .n_fields = n};
    const leat__open_options open = {
        .n_threads = 2, .now_ns = leat__wall_ns(), .cache_dir = cache, .no_side_files = !cache};
    leat__source *source = NULL;
    leat__webdataset_open(&source, &options, &open, err);
    return source;
}

static leat__source *open_tar(leat__buf *tar, const char *const *fields, int n) {
    leat_error err;
    write_buf(in_dir("a.tar"), tar);
    leat__source *source = try_open(in_dir("a.tar"), fields, n, NULL, &err);
    if (!source) fail_msg("%s", err.message);
    return source;
}

/* All samples as one text: "key:bytes,number;" or "!message;". */
static const char *read_all(leat__source *source) {
    static char text[8000];
    size_t used = 0;
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER, .extra.kind = LEAT_MEM_WORKER};
    text[0] = 0;
    for (uint64_t i = 0; i < source->n_samples; i++) {
        leat__value value[LEAT_FIELDS_MAX];
        leat_error err;
        char where[600];
        source->class->describe(source, i, where, sizeof where);
        if (source->class->read(source, &reader, i, value, &err) < 0) {
            assert_int_equal(strncmp(err.message, where, strlen(where)), 0);
            if (strchr(err.message, '\n')) fail_msg("not one line: %s", err.message);
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "!%s;", err.message + strlen(where) + 2);
            continue;
        }
        for (int k = 0; k < source->n_fields; k++) {
            const char *end = k + 1 == source->n_fields ? ";" : ",";
            if (value[k].dtype == LEAT_DTYPE_I64)
                used += (size_t)snprintf(text + used, sizeof text - used, "%lld%s",
                                         (long long)*(const int64_t *)(const void *)value[k].data, end);
            else
                used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%s",
                                         (int)LEAT_MIN(value[k].bytes, (size_t)40), value[k].data, end);
        }
    }
    leat__reader_free(source, &reader);
    leat__source_free(&source);
    return text;
}

static const char *const all_fields[] = {"key=__key__", "text=txt,text", "label=cls"};

static void expect(leat__buf *tar, const char *text) {
    assert_string_equal(read_all(open_tar(tar, all_fields, 3)), text);
}

static void add_pair(leat__buf *tar, const char *key, int label) {
    char name[300], number[20];
    snprintf(name, sizeof name, "%s.txt", key);
    add_file(tar, name, key);
    snprintf(name, sizeof name, "%s.cls", key);
    snprintf(number, sizeof number, " %d\n", label);
    add_file(tar, name, number);
}

static void test_grouping(void **state) {
    (void)state;
    leat__buf t = {.kind = LEAT_MEM_TOOL};
    add_typed(&t, "d/", '5', "", 0);
    add_pair(&t, "d/a", 1);
    add_file(&t, "__meta__", "x");
    add_file(&t, "__meta__/b.txt", "x");
    add_pair(&t, "d/b", -2);
    add_file(&t, "d/._c.txt", "hidden");
    add_file(&t, "d/README", "no extension");
    add_file(&t, "d/c.cls", "+3"); /* the order of members does not matter, nor the case of an extension */
    add_file(&t, "d/c.json", "{}");
    add_typed(&t, "d/c.txt", '2', "", 0); /* a link is no member */
    add_file(&t, "d/c.TeXt", "d/c");
    add_pair(&t, "e.x/c", 4); /* a dot in a folder is no extension */
    add_pair(&t, "d/a", 5);   /* the same key again, but not next to the first: another sample */
    add_file(&t, "d/a.txt", "the first one counts");
    add_end(&t);
    add_pair(&t, "behind the end", 6);
    expect(&t, "d/a,d/a,1;d/b,d/b,-2;d/c,d/c,3;e.x/c,e.x/c,4;d/a,d/a,5;");
    /* Extensions of several words. */
    add_file(&t, "a.seg.png", "mask");
    add_file(&t, "a.png", "picture");
    add_file(&t, "b.png", "2");
    add_file(&t, "b.seg.png", "3");
    static const char *const fields[] = {"image=png,jpg", "mask=seg.png"};
    assert_string_equal(read_all(open_tar(&t, fields, 2)), "picture,mask;2,3;"); /* no end: it is one */
}

static void test_names_and_sizes(void **state) {
    (void)state;
    leat__buf t = {.kind = LEAT_MEM_TOOL};
    char name[LEAT_TAR_NAME_MAX + 100], text[LEAT_TAR_NAME_MAX + 200];
    memset(name, 'n', sizeof name);
    memcpy(name + 200, ".txt", 5);
    add_typed(&t, "././@LongLink", 'L', name, strlen(name) + 1); /* GNU */
    add_file(&t, "cut", "gnu");
    memcpy(name + 200, ".cls", 5);
    add_typed(&t, "././@LongLink", 'K', "target", 7);
    add_typed(&t, "././@LongLink", 'L', name, strlen(name));
    add_file(&t, "cut", "1");
    add_typed(&t, "pax_global_header", 'g', "11 path=x\n\n", 11);
    snprintf(text, sizeof text, "20 path=pax/name.txt\n30 mtime=1350244992.023960108\n");
    text[1] = '1'; /* 21 bytes */
    add_typed(&t, "PaxHeader", 'x', text, strlen(text));
    add_file(&t, "cut", "pax");
    snprintf(text, sizeof text, "21 path=pax/name.cls\n9 size=1\n");
    add_typed(&t, "PaxHeader", 'x', text, strlen(text));
    add_header(&t, "cut", '0', "00000000000"); /* its size is in the pax header */
    leat__buf_append(&t, "2", 1);
    pad(&t);
    uint8_t h[512] = {0}; /* ustar with a prefix */
    memcpy(h, "name.txt", 8);
    memcpy(h + 345, "some/prefix", 11);
    memcpy(h + 257, "ustar", 6);
    memcpy(h + 124, "        5 ", 10); /* spaces before and behind the digits */
    set_checksum(h);
    leat__buf_append(&t, h, sizeof h);
    leat__buf_append(&t, "ustar", 5);
    pad(&t);
    memset(h, 0, sizeof h); /* the old format: no type, no magic; a binary size */
    memcpy(h, "some/prefix/name.cls", 20);
    h[124] = 0x80, h[135] = 1;
    set_checksum(h);
    leat__buf_append(&t, h, sizeof h);
    leat__buf_append(&t, "3", 1);
    pad(&t);
    memset(name, 'n', 40);
    name[40] = 0;
    snprintf(text, sizeof text, "%s,gnu,1;pax/name,pax,2;some/prefix/name,ustar,3;", name);
    expect(&t, text);
}

static leat__tar_member member;
static const uint8_t *look(void *user, uint64_t offset, size_t n, leat_error *err) {
    const leat__buf *tar = user;
    (void)err;
    assert_true(offset <= tar->size && n <= tar->size - offset);
    return tar->data + offset;
}

static const char *problem_of(leat__buf *t) {
    assert_int_equal(leat__tar_next(look, t, 0, t->size, &member, NULL), 1);
    leat__buf_free(t);
    return member.problem ? member.problem : "none";
}

static void test_hostile_headers(void **state) {
    (void)state;
    leat__buf t = {.kind = LEAT_MEM_TOOL};
    static const struct {
        const char *size, *problem;
    } sizes[] = {{"77777777777", "cut off"},
                 {"00000000001", "cut off"},
                 {"0000000000x", "no number"},
                 {"\x80\1\0\0\0\0\0\0\0\0\0", "no number"},
                 {"\x80\0\0\0\xff\0\0\0\0\0\0", "no number"},
                 {"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff", "cut off"},
                 {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "no number"}};
    for (size_t i = 0; i < LEAT_COUNT(sizes); i++) {
        add_header(&t, "a.txt", '0', sizes[i].size);
        assert_non_null(strstr(problem_of(&t), sizes[i].problem));
        assert_int_equal(member.cut_off, strcmp(sizes[i].problem, "cut off") == 0);
    }
    static const char *const pax[] = {
        "",           "x",       "5",           "0 a=b\n",   "7 a=b\n",
        "6 a=bc",     "5 ab\n",  "3 \n",        "8 path=\n", "9 size=x\n",
        "10 size=\n", "-1 a=\n", "99999999999", "1 a=b\n",   "29 size=99999999999999999999\n"};
    for (size_t i = 0; i < LEAT_COUNT(pax); i++) {
        add_typed(&t, "PaxHeader", 'x', pax[i], strlen(pax[i]));
        add_file(&t, "a.txt", "x");
        assert_non_null(strstr(problem_of(&t), "extended header"));
    }
    char *name = malloc(2 << 20);
    memset(name, 'n', 2 << 20);
    add_typed(&t, "long", 'L', name, 5000);
    assert_non_null(strstr(problem_of(&t), "more than 4096"));
    add_typed(&t, "long", 'x', name, 2 << 20);
    assert_non_null(strstr(problem_of(&t), "more than 1 MiB"));
    free(name);
    add_typed(&t, "long", 'L', "a.txt", 6); /* nothing behind it */
    assert_non_null(strstr(problem_of(&t), "cut off"));
    add_typed(&t, "long", 'S', "", 0);
    assert_non_null(strstr(problem_of(&t), "sparse"));
    uint8_t h[512] = {0}; /* bytes above 127, summed as signed ones */
    memset(h, 0xe9, 20);
    memcpy(h + 124, "00000000000", 11);
    int sum = 8 * ' ';
    for (int i = 0; i < 512; i++) sum += (int8_t)h[i];
    snprintf((char *)h + 148, 8, "%06o", (unsigned)sum & 0777777);
    leat__buf_append(&t, h, sizeof h);
    assert_string_equal(problem_of(&t), "none");
}

/* ------------------------------------------------------------------------------------------ damage */

enum { SAMPLE = 4 * 512 };

static leat__buf make_tar(int n) {
    leat__buf t = {.kind = LEAT_MEM_TOOL};
    for (int i = 0; i < n; i++) {
        char key[20];
        snprintf(key, sizeof key, "s%d", i);
        add_pair(&t, key, i);
    }
    add_end(&t);
    return t;
}

static void test_damage(void **state) {
    (void)state;
    leat__buf t = make_tar(3);
    expect(&t, "s0,s0,0;s1,s1,1;s2,s2,2;");
    for (int at = 0; at < 512; at += 37) { /* the header of s1.cls: s1 is lost, and told twice */
        t = make_tar(3);
        t.data[SAMPLE + 1024 + at] ^= 1;
        expect(&t, "s0,s0,0;!the sample 's1' has no member cls for the field label: it has txt;"
                   "!the member at byte 3072 is damaged: the checksum of its header is wrong;s2,s2,2;");
    }
    t = make_tar(3); /* that of s1.txt: the same */
    t.data[SAMPLE] ^= 1;
    expect(&t, "s0,s0,0;!the member at byte 2048 is damaged: the checksum of its header is wrong;"
               "!the sample 's1' has no member txt,text for the field text: it has cls;s2,s2,2;");
    t = make_tar(3); /* all headers of s1: told once */
    t.data[SAMPLE] ^= 1, t.data[SAMPLE + 1024] ^= 1;
    expect(&t, "s0,s0,0;!the member at byte 2048 is damaged: the checksum of its header is wrong;s2,s2,2;");
    t = make_tar(3); /* the first header */
    t.data[5] ^= 1;
    expect(&t, "!the member at byte 0 is damaged: the checksum of its header is wrong;"
               "!the sample 's0' has no member txt,text for the field text: it has cls;s1,s1,1;s2,s2,2;");
    for (size_t cut = 1; cut < 1600; cut += 7) { /* the last member lacks padding, or data, or its header */
        t = make_tar(3);
        t.size -= 1024 + cut;
        expect(&t, cut <= 509 ? "s0,s0,0;s1,s1,1;s2,s2,2;"
                   : cut < 1024
                       ? "s0,s0,0;s1,s1,1;!the sample 's2' has no member cls for the field label: it has "
                         "txt;!the member at byte 5120 is damaged: it is cut off;"
                   : cut <= 1534
                       ? "s0,s0,0;s1,s1,1;!the sample 's2' has no member cls for the field label: it has txt;"
                       : "s0,s0,0;s1,s1,1;!the member at byte 4096 is damaged: it is cut off;");
    }
    add_file(&t, "a.txt", "x");
    add_file(&t, "a.cls", "seven");
    add_file(&t, "b.txt", "y");
    add_file(&t, "b.cls", "123456789012345678901234567890");
    expect(&t, "!the member for the field label is no integer: 'seven';"
               "!the member for the field label is no integer: '123456789012345678901234567890';");
}

static void test_large_samples(void **state) {
    (void)state;
    leat__buf t = {.kind = LEAT_MEM_TOOL};
    char *big = calloc(1, 3 << 20);
    for (int i = 0; i < 3; i++) {
        char name[20];
        memset(big, 'a' + i, 3 << 20);
        snprintf(name, sizeof name, "s%d.bin", i); /* not wanted, and not read */
        add_typed(&t, name, '0', big, 3 << 20);
        snprintf(name, sizeof name, "s%d.cls", i);
        add_file(&t, name, "7");
        snprintf(name, sizeof name, "s%d.txt", i);
        add_typed(&t, name, '0', big, i == 1 ? 0 : 2 << 20);
    }
    free(big);
    add_end(&t);
    write_buf(in_dir("large.tar"), &t);
    leat_error err;
    leat__source *source = try_open(in_dir("large.tar"), all_fields, 3, NULL, &err);
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER, .extra.kind = LEAT_MEM_WORKER};
    for (int i = 0; i < 3; i++) {
        leat__value value[3];
        assert_int_equal(source->class->read(source, &reader, (uint64_t)i, value, &err), 0);
        assert_int_equal(value[1].bytes, i == 1 ? 0 : 2 << 20);
        for (size_t k = 0; k < value[1].bytes; k++) assert_int_equal(value[1].data[k], 'a' + i);
        assert_int_equal(*(const int64_t *)(const void *)value[2].data, 7);
    }
    assert_true(reader.bytes_read < (5 << 20));
    leat__reader_free(source, &reader);
    assert_non_null(strstr(read_all(source), "s0,aaaa"));
}

/* -------------------------------------------------------------------------------------------- fields */

static void refuse(const char *path, const char *const *fields, int n, const char *message) {
    leat_error err;
    assert_null(try_open(path, fields, n, NULL, &err));
    if (!strstr(err.message, message)) fail_msg("%s", err.message);
}

static void test_fields(void **state) {
    (void)state;
    leat__buf t = make_tar(2);
    write_buf(in_dir("b.tar"), &t);
    refuse(in_dir("b.tar"), NULL, 0, "it has txt, cls; say which fields are wanted");
    static const char *const mixed[] = {"a=cls,txt"}, *const twice[] = {"a=cls", "a=txt"},
                             *const empty[] = {"a="}, *const comma[] = {"a=jpg,,png"};
    refuse(in_dir("b.tar"), mixed, 1, "some of these extensions are integers");
    refuse(in_dir("b.tar"), twice, 2, "the field a is given twice");
    refuse(in_dir("b.tar"), empty, 1, "by its name and its extensions");
    refuse(in_dir("b.tar"), comma, 1, "an extension is empty");
    write_file(in_dir("c.tar.gz"), "\x1f\x8b\x08 and so on", 12);
    refuse(in_dir("c.tar.gz"), NULL, 0,
           "is compressed by gzip, and its samples cannot be read in any order: unpack it (gunzip)");
    write_file(in_dir("c.tar"), "no archive", 10);
    refuse(in_dir("c.tar"), NULL, 0, "is not a tar archive");
    write_file(in_dir("c.tar"), "", 0);
    refuse(in_dir("c.tar"), NULL, 0, "holds no sample");
    add_end(&t);
    write_buf(in_dir("c.tar"), &t);
    refuse(in_dir("c.tar"), NULL, 0, "holds no sample");
    refuse_spec(spec_of("webdataset image=jpg"), NULL, LEAT_ERR_ARGUMENT, "there is no file");
    /* Without a choice: a picture, and a label where the first sample has one. */
    for (int labels = 0; labels < 2; labels++) {
        add_file(&t, "0.json", "{}"); /* no picture: the second sample decides */
        add_file(&t, "1.PNG", "x");
        if (labels) add_file(&t, "1.cls", "5");
        add_end(&t);
        leat__source *source = open_tar(&t, NULL, 0);
        assert_int_equal(source->n_fields, 1 + labels);
        assert_string_equal(source->field[0].name, "image");
        if (labels) assert_string_equal(source->field[1].name, "label");
        assert_non_null(strstr(read_all(source), labels ? ";x,5;" : ";x;"));
    }
}

/* --------------------------------------------------------------------------------------------- index */

static void test_index(void **state) {
    (void)state;
    char cache[400];
    snprintf(cache, sizeof cache, "%s", in_dir("cache"));
    leat__buf t = make_tar(3);
    write_buf(in_dir("kept.tar"), &t);
    make_old(in_dir("kept.tar"), 100);
    leat_error err;
    const char *whole = "s0,s0,0;s1,s1,1;s2,s2,2;";
    assert_string_equal(read_all(try_open(in_dir("kept.tar"), all_fields, 3, cache, &err)), whole);
    assert_int_equal(find_side_files(cache, NULL, 0), 1);
    char side[4300];
    struct stat before, after;
    find_side_files(cache, side, sizeof side);
    assert_int_equal(stat(side, &before), 0);
    assert_string_equal(read_all(try_open(in_dir("kept.tar"), all_fields, 3, cache, &err)), whole);
    assert_int_equal(stat(side, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* it was used */
    /* Another key divides a sample, at the same size and time. */
    struct stat st;
    assert_int_equal(stat(in_dir("kept.tar"), &st), 0);
    t = make_tar(3);
    t.data[SAMPLE + 1024] = 'x';
    set_checksum(t.data + SAMPLE + 1024);
    write_buf(in_dir("kept.tar"), &t);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    utimensat(AT_FDCWD, in_dir("kept.tar"), times, 0);
    leat__source *source = try_open(in_dir("kept.tar"), all_fields, 3, cache, &err);
    assert_int_equal(source->n_samples, 4);
    leat__source_free(&source);
}

/* An index that checks out and does not fit, which only reading shows: it is made anew. */
static void test_misplaced(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        leat__buf t = make_tar(3);
        write_buf(in_dir("doubt.tar"), &t);
        make_old(in_dir("doubt.tar"), 100);
        struct stat st;
        assert_int_equal(stat(in_dir("doubt.tar"), &st), 0);
        /* A border that is no header, or that is the second member of a sample. */
        const uint64_t payload[] = {2,
                                    (uint64_t)st.st_size,
                                    (uint64_t)ns_of(st.st_mtim),
                                    (uint64_t)ns_of(st.st_ctim),
                                    st.st_ino,
                                    0,
                                    0,
                                    which ? SAMPLE + 1024 : SAMPLE + 512,
                                    2 * SAMPLE,
                                    (uint64_t)st.st_size};
        uint8_t file[LEAT_SIDEFILE_HEADER + sizeof payload];
        leat__sidefile_write_header(file, LEAT_SIDEFILE_TAR, payload, sizeof payload);
        memcpy(file + LEAT_SIDEFILE_HEADER, payload, sizeof payload);
        write_file(in_dir(".doubt.tar.leatidx"), file, sizeof file);
        leat_error err;
        assert_string_equal(
            read_all(try_open(in_dir("doubt.tar"), all_fields, 3, in_dir("doubt-cache"), &err)),
            "s0,s0,0;s1,s1,1;s2,s2,2;");
    }
}

/* The whole way: hundreds of shards, some of them empty, shuffled. */
static void test_pipeline(void **state) {
    (void)state;
    make_dir(in_dir("many"));
    int64_t n = 0;
    for (int i = 0; i < 300; i++) {
        leat__buf t = {.kind = LEAT_MEM_TOOL};
        for (int k = 0; k < i % 4; k++) {
            char key[20];
            snprintf(key, sizeof key, "%03d-%d", i, k);
            add_pair(&t, key, (int)n++);
        }
        add_end(&t);
        write_buf(in_dir("many/%03d.tar", i), &t);
    }
    for (int threads = 1; threads <= 4; threads *= 2) {
        const leat_config config = {.n_threads = threads, .no_side_files = 1, .n_epochs = 2};
        leat_pipeline *pipeline =
            open_spec(spec_of("webdataset %s label=cls | interleave cycle=4 | shuffle | batch 16",
                              in_dir("many/*.tar")),
                      &config);
        leat_batch b;
        int64_t seen = 0;
        while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
            for (int i = 0; i < b.n; i++) assert_int_equal(((int64_t *)b.tensor[0].data)[i], b.sample[i]);
            seen += b.n;
            leat_batch_release(&b);
        }
        assert_int_equal(seen, 2 * n);
        leat_pipeline_close(&pipeline);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grouping),        cmocka_unit_test(test_names_and_sizes),
        cmocka_unit_test(test_hostile_headers), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_large_samples),   cmocka_unit_test(test_fields),
        cmocka_unit_test(test_index),           cmocka_unit_test(test_misplaced),
        cmocka_unit_test(test_pipeline),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
