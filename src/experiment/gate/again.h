/* again.h - the command line that runs a baseline again: what was given then, but for where its
 * outputs went.
 *
 *     struct hr_gate_words words;
 *     HR_TRY(hr_gate_take_given(&baseline, NULL, false));
 *     HR_TRY(hr_gate_words_of(&baseline, &words));
 *     HR_TRY(hr_gate_words_set(&words, "max-steps", "40"));     in place of what it says, or more
 *     ... words.word[0 .. words.n), behind a binary ...
 *     hr_gate_words_free(&words);
 *
 * Threads: none. Test: tests/unit/gate/test_again.c
 */
#ifndef HR_GATE_AGAIN_H
#define HR_GATE_AGAIN_H

#include <stdint.h>

#include "gate/document.h"

enum { HR_GATE_WORDS_MAX = 256 };

struct hr_gate_words {
    char *word[HR_GATE_WORDS_MAX]; /* (n) owned: "compare", "--lr=0.1", "--normalize" */
    size_t n;
};

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
