#include "netsim/inject.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/philox.h"
#include "netsim/delay.h"

enum { MAX_WORD = 64 };

static const double least_factor = 0.001, most_factor = 1000;

/* --- the text */

/* Cut `word` at the first `c`; the text behind it, or NULL. */
static char *cut_at(char *word, char c)
{
    char *at = strchr(word, c);
    if (at)
        *at++ = '\0';
    return at;
}

static bool read_percent(char *text, double *probability)
{
    double percent;
    char *end = cut_at(text, '%');
    if (!end || *end || !hr_parse_number(text, &percent) || percent > 100)
        return false;
    *probability = percent / 100;
    return true;
}

static bool read_rank(const char *text, size_t *rank)
{
    uint64_t number;
    if (!strcmp(text, "*")) {
        *rank = HR_INJECT_ALL;
        return true;
    }
    if (!hr_parse_count(text, &number) || number >= HR_INJECT_ALL)
        return false;
    *rank = (size_t)number;
    return true;
}

/* RANKxF[@P%] */
static bool read_slow(char *text, struct hr_inject_entry *entry)
{
    *entry = (struct hr_inject_entry){.kind = HR_INJECT_SLOW, .probability = 1};
    char *chance = cut_at(text, '@');
    char *factor = cut_at(text, 'x');
    return factor && read_rank(text, &entry->rank) && hr_parse_number(factor, &entry->factor) &&
           entry->factor >= least_factor && entry->factor <= most_factor &&
           (!chance || read_percent(chance, &entry->probability));
}

/* RANK@step=N+T */
static bool read_stall(char *text, struct hr_inject_entry *entry)
{
    *entry = (struct hr_inject_entry){.kind = HR_INJECT_STALL};
    char *when = cut_at(text, '@');
    char *time = when ? cut_at(when, '+') : NULL;
    return time && read_rank(text, &entry->rank) && !strncmp(when, "step=", 5) &&
           hr_parse_count(when + 5, &entry->step) && hr_ps_parse(time, &entry->ps);
}

/* RANK+T */
static bool read_load(char *text, struct hr_inject_entry *entry)
{
    *entry = (struct hr_inject_entry){.kind = HR_INJECT_LOAD};
    char *time = cut_at(text, '+');
    return time && read_rank(text, &entry->rank) && hr_ps_parse(time, &entry->ps);
}

struct form {
    const char *name;
    bool (*read)(char *text, struct hr_inject_entry *entry);
    const char *expected;
};

static const struct form forms[] = {
    {"slow:", read_slow,
     "slow:RANKxFACTOR[@P%], as slow:3x2 or slow:*x3@10% (factor 0.001 to 1000)"},
    {"stall:", read_stall, "stall:RANK@step=N+TIME, as stall:1@step=50+3s (at most 24h)"},
    {"load:", read_load, "load:RANK+TIME, as load:1+5ms (at most 24h)"},
};

static enum hr_status read_entry(const char *where, const char *word, struct hr_inject_entry *entry)
{
    char rest[MAX_WORD];
    if (!strncmp(word, "kill:", 5))
        return hr_fail(HR_E_USAGE,
                       "%s%s: kill is not there yet; expected slow:, stall: or load:", where, word);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t name = strlen(forms[i].name);
        if (strncmp(word, forms[i].name, name) != 0)
            continue;
        snprintf(rest, sizeof rest, "%s", word + name);
        return forms[i].read(rest, entry)
                   ? HR_OK
                   : hr_fail(HR_E_USAGE, "%s%s: expected %s", where, word, forms[i].expected);
    }
    return hr_fail(HR_E_USAGE,
                   "%s%s: expected a comma list of slow:RANKxFACTOR[@P%%], "
                   "stall:RANK@step=N+TIME and load:RANK+TIME",
                   where, word);
}

static enum hr_status add_entry(const char *where, const char *text, size_t length, size_t nranks,
                                struct hr_inject *inject)
{
    char word[MAX_WORD];
    struct hr_inject_entry entry;
    if (length >= sizeof word)
        return hr_fail(HR_E_USAGE, "%s%.40s...: expected entries of at most %d characters", where,
                       text, MAX_WORD - 1);
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    HR_TRY(read_entry(where, word, &entry));
    if (entry.rank != HR_INJECT_ALL && entry.rank >= nranks)
        return hr_fail(HR_E_USAGE, "%s%s: expected a worker from 0 to %zu, or * for all", where,
                       word, nranks - 1);
    if (inject->n == HR_INJECT_ENTRIES)
        return hr_fail(HR_E_USAGE, "%s%s: expected at most %d entries", where, word,
                       HR_INJECT_ENTRIES);
    inject->entry[inject->n++] = entry;
    return HR_OK;
}

enum hr_status hr_inject_parse(const char *where, const char *text, size_t nranks,
                               struct hr_inject *out)
{
    struct hr_inject inject = {0};
    while (*text) {
        text += strspn(text, " ");
        const size_t length = strcspn(text, ",");
        HR_TRY(add_entry(where, text, length, nranks, &inject));
        text += length;
        if (*text == ',' && !*++text)
            return hr_fail(HR_E_USAGE, "%s: expected an entry behind the last comma", where);
    }
    *out = inject;
    return HR_OK;
}

/* --- what it does */

static bool is_of(const struct hr_inject_entry *entry, enum hr_inject_kind kind, size_t rank)
{
    return entry->kind == kind && (entry->rank == HR_INJECT_ALL || entry->rank == rank);
}

/* Whether entry `number` slows this step: 32 bits are fine enough for a percentage. */
static bool strikes(const struct hr_inject_entry *entry, size_t number, uint64_t seed, size_t rank,
                    uint64_t step)
{
    if (entry->probability >= 1)
        return true;
    /* Ranks are below 2^24, entries below 2^8: no two share numbers. */
    const uint32_t sequence = (uint32_t)rank << 8 | (uint32_t)number;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_INJECT, step, sequence);
    return block.v[0] * 0x1p-32 < entry->probability;
}

int64_t hr_inject_ps(const struct hr_inject *inject, uint64_t seed, size_t rank, uint64_t step,
                     int64_t base_ps)
{
    double factor = 1;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        if (is_of(entry, HR_INJECT_SLOW, rank) && strikes(entry, i, seed, rank, step))
            factor *= entry->factor;
    }
    if (factor == 1)
        return base_ps;
    const double slowed = (double)base_ps * factor;
    return slowed < (double)HR_PS_NEVER ? (int64_t)floor(slowed + 0.5) : HR_PS_NEVER;
}

int64_t hr_inject_stall_ps(const struct hr_inject *inject, size_t rank, uint64_t step)
{
    int64_t ps = 0;
    for (size_t i = 0; i < inject->n; i++)
        if (is_of(&inject->entry[i], HR_INJECT_STALL, rank) && inject->entry[i].step == step)
            ps = hr_ps_add(ps, inject->entry[i].ps);
    return ps;
}

int64_t hr_inject_load_ps(const struct hr_inject *inject, size_t rank)
{
    int64_t ps = 0;
    for (size_t i = 0; i < inject->n; i++)
        if (is_of(&inject->entry[i], HR_INJECT_LOAD, rank))
            ps = hr_ps_add(ps, inject->entry[i].ps);
    return ps;
}
