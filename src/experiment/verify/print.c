/* The table of what was verified, and the same as JSON. */
#include <math.h>
#include <string.h>

#include "json/value.h"
#include "report/human.h"
#include "terminal/grid.h"
#include "verify/verify.h"

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

static json_t *row_json(const struct hr_verify_row *row)
{
    return json_pack("{ss ss ss so so ss so so so}", "check", row->check->name, "claim",
                     row->check->story, "result", words[row->verdict], "cases",
                     hr_json_count(row->cases), "compared", hr_json_count(row->compared), "of",
                     row->check->what, "largest_error", hr_json_number(row->worst), "seconds",
                     hr_json_number(row->seconds), "why", hr_json_text_or_null(row->why));
}

json_t *hr_verify_json(const struct hr_verify *verify)
{
    json_t *list = json_array();
    for (size_t i = 0; i < verify->n; i++)
        json_array_append_new(list, row_json(&verify->row[i]));
    return json_pack("{so so so so so so}", "seed", hr_json_count(verify->seed), "seconds",
                     hr_json_number(verify->took), "checks", list, "hold",
                     hr_json_count(hr_verify_count(verify, HR_CHECK_HOLDS)), "failed",
                     hr_json_count(hr_verify_count(verify, HR_CHECK_FAILED)), "skipped",
                     hr_json_count(hr_verify_count(verify, HR_CHECK_SKIPPED)));
}
