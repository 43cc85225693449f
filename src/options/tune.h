/* tune.h - what --tune NAME=VALUES asks to be tried, before it is compared.
 *
 *     lr=0.005:0.5       a range: 8 values, both ends among them, each as many times the one before
 *                        (two digits of each; whole numbers where the option counts)
 *     lr=0.005:0.5:12    so many values
 *     momentum=0,0.9     a list
 *
 * Given several times, or with ; between: every combination is a candidate. Options that take
 * numbers, and that an entry of --strategies may have, but none of a run's length.
 *
 * Test: tests/unit/options/test_tune.c, tests/cli/tune.bats
 */
#ifndef HR_OPTIONS_TUNE_H
#define HR_OPTIONS_TUNE_H

#include <string.h>

#include "options/command_line.h"

/* tuned becomes cli, and what is tuned its axes in place of those with lists (sweep.h): points of
 * the sweep are candidates. HR_E_USAGE says what cannot be tuned, or not so. */
HR_CHECKED enum hr_status hr_tune_axes(const struct hr_cli *cli, struct hr_cli *tuned);

/* A bare --tune: cli->tune is HR_TUNE_USUAL. Each entry has axes of its own then: lr and, where it
 * is another one, momentum. */
#define HR_TUNE_USUAL "auto"
static inline bool hr_tune_is_usual(const struct hr_cli *cli)
{
    return !strcmp(cli->tune, HR_TUNE_USUAL);
}

/* Those of a run with these options: eight rates around its own, each twice the one before, and
 * momentum 0 beside its own. */
HR_CHECKED enum hr_status hr_tune_usual_axes(const struct hr_cli *cli,
                                             const struct hr_train_options *options,
                                             struct hr_cli *tuned);

#endif
