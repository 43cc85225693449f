/* The page of a gate: rules and verdicts, bands, speed, what failed and where, the summary. */
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "gate/findings.h"
#include "terminal/grid.h"

static const char *const rules[] = {"digests", "band", "nothing"};

static const char *const words[] = {"passed", "FAILED", "not judged"};
static const enum hr_style styles[] = {HR_GOOD, HR_BAD, HR_WARN};

enum { LABEL = 21 };

static void begin_table(struct hr_grid *table, const char *heads)
{
    hr_grid_begin(table, heads);
    table->column[0].most = LABEL;
}

static void print_rules(FILE *out, const struct hr_gate_findings *findings)
{
    struct hr_grid table;
    begin_table(&table, "-strategy\t-judged by\tseeds\t-verdict\t-why");
    for (size_t i = 0; i < findings->judgement->n; i++) {
        const struct hr_gate_strategy *strategy = &findings->judgement->strategy[i];
        const enum hr_gate_verdict verdict = hr_gate_verdict_of(findings, i);
        char failures[120];
        hr_gate_failures(findings, i, failures, sizeof failures);
        fprintf(table.cells, "%s\t%s\t%zu\t%s%s%s\t", hr_printable(strategy->label).text,
                rules[strategy->rule], strategy->seeds, hr_style(out, styles[verdict]),
                words[verdict], hr_style(out, HR_PLAIN));
        hr_put_printable(table.cells, failures[0]                     ? failures
                                      : verdict == HR_GATE_NOT_JUDGED ? "see below"
                                                                      : strategy->why);
        fputc('\n', table.cells);
    }
    hr_grid_end(&table, out, 0);
}

static void write_band(FILE *cells, const char *label, const struct hr_gate_metric *metric)
{
    const struct hr_gate_band *band = &metric->band;
    const double unit = strcmp(metric->name, "accuracy") ? 1 : 100;
    const double told = unit * hr_gate_band_told(band);
    fprintf(cells, "%s\t%s\t%.4g\t%.3g .. %.3g\t%.4g\t%s\t", hr_printable(label).text,
            unit > 1 ? "accuracy %" : metric->name, unit * band->mean, unit * band->interval.low,
            unit * band->interval.high, unit * band->now, band->outside ? "*" : "");
    if (unit > 1 && told > unit) /* no accuracy changes as much */
        fputs("none\n", cells);
    else
        fprintf(cells, "%.2g\n", told);
}

static void print_bands(FILE *out, const struct hr_gate_findings *findings)
{
    const struct hr_gate_judgement *judgement = findings->judgement;
    struct hr_grid table;
    begin_table(&table, "-means of seeds\t-\tthen\texpected now\tnow\t-\tseen 80 %");
    bool any = false;
    for (size_t i = 0; i < judgement->n; i++) {
        const struct hr_gate_strategy *strategy = &judgement->strategy[i];
        for (size_t m = 0; strategy->rule == HR_GATE_BY_BAND && m < strategy->nmetrics; m++) {
            fputs(any ? "" : "\n", out);
            any = true;
            write_band(table.cells, m == 0 ? strategy->label : "", &strategy->metric[m]);
        }
    }
    hr_grid_end(&table, any ? out : NULL, 0);
    if (any)
        fprintf(out,
                "seen 80 %%: a change as large would be noticed in about 80 of 100 gates where\n"
                "seeds vary normally, in 70 or more where a few lie far out; in 1 of 100 gates\n"
                "all these intervals together raise a false alarm (%zu, of %.4g %% each)%s\n",
                judgement->intervals, 100 * judgement->level,
                findings->timed ? ", speed's included" : "");
}

static void print_speed(FILE *out, const struct hr_gate_findings *findings)
{
    struct hr_grid table;
    begin_table(&table, "-samples/s\tthen\tnow");
    for (size_t i = 0; i < findings->judgement->n; i++) {
        const struct hr_gate_strategy *strategy = &findings->judgement->strategy[i];
        fputs(hr_printable(strategy->label).text, table.cells);
        for (size_t k = 0; k < 2; k++)
            if (isfinite(strategy->speed[k]))
                fprintf(table.cells, "\t%.0f", strategy->speed[k]);
            else
                fputs("\t-", table.cells);
        fputc('\n', table.cells);
    }
    fputc('\n', out);
    hr_grid_end(&table, out, 0);
    fputs("not judged: not measured side by side (--against OLD-BINARY --slower 20% are)\n", out);
}

static void print_ratios(FILE *out, const struct hr_gate_findings *findings)
{
    struct hr_grid table;
    begin_table(&table, "-new / old, of pairs\tseconds\tprocessor time");
    for (size_t i = 0; i < findings->judgement->n; i++) {
        fputs(hr_printable(findings->judgement->strategy[i].label).text, table.cells);
        for (size_t c = 0; c < HR_GATE_CLOCKS; c++) {
            const struct hr_gate_ratio *ratio = &findings->more[i].ratio[c];
            if (isfinite(ratio->mean))
                fprintf(table.cells, "\t%.3f  (%.3f .. %.3f)%s", ratio->mean, ratio->interval.low,
                        ratio->interval.high, ratio->slower ? "*" : " ");
            else
                fputs("\t-", table.cells);
        }
        fputc('\n', table.cells);
    }
    fputc('\n', out);
    hr_grid_end(&table, out, 0);
    fprintf(out, "%zu pairs, in turn; * slower by more than %.4g %% with all but %.4g %%\n",
            findings->pairs, 100 * findings->slower, 100 * findings->judgement->level);
}

static void print_reasons(FILE *out, const struct hr_gate_findings *findings)
{
    char text[2 * HR_GATE_TEXT];
    for (size_t i = 0; i < findings->judgement->n; i++) {
        const enum hr_gate_verdict verdict = hr_gate_verdict_of(findings, i);
        if (verdict != HR_GATE_PASSED) {
            fprintf(out, "\n%s%s%s: ", hr_style(out, verdict == HR_GATE_FAILED ? HR_BAD : HR_WARN),
                    hr_gate_label(findings->judgement->strategy[i].label).text,
                    hr_style(out, HR_PLAIN));
            hr_put_printable(out, hr_gate_reason(findings, i, text, sizeof text));
            fputc('\n', out);
        }
    }
}

void hr_gate_print(FILE *out, const struct hr_gate_findings *findings)
{
    char text[2 * HR_GATE_TEXT];
    print_rules(out, findings);
    print_bands(out, findings);
    if (findings->timed)
        print_ratios(out, findings);
    else
        print_speed(out, findings);
    print_reasons(out, findings);
    fprintf(out, "\n%s\n", hr_gate_summary(findings, text, sizeof text));
}
