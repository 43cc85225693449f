/* Delay models, read: see delay.h for the grammar. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"
#include "netsim/delay.h"

enum { MAX_ARGUMENT = 64, LARGEST_FILE = 64 << 20 };

/* Larger values are taken for a mistake. */
static const double most_time_s = 24 * 3600.0, most_sigma = 5, most_shape = 1000;

bool hr_ps_parse(const char *text, int64_t *ps)
{
    double seconds;
    if (!hr_parse_duration(text, &seconds) || seconds > most_time_s)
        return false;
    *ps = llround(seconds * 1e12);
    return true;
}

/* --- models that are a name and arguments */

struct form {
    const char *name;
    enum hr_delay_kind kind;
    int narguments;
    const char *expected;
};

static const struct form forms[] = {
    {"constant", HR_DELAY_CONSTANT, 1, "constant(TIME), as constant(10ms)"},
    {"uniform", HR_DELAY_UNIFORM, 2, "uniform(LOW, HIGH), as uniform(5ms, 15ms), LOW <= HIGH"},
    {"exponential", HR_DELAY_EXPONENTIAL, 1, "exponential(MEAN), as exponential(10ms)"},
    {"lognormal", HR_DELAY_LOGNORMAL, 2,
     "lognormal(MEDIAN, SIGMA), as lognormal(10ms, 0.3), SIGMA (of the logarithm) 0 to 5"},
    {"pareto", HR_DELAY_PARETO, 2,
     "pareto(MINIMUM, SHAPE), as pareto(10ms, 2.5), SHAPE above 1 and at most 1000"},
};

/* The text between from and end, without the blanks around it. False when it does not fit. */
static bool take_argument(const char *from, const char *end, char out[MAX_ARGUMENT])
{
    while (from < end && isspace((unsigned char)*from))
        from++;
    while (end > from && isspace((unsigned char)end[-1]))
        end--;
    if (end - from >= MAX_ARGUMENT)
        return false;
    snprintf(out, MAX_ARGUMENT, "%.*s", (int)(end - from), from);
    return true;
}

/* Split the text between the brackets into one or two arguments. */
static bool take_arguments(const struct form *form, const char *text,
                           char arguments[2][MAX_ARGUMENT])
{
    const size_t length = strlen(text);
    if (length < 2 || text[0] != '(' || text[length - 1] != ')')
        return false;
    const char *from = text + 1, *end = text + length - 1;
    const char *comma = memchr(from, ',', (size_t)(end - from));
    if ((comma != NULL) != (form->narguments == 2))
        return false;
    return take_argument(from, comma ? comma : end, arguments[0]) &&
           (!comma || take_argument(comma + 1, end, arguments[1]));
}

static bool read_second(const char *text, struct hr_delay *delay)
{
    switch (delay->kind) {
    case HR_DELAY_UNIFORM:
        return hr_ps_parse(text, &delay->high_ps) && delay->high_ps >= delay->time_ps;
    case HR_DELAY_LOGNORMAL:
        return hr_parse_number(text, &delay->shape) && delay->shape <= most_sigma;
    case HR_DELAY_PARETO:
        return hr_parse_number(text, &delay->shape) && delay->shape > 1 &&
               delay->shape <= most_shape;
    default:
        return true;
    }
}

static bool read_form(const struct form *form, const char *text, struct hr_delay *delay)
{
    char arguments[2][MAX_ARGUMENT];
    delay->kind = form->kind;
    return take_arguments(form, text, arguments) && hr_ps_parse(arguments[0], &delay->time_ps) &&
           read_second(arguments[1], delay);
}

/* --- trace:FILE */

/* Copy a line without its comment and blanks to `out`. */
static bool take_line(const char *line, size_t length, char out[MAX_ARGUMENT])
{
    const char *comment = memchr(line, '#', length);
    return take_argument(line, comment ? comment : line + length, out);
}

static enum hr_status add_sample(struct hr_delay *delay, int64_t ps)
{
    /* Doubled whenever the count is a power of two. */
    if ((delay->nsamples & (delay->nsamples - 1)) == 0) {
        const size_t capacity = delay->nsamples ? 2 * delay->nsamples : 1;
        int64_t *larger = realloc(delay->samples, capacity * sizeof *larger);
        if (!larger)
            return hr_fail(HR_E_NOMEM, "%s: no memory for %zu durations", delay->path, capacity);
        delay->samples = larger;
    }
    delay->samples[delay->nsamples++] = ps;
    return HR_OK;
}

static enum hr_status read_samples(const char *text, struct hr_delay *delay)
{
    char word[MAX_ARGUMENT];
    size_t number = 0;
    for (const char *line = text; *line; line += line[0] == '\n') {
        const size_t length = strcspn(line, "\n");
        int64_t ps;
        number++;
        const bool fits = take_line(line, length, word);
        if (!fits || (word[0] && !hr_ps_parse(word, &ps)))
            return hr_fail(HR_E_FORMAT,
                           "%s:%zu: expected one duration with its unit, as 9.8ms or 9800000ns, at "
                           "most 24h",
                           delay->path, number);
        if (word[0] && delay->nsamples == HR_DELAY_SAMPLES)
            return hr_fail(HR_E_FORMAT, "%s:%zu: expected at most %d durations", delay->path,
                           number, HR_DELAY_SAMPLES);
        if (word[0])
            HR_TRY(add_sample(delay, ps));
        line += length;
    }
    return delay->nsamples
               ? HR_OK
               : hr_fail(HR_E_FORMAT, "%s: expected at least one duration", delay->path);
}

static enum hr_status read_trace(const char *path, struct hr_delay *delay)
{
    char *text;
    size_t bytes;
    delay->kind = HR_DELAY_TRACE;
    if (!(delay->path = strdup(path)))
        return hr_fail(HR_E_NOMEM, "%s: no memory for its name", path);
    HR_TRY(hr_file_read_all(path, LARGEST_FILE, &text, &bytes));
    const enum hr_status status = memchr(text, 0, bytes)
                                      ? hr_fail(HR_E_FORMAT, "%s: is not a text file", path)
                                      : read_samples(text, delay);
    free(text);
    return status;
}

/* --- all of them */

static enum hr_status fail_with_all(const char *where, const char *text)
{
    return hr_fail(HR_E_USAGE,
                   "%s%s: expected a time as 10ms (at most 24h), constant(10ms), uniform(5ms, "
                   "15ms), exponential(10ms), lognormal(10ms, 0.3), pareto(10ms, 2.5) or "
                   "trace:FILE",
                   where, text);
}

static enum hr_status parse(const char *where, const char *text, struct hr_delay *delay)
{
    if (!strncmp(text, "trace:", 6) && strlen(text) < HR_PATH_MAX)
        return text[6] ? read_trace(text + 6, delay) : fail_with_all(where, text);
    const size_t name = strcspn(text, "(");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strlen(forms[i].name) == name && !memcmp(forms[i].name, text, name))
            return read_form(&forms[i], text + name, delay)
                       ? HR_OK
                       : hr_fail(HR_E_USAGE, "%s%s: expected %s", where, text, forms[i].expected);
    return hr_ps_parse(text, &delay->time_ps) ? HR_OK : fail_with_all(where, text);
}

enum hr_status hr_delay_parse(const char *where, const char *text, struct hr_delay *out)
{
    struct hr_delay delay = {0};
    const enum hr_status status = parse(where, text, &delay);
    if (status == HR_OK)
        *out = delay;
    else
        hr_delay_fini(&delay);
    return status;
}
