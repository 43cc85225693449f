#include "netsim/delay.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"
#include "base/philox.h"

/* === log, exp and the normal quantile with the same bits everywhere === */

/* ln 2 in two parts; the first has trailing zeros, so that its small multiples are exact. */
static const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

/* a[0] + a[1] x + ... + a[n - 1] x^(n - 1). */
static double polynomial(const double *a, size_t n, double x)
{
    double sum = a[n - 1];
    for (size_t i = n - 1; i-- > 0;)
        sum = sum * x + a[i];
    return sum;
}

/* x = 2^e (1 + f) with 1 + f around 1, and log(1 + f) = 2 artanh(f / (2 + f)), |f / (2 + f)| at
 * most 0.172. */
double hr_portable_log(double x)
{
    static const double series[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                    1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m = m * 2;
        e = e - 1;
    }
    const double f = m - 1, s = f / (2 + f);
    const double small = 2 * s * polynomial(series, sizeof series / sizeof *series, s * s);
    return e * ln2_high + (small + e * ln2_low);
}

/* x = k ln 2 + r, |r| at most ln 2 / 2, and Taylor's series of r. */
double hr_portable_exp(double x)
{
    static const double series[] = {1,
                                    1,
                                    1.0 / 2,
                                    1.0 / 6,
                                    1.0 / 24,
                                    1.0 / 120,
                                    1.0 / 720,
                                    1.0 / 5040,
                                    1.0 / 40320,
                                    1.0 / 362880,
                                    1.0 / 3628800,
                                    1.0 / 39916800,
                                    1.0 / 479001600,
                                    1.0 / 6227020800,
                                    1.0 / 87178291200};
    if (x < -700)
        return 0;
    if (x > 700)
        return DBL_MAX;
    const double k = floor(x * 1.4426950408889634 + 0.5);
    const double r = x - k * ln2_high - k * ln2_low;
    return ldexp(polynomial(series, sizeof series / sizeof *series, r), (int)k);
}

enum { TERMS = 8 };

static double ratio(const double over[TERMS], const double under[TERMS], double r)
{
    return polynomial(over, TERMS, r) / polynomial(under, TERMS, r);
}

static double quantile_centre(double q)
{
    static const double over[TERMS] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                       1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                       4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                       3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double under[TERMS] = {1,
                                        4.2313330701600911252e+1,
                                        6.8718700749205790830e+2,
                                        5.3941960214247511077e+3,
                                        2.1213794301586595867e+4,
                                        3.9307895800092710610e+4,
                                        2.8729085735721942674e+4,
                                        5.2264952788528545610e+3};
    return q * ratio(over, under, 0.180625 - q * q);
}

static double quantile_near(double r)
{
    static const double over[TERMS] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                       5.76949722146069140550e0,  3.64784832476320460504e0,
                                       1.27045825245236838258e0,  2.41780725177450611770e-1,
                                       2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double under[TERMS] = {1,
                                        2.05319162663775882187e0,
                                        1.67638483018380384940e0,
                                        6.89767334985100004550e-1,
                                        1.48103976427480074590e-1,
                                        1.51986665636164571966e-2,
                                        5.47593808499534494600e-4,
                                        1.05075007164441684324e-9};
    return ratio(over, under, r - 1.6);
}

static double quantile_far(double r)
{
    static const double over[TERMS] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                       1.78482653991729133580e0,  2.96560571828504891230e-1,
                                       2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                       2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double under[TERMS] = {1,
                                        5.99832206555887937690e-1,
                                        1.36929880922735805310e-1,
                                        1.48753612908506148525e-2,
                                        7.86869131145613259100e-4,
                                        1.84631831751005468180e-5,
                                        1.42151175831644588870e-7,
                                        2.04426310338993978564e-15};
    return ratio(over, under, r - 5);
}

double hr_portable_normal_quantile(double p)
{
    const double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425)
        return quantile_centre(q);
    const double r = sqrt(-hr_portable_log(q < 0 ? p : 1 - p));
    const double x = r <= 5 ? quantile_near(r) : quantile_far(r);
    return q < 0 ? -x : x;
}

/* === models: as text, and what is drawn === */

void hr_ps_text(int64_t ps, char out[HR_PS_TEXT])
{
    static const struct {
        const char *name;
        int64_t ps;
        int digits;
    } units[] = {
        {"s", 1000000000000, 12}, {"ms", 1000000000, 9}, {"us", 1000000, 6}, {"ns", 1000, 3}};
    size_t unit = 0;
    while (unit < 3 && ps < units[unit].ps && ps > 0)
        unit++;
    int length = snprintf(out, HR_PS_TEXT, "%" PRId64, ps / units[unit].ps);
    if (ps % units[unit].ps) {
        length += snprintf(out + length, HR_PS_TEXT - (size_t)length, ".%0*" PRId64,
                           units[unit].digits, ps % units[unit].ps);
        while (out[length - 1] == '0')
            length--;
    }
    snprintf(out + length, HR_PS_TEXT - (size_t)length, "%s", units[unit].name);
}

