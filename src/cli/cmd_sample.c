/* hogring sample - a language model goes on with a text. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/pipe.h"
#include "base/signals.h"
#include "cli/commands.h"
#include "json/value.h"
#include "sample/sample.h"
#include "terminal/output.h"

enum { PROMPT_MAX = 64 << 20 }; /* bytes of stdin */

struct sampling {
    const struct hr_cli *cli;
    struct hr_generator *by;
    char *prompt; /* owned */
    size_t bytes;
    json_t *samples; /* NULL: nobody wants them */
    bool unheard;    /* whoever read stdout has gone */
};

/* A terminal gets what is safe for it, at once; all else the bytes as they are. */
static enum hr_status put(struct sampling *s, const char *text, size_t bytes)
{
    if (!hr_cli_speaks(s->cli) || s->unheard)
        return HR_OK;
    if (isatty(STDOUT_FILENO)) {
        fwrite(text, 1, bytes, stdout);
        fflush(stdout);
        return HR_OK;
    }
    s->unheard = !hr_write_all(STDOUT_FILENO, text, bytes);
    return s->unheard && errno != EPIPE ? hr_fail_errno(HR_E_IO, "stdout cannot be written")
                                        : HR_OK;
}

/* Each token to stdout, and to what JSON is made of. */
static enum hr_status draw(struct sampling *s, uint32_t sample, FILE *text, json_t **tokens)
{
    const struct hr_sampling rule = {s->cli->temperature, s->cli->top_k, s->cli->shape.seed,
                                     sample};
    char piece[HR_TOKEN_TEXT], last = '\0';
    for (size_t i = 0; i < s->cli->tokens && !(s->unheard && !s->samples); i++) {
        uint32_t token;
        if (hr_signals_exit_code())
            return hr_fail(HR_E_INTERRUPTED, "interrupted behind %zu tokens", i);
        HR_TRY(hr_generator_next(s->by, &rule, &token));
        const size_t bytes = hr_generator_text(s->by, token, piece);
        last = piece[bytes - 1];
        fwrite(piece, 1, bytes, text);
        if (s->samples)
            hr_json_append(tokens, json_integer(token));
        HR_TRY(put(s, piece, bytes));
    }
    return last == '\n' ? HR_OK : put(s, "\n", 1);
}

static enum hr_status one_sample(struct sampling *s, uint32_t sample)
{
    char *text = NULL;
    size_t bytes;
    json_t *tokens = s->samples ? json_array() : NULL;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return hr_fail(HR_E_NOMEM, "no memory for a text");
    enum hr_status status = hr_generator_prompt(s->by, "--prompt", s->prompt, s->bytes);
    if (status != HR_OK && !s->cli->prompt[0])
        status = hr_fail(HR_E_USAGE, "--prompt: the model knows no newline to begin behind; "
                                     "expected what the text begins with");
    if (status == HR_OK && sample)
        status = put(s, "\n", 1);
    if (status == HR_OK && s->cli->prompt[0])
        status = put(s, s->prompt, s->bytes);
    if (status == HR_OK)
        status = draw(s, sample, out, &tokens);
    fclose(out);
    if (status == HR_OK && s->samples)
        hr_json_append(&s->samples,
                       hr_json_object("text", HR_JSON(text), "tokens", json_incref(tokens), NULL));
    json_decref(tokens);
    free(text);
    return status;
}

static json_t *document(const struct sampling *s)
{
    const struct hr_cli *cli = s->cli;
    const struct hr_generator_about about = hr_generator_about(s->by);
    return hr_json_object("checkpoint", HR_JSON(about.checkpoint), "model", HR_JSON(about.model),
                          "step", HR_JSON(about.step), "context", HR_JSON(about.context),
                          "vocabulary", HR_JSON(about.tokens), "temperature",
                          HR_JSON(cli->temperature), "top_k", HR_JSON(cli->top_k), "seed",
                          HR_JSON(cli->shape.seed), "prompt", HR_JSON(s->prompt), "samples",
                          json_incref(s->samples), NULL);
}

static enum hr_status all_samples(struct sampling *s)
{
    HR_TRY(hr_generator_open(s->cli->positional[0], &s->by));
    for (size_t i = 0; i < s->cli->count && !(s->unheard && !s->samples); i++)
        HR_TRY(one_sample(s, (uint32_t)i));
    return s->samples ? hr_json_write(s->cli->json, document(s)) : HR_OK;
}

static enum hr_status take_prompt(struct sampling *s)
{
    const char *given = s->cli->prompt;
    if (!strcmp(given, "-"))
        return hr_pipe_read_all("/dev/stdin", PROMPT_MAX, &s->prompt, &s->bytes);
    s->prompt = strdup(given[0] ? given : "\n");
    if (!s->prompt)
        return hr_fail(HR_E_NOMEM, "no memory for a prompt");
    s->bytes = strlen(s->prompt);
    return HR_OK;
}

static enum hr_status check_ranges(const struct hr_cli *cli)
{
    static const char *const names[] = {"tokens", "temperature", "count"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        HR_TRY(hr_cli_check(cli, HR_SAMPLE, names[i]));
    return HR_OK;
}

static enum hr_status sample(const struct hr_cli *cli)
{
    struct sampling s = {.cli = cli};
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "sample: which checkpoint? (hogring sample DIR)");
    HR_TRY(check_ranges(cli));
    s.samples = cli->json[0] ? json_array() : NULL;
    hr_output_fold(true, true); /* the text has lines of its own */
    enum hr_status status = take_prompt(&s);
    if (status == HR_OK)
        status = all_samples(&s);
    hr_generator_close(s.by);
    json_decref(s.samples);
    free(s.prompt);
    return status;
}

static int run(struct hr_cli *cli)
{
    const enum hr_status status = sample(cli);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_sample = {
    .name = "sample",
    .summary = "let a language model continue a text",
    .bit = HR_SAMPLE,
    .usage = "CHECKPOINT [OPTIONS]",
    .story =
        "Prints the prompt, then each token as soon as it is drawn: bytes as they are (a\n"
        "terminal shows '?' for control characters), numbers if the text of tokens is not\n"
        "known. The same command gives the same text. A model sees at most the context that it\n"
        "was trained with; when that is full, its last half is kept, and the text continues.\n",
    .examples = "  hogring sample runs/words\n"
                "  hogring sample runs/kjv --prompt 'In the beginning' --tokens 500\n"
                "  hogring sample runs/words --temperature 0 --prompt 'un'\n"
                "  hogring sample runs/words --count 5 --seed 7 --json samples.json\n"
                "  head -c 200 new.txt | hogring sample runs/kjv --prompt -\n",
    .run = run,
};
