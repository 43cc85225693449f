/* What top makes of a run's words: rates between two looks, roles, and how it ended; whatever the
 * bytes are. In a /dev/shm of its own, since other runs sweep the one that all share. */
#include "cli/top.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/philox.h"
#include "shm/process.h"
#include "support/check.h"

enum { NRANKS = 5 };

static char name[64];

static struct hr_control *new_control(void)
{
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(NRANKS));
    assert_non_null(control);
    memset(control, 0, hr_control_bytes(NRANKS));
    hr_control_init(control, NRANKS);
    hr_about_run(&control->about, "allreduce", 1 << 20);
    control->about.rank_kind = HR_RANKS_THREADS;
    control->about.workers = 2;
    control->about.first_stage = NRANKS;
    hr_atom64_store_relaxed(&control->looked, (uint64_t)hr_clock_ns());
    for (size_t r = 0; r < NRANKS; r++) {
        hr_atom64_store_relaxed(&control->rank[r].pid, (uint64_t)getpid());
        hr_control_phase(control, r, HR_PHASE_COMPUTE);
    }
    return control;
}

/* In place, as a run writes: the file stays the same. */
static void put(const void *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "/dev/shm/%s", name);
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)n) == 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n);
    close(fd);
}

static void put_control(const struct hr_control *control)
{
    put(control, hr_control_bytes(NRANKS));
}

static struct hr_top *open_top(void)
{
    struct hr_top *top = calloc(1, sizeof *top);
    struct hr_runs runs;
    assert_non_null(top);
    CHECK_OK(hr_runs_find(&runs));
    assert_int_equal(runs.n, 1);
    CHECK_OK(hr_top_open(top, &runs.file[0]));
    hr_runs_free(&runs);
    return top;
}

static void close_top(struct hr_top *top, struct hr_control *control)
{
    hr_top_close(top);
    free(top);
    free(control);
}

static void remove_name(void)
{
    char path[128];
    snprintf(path, sizeof path, "/dev/shm/%s", name);
    unlink(path);
}

static char *printed(const struct hr_top *top, size_t columns, size_t lines)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    assert_non_null(memory);
    hr_top_print(memory, top, &(struct hr_top_room){columns, lines, NULL});
    fclose(memory);
    return text;
}

static void rates_are_of_what_lies_between_two_looks(void **state)
{
    struct hr_control *control = new_control();
    struct hr_gauge *gauge = &control->rank[1].gauge;
    (void)state;
    hr_gauge_work(gauge, 100, 3);
    hr_gauge_staleness(gauge, 4, 6, 3);
    hr_gauge_served(&control->rank[2].gauge, 7, 2);
    put_control(control);
    struct hr_top *top = open_top();
    assert_true(hr_top_look(top));
    assert_true(isnan(top->rank[1].samples_per_s) && isnan(top->eta_s));
    hr_gauge_work(gauge, 300, 9);
    hr_atom64_store_relaxed(&gauge->spent_ns[HR_COMPUTE], 3000);
    hr_atom64_store_relaxed(&gauge->spent_ns[HR_WAIT], 1000);
    put_control(control);
    usleep(2000);
    assert_true(hr_top_look(top));
    assert_true(top->window_s > 0);
    CHECK_NEAR(top->rank[1].samples_per_s * top->window_s, 200, 1e-9, 0);
    CHECK_NEAR(top->rank[1].share[HR_COMPUTE], 0.75, 1e-12, 0);
    CHECK_NEAR(top->rank[1].share[HR_WAIT], 0.25, 1e-12, 0);
    CHECK_NEAR(top->rank[1].stale_mean, 1.5, 0, 0);
    assert_int_equal(top->rank[1].stale_max, 3);
    assert_int_equal(top->rank[2].role, HR_TOP_SERVER);
    assert_int_equal(top->rank[2].waiting, 2);
    assert_true(isnan(top->rank[0].share[HR_WAIT]));
    remove_name();
    close_top(top, control);
}

