/* Cases in processes of their own: what holds, fails, crashes, hangs or cannot be tried is told
 * apart; the budget is kept to; cases follow from the seed. */
#include "verify/verify.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategies/strategies.h"
#include "support/check.h"

static enum hr_status holds(struct hr_trial *trial)
{
    trial->compared += 3;
    trial->worst = 0.25 * (double)(trial->number + 1);
    return HR_OK;
}

static enum hr_status fails_later(struct hr_trial *trial)
{
    trial->compared++;
    return trial->number < 2 ? HR_OK : hr_fail(HR_E_FAILED, "two is not three");
}

static enum hr_status has_no_memory(struct hr_trial *trial)
{
    (void)trial;
    return hr_fail(HR_E_NOMEM, "no room");
}

static enum hr_status has_no_memory_later(struct hr_trial *trial)
{
    return trial->number == 0 ? HR_OK : hr_fail(HR_E_SHM, "no room any more");
}

static enum hr_status crashes(struct hr_trial *trial)
{
    (void)trial;
    fputs("an earlier line\nits last words\n", stderr);
    fflush(stderr);
    raise(SIGKILL);
    return HR_OK;
}

static enum hr_status hangs(struct hr_trial *trial)
{
    while (trial)
        pause();
    return HR_OK;
}

static enum hr_status leaves_files(struct hr_trial *trial)
{
    char path[600];
    HR_TRY(hr_trial_folder(trial));
    snprintf(path, sizeof path, "%s/file", trial->folder);
    FILE *file = fopen(path, "w");
    return file && fclose(file) == 0 ? hr_fail(HR_E_FAILED, "%s", trial->folder) : HR_OK;
}

static enum hr_status draws(struct hr_trial *trial)
{
    static const char *const names[] = {"a", "b", "c", NULL};
    const size_t one = hr_trial_draw(trial, 1000), two = hr_trial_draw(trial, 1000);
    assert_true(one < 1000 && two < 1000);
    return hr_fail(HR_E_FAILED, "%zu %zu %s", one, two, hr_trial_pick(trial, names));
}

static const struct hr_check good = {.name = "good", .claim = "c", .what = "x", .run = holds},
                             late = {.name = "late", .claim = "c", .what = "x", .run = fails_later},
                             poor = {.name = "poor",
                                     .claim = "c",
                                     .what = "x",
                                     .run = has_no_memory},
                             poorer = {.name = "poorer", .claim = "c", .run = has_no_memory_later},
                             dead = {.name = "dead", .claim = "c", .what = "x", .run = crashes},
                             stuck = {.name = "stuck", .claim = "c", .what = "x", .run = hangs},
                             files = {.name = "files", .claim = "c", .run = leaves_files},
                             drawn = {.name = "drawn", .claim = "c", .run = draws};

static struct hr_verify of_checks(const struct hr_check *const *checks, double seconds)
{
    struct hr_verify verify = {.seed = 1, .seconds = seconds, .case_max = 30};
    for (size_t i = 0; checks[i]; i++)
        verify.row[verify.n++] = (struct hr_verify_row){.check = checks[i], .worst = NAN};
    return verify;
}

/* Time is up after so many cases, however long they took; with a dozen a busy machine did not come
 * to the second of each. */
enum { CASES = 60 };

struct clock {
    struct hr_verify *verify;
    size_t cases;
};

static void tick(void *arg, const struct hr_verify *verify, const struct hr_verify_row *next)
{
    struct clock *clock = arg;
    assert_true(next >= verify->row && next < verify->row + verify->n);
    if (++clock->cases == CASES)
        clock->verify->seconds = 0;
}

static void each_ending_has_its_verdict(void **state)
{
    (void)state;
    static const struct hr_check *const checks[] = {&good, &late, &poor, &poorer, &dead, NULL};
    static const enum hr_verdict_of_check want[] = {
        HR_CHECK_HOLDS, HR_CHECK_FAILED, HR_CHECK_SKIPPED, HR_CHECK_HOLDS, HR_CHECK_FAILED};
    struct hr_verify verify = of_checks(checks, 1e6);
    struct clock clock = {&verify, 0};
    CHECK_OK(hr_verify_run(&verify, tick, &clock));
    assert_int_equal(clock.cases, CASES);
    for (size_t i = 0; i < verify.n; i++)
        assert_int_equal(verify.row[i].verdict, want[i]);
    assert_int_equal(verify.row[0].compared, 3 * verify.row[0].cases);
    assert_true(verify.row[0].worst == 0.25 * (double)verify.row[0].cases);
    assert_true(isnan(verify.row[1].worst));
    assert_int_equal(verify.row[1].cases, 2);
    assert_string_equal(verify.row[1].why, "two is not three");
    assert_string_equal(verify.row[2].why, "no room");
    assert_string_equal(verify.row[3].why, "no room any more");
    assert_non_null(strstr(verify.row[4].why, "signal 9"));
    assert_non_null(strstr(verify.row[4].why, "; it said: its last words"));
    assert_int_equal(hr_verify_count(&verify, HR_CHECK_FAILED), 2);
    assert_int_equal(hr_verify_count(&verify, HR_CHECK_SKIPPED), 1);
}

