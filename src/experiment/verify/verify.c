#include "verify/verify.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/signals.h"
#include "json/value.h"
#include "report/human.h"
#include "terminal/grid.h"

#define HR_CHECK_POINTER(name) &hr_check_##name,
static const struct hr_check *const checks[] = {HR_CHECKS(HR_CHECK_POINTER)};
#undef HR_CHECK_POINTER

enum { NCHECKS = sizeof checks / sizeof *checks };
_Static_assert((int)NCHECKS <= (int)HR_VERIFY_CHECKS, "each check has its row");

const struct hr_check *hr_verify_check_at(size_t i)
{
    return i < NCHECKS ? checks[i] : NULL;
}

/* --- which --- */

static const struct hr_check *find(const char *name, size_t length)
{
    for (size_t i = 0; i < NCHECKS; i++)
        if (strlen(checks[i]->name) == length && !memcmp(checks[i]->name, name, length))
            return checks[i];
    return NULL;
}

static void add_row(struct hr_verify *verify, const struct hr_check *check)
{
    for (size_t i = 0; i < verify->n; i++)
        if (verify->row[i].check == check)
            return;
    verify->row[verify->n++] = (struct hr_verify_row){.check = check, .worst = NAN};
}

enum hr_status hr_verify_begin(struct hr_verify *verify, const char *only)
{
    verify->n = 0;
    for (size_t i = 0; !only[0] && i < NCHECKS; i++)
        add_row(verify, checks[i]);
    for (const char *at = only; at[0];) {
        const size_t length = strcspn(at, ",");
        const struct hr_check *check = find(at, length);
        if (!check)
            return hr_fail(HR_E_USAGE, "--only %.*s: there is no such check (--list names them)",
                           (int)length, at);
        add_row(verify, check);
        at += length + (at[length] == ',');
    }
    return HR_OK;
}

/* --- cases in turn --- */

/* Kernels that a run refuses are judged by a check of their own. */
static bool is_of_the_environment(enum hr_status status)
{
    return status == HR_E_NOMEM || status == HR_E_SHM || status == HR_E_IO ||
           status == HR_E_KERNELS;
}

static void take(struct hr_verify_row *row, const struct hr_case_answer *answer)
{
    if (answer->status != HR_OK) {
        const bool cannot = is_of_the_environment(answer->status);
        row->over = true;
        snprintf(row->why, sizeof row->why, "%s", answer->why);
        if (!cannot)
            row->verdict = HR_CHECK_FAILED;
        else if (row->verdict == HR_CHECK_UNTRIED)
            row->verdict = HR_CHECK_SKIPPED;
        return;
    }
    row->verdict = HR_CHECK_HOLDS;
    row->cases++;
    row->compared += answer->compared;
    row->worst = fmax(row->worst, answer->worst); /* of a number and none, the number */
}

/* An untried one; else, of those whose next case should end in time, the one that has used least.
 */
static struct hr_verify_row *next_row(struct hr_verify *verify, double left)
{
    struct hr_verify_row *least = NULL;
    for (size_t i = 0; i < verify->n; i++) {
        struct hr_verify_row *row = &verify->row[i];
        if (row->over)
            continue;
        if (row->verdict == HR_CHECK_UNTRIED)
            return row;
        if (row->seconds / (double)row->cases <= left && (!least || row->seconds < least->seconds))
            least = row;
    }
    return least;
}

enum hr_status hr_verify_run(struct hr_verify *verify, hr_verify_report_fn report, void *arg)
{
    const int64_t began = hr_clock_ns();
    struct hr_verify_row *row;
    while ((row = next_row(verify, verify->seconds - verify->took))) {
        if (report)
            report(arg, verify, row);
        const int64_t before = hr_clock_ns();
        const struct hr_case_answer answer = hr_case_run(verify, row->check, row->cases);
        HR_TRY(hr_signals_check());
        row->seconds += hr_seconds(hr_clock_ns() - before);
        take(row, &answer);
        verify->took = hr_seconds(hr_clock_ns() - began);
    }
    return HR_OK;
}

size_t hr_verify_count(const struct hr_verify *verify, enum hr_verdict_of_check verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < verify->n; i++)
        n += verify->row[i].verdict == verdict;
    return n;
}

