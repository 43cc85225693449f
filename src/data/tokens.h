/* tokens.h - windows of a text (hogring/data.h: hr_tokens), and what a token is.
 *
 * A split of n tokens has (n - 1) / context windows, whose last tokens have a next one each. In
 * training each pass begins its windows at another offset, 0 to context - 1 by Philox; the window
 * that would then reach over the end of the split ends with it instead.
 *
 *     bytes    a byte of the text                              256 tokens
 *     chars    a character of UTF-8, those of the text in the order of their code points
 *     numbers  as a file has them (npy, .bin): of what they stand for nothing is known
 *
 * A model keeps it as its recipe (hr_dataset.recipe): {"tokens": "chars", "points": [10, 32]}, and
 * other texts are read by that.
 *
 * Threads: pure functions, but for hr_vocabulary_*, which allocate.
 * Test: tests/unit/data/test_tokens.c
 */
#ifndef HR_DATA_TOKENS_H
#define HR_DATA_TOKENS_H

#include "base/error.h"
#include "data/bytes.h"
#include "hogring/data.h"

enum hr_vocabulary_kind { HR_VOCABULARY_BYTES, HR_VOCABULARY_CHARS, HR_VOCABULARY_NUMBERS };

struct hr_vocabulary {
    enum hr_vocabulary_kind kind;
    size_t count;     /* of tokens; of numbers the largest + 1 */
    uint32_t *points; /* chars: (count) ascending code points; owned */
};

/* bytes, chars; HR_E_USAGE lists them. */
HR_CHECKED enum hr_status hr_vocabulary_parse(const char *word, enum hr_vocabulary_kind *out);
const char *hr_vocabulary_name(enum hr_vocabulary_kind kind); /* bytes, chars, numbers */
/* The characters of a text. HR_E_FORMAT: not UTF-8, with the place. */
HR_CHECKED enum hr_status hr_vocabulary_of_text(const char *name, const struct hr_array *text,
                                                struct hr_vocabulary *out);
/* What a model says; HR_E_FORMAT: nothing of this kind. */
HR_CHECKED enum hr_status hr_vocabulary_read(const char *recipe, struct hr_vocabulary *out);
/* free(*out). HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_vocabulary_write(const struct hr_vocabulary *vocabulary, char **out);
void hr_vocabulary_free(struct hr_vocabulary *vocabulary);

/* Bytes of a number that each of its tokens fits. */
size_t hr_vocabulary_width(const struct hr_vocabulary *vocabulary);
/* Add the tokens of a text to `ids`. HR_E_FORMAT: a character that the vocabulary lacks, or no
 * UTF-8. */
HR_CHECKED enum hr_status hr_vocabulary_encode(const struct hr_vocabulary *vocabulary,
                                               const char *name, const char *text, size_t bytes,
                                               struct hr_array *ids);
/* *out (count) how many bytes of text each token is; NULL: not known. free(*out). HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_vocabulary_bytes(const struct hr_vocabulary *vocabulary,
                                              uint8_t **out);
/* A token as it is written, bytes (at most 16) out, and how many; of numbers "17 ". */
size_t hr_vocabulary_decode(const struct hr_vocabulary *vocabulary, uint32_t token, char *out);

/* Tokens [first, end) as a split. */
struct hr_split hr_tokens_split(const struct hr_tokens *tokens, size_t first, size_t end);

/* Bytes of text that are predicted of a split: those of its windows' tokens but the first, and of
 * the one behind the last window. 0: not known. */
size_t hr_tokens_bytes(const struct hr_tokens *tokens, const struct hr_split *split);

/* Tokens that are measured on, at most, of all that are held out: whole windows of about
 * eval_tokens, and the one behind them. */
size_t hr_tokens_measured(const struct hr_data_options *options);

/* How far the windows of a pass are moved. */
size_t hr_tokens_offset(const struct hr_tokens *tokens, uint64_t seed, uint64_t pass);

/* As hr_dataset_gather, of windows that are moved. */
void hr_tokens_gather(const struct hr_tokens *tokens, const struct hr_split *split,
                      const uint32_t *samples, size_t n, size_t offset, float *x, uint32_t *y);

#endif
