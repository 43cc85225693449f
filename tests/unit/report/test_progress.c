/* Banner and progress: on a pipe a line a minute or, with details, an evaluation; on a terminal a
 * line that is redrawn. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "report/human.h"
#include "report/progress.h"
#include "report/report.h"
#include "support/capture.h"
#include "base/clock.h"
#include "support/check.h"

static const struct hr_progress early = {.samples = 0, .total = 600000, .epoch = 0, .seconds = 0};
static const struct hr_progress sooner = {
    .samples = 200000, .total = 600000, .epoch = 2, .seconds = 2};
static const struct hr_progress later = {
    .samples = 412000, .total = 600000, .epoch = 3.43, .seconds = 4};
static const struct hr_curve_point point = {.samples = 180000,
                                            .seconds = 2,
                                            .epoch = 3,
                                            .train_loss = 0.41234,
                                            .test_loss = 0.5,
                                            .test_accuracy = 0.8512};

static const struct hr_curve_point better = {.samples = 240000,
                                             .seconds = 3,
                                             .epoch = 4,
                                             .train_loss = 0.25,
                                             .test_loss = 0.25,
                                             .test_accuracy = 0.9};

static const struct hr_progress_subject subject = {
    .label = "", .strategy = "allreduce", .seed = 7, .epochs = 10};

/* As if so much time had passed that the test's own is nothing beside it. */
static void pass(struct hr_progress_view *view)
{
    const int64_t ns = 100 * HR_NS_PER_SECOND;
    view->drawn_at -= ns;
    view->said_ns -= ns;
    view->opened_ns -= ns;
    view->began_ns -= view->began_ns ? ns : 0;
}

static void watch_a_little(FILE *out, enum hr_verbosity verbosity, bool end)
{
    struct hr_progress_view view;
    hr_progress_view_init(&view, out, &subject, verbosity);
    hr_progress_view_update(&view, &early);
    hr_progress_view_update(&view, &sooner);
    hr_progress_view_point(&view, &point);
    pass(&view);
    hr_progress_view_point(&view, &better);
    pass(&view);
    hr_progress_view_update(&view, &later);
    hr_progress_view_update(&view, &later); /* too soon to be drawn */
    if (end)
        hr_progress_view_end(&view);
}