static void what_hangs_is_ended_and_named(void **state)
{
    (void)state;
    static const struct hr_check *const checks[] = {&stuck, NULL};
    struct hr_verify verify = of_checks(checks, 0);
    verify.case_max = 0.2;
    CHECK_OK(hr_verify_run(&verify, NULL, NULL));
    assert_int_equal(verify.row[0].verdict, HR_CHECK_FAILED);
    assert_string_equal(verify.row[0].why, "no answer in 0.2 s");
}

static void without_time_each_is_tried_once(void **state)
{
    (void)state;
    static const struct hr_check *const checks[] = {&good, &late, NULL};
    struct hr_verify verify = of_checks(checks, 0);
    CHECK_OK(hr_verify_run(&verify, NULL, NULL));
    assert_int_equal(verify.row[0].cases, 1);
    assert_int_equal(verify.row[1].cases, 1);
    assert_int_equal(hr_verify_count(&verify, HR_CHECK_HOLDS), 2);
}

static void files_of_a_case_are_removed(void **state)
{
    (void)state;
    const struct hr_verify verify = {.seed = 1};
    const struct hr_case_answer answer = hr_case_run(&verify, &files, 0);
    assert_int_equal(answer.status, HR_E_FAILED);
    assert_true(answer.why[0] == '/' && access(answer.why, F_OK) != 0);
}

static void cases_follow_from_seed_check_and_number(void **state)
{
    (void)state;
    struct hr_check other = drawn;
    other.name = "other";
    const struct hr_verify verify = {.seed = 1}, again = {.seed = 2};
    const struct hr_case_answer first = hr_case_run(&verify, &drawn, 5);
    assert_string_equal(hr_case_run(&verify, &drawn, 5).why, first.why);
    assert_string_not_equal(hr_case_run(&verify, &drawn, 6).why, first.why);
    assert_string_not_equal(hr_case_run(&again, &drawn, 5).why, first.why);
    assert_string_not_equal(hr_case_run(&verify, &other, 5).why, first.why);
}

static void checks_are_chosen_by_name(void **state)
{
    (void)state;
    static struct hr_verify verify;
    size_t all = 0;
    while (hr_verify_check_at(all))
        all++;
    CHECK_OK(hr_verify_begin(&verify, ""));
    assert_int_equal(verify.n, all);
    CHECK_OK(hr_verify_begin(&verify, "rings,one-worker,rings"));
    assert_int_equal(verify.n, 2);
    assert_string_equal(verify.row[0].check->name, "rings");
    assert_int_equal(hr_verify_begin(&verify, "ring"), HR_E_USAGE);
    assert_int_equal(hr_verify_begin(&verify, "rings,,repro"), HR_E_USAGE);
}

/* One line a check in 80 columns, whatever its verdict; why stands below. */
static void the_table_is_narrow(void **state)
{
    (void)state;
    static struct hr_verify verify;
    CHECK_OK(hr_verify_begin(&verify, ""));
    for (size_t i = 0; i < verify.n; i++) {
        struct hr_verify_row *row = &verify.row[i];
        row->verdict = (enum hr_verdict_of_check)(i % 4);
        row->cases = row->compared = 123456789;
        row->worst = 1.25e-7;
        row->seconds = 612.3;
        assert_true(strlen(row->check->claim) <= 29);
    }
    char *text, *line;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    hr_verify_print(out, &verify);
    fclose(out);
    for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 80);
    free(text);
}

/* A strategy that is added needs no line in any check. */
static void every_strategy_is_drawn(void **state)
{
    (void)state;
    const char *name;
    size_t n = 0;
    bool diloco = false;
    for (size_t i = 0; (name = hr_trial_strategy(HR_TRIAL_IN_STEP, i)); i++, n++)
        diloco |= !strcmp(name, "diloco");
    for (size_t i = 0; hr_trial_strategy(HR_TRIAL_ORDERED, i); i++)
        n++;
    assert_true(diloco);
    assert_null(hr_strategy_at(n));
    assert_non_null(hr_strategy_at(n - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_is_drawn),
        cmocka_unit_test(each_ending_has_its_verdict),
        cmocka_unit_test(what_hangs_is_ended_and_named),
        cmocka_unit_test(without_time_each_is_tried_once),
        cmocka_unit_test(files_of_a_case_are_removed),
        cmocka_unit_test(cases_follow_from_seed_check_and_number),
        cmocka_unit_test(checks_are_chosen_by_name),
        cmocka_unit_test(the_table_is_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