/* --- the table of what was verified, and the same as JSON --- */

static const char *const words[] = {"untried", "ok", "FAILED", "skipped"};
static const enum hr_style styles[] = {HR_PLAIN, HR_GOOD, HR_BAD, HR_WARN};

static void write_row(FILE *cells, FILE *out, const struct hr_verify_row *row)
{
    char count[HR_HUMAN_MAX], checked[40] = "-", worst[24] = "";
    if (row->cases)
        snprintf(checked, sizeof checked, "%s %s", hr_human_short(count, (double)row->compared),
                 row->check->what);
    if (!isnan(row->worst))
        snprintf(worst, sizeof worst, "%.1e", row->worst);
    fprintf(cells, "%s\t%s\t%s\t%s\t%.1f\t%s%s%s\n", row->check->name, row->check->claim, checked,
            worst, row->seconds, hr_style(out, styles[row->verdict]), words[row->verdict],
            hr_style(out, HR_PLAIN));
}

static void print_why(FILE *out, const struct hr_verify *verify)
{
    for (size_t i = 0; i < verify->n; i++) {
        const struct hr_verify_row *row = &verify->row[i];
        if (!row->why[0])
            continue;
        if (row->verdict == HR_CHECK_FAILED)
            fprintf(out,
                    "\n%s%s, case %llu: %s%s\n  to re-run: hogring verify --only %s --seed %llu\n",
                    hr_style(out, HR_BAD), row->check->name, (unsigned long long)row->cases,
                    hr_style(out, HR_PLAIN), row->why, row->check->name,
                    (unsigned long long)verify->seed);
        else
            fprintf(out, "\n%s, %s: %s\n", row->check->name,
                    row->verdict == HR_CHECK_SKIPPED ? "skipped" : "not tried further", row->why);
    }
}

void hr_verify_print(FILE *out, const struct hr_verify *verify)
{
    const size_t failed = hr_verify_count(verify, HR_CHECK_FAILED),
                 skipped = hr_verify_count(verify, HR_CHECK_SKIPPED);
    struct hr_grid table;
    hr_grid_begin(&table, "-check\t-what is claimed\tcompared\tlargest\ts\t-");
    for (size_t i = 0; i < verify->n; i++)
        write_row(table.cells, out, &verify->row[i]);
    hr_grid_squeeze(&table, 1, 80);
    hr_grid_end(&table, out, 0);
    print_why(out, verify);
    fprintf(out, "\n%zu check%s in %.1f s, seed %llu: %zu hold, %s%zu FAILED%s, %zu skipped\n",
            verify->n, verify->n == 1 ? "" : "s", verify->took, (unsigned long long)verify->seed,
            hr_verify_count(verify, HR_CHECK_HOLDS), failed ? hr_style(out, HR_BAD) : "", failed,
            failed ? hr_style(out, HR_PLAIN) : "", skipped);
}

void hr_verify_list(FILE *out, const struct hr_verify *verify)
{
    for (size_t i = 0; i < verify->n; i++)
        fprintf(out, "%-12s  %s\n", verify->row[i].check->name, verify->row[i].check->story);
}

static json_t *row_json(const void *of, size_t i)
{
    const struct hr_verify_row *row = &((const struct hr_verify *)of)->row[i];
    return hr_json_object("check", HR_JSON(row->check->name), "claim", HR_JSON(row->check->story),
                          "result", HR_JSON(words[row->verdict]), HR_OF(row, cases),
                          HR_OF(row, compared), "of", HR_JSON(row->check->what), "largest_error",
                          HR_JSON(row->worst), HR_OF(row, seconds), "why",
                          hr_json_text_or_null(row->why), NULL);
}

json_t *hr_verify_json(const struct hr_verify *verify)
{
    return hr_json_object(HR_OF(verify, seed), "seconds", HR_JSON(verify->took), "checks",
                          hr_json_list(verify->n, row_json, verify), "hold",
                          HR_JSON(hr_verify_count(verify, HR_CHECK_HOLDS)), "failed",
                          HR_JSON(hr_verify_count(verify, HR_CHECK_FAILED)), "skipped",
                          HR_JSON(hr_verify_count(verify, HR_CHECK_SKIPPED)), NULL);
}
