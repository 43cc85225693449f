/* sample.h - a language model goes on with a text, one token at a time.
 *
 *     struct hr_generator *s;
 *     uint32_t token;
 *     char text[HR_TOKEN_TEXT];
 *     HR_TRY(hr_generator_open("runs/words", &s));
 *     HR_TRY(hr_generator_prompt(s, "--prompt", "hel", 3));
 *     for (size_t i = 0; i < 200; i++) {
 *         HR_TRY(hr_generator_next(s, &rule, &token));
 *         fwrite(text, 1, hr_generator_text(s, token, text), stdout);
 *     }
 *     hr_generator_close(s);
 *
 * Window: a model that was trained on a context of T tokens sees at most T. When as many are there
 * and one more comes, the last T / 2 (rounded down) stay, at the beginning of the window, and the
 * new one stands behind them; the prompt goes the same way. So each token is predicted from T / 2
 * to T of those before it, and half of the time keys and values of all of them are kept: a token
 * costs one place, and every T / 2 tokens T / 2 more.
 *
 * Choice: temperature 0 takes the token with the largest output, of equals the first. Else
 *
 *     p = softmax(outputs / temperature) over the top_k largest outputs (0: all; of equals the
 *         first tokens)
 *
 * and token n of sample i behind the prompt is where p, added up from the largest on (with top_k 0
 * in the order of tokens), first exceeds u, of 53 bits, by Philox of (seed, n, i). So a text is a
 * function of checkpoint, prompt and rule, and of the machine as far as outputs are.
 *
 * Outputs are to the bit those that hr_model_forward has for the window, in the model's precision.
 *
 * Errors: HR_E_IO, HR_E_FORMAT, HR_E_USAGE, HR_E_NOMEM; HR_E_FAILED: outputs are not finite.
 * Threads: one call at a time, in one thread, whose denormals are flushed.
 * Test: tests/unit/sample/test_sample.c
 */
#ifndef HR_SAMPLE_SAMPLE_H
#define HR_SAMPLE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { HR_TOKEN_TEXT = 16 }; /* bytes of a token, at most */

struct hr_generator;

struct hr_sampling {
    double temperature; /* 0 or more */
    size_t top_k;
    uint64_t seed;
    uint32_t sample; /* i */
};

/* Of a checkpoint, or the latest of a folder. HR_E_FORMAT: it is of no text.
 *   out  close with hr_generator_close */
HR_CHECKED enum hr_status hr_generator_open(const char *path, struct hr_generator **out);
void hr_generator_close(struct hr_generator *generator); /* NULL: nothing */

/* Forget what there was, and begin with this text (a 0 behind it) of at least one token; of a model
 * of numbers "17 4 9". name: for messages. HR_E_FORMAT: the model does not know some of it. */
HR_CHECKED enum hr_status hr_generator_prompt(struct hr_generator *generator, const char *name,
                                              const char *text, size_t bytes);

/* The next token, which the text then has. */
HR_CHECKED enum hr_status hr_generator_next(struct hr_generator *generator,
                                            const struct hr_sampling *rule, uint32_t *token);

/* A token's text, bytes out (of numbers "17 "), and how many. Of bytes it need not be UTF-8. */
size_t hr_generator_text(const struct hr_generator *generator, uint32_t token,
                         char out[HR_TOKEN_TEXT]);

/* What it is: valid until it is closed. */
struct hr_generator_about {
    const char *checkpoint, *model; /* its path, its layers */
    uint64_t step;
    size_t context, tokens; /* T, and how many different ones there are */
};
struct hr_generator_about hr_generator_about(const struct hr_generator *generator);

#endif