/* Seventeen digits are always enough; fewer are easier to read. */
static void number_text(double value, char out[HR_PS_TEXT])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, HR_PS_TEXT, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

void hr_delay_text(const struct hr_delay *delay, char out[HR_DELAY_TEXT])
{
    char time[HR_PS_TEXT], high[HR_PS_TEXT], shape[HR_PS_TEXT];
    hr_ps_text(delay->time_ps, time);
    hr_ps_text(delay->high_ps, high);
    number_text(delay->shape, shape);
    switch (delay->kind) {
    case HR_DELAY_CONSTANT:
        snprintf(out, HR_DELAY_TEXT, "constant(%s)", time);
        break;
    case HR_DELAY_UNIFORM:
        snprintf(out, HR_DELAY_TEXT, "uniform(%s, %s)", time, high);
        break;
    case HR_DELAY_EXPONENTIAL:
        snprintf(out, HR_DELAY_TEXT, "exponential(%s)", time);
        break;
    case HR_DELAY_LOGNORMAL:
        snprintf(out, HR_DELAY_TEXT, "lognormal(%s, %s)", time, shape);
        break;
    case HR_DELAY_PARETO:
        snprintf(out, HR_DELAY_TEXT, "pareto(%s, %s)", time, shape);
        break;
    case HR_DELAY_TRACE:
        snprintf(out, HR_DELAY_TEXT, "trace:%s", delay->path);
        break;
    }
}

/* --- what is drawn --- */

static int64_t cut(double ps)
{
    return ps < (double)HR_PS_NEVER ? (int64_t)floor(ps + 0.5) : HR_PS_NEVER;
}

/* In (0, 1): the middle of one of 2^52 equal parts, exact. */
static double unit_of(uint64_t word)
{
    return ((double)(word >> 12) + 0.5) * 0x1p-52;
}

/* The upper 44 bits times at most 2^20 fit. */
static size_t index_of(uint64_t word, size_t n)
{
    return (size_t)((word >> 20) * n >> 44);
}

int64_t hr_delay_ps(const struct hr_delay *delay, uint64_t seed, size_t rank, uint64_t step)
{
    const double time = (double)delay->time_ps;
    if (delay->kind == HR_DELAY_CONSTANT)
        return delay->time_ps;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_DELAY, step, (uint32_t)rank);
    const uint64_t word = (uint64_t)block.v[0] << 32 | block.v[1];
    const double u = unit_of(word);
    switch (delay->kind) {
    case HR_DELAY_CONSTANT:
        break;
    case HR_DELAY_UNIFORM:
        return cut(time + (double)(delay->high_ps - delay->time_ps) * u);
    case HR_DELAY_EXPONENTIAL:
        return cut(time * -hr_portable_log(u));
    case HR_DELAY_LOGNORMAL:
        return cut(time * hr_portable_exp(delay->shape * hr_portable_normal_quantile(u)));
    case HR_DELAY_PARETO:
        return cut(time * hr_portable_exp(-hr_portable_log(u) / delay->shape));
    case HR_DELAY_TRACE:
        return delay->samples[index_of(word, delay->nsamples)];
    }
    return delay->time_ps;
}

void hr_delay_fini(struct hr_delay *delay)
{
    free(delay->path);
    free(delay->samples);
    *delay = (struct hr_delay){0};
}

/* === models, read: see delay.h for the grammar === */

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

/* === measured durations as a model === */

static const double most_distance = 0.05, most_mean_off = 0.02;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest distance of n sorted durations from that lognormal (Kolmogorov-Smirnov): taken on
 * both sides of each step of the measured distribution. */
static double distance_of(const double *ns, size_t n, double mu, double sigma)
{
    double most = 0;
    for (size_t i = 0; i < n;) {
        size_t next = i + 1;
        while (next < n && ns[next] == ns[i])
            next++;
        const double model = 0.5 * erfc((mu - log(ns[i])) / (sigma * sqrt(2)));
        most = fmax(most, fabs(model - (double)i / (double)n));
        most = fmax(most, fabs(model - (double)next / (double)n));
        i = next;
    }
    return most;
}

struct hr_delay_fit hr_delay_fit(double *ns, size_t n)
{
    double sum = 0, mu = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        ns[i] = ns[i] < 1 ? 1 : ns[i];
        sum += ns[i];
        mu += log(ns[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        square += (log(ns[i]) - mu) * (log(ns[i]) - mu) / (double)n;
    qsort(ns, n, sizeof *ns, compare);
    struct hr_delay_fit fit = {
        .delay = {.kind = HR_DELAY_LOGNORMAL,
                  .time_ps = 1000 * llround(exp(mu)),
                  .shape = round(1e5 * sqrt(square)) / 1e5},
        .mean_ns = sum / (double)n,
    };
    fit.mean_off = exp(mu + square / 2) / fit.mean_ns - 1;
    if (fit.delay.shape == 0) { /* always the same */
        fit.delay.kind = HR_DELAY_CONSTANT;
    } else {
        fit.distance = distance_of(ns, n, mu, fit.delay.shape);
    }
    fit.good = fit.distance <= most_distance && fabs(fit.mean_off) <= most_mean_off;
    return fit;
}
