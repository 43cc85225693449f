#include "gate/findings.h"

#include <math.h>
#include <string.h>

bool hr_gate_is_slower(const struct hr_gate_more *more)
{
    return more->ratio[HR_GATE_WALL].slower || more->ratio[HR_GATE_CPU].slower;
}

enum hr_gate_verdict hr_gate_verdict_of(const struct hr_gate_findings *findings, size_t i)
{
    if (findings->timed && hr_gate_is_slower(&findings->more[i]))
        return HR_GATE_FAILED;
    const enum hr_gate_verdict verdict = findings->judgement->strategy[i].verdict;
    const bool untimed = findings->timed && findings->more[i].untimed[0];
    return verdict == HR_GATE_PASSED && untimed ? HR_GATE_NOT_JUDGED : verdict;
}

enum hr_gate_verdict hr_gate_verdict_of_all(const struct hr_gate_findings *findings)
{
    enum hr_gate_verdict all = findings->judgement->n ? HR_GATE_PASSED : HR_GATE_NOT_JUDGED;
    for (size_t i = 0; i < findings->judgement->n; i++) {
        const enum hr_gate_verdict one = hr_gate_verdict_of(findings, i);
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

/* Appended to a text of that size. */
static void add(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

static void add_band(const struct hr_gate_metric *metric, char *text, size_t size)
{
    char one[200];
    const struct hr_gate_band *band = &metric->band;
    if (!band->outside)
        return;
    snprintf(one, sizeof one, "%s%s %.4g is outside of %.4g to %.4g", text[0] ? "; " : "",
             metric->name, band->now, band->interval.low, band->interval.high);
    add(text, size, one);
}

static void add_speed(const struct hr_gate_findings *findings, const struct hr_gate_more *more,
                      char *text, size_t size)
{
    static const char *const clocks[] = {"seconds", "processor time"};
    char one[256];
    if (findings->timed && more->untimed[0]) {
        snprintf(one, sizeof one, "%sspeed: %s", text[0] ? "; " : "", more->untimed);
        add(text, size, one);
    }
    for (size_t c = 0; c < HR_GATE_CLOCKS; c++)
        if (findings->timed && more->ratio[c].slower) {
            snprintf(
                one, sizeof one, "%s%s: %.2f times the old one's (%.2f to %.2f), more than %.4g",
                text[0] ? "; " : "", clocks[c], more->ratio[c].mean, more->ratio[c].interval.low,
                more->ratio[c].interval.high, 1 + findings->slower);
            add(text, size, one);
        }
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
        add(text, size, strategy->why);
    if (findings->more[i].where[0]) {
        add(text, size, "; ");
        add(text, size, findings->more[i].where);
    }
    add_speed(findings, &findings->more[i], text, size);
    return text;
}

const char *hr_gate_failures(const struct hr_gate_findings *findings, size_t i, char *text,
                             size_t size)
{
    const struct hr_gate_strategy *strategy = &findings->judgement->strategy[i];
    text[0] = '\0';
    if (strategy->verdict == HR_GATE_FAILED && strategy->rule != HR_GATE_BY_BAND)
        add(text, size, strategy->rule == HR_GATE_BY_DIGESTS ? "digests" : "a run failed");
    for (size_t m = 0; strategy->rule == HR_GATE_BY_BAND && m < strategy->nmetrics; m++)
        if (strategy->metric[m].band.outside) {
            add(text, size, text[0] ? ", " : "");
            add(text, size, strategy->metric[m].name);
        }
    if (findings->timed && hr_gate_is_slower(&findings->more[i])) {
        add(text, size, text[0] ? ", " : "");
        add(text, size, "speed");
    }
    return text;
}

/* The strategies of a verdict, each with `why` behind it in parentheses. */
static void add_those(const struct hr_gate_findings *findings, enum hr_gate_verdict verdict,
                      char *text, size_t size)
{
    const char *between = "";
    for (size_t i = 0; i < findings->judgement->n; i++) {
        char failures[120];
        if (hr_gate_verdict_of(findings, i) != verdict)
            continue;
        add(text, size, between);
        add(text, size, hr_gate_label(findings->judgement->strategy[i].label).text);
        if (hr_gate_failures(findings, i, failures, sizeof failures)[0]) {
            add(text, size, " (");
            add(text, size, failures);
            add(text, size, ")");
        }
        between = ", ";
    }
}

const char *hr_gate_summary(const struct hr_gate_findings *findings, char *text, size_t size)
{
    const enum hr_gate_verdict verdict = hr_gate_verdict_of_all(findings);
    const struct hr_gate_judgement *judgement = findings->judgement;
    size_t passed = 0, digests = 0;
    char tail[160];
    for (size_t i = 0; i < judgement->n; i++) {
        const bool good = hr_gate_verdict_of(findings, i) == HR_GATE_PASSED;
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
        snprintf(tail, sizeof tail, "%zu strateg%s (%zu by digests, %zu by band)", passed, ending,
                 digests, passed - digests);
    else
        snprintf(tail, sizeof tail, "; %zu of %zu strateg%s passed", passed, judgement->n, ending);
    add(text, size, tail);
    return text;
}
