/* train_options.h - the rows of struct hr_train_options and of struct hr_data_options, and what
 * follows from them for the library.
 *
 * Threads: constants and pure functions.
 * Test: tests/unit/options/test_option.c, tests/unit/train/test_replay_attacks.c
 */
#ifndef HR_OPTIONS_TRAIN_OPTIONS_H
#define HR_OPTIONS_TRAIN_OPTIONS_H

#include <stdbool.h>

#include "hogring/data.h"
#include "hogring/train.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "options/option.h"

extern const struct hr_option_list hr_train_lists[];
extern const size_t hr_train_nlists;
extern const struct hr_option_list hr_data_lists[];
extern const size_t hr_data_nlists;

/* The i-th row, NULL past the end. */
const struct hr_option *hr_train_option_at(size_t i);
const struct hr_option *hr_data_option_at(size_t i);
/* NULL: there is none of that name. */
const struct hr_option *hr_train_option_find(const char *name);

/* "step:5,0.1" of lr-schedule, cut: its value, and of each parameter the row and what is said ("":
 * nothing). A value without parameters stays whole, and so does one of an option that has none. */
enum { HR_PARAMETERS = 4 };
struct hr_parameters {
    const char *value; /* borrowed, or in `copy` */
    size_t n;
    const struct hr_option *row[HR_PARAMETERS];
    const char *text[HR_PARAMETERS]; /* of a switch "on" */
    char copy[HR_PATH_MAX];
};
/* HR_E_USAGE: more are said than there are, or a switch by another word than its own. */
HR_CHECKED enum hr_status hr_parameters_cut(const struct hr_option *row, const char *value,
                                            const char *where, struct hr_parameters *out);
/* The k-th of such a value (up to a colon); NULL: it has no more. */
const struct hr_option *hr_parameter_at(const struct hr_option *row, const char *value, size_t k);
/* An option with its value, as one types it: "--lr 0.1", "--lr-schedule step:,0.1". */
struct hr_option_name hr_option_said(const struct hr_option *row, const char *value);

/* HR_E_USAGE: one is outside of its range, or none of the words that there are. */
HR_CHECKED enum hr_status hr_train_options_check(const struct hr_train_options *options,
                                                 bool sparse);

/* What a caller's options say, whatever the size that it knows: *own is all that there is here,
 * with defaults for what is beyond. HR_E_USAGE: they have no size, or say more. */
HR_CHECKED enum hr_status hr_train_options_take(const struct hr_train_options *given,
                                                struct hr_train_options *own);

/* Does the run outlive ranks that are lost (--on-loss)? */
bool hr_train_outlives(const struct hr_train_options *options);

/* May a file that somebody else may have made (a checkpoint, a trace, a baseline) decide it? What
 * is trained, how, and the data that are read; never where anything is written, nor how long or how
 * large a run may be, which is for the command line alone. `begins`: also what a run begins with,
 * which is behind those that go on from its checkpoints. */
bool hr_option_is_recipe(const struct hr_option *row, bool begins);

/* What such a file says beyond that is passed over, and said by name: in one line, or in several
 * where there are many. Begin with {.of = the file, .level}. */
struct hr_passed_over {
    const char *of; /* borrowed */
    enum hr_log_level level;
    char names[600];
};
void hr_passed_over_add(struct hr_passed_over *over, const char *name);
void hr_passed_over_say(struct hr_passed_over *over);

/* The rate of such a sparse model where none is given. */
double hr_sparse_usual_rate(const char *model);

/* Does it hold for runs that go on from this one's checkpoints? */
bool hr_option_is_saved(const struct hr_option *row, bool sparse);

/* {"strategy": "ssp", "staleness": 3, ...}: the rows that decide. NULL: no memory, or a text is not
 * UTF-8. */
json_t *hr_train_options_json(const struct hr_train_options *options);

/* Put what such an object says into *options; what it does not name stays. Unknown names, names
 * that do not decide, and values that do not fit their field are HR_E_FORMAT; what values mean is
 * for hr_train to check. */
HR_CHECKED enum hr_status hr_train_options_from_json(const json_t *object,
                                                     struct hr_train_options *options);

/* The same of data, for a trace of that name (limits are passed over, and said). */
json_t *hr_data_options_json(const struct hr_data_options *options);
HR_CHECKED enum hr_status hr_data_options_from_json(const json_t *object, const char *of,
                                                    struct hr_data_options *options);

/* Of a network: do the same options give the same bits again? Not where the order of messages in
 * real time decides; nor where a rank is lost on the way. */
bool hr_train_repeats(const struct hr_train_options *o);
/* Does another order of events change the bits, in virtual time that of other compute times? */
bool hr_train_has_orders(const struct hr_train_options *o);

/* --- what labels are ---
 * Classes, or with --task regress values to predict. What follows from it
 * for other options is resolved here.
 *
 * Test: tests/cli/regress.bats */

static inline bool hr_task_is_regress(const struct hr_train_options *options)
{
    return options->task[0] == 'r';
}

/* --target and --model linear ask for --task regress, and that is how data are to be read. */
void hr_task_resolve(struct hr_train_options *options, struct hr_data_options *data);

/* --loss auto becomes that of the task. */
void hr_task_complete(struct hr_train_options *options);

/* Of complete options of a network. Losses in one unit have one text: "cross-entropy:0.1", with how
 * values are scaled. */
enum { HR_LOSS_TEXT_MAX = 64 };
void hr_train_loss_text(const struct hr_train_options *o, char text[HR_LOSS_TEXT_MAX]);

#endif
