/* space.h - which policies are searched: --search "strategy=allreduce,ssp;staleness=1,4".
 *
 * Each option has a list of values; a policy is one value of each. A value that means nothing to
 * its strategy is left out of it: allreduce is one policy, whatever stalenesses there are.
 *
 * Threads: none. Test: tests/unit/policy/test_space.c
 */
#ifndef HR_POLICY_SPACE_H
#define HR_POLICY_SPACE_H

#include "options/command_line.h"

enum { HR_POLICY_LABEL = 128, HR_POLICY_MOST = 4096 };

struct hr_policy_space {
    size_t points;                    /* combinations of values, */
    size_t n;                         /* and those that differ in what they mean */
    struct hr_train_options *options; /* (n) owned */
    char (*label)[HR_POLICY_LABEL];   /* (n) owned: "ssp staleness=4" */
    char left_out[600]; /* "staleness means nothing to allreduce, ps-async; ..."; "" */
    size_t nrefused;    /* policies that cannot be, which are gone; */
    char refused[500];  /* the first of them, and why */
};

/* Read cli->search on top of the other options. HR_E_USAGE: a piece that does not parse, an option
 * that is given too or is one for all, a policy whose options mean nothing together; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_policy_space_read(const struct hr_cli *cli,
                                               struct hr_policy_space *space);
/* Those that a run would refuse (HR_E_USAGE) are left out, as a number of servers that a strategy
 * does not take. HR_E_USAGE: all are; or what else a run would end with. */
HR_CHECKED enum hr_status hr_policy_space_check(struct hr_policy_space *space,
                                                const struct hr_dataset *dataset);
void hr_policy_space_free(struct hr_policy_space *space);

#endif
