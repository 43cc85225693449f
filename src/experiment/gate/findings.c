#include "gate/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/text.h"
#include "json/value.h"
#include "report/human.h"
#include "terminal/grid.h"

static bool gate_is_slower(const struct hr_gate_more *more)
{
    return more->ratio[HR_GATE_WALL].slower || more->ratio[HR_GATE_CPU].slower;
}

/* The verdict on a strategy, its speed included. */
static enum hr_gate_verdict gate_verdict_of(const struct hr_gate_findings *findings, size_t i)
{
    if (findings->timed && gate_is_slower(&findings->more[i]))
        return HR_GATE_FAILED;
    const enum hr_gate_verdict verdict = findings->judgement->strategy[i].verdict;
    const bool untimed = findings->timed && findings->more[i].untimed[0];
    return verdict == HR_GATE_PASSED && untimed ? HR_GATE_NOT_JUDGED : verdict;
}

enum hr_gate_verdict hr_gate_verdict_of_all(const struct hr_gate_findings *findings)
{
    enum hr_gate_verdict all = findings->judgement->n ? HR_GATE_PASSED : HR_GATE_NOT_JUDGED;
    for (size_t i = 0; i < findings->judgement->n; i++) {
        const enum hr_gate_verdict one = gate_verdict_of(findings, i);
        if (one == HR_GATE_FAILED)
            return one;
        if (one == HR_GATE_NOT_JUDGED)
            all = one;
    }
    return all;
}

/* --- words --- */

struct hr_printable hr_gate_label(const char *label)
{
    enum { LABEL_MAX = 60 };
    struct hr_printable out = hr_printable(label);
    size_t end = LABEL_MAX - 3;
    if (strlen(out.text) <= LABEL_MAX)
        return out;
    while (((unsigned char)out.text[end] & 0xc0) == 0x80)
        end--; /* a character is whole or not there */
    memcpy(out.text + end, "...", 4);
    return out;
}

static void add_band(const struct hr_gate_metric *metric, char *text, size_t size)
{
    const struct hr_gate_band *band = &metric->band;
    if (band->outside)
        hr_append(text, size, "%s%s %.4g is outside of %.4g to %.4g", text[0] ? "; " : "",
                  metric->name, band->now, band->interval.low, band->interval.high);
}

static void add_speed(const struct hr_gate_findings *findings, const struct hr_gate_more *more,
                      char *text, size_t size)
{
    static const char *const clocks[] = {"seconds", "processor time"};
    if (findings->timed && more->untimed[0])
        hr_append(text, size, "%sspeed: %s", text[0] ? "; " : "", more->untimed);
    for (size_t c = 0; c < HR_GATE_CLOCKS; c++)
        if (findings->timed && more->ratio[c].slower)
            hr_append(text, size, "%s%s: %.2f times the old one's (%.2f to %.2f), more than %.4g",
                      text[0] ? "; " : "", clocks[c], more->ratio[c].mean,
                      more->ratio[c].interval.low, more->ratio[c].interval.high,
                      1 + findings->slower);
}

const char *hr_gate_reason(const struct hr_gate_findings *findings, size_t i, char *text,
                           size_t size)
{
    const struct hr_gate_strategy *strategy = &findings->judgement->strategy[i];
    text[0] = '\0';
    if (strategy->rule == HR_GATE_BY_BAND)
        for (size_t m = 0; m < strategy->nmetrics; m++)
            add_band(&strategy->metric[m], text, size);
    else if (strategy->verdict != HR_GATE_PASSED)
        hr_append(text, size, "%s", strategy->why);
    if (findings->more[i].where[0])
        hr_append(text, size, "; %s", findings->more[i].where);
    add_speed(findings, &findings->more[i], text, size);
    return text;
}

/* What it has not passed: "digests", "accuracy, speed"; "". Returns text. */
static const char *gate_failures(const struct hr_gate_findings *findings, size_t i, char *text,
                                 size_t size)
{
    const struct hr_gate_strategy *strategy = &findings->judgement->strategy[i];
    text[0] = '\0';
    if (strategy->verdict == HR_GATE_FAILED && strategy->rule != HR_GATE_BY_BAND)
        hr_append(text, size, strategy->rule == HR_GATE_BY_DIGESTS ? "digests" : "a run failed");
    for (size_t m = 0; strategy->rule == HR_GATE_BY_BAND && m < strategy->nmetrics; m++)
        if (strategy->metric[m].band.outside)
            hr_append(text, size, "%s%s", text[0] ? ", " : "", strategy->metric[m].name);
    if (findings->timed && gate_is_slower(&findings->more[i]))
        hr_append(text, size, "%sspeed", text[0] ? ", " : "");
    return text;
}

