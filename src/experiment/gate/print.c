/* The page of a gate: rules and verdicts, bands, speed, what failed and where, the summary. */
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "gate/findings.h"
#include "terminal/output.h"

enum { LABEL = 22 }; /* columns of 80 */

static const char *const rules[] = {"digests", "band", "nothing"};

static void print_verdict(FILE *out, enum hr_gate_verdict verdict)
{
    static const char *const words[] = {"passed", "FAILED", "not judged"};
    static const enum hr_style styles[] = {HR_GOOD, HR_BAD, HR_WARN};
    fprintf(out, "%s%s%s", hr_style(out, styles[verdict]), words[verdict], hr_style(out, HR_PLAIN));
}

/* Cut to its column. */
static void print_label(FILE *out, const char *label)
{
    fprintf(out, "%-*.*s", LABEL, LABEL - 1, hr_printable(label).text);
}

static void print_rules(FILE *out, const struct hr_gate_findings *findings)
{
    const struct hr_gate_judgement *judgement = findings->judgement;
    fprintf(out, "%-*s%-10s%5s  %-8s  %s\n", LABEL, "strategy", "judged by", "seeds", "verdict",
            "why");
    for (size_t i = 0; i < judgement->n; i++) {
        const struct hr_gate_strategy *strategy = &judgement->strategy[i];
        char failures[120];
        print_label(out, strategy->label);
        fprintf(out, "%-10s%5zu  ", rules[strategy->rule], strategy->seeds);
        print_verdict(out, hr_gate_verdict_of(findings, i));
        hr_gate_failures(findings, i, failures, sizeof failures);
        fputs("  ", out);
        hr_put_printable(out, failures[0] ? failures
                              : hr_gate_verdict_of(findings, i) == HR_GATE_NOT_JUDGED
                                  ? "see below"
                                  : strategy->why);
        fputc('\n', out);
    }
}

static void print_band(FILE *out, const char *label, const struct hr_gate_metric *metric)
{
    const struct hr_gate_band *band = &metric->band;
    const double unit = strcmp(metric->name, "accuracy") ? 1 : 100;
    print_label(out, label);
    const double told = unit * hr_gate_band_told(band);
    fprintf(out, "%-11s%8.4g%9.3g ..%8.3g%8.4g%s", unit > 1 ? "accuracy %" : metric->name,
            unit * band->mean, unit * band->interval.low, unit * band->interval.high,
            unit * band->now, band->outside ? " *" : "  ");
    if (unit > 1 && told > unit) /* no accuracy changes as much */
        fprintf(out, "%9s\n", "none");
    else
        fprintf(out, "%9.2g\n", told);
}

static void print_bands(FILE *out, const struct hr_gate_findings *findings)
{
    const struct hr_gate_judgement *judgement = findings->judgement;
    bool any = false;
    for (size_t i = 0; i < judgement->n; i++) {
        const struct hr_gate_strategy *strategy = &judgement->strategy[i];
        for (size_t m = 0; strategy->rule == HR_GATE_BY_BAND && m < strategy->nmetrics; m++) {
            if (!any)
                fprintf(out, "\n%-*s%-11s%8s%20s%8s%11s\n", LABEL, "means of seeds", "", "then",
                        "expected now", "now", "seen 80 %");
            any = true;
            print_band(out, m == 0 ? strategy->label : "", &strategy->metric[m]);
        }
    }
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
    const struct hr_gate_judgement *judgement = findings->judgement;
    fprintf(out, "\n%-*s%14s%14s\n", LABEL, "samples/s", "then", "now");
    for (size_t i = 0; i < judgement->n; i++) {
        const struct hr_gate_strategy *strategy = &judgement->strategy[i];
        print_label(out, strategy->label);
        for (size_t k = 0; k < 2; k++)
            if (isfinite(strategy->speed[k]))
                fprintf(out, "%14.0f", strategy->speed[k]);
            else
                fprintf(out, "%14s", "-");
        fputc('\n', out);
    }
    fputs("not judged: not measured side by side (--against OLD-BINARY --slower 20% are)\n", out);
}

static void print_ratios(FILE *out, const struct hr_gate_findings *findings)
{
    fprintf(out, "\n%-*s%26s%26s\n", LABEL, "new / old, of pairs", "seconds", "processor time");
    for (size_t i = 0; i < findings->judgement->n; i++) {
        print_label(out, findings->judgement->strategy[i].label);
        for (size_t c = 0; c < HR_GATE_CLOCKS; c++) {
            const struct hr_gate_ratio *ratio = &findings->more[i].ratio[c];
            if (isfinite(ratio->mean))
                fprintf(out, "%8.3f  (%5.3f .. %5.3f)%s", ratio->mean, ratio->interval.low,
                        ratio->interval.high, ratio->slower ? "*" : " ");
            else
                fprintf(out, "%26s", "-");
        }
        fputc('\n', out);
    }
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
