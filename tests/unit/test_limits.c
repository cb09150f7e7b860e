/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-arm (the emulator has no limit of address space) */
/* Limits of made-up cgroup trees, of both versions, as containers, Slurm and systemd lay them out. */
#include "testing.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "base/limits.h"

enum { MB = 1000000 };

static char root[400];

static void put(const char *path, const char *text) {
    char whole[900];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(whole, 0777);
        *at = '/';
    }
    write_file(whole, text, strlen(text));
}

static int make_root(void **state) {
    (void)state;
    static int n;
    char name[40];
    snprintf(name, sizeof name, "root %d", n++);
    snprintf(root, sizeof root, "%s", in_dir(name));
    return mkdir(root, 0777);
}

static void put_level(const char *folder, const char *max, const char *high, const char *used,
                      const char *stat) {
    char path[500];
    snprintf(path, sizeof path, "%s/memory.max", folder), put(path, max);
    snprintf(path, sizeof path, "%s/memory.high", folder), put(path, high);
    snprintf(path, sizeof path, "%s/memory.current", folder), put(path, used);
    snprintf(path, sizeof path, "%s/memory.stat", folder), put(path, stat);
}

static void expect(uint64_t memory, double cores) {
    const uint64_t bytes = leat__limits_memory(root);
    const double quota = leat__limits_cores(root);
    if (bytes != memory || quota != cores)
        fail_msg("%" PRIu64 " bytes and %g cores are left, not %" PRIu64 " and %g", bytes, quota, memory,
                 cores);
}

#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

static void test_nothing(void **state) {
    (void)state;
    expect(UINT64_MAX, 0);
    put("/proc/self/cgroup", "");
    put("/proc/self/mountinfo", "");
    expect(UINT64_MAX, 0);
    put("/proc/self/cgroup", "::\n0\n0:\n\n0::/a\n");
    put("/proc/self/mountinfo", "junk\n1 2 3\n - cgroup2\n1 2 3 - cgroup2 x y\n" V2);
    expect(UINT64_MAX, 0);
}