/* The strategies of a verdict, each with `why` behind it in parentheses. */
static void add_those(const struct hr_gate_findings *findings, enum hr_gate_verdict verdict,
                      char *text, size_t size)
{
    const char *between = "";
    for (size_t i = 0; i < findings->judgement->n; i++) {
        char failures[120];
        if (gate_verdict_of(findings, i) != verdict)
            continue;
        hr_append(text, size, "%s%s", between,
                  hr_gate_label(findings->judgement->strategy[i].label).text);
        if (gate_failures(findings, i, failures, sizeof failures)[0])
            hr_append(text, size, " (%s)", failures);
        between = ", ";
    }
}

const char *hr_gate_summary(const struct hr_gate_findings *findings, char *text, size_t size)
{
    const enum hr_gate_verdict verdict = hr_gate_verdict_of_all(findings);
    const struct hr_gate_judgement *judgement = findings->judgement;
    size_t passed = 0, digests = 0;
    for (size_t i = 0; i < judgement->n; i++) {
        const bool good = gate_verdict_of(findings, i) == HR_GATE_PASSED;
        passed += good;
        digests += good && judgement->strategy[i].rule == HR_GATE_BY_DIGESTS;
    }
    snprintf(text, size, "gate: %s",
             verdict == HR_GATE_PASSED   ? "passed: "
             : verdict == HR_GATE_FAILED ? "FAILED: "
                                         : "NOT JUDGED: ");
    if (verdict != HR_GATE_PASSED)
        add_those(findings, verdict, text, size);
    const char *ending = judgement->n == 1 ? "y" : "ies";
    if (verdict == HR_GATE_PASSED)
        hr_append(text, size, "%zu strateg%s (%zu by digests, %zu by band)", passed, ending,
                  digests, passed - digests);
    else
        hr_append(text, size, "; %zu of %zu strateg%s passed", passed, judgement->n, ending);
    return text;
}

/* --- the page ---
 * The page of a gate: rules and verdicts, bands, speed, what failed and where, the summary. */

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
        const enum hr_gate_verdict verdict = gate_verdict_of(findings, i);
        char failures[120];
        gate_failures(findings, i, failures, sizeof failures);
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
    const double detectable = unit * hr_gate_band_detectable(band);
    fprintf(cells, "%s\t%s\t%.4g\t%.3g .. %.3g\t%.4g\t%s\t", hr_printable(label).text,
            unit > 1 ? "accuracy %" : metric->name, unit * band->mean, unit * band->interval.low,
            unit * band->interval.high, unit * band->now, band->outside ? "*" : "");
    if (unit > 1 && detectable > unit) /* no accuracy changes as much */
        fputs("none\n", cells);
    else
        fprintf(cells, "%.2g\n", detectable);
}

static void print_bands(FILE *out, const struct hr_gate_findings *findings)
{
    const struct hr_gate_judgement *judgement = findings->judgement;
    struct hr_grid table;
    begin_table(&table, "-means of seeds\t-\tthen\texpected now\tnow\t-\tdetectable");
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
                "detectable: a change as large would be noticed in about 80 of 100 gates where\n"
                "seeds vary normally, in 70 or more where a few lie far out; in 1 of 100 gates\n"
                "all these intervals together raise a false alarm (%zu, of %.4g %% each)%s\n",
                judgement->intervals, 100 * judgement->level,
                findings->timed ? ", speed's included" : "");
}

