/* Runs in /dev/shm: found, read whatever is in the file, and removed when dead. In a /dev/shm of
 * its own, since other runs sweep the one that all share. */
#include "launch/runs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/philox.h"
#include "shm/process.h"
#include "support/check.h"

enum { NRANKS = 3 };

static void path_of(const char *name, char path[300])
{
    snprintf(path, 300, "/dev/shm/%s", name);
}

static bool stands(const char *name)
{
    char path[300];
    path_of(name, path);
    return access(path, F_OK) == 0;
}

static void put(const char *name, const void *bytes, size_t n)
{
    char path[300];
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    assert_true(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

/* The control segment of a run that was last looked after then. */
static struct hr_control *new_control(uint64_t looked)
{
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(NRANKS) + HR_LINE);
    assert_non_null(control); /* with something behind it, as ranks without a launcher have */
    memset(control, 0, hr_control_bytes(NRANKS) + HR_LINE);
    hr_control_init(control, NRANKS);
    control->about.began = 1;
    hr_atom64_store_relaxed(&control->looked, looked);
    return control;
}

/* What a run of that process has left, looked after then; of no form when `looked` is 0. */
static const char *leave(long pid, unsigned long long started, uint64_t looked)
{
    static char names[4][64];
    static size_t n;
    char *name = names[n++ % 4];
    snprintf(name, sizeof names[0], "hogring.%ld.%llu.%08x", pid, started, 0xfeedu);
    struct hr_control *control = new_control(looked);
    put(name, control, looked ? hr_control_bytes(NRANKS) : 0);
    free(control);
    return name;
}

static const char *leave_alive(uint64_t looked)
{
    return leave(getpid(), hr_process_start_time(getpid()), looked);
}

/* The one run that there is. */
static struct hr_runs the_run(void)
{
    struct hr_runs runs;
    CHECK_OK(hr_runs_find(&runs));
    assert_int_equal(runs.n, 1);
    return runs;
}

/* --- sweeping --- */

static void sweep_removes_what_the_dead_left(void **state)
{
    (void)state;
    const char *name = leave(getpid(), 1, 0); /* our pid, but another process had it then */
    assert_int_equal(hr_runs_sweep(), 1);
    assert_false(stands(name));
    assert_int_equal(hr_runs_sweep(), 0);
}

static void sweep_keeps_what_the_living_have(void **state)
{
    (void)state;
    const char *name = leave_alive(5);
    assert_int_equal(hr_runs_sweep(), 0);
    assert_true(stands(name));
}

static void sweep_keeps_names_that_are_not_ours(void **state)
{
    (void)state;
    static const char *const names[] = {"hogring.x",
                                        "hogring.12",
                                        "other.1.1.0",
                                        "hogring.-5.1.0000feed",
                                        "hogring-run.9999999.0",
                                        "hogring.1.2",
                                        "hogring.1.2.0000feed1",
                                        "hogring.1.2.x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(names[i], "", 0);
    assert_int_equal(hr_runs_sweep(), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(stands(names[i]));
}

/* Not being able to ask whether a process lives is no proof that it is dead. */
static void sweep_keeps_what_it_cannot_judge(void **state)
{
    (void)state;
    const char *name = leave_alive(5);
    struct rlimit usual, tight;
    getrlimit(RLIMIT_NOFILE, &usual);
    const int next = open("/dev/null", O_RDONLY);
    close(next);
    tight = (struct rlimit){(rlim_t)next + 1, usual.rlim_max}; /* the folder, and no more */
    setrlimit(RLIMIT_NOFILE, &tight);
    const size_t removed = hr_runs_sweep();
    setrlimit(RLIMIT_NOFILE, &usual);
    assert_int_equal(removed, 0);
    assert_true(stands(name));
}

static void the_last_crash_is_kept_until_another(void **state)
{
    (void)state;
    const char *second = leave(getpid(), 2, 200), *first = leave(getpid(), 1, 100);
    assert_int_equal(hr_runs_sweep(), 1);
    assert_true(stands(second) && !stands(first));
    assert_int_equal(hr_runs_sweep(), 0);
    const char *third = leave(getpid(), 3, 300);
    assert_int_equal(hr_runs_sweep(), 1);
    assert_true(stands(third) && !stands(second));
    struct hr_runs runs = the_run();
    assert_ptr_equal(hr_runs_last_crash(&runs), runs.file);
    assert_true(hr_run_remove(runs.file));
    assert_false(hr_run_remove(runs.file));
    assert_false(stands(third));
    hr_runs_free(&runs);
}

/* Ranks that were started one by one: dead when none is left. */
static void run_without_a_launcher_is_dead_with_its_ranks(void **state)
{
    char name[64];
    struct hr_control *control = new_control(5);
    (void)state;
    snprintf(name, sizeof name, "hogring-run.%ld.feed", (long)geteuid());
    for (int living = 1; living >= 0; living--) {
        hr_atom64_store_relaxed(&control->rank[0].pid, (uint64_t)getpid());
        hr_atom64_store_relaxed(&control->rank[0].started,
                                living ? hr_process_start_time(getpid()) : 1);
        put(name, control, hr_control_bytes(NRANKS) + 100);
        struct hr_runs runs = the_run();
        assert_true(runs.file->joined && runs.file->control);
        assert_int_equal(runs.file->dead, !living);
        assert_int_equal(runs.file->pid, getpid());
        assert_int_equal(hr_run_remove(runs.file), !living);
        hr_runs_free(&runs);
    }
    free(control);
}

/* --- reading --- */

static void check_fault(const char *name, const void *bytes, size_t n, const char *text)
{
    put(name, bytes, n);
    struct hr_runs runs = the_run();
    assert_null(runs.file->control);
    if (!strstr(runs.file->fault, text))
        fail_msg("\"%s\" instead of \"%s\"", runs.file->fault, text);
    assert_false(runs.file->fresh);
    hr_runs_free(&runs);
}

static void what_has_not_the_form_is_refused_in_words(void **state)
{
    struct hr_control *control = new_control(5);
    const size_t bytes = hr_control_bytes(NRANKS);
    const char *name = leave_alive(5);
    (void)state;
    check_fault(name, control, bytes - 1, "is torn");
    check_fault(name, control, sizeof *control - 1, "too few for a run");
    control->nranks = HR_MAX_RANKS + 1;
    check_fault(name, control, bytes, "is torn");
    control->nranks = 0;
    check_fault(name, control, bytes, "is torn");
    control->nranks = 1;
    check_fault(name, control, bytes, "is torn");
    control->nranks = NRANKS;
    control->version++;
    char text[64];
    snprintf(text, sizeof text, "is of another version of hogring (%d, here %d)",
             HR_CONTROL_VERSION + 1, HR_CONTROL_VERSION);
    check_fault(name, control, bytes, text);
    control->magic[0] = 'h';
    check_fault(name, control, bytes, "is no run of hogring");
    free(control);
}

/* Segments are made empty, and then filled in. */
static void what_is_about_to_become_a_run_is_no_fault(void **state)
{
    struct hr_control *control = new_control(5);
    const char *name = leave_alive(5);
    (void)state;
    for (int step = 0; step < 3; step++) {
        if (step == 0)
            memset(control, 0, hr_control_bytes(NRANKS));
        memcpy(control->magic, step == 2 ? "HOGRING" : "", step == 2 ? 8 : 1);
        put(name, control, step == 1 ? 0 : hr_control_bytes(NRANKS));
        struct hr_runs runs = the_run();
        assert_true(runs.file->fresh && !runs.file->control);
        hr_runs_free(&runs);
    }
    free(control);
}

/* One process runs as many as it likes; the first ones can be looked at. */
static void of_many_ranks_that_are_played_the_first_are_read(void **state)
{
    enum { MANY = HR_MAX_RANKS + 100 };
    const size_t bytes = hr_control_bytes(MANY);
    struct hr_control *control = aligned_alloc(HR_LINE, bytes);
    const char *name = leave_alive(5);
    struct hr_flight_entry entry;
    (void)state;
    assert_non_null(control);
    memset(control, 0, bytes);
    hr_control_init(control, MANY);
    hr_control_step(control, HR_MAX_RANKS - 1, 7);
    put(name, control, bytes);
    struct hr_runs runs = the_run();
    struct hr_control *copy = runs.file->control;
    assert_non_null(copy);
    assert_int_equal(runs.file->nranks, MANY);
    assert_int_equal(copy->nranks, HR_MAX_RANKS);
    assert_int_equal(hr_atom64_load_relaxed(&copy->rank[HR_MAX_RANKS - 1].step), 7);
    assert_false(hr_flight_read(hr_control_flight(copy, 0), 0, &entry));
    hr_runs_free(&runs);
    control->about.rank_kind = HR_RANKS_THREADS;
    check_fault(name, control, bytes, "is torn");
    free(control);
}

static void bytes_of_any_kind_crash_nobody(void **state)
{
    const size_t bytes = hr_control_bytes(NRANKS);
    const char *name = leave_alive(5);
    (void)state;
    for (uint64_t k = 0; k < check_count(2000, 50000); k++) {
        unsigned char *text = (unsigned char *)new_control(5);
        const struct hr_philox random =
            hr_random_block(check_seed(), HR_STREAM_NAME, k, (uint32_t)bytes);
        for (size_t i = 0; i < 1 + k % 3; i++)
            text[random.v[i] % (k % 2 ? bytes : 1024)] = (unsigned char)(random.v[3] >> 8 * i);
        put(name, text, bytes - (k % 5 == 0 ? random.v[2] % bytes : 0));
        struct hr_runs runs = the_run();
        assert_true(runs.file->control || runs.file->fault[0]);
        hr_runs_free(&runs);
        free(text);
    }
}

static void another_users_are_not_read(void **state)
{
    char path[300];
    const char *name = leave(getpid(), 1, 5);
    (void)state;
    path_of(name, path);
    if (chown(path, 12345, (gid_t)-1) != 0)
        SKIP("only root can give files away");
    struct hr_runs runs = the_run();
    assert_true(runs.file->foreign && !runs.file->control && !runs.file->dead);
    assert_non_null(strstr(runs.file->fault, "is another user's (uid 12345)"));
    assert_false(hr_run_remove(runs.file));
    assert_int_equal(hr_runs_sweep(), 0);
    hr_runs_free(&runs);
    unlink(path);
}

/* --- while it is written --- */

static void *record_for_ever(void *arg)
{
    struct hr_control *control = arg;
    for (uint64_t n = 1; !hr_atom32_load_acquire(&control->abort); n++) { /* partner: the test */
        hr_flight_begin(hr_control_flight(control, 1), n, (uint32_t)n, 0, n, (int64_t)n);
        hr_flight_end(hr_control_flight(control, 1), (int64_t)n);
    }
    return NULL;
}

static void operations_are_whole_though_they_are_written_meanwhile(void **state)
{
    char path[300];
    struct hr_flight_entry entry;
    pthread_t writer;
    path_of(leave_alive(5), path);
    (void)state;
    const int fd = open(path, O_RDWR);
    struct hr_control *control =
        mmap(NULL, hr_control_bytes(NRANKS), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(control != MAP_FAILED);
    pthread_create(&writer, NULL, record_for_ever, control);
    for (size_t k = 0; k < check_count(2000, 50000); k++) {
        struct hr_runs runs = the_run();
        for (size_t back = 0; back < HR_FLIGHT_ENTRIES; back++)
            if (hr_flight_read(hr_control_flight(runs.file->control, 1), back, &entry))
                assert_true(entry.sequence == entry.number && entry.count == entry.number &&
                            entry.kind == (uint32_t)entry.number &&
                            entry.start_ns == (int64_t)entry.number);
        hr_runs_free(&runs);
    }
    hr_atom32_store_release(&control->abort, 1); /* partner: the writer */
    pthread_join(writer, NULL);
    munmap(control, hr_control_bytes(NRANKS));
    close(fd);
}

static int empty_dev_shm(void **state)
{
    (void)state;
    return umount2("/dev/shm", MNT_DETACH) != 0 || mount("tmpfs", "/dev/shm", "tmpfs", 0, "") != 0;
}

#define RUNS_TEST(name) cmocka_unit_test_setup(name, empty_dev_shm)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNS_TEST(sweep_removes_what_the_dead_left),
        RUNS_TEST(sweep_keeps_what_the_living_have),
        RUNS_TEST(sweep_keeps_names_that_are_not_ours),
        RUNS_TEST(sweep_keeps_what_it_cannot_judge),
        RUNS_TEST(the_last_crash_is_kept_until_another),
        RUNS_TEST(run_without_a_launcher_is_dead_with_its_ranks),
        RUNS_TEST(what_has_not_the_form_is_refused_in_words),
        RUNS_TEST(what_is_about_to_become_a_run_is_no_fault),
        RUNS_TEST(of_many_ranks_that_are_played_the_first_are_read),
        RUNS_TEST(bytes_of_any_kind_crash_nobody),
        RUNS_TEST(another_users_are_not_read),
        RUNS_TEST(operations_are_whole_though_they_are_written_meanwhile),
    };
    /* In a chroot, / is no mount of its own; /dev/shm still is. */
    if (unshare(CLONE_NEWNS) != 0 ||
        (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 &&
         mount("none", "/dev/shm", NULL, MS_PRIVATE, NULL) != 0) ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "") != 0) {
        print_message("skipped: mount namespaces are not permitted here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
