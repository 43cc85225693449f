/* What an option's value must look like, the field that it goes to, and back. */
#include "options/option.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/parse.h"
#include "base/text.h"

/* "--pipeline schedule" and "=gpipe", "--lr" and " 0.1" */
static const char *before_value(const struct hr_option *row)
{
    return hr_option_is_keyed(row) ? "=" : " ";
}

struct hr_option_name hr_option_name(const struct hr_option *row)
{
    const char *values = row->parameter ? row->with[0].values : "";
    struct hr_option_name name = {""};
    if (row->part)
        hr_append(name.text, sizeof name.text, "--%s%s%s", row->with[0].option,
                  values[0] ? " " : "", hr_option_is_keyed(row) ? row->metavar : values);
    else if (!row->parameter)
        hr_append(name.text, sizeof name.text, "--%s", row->name);
    else
        hr_append(name.text, sizeof name.text, "%s of --%s%s%.*s", row->metavar,
                  row->typed ? row->typed : row->with[0].option,
                  row->of_any || row->typed ? "" : " ", row->of_any ? 0 : (int)strcspn(values, "|"),
                  values);
    return name;
}

/* --- from text --- */

/* What reads as its kind does: "a whole number, not negative". */
static const char *expected_of(const struct hr_option *row, char text[64])
{
    switch (row->kind) {
    case HR_OPTION_FLAG:
        return "true or false (on or off)";
    case HR_OPTION_COUNT:
    case HR_OPTION_COUNT64:
        return "a whole number, not negative";
    case HR_OPTION_NUMBER:
        return "a number, not negative";
    case HR_OPTION_SECONDS:
        return "a time, as 30s, 500ms or 2m";
    case HR_OPTION_DURATION:
        return "a time with its unit, as 30s, 500ms or 2m";
    case HR_OPTION_BYTES:
        return "a size, as 512M or 16G";
    case HR_OPTION_EVERY:
        return "steps, a time or epochs, as 100, 30s or 2epochs";
    default: /* a text is refused for its length alone */
        snprintf(text, 64, "a text of at most %zu bytes", row->size - 1);
        return text;
    }
}

static bool store_text(char *field, size_t size, const char *value)
{
    return (size_t)snprintf(field, size, "%s", value) < size;
}

static bool store_flag(bool *field, const char *value)
{
    const bool no = !strcmp(value, "false") || !strcmp(value, "off");
    const bool yes = !strcmp(value, "true") || !strcmp(value, "on");
    *field = yes;
    return yes || no;
}

static bool store_count(size_t *field, const char *value)
{
    uint64_t count;
    if (!hr_parse_count(value, &count))
        return false;
    *field = count;
    return true;
}

/* "2epochs" or "1epoch" */
static bool store_epochs(uint64_t *field, const char *value)
{
    char number[32];
    const size_t digits = strspn(value, "0123456789");
    const char *unit = value + digits;
    if (digits >= sizeof number || (strcmp(unit, "epochs") != 0 && strcmp(unit, "epoch") != 0))
        return false;
    snprintf(number, sizeof number, "%.*s", (int)digits, value);
    return hr_parse_count(number, field) && *field > 0;
}

static bool store_every(struct hr_every *field, const char *value)
{
    *field = (struct hr_every){0};
    return hr_parse_count(value, &field->steps) || store_epochs(&field->epochs, value) ||
           (hr_parse_duration(value, &field->seconds) && field->seconds > 0);
}

bool hr_option_store(const struct hr_option *row, void *base, const char *value)
{
    void *field = (char *)base + row->offset;
    switch (row->kind) {
    case HR_OPTION_FLAG:
        return store_flag(field, value);
    case HR_OPTION_TEXT:
    case HR_OPTION_OPTIONAL_TEXT:
        return store_text(field, row->size, value);
    case HR_OPTION_COUNT:
        return store_count(field, value);
    case HR_OPTION_COUNT64:
        return hr_parse_count(value, field);
    case HR_OPTION_NUMBER:
        return hr_parse_number(value, field);
    case HR_OPTION_SECONDS:
        return hr_parse_seconds(value, field);
    case HR_OPTION_DURATION:
        return hr_parse_duration(value, field);
    case HR_OPTION_BYTES:
        return hr_parse_size(value, field);
    case HR_OPTION_EVERY:
        return store_every(field, value);
    case HR_OPTION_CONFIG:
    case HR_OPTION_PARTS:
        break;
    }
    return false;
}

/* --- to text --- */

static void every_text(const struct hr_every *every, char *text, size_t size)
{
    if (every->seconds > 0)
        snprintf(text, size, "%.15gs", every->seconds);
    else if (every->epochs)
        snprintf(text, size, "%" PRIu64 "epochs", every->epochs);
    else
        snprintf(text, size, "%" PRIu64, every->steps);
}