/* Everything that comes out of fd until its other end is closed, or until nothing more is there. */
static void read_rest(int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t got;
    while (used + 1 < size && (got = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
}

static void pipe_gets(enum hr_verbosity verbosity, char *text, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    FILE *out = fdopen(ends[1], "w");
    setenv("TERM", "xterm", 1);
    watch_a_little(out, verbosity, true);
    fclose(out);
    read_rest(ends[0], text, size);
    close(ends[0]);
}

static void a_pipe_gets_a_line_a_minute(void **state)
{
    (void)state;
    char text[1024];
    pipe_gets(HR_VERBOSITY_BRIEF, text, sizeof text);
    assert_string_equal(text,
                        "epoch 3.4/10  train loss 0.2500  105k samples/s  done in about 3 min\n");
}

static void a_pipe_gets_a_line_an_evaluation_with_details(void **state)
{
    (void)state;
    char text[1024];
    pipe_gets(HR_VERBOSITY_FULL, text, sizeof text);
    assert_string_equal(text,
                        "epoch 3/10  train loss 0.4123  test loss 0.5000  test accuracy 85.12 %  "
                        "90.0k samples/s  allreduce, seed 7\n"
                        "epoch 4/10  train loss 0.2500  test loss 0.2500  test accuracy 90.00 %  "
                        "80.0k samples/s  allreduce, seed 7\n"
                        "epoch 3.4/10  train loss 0.2500  105k samples/s  done in about 3 min\n");
}

static void speed_is_counted_in_tokens_where_samples_are_texts(void **state)
{
    (void)state;
    char text[HR_HUMAN_MAX];
    assert_string_equal(hr_human_rate(text, 1640, 0), "1.64k samples/s");
    assert_string_equal(hr_human_rate(text, 1640, 128), "210k tokens/s");
}

static void quiet_means_nothing_at_all(void **state)
{
    (void)state;
    struct capture capture;
    capture_begin(&capture);
    watch_a_little(capture.out, HR_VERBOSITY_NONE, true);
    char *text = capture_end(&capture);
    assert_string_equal(text, "");
    free(text);
}

struct terminal {
    int master;
    FILE *out;
};

/* A terminal of so many columns that shows what it gets as it is; skips where there are none. */
static struct terminal open_terminal(unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    struct termios raw;
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        SKIP("there are no pseudo-terminals here");
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    tcgetattr(slave, &raw);
    cfmakeraw(&raw);
    tcsetattr(slave, TCSANOW, &raw);
    return (struct terminal){.master = master, .out = fdopen(slave, "w")};
}

static void terminal_shows(unsigned short columns, const char *term, bool end, char *text,
                           size_t size)
{
    struct terminal terminal = open_terminal(columns);
    setenv("TERM", term, 1);
    watch_a_little(terminal.out, HR_VERBOSITY_FULL, end);
    read_rest(terminal.master, text, size);
    fclose(terminal.out);
    close(terminal.master);
}

static void a_terminal_gets_a_line_that_is_redrawn(void **state)
{
    (void)state;
    char text[4096];
    terminal_shows(120, "xterm", false, text, sizeof text);
    assert_non_null(strstr(text, "\repoch 0.0/10\x1b[K\r\x1b[Kepoch 3/10"));
    assert_string_equal(strrchr(text, '\n') + 1,
                        "\repoch 3.4/10  train loss 0.2500  105k samples/s  "
                        "done in about 3 min\x1b[K");
}

static void the_line_never_wraps_and_is_wiped_at_the_end(void **state)
{
    (void)state;
    static const struct {
        unsigned short columns;
        const char *line;
    } cases[] = {{54, "epoch 3.4/10  train loss 0.2500  done in about 3 min"},
                 {40, "epoch 3.4/10  done in about 3 min"},
                 {20, "epoch 3.4/10"},
                 {9, "epoch 3."}};
    char text[4096], want[128];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        terminal_shows(cases[i].columns, "xterm", true, text, sizeof text);
        snprintf(want, sizeof want, "\n\r%s\x1b[K\r\x1b[K", cases[i].line);
        assert_non_null(strstr(text, want));
        assert_string_equal(strstr(text, want) + strlen(want), "");
    }
}

static void one_of_several_says_which_and_when_all_are_done(void **state)
{
    (void)state;
    char text[4096];
    struct hr_progress_view view;
    struct hr_curve_point curve[] = {point, better};
    const struct hr_run_result result = {.curve = curve, .ncurve = 2, .seconds = 12.34};
    const struct hr_remaining remaining = {.n = 4, .per_seed = 2, .seconds = {60, 180}};
    const struct hr_progress_subject third = {.label = "ssp",
                                              .strategy = "ssp",
                                              .seed = 2,
                                              .epochs = 10,
                                              .run = 3,
                                              .runs = 4,
                                              .seeds = true,
                                              .remaining = &remaining};
    struct terminal terminal = open_terminal(120);
    setenv("TERM", "xterm", 1);
    hr_progress_view_init(&view, terminal.out, &third, HR_VERBOSITY_BRIEF);
    hr_progress_view_update(&view, &early);
    hr_progress_view_point(&view, &point);
    hr_progress_view_ran(&view, &result);
    read_rest(terminal.master, text, sizeof text);
    fclose(terminal.out);
    close(terminal.master);
    assert_string_equal(text,
                        "\rrun 3 of 4  ssp seed 2  epoch 0.0/10  all done in about 4 min\x1b[K");
    struct capture capture;
    capture_begin(&capture);
    hr_progress_view_init(&view, capture.out, &third, HR_VERBOSITY_BRIEF);
    hr_progress_view_ran(&view, &result);
    char *line = capture_end(&capture);
    assert_string_equal(
        line, "run 3 of 4  ssp seed 2  train loss 0.2500  test accuracy 90.00 %  12.3 s\n");
    free(line);
}

static void logs_of_ci_get_lines(void **state)
{
    (void)state;
    char text[4096];
    setenv("CI", "true", 1);
    terminal_shows(120, "xterm", true, text, sizeof text);
    unsetenv("CI");
    assert_null(strchr(text, '\r'));
    assert_non_null(strstr(text, "allreduce, seed 7"));
}

static void a_dumb_terminal_gets_lines(void **state)
{
    (void)state;
    char text[4096];
    terminal_shows(120, "dumb", true, text, sizeof text);
    assert_null(strchr(text, '\r'));
    assert_non_null(strstr(text, "accuracy 85.12 %"));
}

static const struct hr_run_info info = {.strategy = "allreduce",
                                        .algorithm = "direct",
                                        .launch = "thread",
                                        .guarantee = "all replicas bit-equal",
                                        .model = "flatten, dense 10",
                                        .kernels = "OpenBLAS",
                                        .order = "T(n), leaves in rank order",
                                        .workers = 2,
                                        .processors = 1,
                                        .batch_size = 64,
                                        .global_batch = 128,
                                        .params = 235146,
                                        .lr = 0.02,
                                        .epochs = 5,
                                        .length = 5,
                                        .steps = 2345,
                                        .seed = 7,
                                        .synchronous = true,
                                        .shares_batch = true};

static void expect_banner(const struct hr_run_info *i, const char *want)
{
    struct capture capture;
    capture_begin(&capture);
    hr_banner_print(capture.out, i, "fashion-mnist");
    char *text = capture_end(&capture);
    assert_string_equal(text, want);
    free(text);
}

#define ENGINE                                                                                     \
    "  engine   kernels OpenBLAS, one thread per worker; transport zero-copy in shared memory\n"

static void banner_of_a_synchronous_run(void **state)
{
    (void)state;
    expect_banner(&info, "hogring: allreduce (direct, fixed order), 2 workers as "
                         "threads on 1 processor\n"
                         "  model    flatten, dense 10 (235,146 parameters)\n"
                         "  data     fashion-mnist\n"
                         "  batch    64 per worker, 128 global: one update per step, lr 0.02\n"
                         "  length   5 epochs, 2,345 updates, seed 7\n" ENGINE
                         "  guarantee all replicas bit-equal\n");
}

static void banner_of_an_asynchronous_run_says_what_one_update_is(void **state)
{
    (void)state;
    struct hr_run_info ssp = info;
    ssp.strategy = "ssp";
    ssp.algorithm = ssp.order = NULL;
    ssp.launch = "process";
    ssp.synchronous = ssp.shares_batch = false;
    ssp.served = ssp.bounded = true;
    ssp.servers = 1;
    ssp.staleness = 3;
    ssp.first = 1000;
    expect_banner(&ssp,
                  "hogring: ssp (staleness at most 3), 2 workers and 1 server as processes on "
                  "1 processor\n"
                  "  model    flatten, dense 10 (235,146 parameters)\n"
                  "  data     fashion-mnist\n"
                  "  batch    one update for each minibatch of 64, lr 0.02\n"
                  "  length   5 epochs, 2,345 updates, resumed at 1,000, seed 7\n" ENGINE
                  "  guarantee all replicas bit-equal\n");
}

static void banner_says_the_rate_once(void **state)
{
    (void)state;
    struct hr_run_info one = info;
    one.optimizer = "sgd, momentum 0.9";
    one.lr_schedule = "lr 0.02, halved at epoch 3";
    expect_banner(&one, "hogring: allreduce (direct, fixed order), 2 workers as "
                        "threads on 1 processor\n"
                        "  model    flatten, dense 10 (235,146 parameters)\n"
                        "  data     fashion-mnist\n"
                        "  batch    64 per worker, 128 global: one update per step\n"
                        "  update   sgd, momentum 0.9; lr 0.02, halved at epoch 3\n"
                        "  length   5 epochs, 2,345 updates, seed 7\n" ENGINE
                        "  guarantee all replicas bit-equal\n");
}

static void banner_says_what_a_strategys_own_options_are(void **state)
{
    (void)state;
    struct hr_run_info local = info;
    local.strategy = "local-sgd";
    local.averages = true;
    local.manner = "sync-every 8";
    expect_banner(&local,
                  "hogring: local-sgd (direct, fixed order), 2 workers as "
                  "threads on 1 processor\n"
                  "  model    flatten, dense 10 (235,146 parameters)\n"
                  "  data     fashion-mnist\n"
                  "  batch    64 per worker, 128 global: each worker updates with its share, "
                  "lr 0.02\n"
                  "  manner   sync-every 8\n"
                  "  length   5 epochs, 2,345 updates, seed 7\n" ENGINE
                  "  guarantee all replicas bit-equal\n");
}

static void a_brief_banner_has_four_lines_of_80_columns(void **state)
{
    (void)state;
    char model[200];
    struct hr_run_info long_one = info;
    memset(model, 'x', sizeof model - 1);
    model[sizeof model - 1] = '\0';
    long_one.model = model;
    long_one.optimizer = "sgd, momentum 0.9";
    for (size_t several = 0; several < 2; several++) {
        struct capture capture;
        capture_begin(&capture);
        hr_banner_print_brief(capture.out, &long_one, "digits", several ? "9 runs" : NULL);
        char *text = capture_end(&capture);
        size_t lines = 0;
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++)
            assert_true(strcspn(line, "\n") <= 80);
        assert_int_equal(lines, several ? 3 : 4);
        assert_non_null(strstr(text, "xxx... (235,146 parameters)\n  data     digits\n"));
        assert_non_null(strstr(text, several ? "hogring: 9 runs, 1 processor\n"
                                             : "2,345 updates of 128 samples; sgd, momentum 0.9"));
        free(text);
    }
}

int main(void)
{
    setenv("LC_ALL", "C", 1);
    unsetenv("CI");
    unsetenv("NO_COLOR");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_gets_a_line_a_minute),
        cmocka_unit_test(a_pipe_gets_a_line_an_evaluation_with_details),
        cmocka_unit_test(speed_is_counted_in_tokens_where_samples_are_texts),
        cmocka_unit_test(quiet_means_nothing_at_all),
        cmocka_unit_test(a_terminal_gets_a_line_that_is_redrawn),
        cmocka_unit_test(the_line_never_wraps_and_is_wiped_at_the_end),
        cmocka_unit_test(one_of_several_says_which_and_when_all_are_done),
        cmocka_unit_test(logs_of_ci_get_lines),
        cmocka_unit_test(a_dumb_terminal_gets_lines),
        cmocka_unit_test(a_brief_banner_has_four_lines_of_80_columns),
        cmocka_unit_test(banner_of_a_synchronous_run),
        cmocka_unit_test(banner_of_an_asynchronous_run_says_what_one_update_is),
        cmocka_unit_test(banner_says_the_rate_once),
        cmocka_unit_test(banner_says_what_a_strategys_own_options_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
