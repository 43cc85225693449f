/* document.h - a baseline: what --json of an earlier train, compare or simulate wrote.
 *
 * Every sentence of an error names the file, what was found and what was expected. What a document
 * of an earlier version lacks is no error here: whoever needs it says so.
 *
 * Threads: none. Test: tests/unit/gate/test_document.c
 */
#ifndef HR_GATE_DOCUMENT_H
#define HR_GATE_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

enum { HR_GATE_RUNS_MAX = 4096 };

struct hr_gate_document {
    const char *name; /* of the file; borrowed */
    json_t *json;     /* owned */
    json_t *labels;   /* owned: {label: {seed: its run}}, in their order; of hr_gate_check */
};

/* Read and check a file; hr_gate_document_free it. HR_E_IO; HR_E_FORMAT: not JSON, of another
 * program or command, of a later version, without runs, with runs that failed or were interrupted,
 * with one label and seed twice, or without what a run is judged by. `fresh`: runs may have failed,
 * which is then what is judged. */
HR_CHECKED enum hr_status hr_gate_read(const char *path, bool fresh, struct hr_gate_document *out);
/* The same checks of one that is in memory; only behind them its runs are found. */
HR_CHECKED enum hr_status hr_gate_check(struct hr_gate_document *document, bool fresh);
void hr_gate_document_free(struct hr_gate_document *document);

/* "train", "compare" or "simulate"; "": it does not say. */
const char *hr_gate_command(const struct hr_gate_document *document);

/* --- a run of one --- */

size_t hr_gate_nruns(const struct hr_gate_document *document);
const json_t *hr_gate_run_at(const struct hr_gate_document *document, size_t i);
/* Those of a label by their seeds, {seed: run}; NULL: none. */
const json_t *hr_gate_runs_of(const struct hr_gate_document *document, const char *label);
/* The run of that label and seed (as text); NULL: there is none. */
const json_t *hr_gate_run_find(const struct hr_gate_document *document, const char *label,
                               const char *seed);

/* What is said of that label's and seed's failed run; NULL: nothing. Labels of failed runs lack
 * what only a run knows, as "direct" of "allreduce direct". */
const char *hr_gate_failure(const struct hr_gate_document *document, const char *label,
                            const char *seed);

/* The seed as digits: numbers beyond 2^63 - 1 are strings in JSON. */
void hr_gate_seed(const json_t *run, char text[24]);

/* --- the command line that runs it again: what was given then, but for where outputs went ---
 * struct hr_gate_words words;
 *     HR_TRY(hr_gate_take_given(&baseline, NULL, false));
 *     HR_TRY(hr_gate_words_of(&baseline, &words));
 *     HR_TRY(hr_gate_words_set(&words, "max-steps", "40"));     in place of what it says, or more
 *     ... words.word[0 .. words.n), behind a binary ...
 *     hr_gate_words_free(&words);
 *
 * Test: tests/unit/gate/test_again.c */

enum { HR_GATE_WORDS_MAX = 256 };

struct hr_gate_words {
    char *word[HR_GATE_WORDS_MAX]; /* (n) owned: "compare", "--lr=0.1", "--normalize" */
    size_t n;
};

/* As one types them: "compare --lr=0.1 --lr-schedule=step:1,0.1", cut to what fits. */
void hr_gate_words_say(const struct hr_gate_words *words, char *text, size_t size);

/* Leave in the document, of what was given, that which a file decides (train_options.h), in entries
 * of --strategies, too: gate writes nothing but its own. What else it says is said once, by name.
 * limits: options that the gate's own command line gives instead, {"timeout": "60s"}; NULL: none.
 * quiet: where the baseline's JSON went is not worth a word.
 * HR_E_FORMAT: the document does not say what was given (earlier versions did not), or says what is
 * no option. HR_E_USAGE: it cannot be repeated: it went on from a checkpoint, was recorded, or
 * ended by the clock. */
HR_CHECKED enum hr_status hr_gate_take_given(struct hr_gate_document *document,
                                             const json_t *limits, bool quiet);
/* Of a document behind hr_gate_take_given. */
HR_CHECKED enum hr_status hr_gate_words_of(const struct hr_gate_document *document,
                                           struct hr_gate_words *out);
/* An option becomes that value, whether it was there or not; NULL: it goes. */
HR_CHECKED enum hr_status hr_gate_words_set(struct hr_gate_words *words, const char *name,
                                            const char *value);
/* One seed of it, as far as a step (0: to its end), with digests every so many steps (0: none). */
HR_CHECKED enum hr_status hr_gate_words_cut(struct hr_gate_words *words, const char *seed,
                                            uint64_t step, uint64_t every);
void hr_gate_words_free(struct hr_gate_words *words);

#endif
