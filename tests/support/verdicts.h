/* verdicts.h - verdicts on made-up runs, and what they say. */
#ifndef HR_TESTS_SUPPORT_VERDICTS_H
#define HR_TESTS_SUPPORT_VERDICTS_H

#include "support/capture.h"
#include "support/check.h"
#include "support/sample_runs.h"
#include "verdict/verdict.h"

static inline char *verdict(const struct hr_run_result *runs, size_t n, double target)
{
    struct capture capture;
    capture_begin(&capture);
    hr_verdict_print(capture.out, runs, n,
                     (struct hr_verdict_request){.target = {hr_metric_of_run(runs), target}}, true,
                     0);
    return capture_end(&capture);
}

static inline void expect(char *text, const char *want, bool there)
{
    if (!strstr(text, want) == there)
        fail_msg("\"%s\" is %s in:\n%s", want, there ? "not" : "wrongly", text);
}

/* Three seeds each: accuracies base - step, base, base + step, in an order of the strategy's own,
 * so that differences vary too. */
static inline void fill(struct hr_run_result *runs, const char *strategy, double base, double step)
{
    const size_t turn = !strcmp(strategy, "hogwild") ? 1 : !strcmp(strategy, "ssp") ? 2 : 0;
    for (uint64_t seed = 1; seed <= 3; seed++)
        runs[seed - 1] =
            sample_run(strategy, seed, base + step * ((double)((seed + turn) % 3) - 1));
}

#endif
