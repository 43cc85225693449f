/* What machines of continuous integration read: JUnit's XML, and GitHub's annotations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "gate/findings.h"

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
                hr_gate_is_slower(&findings->more[i]) ? "failure"
                : findings->more[i].untimed[0]        ? "skipped"
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
        const enum hr_gate_verdict verdict = hr_gate_verdict_of(findings, i);
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