void hr_option_text(const struct hr_option *row, const void *base, char *text, size_t size)
{
    const void *field = (const char *)base + row->offset;
    switch (row->kind) {
    case HR_OPTION_FLAG:
        snprintf(text, size, "%s", *(const bool *)field ? "on" : "off");
        break;
    case HR_OPTION_TEXT:
    case HR_OPTION_OPTIONAL_TEXT:
        snprintf(text, size, "%s", (const char *)field);
        break;
    case HR_OPTION_COUNT:
        snprintf(text, size, "%zu", *(const size_t *)field);
        break;
    case HR_OPTION_COUNT64:
    case HR_OPTION_BYTES:
        snprintf(text, size, "%" PRIu64, *(const uint64_t *)field);
        break;
    case HR_OPTION_NUMBER:
    case HR_OPTION_SECONDS:
    case HR_OPTION_DURATION:
        snprintf(text, size, "%s", hr_number_text(*(const double *)field).text);
        break;
    case HR_OPTION_EVERY:
        every_text(field, text, size);
        break;
    case HR_OPTION_CONFIG:
    case HR_OPTION_PARTS:
        text[0] = '\0';
    }
}

bool hr_option_equal(const struct hr_option *row, const void *base, const void *other)
{
    const char *a = (const char *)base + row->offset, *b = (const char *)other + row->offset;
    const bool is_text = row->kind == HR_OPTION_TEXT || row->kind == HR_OPTION_OPTIONAL_TEXT;
    return is_text ? !strcmp(a, b) : !memcmp(a, b, row->size);
}

/* --- what it may be --- */

/* false: it is no number. */
static bool number_of(const struct hr_option *row, const void *field, double *out)
{
    switch (row->kind) {
    case HR_OPTION_COUNT:
        *out = (double)*(const size_t *)field;
        return true;
    case HR_OPTION_COUNT64:
    case HR_OPTION_BYTES:
        *out = (double)*(const uint64_t *)field;
        return true;
    case HR_OPTION_NUMBER:
    case HR_OPTION_SECONDS:
    case HR_OPTION_DURATION:
        *out = *(const double *)field;
        return true;
    default:
        return false;
    }
}

bool hr_option_zero_is_none(const struct hr_option *row)
{
    const bool number = row->kind >= HR_OPTION_COUNT && row->kind <= HR_OPTION_EVERY;
    return number && !row->usual && !row->by_optimizer && !row->zero_is_value && !row->zero_is_off;
}

static bool is_count(const struct hr_option *row)
{
    return row->kind == HR_OPTION_COUNT || row->kind == HR_OPTION_COUNT64;
}

static enum hr_status check_range(const struct hr_option *row, const struct hr_option_range *range,
                                  double value)
{
    const struct hr_option_name name = hr_option_name(row);
    const bool low = range->above ? value > range->least : value >= range->least;
    const bool high = range->below ? value < range->most : value <= range->most;
    const bool none = hr_option_zero_is_none(row) && range->least <= 0;
    const double least = none && is_count(row) ? 1 : range->least;
    const bool above = range->above || (none && !is_count(row));
    if (low && high)
        return HR_OK;
    if (isinf(range->most))
        return hr_fail(HR_E_USAGE, "%s%s%.15g: expected %s%.15g", name.text, before_value(row),
                       value, above ? "more than " : "at least ", least);
    return hr_fail(HR_E_USAGE, "%s%s%.15g: expected %s%.15g to %s%.15g", name.text,
                   before_value(row), value, above ? "more than " : "", least,
                   range->below ? "less than " : "", range->most);
}

static bool find_word(const char *value, const char *words, unsigned *number)
{
    *number = 0;
    for (const char *word = words, *end; *word; word = *end ? end + 1 : end, ++*number) {
        end = word + strcspn(word, "|");
        if (strlen(value) == (size_t)(end - word) && !strncmp(value, word, (size_t)(end - word)))
            return true;
    }
    return false;
}

unsigned hr_option_word(const struct hr_option *row, const char *text)
{
    unsigned number;
    return find_word(text, row->words, &number) ? number : 0;
}

/* Of a row with words: "sum or repro"; "linear, sqrt or none". */
struct words {
    char text[160];
};

static struct words words_of(const struct hr_option *row)
{
    struct words list = {""};
    for (const char *word = row->words, *end; *word; word = *end ? end + 1 : end) {
        end = word + strcspn(word, "|");
        hr_append(list.text, sizeof list.text, "%s%.*s",
                  !list.text[0]       ? ""
                  : *end || row->also ? ", "
                                      : " or ",
                  (int)(end - word), word);
    }
    if (row->also)
        hr_append(list.text, sizeof list.text, " or %s", row->also);
    return list;
}

static enum hr_status check_words(const struct hr_option *row, const char *value)
{
    unsigned number;
    if (find_word(value, row->words, &number))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s%s%s: expected %s", hr_option_name(row).text, before_value(row),
                   value, words_of(row).text);
}

