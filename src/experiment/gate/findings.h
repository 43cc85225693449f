/* findings.h - all that a gate has found, for those who print it, and the sentence that sums it up.
 *
 * Threads: pure functions. Test: tests/unit/gate/test_findings.c
 */
#ifndef HR_GATE_FINDINGS_H
#define HR_GATE_FINDINGS_H

#include <stdio.h>

#include "base/printable.h"
#include "gate/judge.h"
#include "gate/speed.h"

enum { HR_GATE_TEXT = 640 };

/* Of one strategy, beside what was judged. */
struct hr_gate_more {
    struct hr_gate_ratio ratio[HR_GATE_CLOCKS]; /* means NaN: not measured */
    char where[HR_GATE_TEXT];                   /* its bits part; "" */
    char untimed[200];                          /* why its speed is not judged; "" */
};

struct hr_gate_findings {
    const struct hr_gate_document *baseline;
    const struct hr_gate_judgement *judgement;
    const struct hr_gate_more *more; /* (judgement->n) */
    bool timed;                      /* ratios were measured, and are judged */
    size_t pairs;
    double slower; /* what is allowed: 0.2 */
};

/* On all: failed, where one is; else not judged, where one is not, or there is none. */
enum hr_gate_verdict hr_gate_verdict_of_all(const struct hr_gate_findings *findings);

/* A label as it is printed: nothing that a terminal obeys, and of 60 bytes at most. */
struct hr_printable hr_gate_label(const char *label);

/* "ps-sync: 3 of 5 seeds have other bits, first 1; equal at step 12, ...": why a strategy has not
 * passed; "" where it has. Returns text. */
const char *hr_gate_reason(const struct hr_gate_findings *findings, size_t i, char *text,
                           size_t size);
/* "gate: FAILED: ps-sync (digests), ssp (accuracy); 3 of 5 strategies passed". Returns text. */
const char *hr_gate_summary(const struct hr_gate_findings *findings, char *text, size_t size);

/* The page for people, in 80 columns; the summary is its last line. */
void hr_gate_print(FILE *out, const struct hr_gate_findings *findings);
/* Annotations of GitHub: a line for each strategy that has not passed. */
void hr_gate_annotate(FILE *out, const struct hr_gate_findings *findings);
/* JUnit's XML, malloc'd; a test case for each strategy and what it is judged by. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_gate_junit(const struct hr_gate_findings *findings, char **text,
                                        size_t *bytes);
/* {"gate": {...}}: help json names the fields. NULL: no memory. */
json_t *hr_gate_json(const struct hr_gate_findings *findings);

#endif
