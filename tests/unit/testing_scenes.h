/* SPDX-License-Identifier: Apache-2.0 */
/* Records of scenes for tests: a picture, a mask of its size, boxes with numbers, a keypoint. After testing.h. */
#ifndef LEAT_TESTS_TESTING_SCENES_H
#define LEAT_TESTS_TESTING_SCENES_H

/* Sizes from least to most; number i has i % 5 boxes, some of which reach beyond the picture. */
static void write_scenes(const char *path, int n, int least, int most) {
    leat__buf shard = {0};
    for (int i = 0; i < n; i++) {
        const uint64_t span = (uint64_t)(most - least + 1);
        const int height = least + (int)(leat__mix64((uint64_t)i) % span),
                  width = least + (int)(leat__mix64((uint64_t)i + 77) % span);
        leat__buf image = i % 2 ? make_png(height, width, 3, (unsigned)i)
                                : make_jpeg(height, width, 3, (unsigned)i),
                  mask = make_png(height, width, 1, (unsigned)i + 5);
        const leat__span picture = {image.data, image.size}, classes = {mask.data, mask.size};
        float boxes[16], point[2] = {(float)(i % width), (float)(i % height)};
        int64_t ids[4];
        const size_t n_boxes = (size_t)i % 5;
        for (size_t k = 0; k < n_boxes; k++) {
            ids[k] = 10 * i + (int64_t)k;
            boxes[4 * k] = (float)(k * 2), boxes[4 * k + 1] = (float)((int)k - 1);
            boxes[4 * k + 2] = (float)(k * 2) + 3.5f, boxes[4 * k + 3] = (float)(height - (int)k);
        }
        const leat__feature_value values[] = {
            {.key = "image", .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &picture},
            {.key = "mask", .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &classes},
            {.key = "box", .kind = LEAT_FEATURE_FLOAT, .n = n_boxes * 4, .values = boxes},
            {.key = "id", .kind = LEAT_FEATURE_INT64, .n = n_boxes, .values = ids},
            {.key = "point", .kind = LEAT_FEATURE_FLOAT, .n = 2, .values = point}};
        add_example(&shard, values, 5);
        leat__buf_free(&image);
        leat__buf_free(&mask);
    }
    write_buf(path, &shard);
}

/* How they are read, everything following the picture. */
#define SCENE_PARSE                                                                                   \
    "parse image:bytes mask:bytes box:float[*16] id:int64[*4] point:float[2] | decode | decode mask " \
    "channels=1 | mask mask fill=7 | boxes box labels=id | keypoints point"

#endif