static void test_child(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/user.slice/job 1\n");
    put("/proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n" V2);
    put("/sys/fs/cgroup/cpu.max", "max 100000\n"); /* the root of a machine has no memory.max */
    expect(UINT64_MAX, 0);
    put_level("/sys/fs/cgroup/user.slice", "max", "max", "900000000", "");
    put_level("/sys/fs/cgroup/user.slice/job 1", "100000000\n", "max\n", "30000000\n",
              "anon 5\ninactive_file 0\n");
    put("/sys/fs/cgroup/user.slice/job 1/cpu.max", "350000 100000\n");
    expect(70 * MB, 3.5);
    put_level("/sys/fs/cgroup/user.slice", "1000000000", "max", "960000000",
              "inactive_file 15000000\n"); /* the parent leaves less */
    put("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    expect(55 * MB, 1.5);
    put_level("/sys/fs/cgroup/user.slice", "1000000000", "970000000", "960000000",
              "inactive_file 15000000\n");
    expect(25 * MB, 1.5);
}

static void test_page_cache(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/job\n");
    put("/proc/self/mountinfo", V2);
    put_level("/sys/fs/cgroup/job", "100000000", "max", "99000000",
              "anon 9000000\nfile 90000000\ninactive_file 80000000\n");
    expect(81 * MB, 0);
    put_level("/sys/fs/cgroup/job", "100000000", "max", "99000000", "inactive_file 800000000\n");
    expect(100 * MB, 0);
    put_level("/sys/fs/cgroup/job", "100000000", "max", "120000000", "inactive_file 0\n");
    expect(0, 0);
}

/* A container without a namespace of its own: its part of the tree is mounted, and names begin at the machine's root. */
static void test_part_of_the_tree(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/docker/abc/inner\n");
    put("/proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    put_level("/sys/fs/cgroup", "50000000", "max", "10000000", "");
    put_level("/sys/fs/cgroup/inner", "30000000", "max", "10000000", "");
    expect(20 * MB, 0);
    put("/proc/self/cgroup",
        "0::/docker/abcd/inner\n"); /* another container's, with a like name: the mount's own level counts */
    expect(40 * MB, 0);
    put("/proc/self/cgroup", "0::/../other\n"); /* seen from a namespace that this process is not in */
    expect(40 * MB, 0);
}

static void test_version_1(void **state) {
    (void)state;
    put("/proc/self/cgroup",
        "9:name=systemd:/x\n4:memory:/slurm/uid_1/job_2\n2:cpu,cpuacct:/slurm/uid_1\n0::/\n");
    put("/proc/self/mountinfo",
        "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/me\\155ory\\040x rw - cgroup cgroup rw,memory\n"
        "36 31 0:33 / /sys/fs/cgroup/memory2 rw - cgroup cgroup rw,hugetlb\n"
        "37 31 0:34 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/memory x/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory x/memory.usage_in_bytes", "12000000000\n");
    put("/sys/fs/cgroup/memory x/slurm/uid_1/memory.limit_in_bytes", "200000000\n");
    put("/sys/fs/cgroup/memory x/slurm/uid_1/memory.usage_in_bytes", "150000000\n");
    put("/sys/fs/cgroup/memory x/slurm/uid_1/memory.stat", "inactive_file 1\ntotal_inactive_file 7000000\n");
    put("/sys/fs/cgroup/memory x/slurm/uid_1/job_2/memory.limit_in_bytes", "100000000\n");
    put("/sys/fs/cgroup/memory x/slurm/uid_1/job_2/memory.usage_in_bytes", "20000000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/slurm/uid_1/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/slurm/uid_1/cpu.cfs_period_us", "100000\n");
    expect(57 * MB, 0.5);
}

static void test_address_space(void **state) {
    (void)state;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    const long page = sysconf(_SC_PAGESIZE);
    put("/proc/self/statm", "10 5 3 1 0 2 0\n");
    limit = (struct rlimit){.rlim_cur = (rlim_t)1 << 45, .rlim_max = before.rlim_max};
    if (setrlimit(RLIMIT_AS, &limit) != 0) skip();
    const uint64_t left = leat__limits_memory(root);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(left == ((uint64_t)1 << 45) - 10 * (uint64_t)page);
}

static void test_held_up(void **state) {
    (void)state;
    assert_true(leat__limits_throttled(root) == 0 && leat__limits_pressure(root) == 0);
    put("/proc/self/cgroup", "0::/job/step\n4:cpu:/job\n");
    put("/proc/self/mountinfo", V2 "31 23 0:27 / /cpu rw - cgroup cgroup rw,cpu\n");
    put("/proc/pressure/memory", "some avg10=1.50 avg60=0.40 avg300=0.08 total=12345\nfull avg10=9.00\n");
    put("/sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500\n");
    put("/sys/fs/cgroup/job/step/cpu.stat", "throttled_usec 700\n");
    assert_true(leat__limits_throttled(root) == 1500000 && leat__limits_pressure(root) == 1.5);
    put("/cpu/job/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 2000000\n");
    put("/sys/fs/cgroup/job/memory.pressure", "some avg10=32.25 avg60=0.00 avg300=0.00 total=1\n");
    assert_true(leat__limits_throttled(root) == 2000000 && leat__limits_pressure(root) == 32.25);
    put("/proc/pressure/memory", "nothing to see\n");
    put("/sys/fs/cgroup/job/memory.pressure", "some avg10=lots\n");
    assert_true(leat__limits_pressure(root) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing, make_root),
        cmocka_unit_test_setup(test_child, make_root),
        cmocka_unit_test_setup(test_page_cache, make_root),
        cmocka_unit_test_setup(test_part_of_the_tree, make_root),
        cmocka_unit_test_setup(test_version_1, make_root),
        cmocka_unit_test_setup(test_address_space, make_root),
        cmocka_unit_test_setup(test_held_up, make_root),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
