/* token_file.h - tokens in files: made elsewhere, or by `hogring data make tokens`.
 *
 *     npy     one dimension of uint8, uint16 or uint32, little-endian
 *     .bin    as data_common.py of Karpathy's GPT-2 in C writes them: 256 little-endian int32,
 *             the first of them magic, version 1 and how many tokens follow; magic 20240520: of
 *             uint16, 20240801: of uint32
 *
 * What they stand for says a file beside them, PATH.json, where it is there: a recipe of tokens.h,
 * and with it "length", how many tokens there are. Without it they are numbers.
 *
 * Threads: none. Errors: HR_E_FORMAT with the file, what was found and what was expected.
 * Test: tests/unit/formats/test_text.c, tests/fuzz/fuzz_token_file.c
 */
#ifndef HR_FORMATS_TOKEN_FILE_H
#define HR_FORMATS_TOKEN_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "data/tokens.h"

/* Where the tokens stand: `count` of `width` bytes, from byte `begin` of the content. */
struct hr_token_view {
    size_t begin, count, width;
};

/* By its first bytes, else by its name. */
bool hr_token_file_is(const char *path, const char *head, size_t bytes);

HR_CHECKED enum hr_status hr_token_file_parse(const char *name, const void *memory, size_t bytes,
                                              struct hr_token_view *out);

/* Numbers have count 0: the file does not say how many there may be. hr_vocabulary_free(out). */
HR_CHECKED enum hr_status hr_token_file_meaning(const char *path, size_t length,
                                                struct hr_vocabulary *out);

/* An npy file, replaced, and what is beside it.
 *   ids (length, hr_vocabulary_width) */
HR_CHECKED enum hr_status hr_token_file_write(const char *path, const void *ids, size_t length,
                                              const struct hr_vocabulary *vocabulary);

/* text.c: of a text, or a folder of them, with the vocabulary and lines of the options. */
struct hr_text_packed {
    size_t tokens, vocabulary;
};
HR_CHECKED enum hr_status hr_text_pack(const char *path, const struct hr_data_options *options,
                                       const char *out, struct hr_text_packed *packed);

#endif