enum hr_status hr_option_check(const struct hr_option *row, const void *base, bool sparse)
{
    const void *field = (const char *)base + row->offset;
    const bool own = sparse && row->sparse_range.most > 0;
    const struct hr_option_range *range = own ? &row->sparse_range : &row->range;
    double value;
    if (row->words)
        return check_words(row, field);
    if (range->most > 0 && number_of(row, field, &value) && !(row->by_optimizer && value < 0))
        return check_range(row, range, value);
    return HR_OK;
}

enum hr_status hr_option_set(const struct hr_option *row, void *base, const char *value,
                             const char *where)
{
    char expected[64];
    if (!hr_option_store(row, base, value))
        return hr_fail(HR_E_USAGE, "%s%s%s%s: expected %s", where, hr_option_name(row).text,
                       before_value(row), value,
                       row->words                     ? words_of(row).text
                       : row->kind == HR_OPTION_PARTS ? row->metavar
                                                      : expected_of(row, expected));
    const char *field = (const char *)base + row->offset;
    bool any = !hr_option_zero_is_none(row);
    for (size_t i = 0; i < row->size && !any; i++)
        any = field[i] != 0;
    if (!any)
        return hr_fail(HR_E_USAGE, "%s%s%s%s: expected %s", where, hr_option_name(row).text,
                       before_value(row), value, is_count(row) ? "at least 1" : "more than 0");
    return HR_OK;
}

/* --- JSON --- */

static json_t *count_json(uint64_t n)
{
    return n <= INT64_MAX ? json_integer((json_int_t)n)
                          : json_sprintf("%llu", (unsigned long long)n);
}

/* Steps are a number. */
static json_t *every_json(const struct hr_every *every)
{
    char text[48];
    every_text(every, text, sizeof text);
    return every->epochs || every->seconds > 0 ? json_string(text) : count_json(every->steps);
}

json_t *hr_option_json(const struct hr_option *row, const void *base)
{
    const void *field = (const char *)base + row->offset;
    switch (row->kind) {
    case HR_OPTION_FLAG:
        return json_boolean(*(const bool *)field);
    case HR_OPTION_COUNT:
        return count_json(*(const size_t *)field);
    case HR_OPTION_COUNT64:
    case HR_OPTION_BYTES:
        return count_json(*(const uint64_t *)field);
    case HR_OPTION_NUMBER:
    case HR_OPTION_SECONDS:
    case HR_OPTION_DURATION:
        return json_real(*(const double *)field);
    case HR_OPTION_EVERY:
        return every_json(field);
    default:
        return hr_json_text(field);
    }
}

static bool count_from_json(const json_t *value, uint64_t *out)
{
    if (json_is_string(value))
        return hr_parse_count(json_string_value(value), out);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static bool every_from_json(const json_t *value, struct hr_every *out)
{
    *out = (struct hr_every){0};
    return json_is_string(value) ? store_every(out, json_string_value(value))
                                 : count_from_json(value, &out->steps);
}

static bool text_from_json(const json_t *value, char *field, size_t size)
{
    return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value) &&
           hr_json_bytes(json_string_value(value), field, size);
}

bool hr_option_from_json(const struct hr_option *row, void *base, const json_t *value)
{
    void *field = (char *)base + row->offset;
    uint64_t count;
    switch (row->kind) {
    case HR_OPTION_FLAG:
        if (json_is_boolean(value))
            *(bool *)field = json_is_true(value);
        return json_is_boolean(value);
    case HR_OPTION_COUNT:
        if (!count_from_json(value, &count))
            return false;
        *(size_t *)field = count;
        return true;
    case HR_OPTION_COUNT64:
    case HR_OPTION_BYTES:
        return count_from_json(value, field);
    case HR_OPTION_NUMBER:
    case HR_OPTION_SECONDS:
    case HR_OPTION_DURATION:
        if (json_is_number(value))
            *(double *)field = json_number_value(value);
        return json_is_number(value);
    case HR_OPTION_EVERY:
        return every_from_json(value, field);
    default:
        return text_from_json(value, field, row->size);
    }
}

/* --- lists --- */

const struct hr_option *hr_option_list_at(const struct hr_option_list *lists, size_t nlists,
                                          size_t i)
{
    for (size_t k = 0; k < nlists; i -= lists[k++].count)
        if (i < lists[k].count)
            return &lists[k].rows[i];
    return NULL;
}

void hr_option_default(const struct hr_option *row, void *base)
{
    if (row->size)
        memset((char *)base + row->offset, 0, row->size);
    if (row->usual)
        HR_ASSERT(hr_option_store(row, base, row->usual));
    if (row->by_optimizer || row->zero_is_value)
        *(double *)(void *)((char *)base + row->offset) = HR_BY_OPTIMIZER;
}

void hr_option_defaults(const struct hr_option_list *lists, size_t nlists, void *base)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_option_list_at(lists, nlists, i)) != NULL; i++)
        hr_option_default(row, base);
}