static void ranks_of_pipelines_are_named_by_replica_and_stage(void **state)
{
    struct hr_control *control = new_control();
    char text[64];
    (void)state;
    control->about.workers = 1; /* a pipeline of two stages with two ranks each, and a server */
    control->about.first_stage = 2;
    control->about.stages = 4;
    control->about.team = 2;
    put_control(control);
    struct hr_top *top = open_top();
    assert_true(hr_top_look(top));
    static const char *const names[] = {"replica 0 stage 0", "server", "replica 0 stage 0 part 1",
                                        "replica 0 stage 1", "replica 0 stage 1 part 1"};
    for (size_t r = 0; r < NRANKS; r++) {
        hr_top_role_name(&top->rank[r], text, sizeof text);
        assert_string_equal(text, names[r]);
    }
    remove_name();
    close_top(top, control);
}

static void what_does_not_fit_is_left_out_and_named(void **state)
{
    struct hr_control *control = new_control();
    (void)state;
    put_control(control);
    struct hr_top *top = open_top();
    assert_true(hr_top_look(top));
    for (size_t columns = 20; columns < 90; columns += 7)
        for (size_t lines = 6; lines < 14; lines++) {
            char *text = printed(top, columns, lines);
            size_t n = 0;
            for (char *line = text; *line; line += strcspn(line, "\n") + 1, n++)
                assert_true(strcspn(line, "\n") <= columns || !strncmp(line, "no room", 7));
            assert_true(n <= lines);
            assert_true(lines > 10 || strstr(text, "no room for"));
            free(text);
        }
    remove_name();
    close_top(top, control);
}

static void an_end_is_told_from_a_crash_and_a_failure(void **state)
{
    struct hr_control *control = new_control();
    char text[700];
    (void)state;
    put_control(control);
    struct hr_top *top = open_top();
    assert_true(hr_top_look(top));
    for (size_t r = 0; r < NRANKS; r++)
        hr_atom32_store_release(&control->rank[r].result, HR_RETURNED_OK);
    hr_course_store(&control->course.train_loss, 0.25);
    put_control(control);
    remove_name();
    assert_false(hr_top_look(top));
    hr_top_say_end(top, text, sizeof text);
    assert_true(hr_top_ended_well(top));
    assert_non_null(strstr(text, " ended after "));
    assert_non_null(strstr(text, "loss 0.25"));
    hr_top_close(top);
    put_control(control);
    free(top);
    top = open_top();
    hr_control_abort(control, 1, HR_E_LOST, "rank 1 is gone");
    put_control(control);
    remove_name();
    assert_false(hr_top_look(top));
    hr_top_say_end(top, text, sizeof text);
    assert_false(hr_top_ended_well(top));
    assert_non_null(strstr(text, "rank 1"));
    close_top(top, control);
}

static void bytes_of_any_kind_crash_nobody(void **state)
{
    const size_t bytes = hr_control_bytes(NRANKS);
    char said[700];
    (void)state;
    for (uint64_t k = 0; k < check_count(300, 20000); k++) {
        struct hr_control *control = new_control();
        put_control(control);
        struct hr_top *top = open_top();
        assert_true(hr_top_look(top));
        const struct hr_philox random =
            hr_random_block(check_seed(), HR_STREAM_NAME, k, (uint32_t)bytes);
        unsigned char *text = (unsigned char *)control;
        for (size_t i = 0; i < 1 + k % 3; i++)
            text[random.v[i] % (k % 2 ? bytes : 1024)] = (unsigned char)(random.v[3] >> 8 * i);
        put(text, bytes - (k % 5 == 0 ? random.v[2] % bytes : 0));
        if (!hr_top_look(top))
            hr_top_say_end(top, said, sizeof said);
        free(printed(top, 80, 24));
        json_t *json = hr_top_json(top);
        assert_non_null(json);
        json_decref(json);
        remove_name();
        close_top(top, control);
    }
}

/* A /dev/shm of its own, or none of these tests. */
static int own_shm(void **state)
{
    (void)state;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL) != 0)
        exit(77);
    snprintf(name, sizeof name, "hogring.%d.%llu.%08x", getpid(), hr_process_start_time(getpid()),
             0xfeedu);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_of_what_lies_between_two_looks),
        cmocka_unit_test(ranks_of_pipelines_are_named_by_replica_and_stage),
        cmocka_unit_test(what_does_not_fit_is_left_out_and_named),
        cmocka_unit_test(an_end_is_told_from_a_crash_and_a_failure),
        cmocka_unit_test(bytes_of_any_kind_crash_nobody),
    };
    return cmocka_run_group_tests(tests, own_shm, NULL);
}