static void print_speed(FILE *out, const struct hr_gate_findings *findings)
{
    struct hr_grid table;
    const struct hr_gate_strategy *strategy = findings->judgement->strategy;
    begin_table(&table, strategy->tokens ? "-tokens/s\tthen\tnow" : "-samples/s\tthen\tnow");
    for (size_t i = 0; i < findings->judgement->n; i++, strategy++) {
        fprintf(table.cells, "%s%s", hr_yields(out, HR_ROW), hr_printable(strategy->label).text);
        for (size_t k = 0; k < 2; k++)
            if (isfinite(strategy->speed[k]))
                fprintf(table.cells, "\t%.0f", hr_rate_shown(strategy->speed[k], strategy->tokens));
            else
                fputs("\t-", table.cells);
        fputc('\n', table.cells);
    }
    fputc('\n', out);
    hr_grid_end(&table, out, 0);
    fputs("speed is not judged: --against OLD-BINARY --slower 20% times both in turns\n", out);
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

/* Have they the same verdict, for the same reason? */
static bool is_alike(const struct hr_gate_findings *findings, size_t a, size_t b)
{
    char one[2 * HR_GATE_TEXT], other[2 * HR_GATE_TEXT];
    return gate_verdict_of(findings, a) == gate_verdict_of(findings, b) &&
           !strcmp(hr_gate_reason(findings, a, one, sizeof one),
                   hr_gate_reason(findings, b, other, sizeof other));
}

/* A line for all that are alike; those before i have theirs. */
static void print_reason(FILE *out, const struct hr_gate_findings *findings, size_t i)
{
    const struct hr_gate_strategy *strategy = findings->judgement->strategy;
    char text[2 * HR_GATE_TEXT];
    for (size_t k = 0; k < i; k++)
        if (is_alike(findings, k, i))
            return;
    fputs(hr_style(out, gate_verdict_of(findings, i) == HR_GATE_FAILED ? HR_BAD : HR_WARN), out);
    for (size_t k = i; k < findings->judgement->n; k++)
        if (is_alike(findings, i, k))
            fprintf(out, "%s%s", k > i ? ", " : "", hr_gate_label(strategy[k].label).text);
    fprintf(out, "%s: ", hr_style(out, HR_PLAIN));
    hr_put_printable(out, hr_gate_reason(findings, i, text, sizeof text));
    fputc('\n', out);
}

static void print_reasons(FILE *out, const struct hr_gate_findings *findings)
{
    const char *before = "\n";
    for (size_t i = 0; i < findings->judgement->n; i++)
        if (gate_verdict_of(findings, i) != HR_GATE_PASSED) {
            fputs(before, out);
            print_reason(out, findings, i);
            before = "";
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

/* --- what a gate has found, as JSON --- */

static const char *const verdicts[] = {"passed", "failed", "not judged"};

static json_t *metric_json(const void *of, size_t m)
{
    const struct hr_gate_metric *metric = &((const struct hr_gate_strategy *)of)->metric[m];
    const struct hr_gate_band *band = &metric->band;
    return hr_json_object("metric", HR_JSON(metric->name), HR_OF(band, mean), HR_OF(band, sd),
                          HR_OF(&band->interval, low), HR_OF(&band->interval, high),
                          HR_OF(band, now), "seen_with_80_percent",
                          HR_JSON(hr_gate_band_detectable(band)), HR_OF(band, p),
                          HR_OF(band, outside), NULL);
}

/* Speeds that were not compared have none. */
static json_t *ratio_json(const struct hr_gate_findings *findings,
                          const struct hr_gate_ratio *ratio)
{
    if (!findings->timed)
        return json_null();
    return hr_json_object(HR_OF(ratio, mean), HR_OF(&ratio->interval, low),
                          HR_OF(&ratio->interval, high), HR_OF(ratio, slower), NULL);
}

static json_t *strategy_json(const void *of, size_t i)
{
    const struct hr_gate_findings *findings = of;
    const struct hr_gate_strategy *strategy = &findings->judgement->strategy[i];
    const struct hr_gate_more *more = &findings->more[i];
    char text[2 * HR_GATE_TEXT];
    hr_gate_reason(findings, i, text, sizeof text);
    json_t *speed = hr_json_object("samples_per_s_then", HR_JSON(strategy->speed[0]),
                                   "samples_per_s_now", HR_JSON(strategy->speed[1]), "seconds",
                                   ratio_json(findings, &more->ratio[HR_GATE_WALL]), "cpu_seconds",
                                   ratio_json(findings, &more->ratio[HR_GATE_CPU]), NULL);
    return hr_json_object(HR_OF(strategy, label), "rule", HR_JSON(rules[strategy->rule]), "verdict",
                          HR_JSON(verdicts[gate_verdict_of(findings, i)]), HR_OF(strategy, why),
                          "reason", hr_json_text_or_null(text), HR_OF(strategy, seeds),
                          "digests_differ", HR_JSON(strategy->differ), "where",
                          hr_json_text_or_null(more->where), "bands",
                          hr_json_list(strategy->rule == HR_GATE_BY_BAND ? strategy->nmetrics : 0,
                                       metric_json, strategy),
                          "speed", speed, NULL);
}

json_t *hr_gate_json(const struct hr_gate_findings *findings)
{
    const struct hr_gate_judgement *judgement = findings->judgement;
    char text[2 * HR_GATE_TEXT];
    json_t *bits = judgement->bits
                       ? hr_json_text(judgement->bits[0] ? judgement->bits : "not known")
                       : json_null();
    json_t *gate = hr_json_object(
        "baseline", HR_JSON(findings->baseline->name), "verdict",
        HR_JSON(verdicts[hr_gate_verdict_of_all(findings)]), "summary",
        HR_JSON(hr_gate_summary(findings, text, sizeof text)), "bits", bits, "false_alarms",
        hr_json_number(HR_GATE_FALSE_ALARMS), HR_OF(judgement, intervals), HR_OF(judgement, level),
        "slower", findings->timed ? HR_JSON(findings->slower) : json_null(), "strategies",
        hr_json_list(judgement->n, strategy_json, findings), NULL);
    return hr_json_object("gate", gate, NULL);
}

/* --- what machines of continuous integration read: JUnit's XML, and GitHub's annotations --- */

/* --- XML --- */

/* In an attribute, or between tags: what means something in XML, or may not stand there at all, is
 * written otherwise. */
static void put_xml(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '<')
            fputs("&lt;", out);
        else if (*c == '>')
            fputs("&gt;", out);
        else if (*c == '&')
            fputs("&amp;", out);
        else if (*c == '"')
            fputs("&quot;", out);
        else
            fputc(*c < 0x20 || *c >= 0x7f ? '?' : *c, out);
}

static void put_case(FILE *out, const char *label, const char *name)
{
    fputs("    <testcase classname=\"hogring.gate.", out);
    put_xml(out, label);
    fprintf(out, "\" name=\"%s\" time=\"0\"", name);
}

/* kind: "failure", "skipped"; NULL: passed. */
static void put_end(FILE *out, const char *kind, const char *reason)
{
    if (!kind) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, ">\n      <%s%s message=\"", kind,
            strcmp(kind, "failure") ? "" : " type=\"hogring.gate\"");
    put_xml(out, reason);
    fputs("\"/>\n    </testcase>\n", out);
}

struct counts {
    size_t tests, failures, skipped;
};

static void put_one(FILE *out, struct counts *counts, const char *label, const char *name,
                    const char *kind, const char *reason)
{
    counts->tests++;
    counts->failures += kind && !strcmp(kind, "failure");
    counts->skipped += kind && !strcmp(kind, "skipped");
    put_case(out, label, name);
    put_end(out, kind, reason);
}

static void put_strategy(FILE *out, const struct hr_gate_findings *findings, size_t i,
                         struct counts *counts)
{
    const struct hr_gate_strategy *s = &findings->judgement->strategy[i];
    char text[2 * HR_GATE_TEXT];
    hr_gate_reason(findings, i, text, sizeof text);
    if (s->rule != HR_GATE_BY_BAND)
        put_one(out, counts, s->label, s->rule == HR_GATE_BY_DIGESTS ? "digests" : "judged",
                s->verdict == HR_GATE_FAILED   ? "failure"
                : s->verdict == HR_GATE_PASSED ? NULL
                                               : "skipped",
                text);
    for (size_t m = 0; s->rule == HR_GATE_BY_BAND && m < s->nmetrics; m++)
        put_one(out, counts, s->label, s->metric[m].name,
                s->metric[m].band.outside ? "failure" : NULL, text);
    if (findings->timed)
        put_one(out, counts, s->label, "speed",
                gate_is_slower(&findings->more[i]) ? "failure"
                : findings->more[i].untimed[0]     ? "skipped"
                                                   : NULL,
                text);
}

enum hr_status hr_gate_junit(const struct hr_gate_findings *findings, char **text, size_t *bytes)
{
    char *cases = NULL, summary[2 * HR_GATE_TEXT];
    size_t length = 0;
    struct counts counts = {0};
    FILE *out = open_memstream(&cases, &length);
    if (!out)
        return hr_fail(HR_E_NOMEM, "no memory for JUnit's XML");
    for (size_t i = 0; i < findings->judgement->n; i++)
        put_strategy(out, findings, i, &counts);
    bool whole = fclose(out) == 0;
    out = whole ? open_memstream(text, bytes) : NULL;
    if (out) {
        fprintf(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<testsuites>\n"
                "  <testsuite name=\"hogring gate\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
                "skipped=\"%zu\" time=\"0\">\n%s    <system-out>",
                counts.tests, counts.failures, counts.skipped, cases);
        put_xml(out, hr_gate_summary(findings, summary, sizeof summary));
        fputs("</system-out>\n  </testsuite>\n</testsuites>\n", out);
        whole = fclose(out) == 0;
    }
    free(cases);
    return out && whole ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for JUnit's XML");
}

/* --- GitHub --- */

/* Its commands are lines: what would end one, or a property, is written as %25, %0A, ... */
static void put_command(FILE *out, const char *text, const char *also)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == '%' || strchr(also, *c))
            fprintf(out, "%%%02X", *c);
        else
            fputc(*c, out);
}

void hr_gate_annotate(FILE *out, const struct hr_gate_findings *findings)
{
    char text[2 * HR_GATE_TEXT];
    for (size_t i = 0; i < findings->judgement->n; i++) {
        const enum hr_gate_verdict verdict = gate_verdict_of(findings, i);
        if (verdict == HR_GATE_PASSED)
            continue;
        fprintf(out, "::%s title=hogring gate%%3A ",
                verdict == HR_GATE_FAILED ? "error" : "warning");
        put_command(out, hr_gate_label(findings->judgement->strategy[i].label).text, ":,");
        fputs("::", out);
        put_command(out, hr_gate_reason(findings, i, text, sizeof text), "");
        fputc('\n', out);
    }
}
