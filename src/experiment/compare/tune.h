/* tune.h - compare --tune: each entry chooses its values before it is compared.
 *
 * The validation split takes the place of the test split in the data that trials are given
 * (data/held_out.h): no trial can reach the test set. Trials have seeds that are not judged: trial
 * seed j of --seed S is S + 2^32 + j. Every entry may spend the same, in samples, updates or
 * seconds, whatever runs are measured in; how it is spent is search/halving.h.
 *
 * Threads: the launcher's alone. Test: tests/cli/tune.bats
 */
#ifndef HR_COMPARE_TUNE_H
#define HR_COMPARE_TUNE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "compare/compare.h"
#include "options/metric.h"
#include "stats/tests.h"

/* --- what was tried, and chosen --- */

enum {
    HR_TUNED_OPTIONS = 8,
    HR_TUNED_UPDATES = 30, /* of a trial of a bare --tune at least: fewer tell little of a rate */
};

struct hr_tuned_trial {
    size_t candidate, rung;
    uint64_t seed;
    double budget;             /* in the tuning's unit */
    uint64_t samples, updates; /* trained on, made */
    char digest[33];           /* of its weights */
    double seconds;            /* of the run's clock; NaN: it diverged, and does not say */
    double score, loss;        /* on the validation split; NaN: it diverged */
};

/* A value of each tuned option; NaN: it means nothing to this entry, or the entry has its own. */
struct hr_tuned_candidate {
    double value[HR_TUNED_OPTIONS];
    double score;     /* mean of its last rung; NaN: it diverged there, or was not tried */
    size_t trials;    /* in all */
    uint64_t samples; /* of these */
};

struct hr_tuned_entry {
    const char *label, *strategy;
    char setting[640];   /* the entry of --strategies that makes it again: "ssp:lr=0.02" */
    const char *same_as; /* the label of an earlier entry that is the same, or has the same weights
                            bit for bit, and whose choice is taken; NULL: it has searched */
    size_t ncandidates, chosen;
    struct hr_tuned_candidate *candidate; /* (ncandidates) owned */
    bool diverged;                        /* all of them did */
    bool widened;                         /* the best lay at an edge, and more was tried there */
    size_t rival;            /* the other of the last round; the chosen one: there is none left */
    struct hr_paired choice; /* chosen against rival, over the seeds of the last round */
    size_t ntrials;
    struct hr_tuned_trial *trial; /* (ntrials) owned */
    uint64_t samples;
    int edge[HR_TUNED_OPTIONS]; /* of the choice: 1 the largest tried, -1 the smallest; else 0 */
};

struct hr_tuning {
    bool usual; /* a bare --tune */
    size_t noptions;
    const char *option[HR_TUNED_OPTIONS];
    enum hr_metric metric;
    const char *unit; /* of budgets: samples, updates, seconds */
    double longest;   /* the longest trial of the first entry: a whole run */
    double total;     /* what each entry may spend ... */
    double wider;     /* ... and once more, where the best lies at an edge */
    double fraction;  /* of the training samples, held out; 0: a file's */
    bool by_default;  /* nobody asked for that fraction */
    size_t validation_samples;
    double took_s; /* by the machine's clock */
    uint64_t first_seed, last_seed;
    size_t nentries;
    struct hr_tuned_entry *entry; /* (nentries) owned */
};

/* --- the search --- */

/* HR_E_USAGE: --tune or --tune-budget cannot be what they are, or mean nothing beside others.
 * Before the data are read. */
HR_CHECKED enum hr_status hr_tune_check(const struct hr_cli *cli);

/* How many trainings a bare --tune makes at most for an entry of the runs, each as long as the one
 * that is compared; all entries may spend the same. */
size_t hr_tune_trainings(const struct hr_cli *cli, const struct hr_compare_runs *runs);

/* Where --tune asks for it: try, choose, and put the choice into the options of all runs of each
 * entry. tuning (zeroed) tells of it, and borrows from runs; free it. A trial that diverges is
 * data; any other that fails is an error. HR_E_INTERRUPTED. */
HR_CHECKED enum hr_status hr_tune(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                  struct hr_compare_runs *runs, struct hr_tuning *tuning);

/* --- shown: in sentences, and for JSON (tuning.c) --- */

void hr_tuning_free(struct hr_tuning *tuning);

/* "lr 0.02, momentum 0.9"; "as it is": nothing is tuned of it. */
void hr_tuning_values(const struct hr_tuning *tuning, const struct hr_tuned_candidate *candidate,
                      const char *between, char *text, size_t size);

/* How sure the choices were, in a sentence: who chose by more than chance, and who did not. */
enum { HR_TUNING_SURE_MAX = 600 };
const char *hr_tuning_sure(const struct hr_tuning *tuning, char text[HR_TUNING_SURE_MAX]);

/* Has each entry a learning rate that the search chose? */
bool hr_tuning_chose_rates(const struct hr_tuning *tuning);

/* Choices at an edge, and what all rows of the table have in common, since it shows only what they
 * have not; with details all that was chosen, how sure it was, and how to have it again. */
void hr_tuning_print(FILE *out, const struct hr_tuning *tuning, bool details);

/* "tuning" of a document. */
json_t *hr_json_tuning(const struct hr_tuning *tuning);

#endif
