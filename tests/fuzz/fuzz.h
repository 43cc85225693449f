/* fuzz.h - what all fuzzers share: input that is exactly as long as it says.
 *
 * Each fuzz_*.c holds one LLVMFuzzerTestOneInput over a parser's entry point in memory. `make fuzz`
 * builds them with libFuzzer and runs them; test_corpus.c replays tests/fuzz/corpus/X without it.
 */
#ifndef HR_TESTS_FUZZ_FUZZ_H
#define HR_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte of an input chooses among `n` settings; what follows is the file. */
static inline unsigned fuzz_choice(const uint8_t **data, size_t *size, unsigned n)
{
    if (!*size)
        return 0;
    const unsigned choice = **data % n;
    (*data)++;
    (*size)--;
    return choice;
}

/* The input as a string: up to its first zero byte. free() it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
