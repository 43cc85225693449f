#include "netsim/inject.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/philox.h"
#include "netsim/delay.h"

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

double hr_inject_stage_factor(const struct hr_inject *inject, uint64_t seed, size_t rank,
                              size_t stage, uint64_t step)
{
    double factor = 1;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        const bool of_stage = entry->stage == HR_INJECT_ALL || entry->stage == stage;
        if (of_stage && is_of(entry, HR_INJECT_SLOW_STAGE, rank) &&
            strikes(entry, i, seed, rank, step))
            factor *= entry->factor;
    }
    return factor;
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

/* --- who dies, what is lost, what goes wrong */

/* The first entry of that kind, or NULL. */
static const struct hr_inject_entry *first_of(const struct hr_inject *inject,
                                              enum hr_inject_kind kind)
{
    for (size_t i = 0; i < inject->n; i++)
        if (inject->entry[i].kind == kind)
            return &inject->entry[i];
    return NULL;
}

bool hr_inject_has(const struct hr_inject *inject, enum hr_inject_kind kind)
{
    return first_of(inject, kind);
}

static bool happens(const struct hr_inject *inject, enum hr_inject_kind kind, size_t rank,
                    uint64_t step)
{
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        if (is_of(entry, kind, rank) && entry->step == step)
            return true;
    }
    return false;
}

/* May what the entry says be drawn once more? Most runs draw nothing. */
static bool may_be_drawn(const struct hr_inject_entry *entry, size_t times)
{
    return entry && times < entry->step;
}

bool hr_inject_dies(const struct hr_inject *inject, uint64_t seed, enum hr_mortal kind,
                    uint64_t event, size_t deaths, struct hr_inject_death *death)
{
    const struct hr_inject_entry *entry =
        first_of(inject, kind == HR_MORTAL_WORKER ? HR_INJECT_KILL_ANY : HR_INJECT_KILL_ANY_SERVER);
    if (!may_be_drawn(entry, deaths))
        return false;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_DEATH, event, (uint32_t)kind);
    *death = (struct hr_inject_death){block.v[1], block.v[2] & 1};
    return block.v[0] * 0x1p-32 < entry->probability;
}

bool hr_inject_stalls(const struct hr_inject *inject, uint64_t seed, uint64_t event, size_t stalls,
                      struct hr_inject_pause *pause)
{
    const struct hr_inject_entry *entry = first_of(inject, HR_INJECT_STALL_ANY);
    if (!may_be_drawn(entry, stalls))
        return false;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_DEATH, event, HR_MORTAL);
    *pause = (struct hr_inject_pause){block.v[1], 1 + block.v[2] % HR_INJECT_LONGEST_STALL};
    return block.v[0] * 0x1p-32 < entry->probability;
}

enum hr_inject_loss hr_inject_drop(const struct hr_inject *inject, uint64_t seed,
                                   const struct hr_inject_push *push)
{
    const struct hr_inject_entry *entry = first_of(inject, HR_INJECT_DROP_PUSH);
    if (!entry || push->attempt >= HR_INJECT_MOST_DROPS)
        return HR_LOSS_NONE;
    /* Ranks and servers are below 2^12, attempts below 2^6: no two share numbers. */
    const uint32_t sequence =
        (uint32_t)push->rank << 18 | (uint32_t)push->server << 6 | push->attempt;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_DROP, push->step, sequence);
    if (block.v[0] * 0x1p-32 >= entry->probability)
        return HR_LOSS_NONE;
    return block.v[1] & 1 ? HR_LOSS_MESSAGE : HR_LOSS_ANSWER;
}

int64_t hr_inject_deadline_ps(const struct hr_inject *inject)
{
    const struct hr_inject_entry *entry = first_of(inject, HR_INJECT_DROP_PUSH);
    return entry ? entry->ps : HR_PS_NEVER;
}

bool hr_inject_nan(const struct hr_inject *inject, size_t rank, uint64_t step)
{
    return happens(inject, HR_INJECT_NAN, rank, step);
}

bool hr_inject_flip(const struct hr_inject *inject, size_t rank, uint64_t step)
{
    return happens(inject, HR_INJECT_FLIP_BIT, rank, step);
}

uint64_t hr_inject_place(uint64_t seed, size_t rank, uint64_t step, uint64_t count)
{
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_WRONG, step, (uint32_t)rank);
    return ((uint64_t)block.v[0] << 32 | block.v[1]) % count;
}

size_t hr_inject_kills_due(const struct hr_inject *inject, enum hr_inject_kind kind, size_t rank,
                           uint64_t step, int64_t now_ps)
{
    size_t due = 0;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        due +=
            is_of(entry, kind, rank) && (entry->timed ? entry->ps <= now_ps : entry->step <= step);
    }
    return due;
}

/* === the text of --inject, a form a row === */

enum { MAX_WORD = 64, FORMS_TEXT = 512 };

static const double least_factor = 0.001, most_factor = 1000;
static const int64_t usual_deadline_ps = 50 * INT64_C(1000000000);

/* --- pieces of an entry */

/* Cut `word` at the first `c`; the text behind it, or NULL. */
static char *cut_at(char *word, char c)
{
    char *at = strchr(word, c);
    if (at)
        *at++ = '\0';
    return at;
}

/* What stands behind `name` in `text`, or NULL where something else does. */
static const char *behind(const char *text, const char *name)
{
    const size_t length = strlen(name);
    return text && !strncmp(text, name, length) ? text + length : NULL;
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

static bool read_step(const char *text, uint64_t *step)
{
    const char *number = behind(text, "step=");
    return number && hr_parse_count(number, step);
}

/* --- entries, behind their names */

/* xF[@P%], behind what is slow, which is cut off. */
static bool read_factor(char *text, struct hr_inject_entry *entry)
{
    entry->probability = 1;
    char *chance = cut_at(text, '@');
    char *factor = cut_at(text, 'x');
    return factor && hr_parse_number(factor, &entry->factor) && entry->factor >= least_factor &&
           entry->factor <= most_factor && (!chance || read_percent(chance, &entry->probability));
}

/* RANKxF[@P%] */
static bool read_slow(char *text, struct hr_inject_entry *entry)
{
    return read_factor(text, entry) && read_rank(text, &entry->rank);
}

/* RANK:STAGExF[@P%] */
static bool read_slow_stage(char *text, struct hr_inject_entry *entry)
{
    const bool slow = read_factor(text, entry);
    const char *stage = cut_at(text, ':');
    return slow && stage && read_rank(text, &entry->rank) && read_rank(stage, &entry->stage);
}

/* RANK@step=N+T */
static bool read_stall(char *text, struct hr_inject_entry *entry)
{
    char *when = cut_at(text, '@');
    char *time = when ? cut_at(when, '+') : NULL;
    return time && read_rank(text, &entry->rank) && read_step(when, &entry->step) &&
           hr_ps_parse(time, &entry->ps);
}

/* RANK+T */
static bool read_load(char *text, struct hr_inject_entry *entry)
{
    char *time = cut_at(text, '+');
    return time && read_rank(text, &entry->rank) && hr_ps_parse(time, &entry->ps);
}

/* RANK@step=N or RANK@time=T */
static bool read_kill(char *text, struct hr_inject_entry *entry)
{
    char *when = cut_at(text, '@');
    const char *time = behind(when, "time=");
    entry->timed = time;
    return read_rank(text, &entry->rank) &&
           (time ? hr_ps_parse(time, &entry->ps) : read_step(when, &entry->step));
}

/* p=P[+T] */
static bool read_drop(char *text, struct hr_inject_entry *entry)
{
    const char *time = cut_at(text, '+'), *chance = behind(text, "p=");
    entry->rank = HR_INJECT_ALL;
    entry->ps = usual_deadline_ps;
    return chance && hr_parse_number(chance, &entry->probability) && entry->probability >= 0 &&
           entry->probability < 1 && (!time || hr_ps_parse(time, &entry->ps));
}

/* p=P[xN] */
static bool read_any(char *text, struct hr_inject_entry *entry)
{
    const char *most = cut_at(text, 'x'), *chance = behind(text, "p=");
    entry->rank = HR_INJECT_ALL;
    entry->step = 1;
    return chance && hr_parse_number(chance, &entry->probability) && entry->probability >= 0 &&
           entry->probability < 1 && (!most || hr_parse_count(most, &entry->step));
}

/* RANK@step=N */
static bool read_once(char *text, struct hr_inject_entry *entry)
{
    char *when = cut_at(text, '@');
    return read_rank(text, &entry->rank) && read_step(when, &entry->step);
}

/* --- forms */

struct form {
    const char *name;
    enum hr_inject_kind kind;
    bool (*read)(char *text, struct hr_inject_entry *entry);
    const char *rest, *as; /* what follows the name, and examples */
    const char *why_one;   /* why it is of one rank and not of *; NULL: it may be of all */
    bool server;           /* its rank is a server's number */
    const char *why_once;  /* NULL: it may stand there several times */
};

/* A name that begins another stands behind it. */
static const struct form forms[] = {
    {"slow:stage:", HR_INJECT_SLOW_STAGE, read_slow_stage, "RANK:STAGExFACTOR[@P%]",
     "slow:stage:0:1x3 or slow:stage:*:1x3@10% (factor 0.001 to 1000)", NULL, false, NULL},
    {"slow:", HR_INJECT_SLOW, read_slow, "RANKxFACTOR[@P%]",
     "slow:3x2 or slow:*x3@10% (factor 0.001 to 1000)", NULL, false, NULL},
    {"stall:any@", HR_INJECT_STALL_ANY, read_any, "p=P[xN]",
     "stall:any@p=0.01 or stall:any@p=0.01x9 (p from 0 to less than 1)", NULL, false,
     "it is of every rank"},
    {"stall:", HR_INJECT_STALL, read_stall, "RANK@step=N+TIME", "stall:1@step=50+3s (at most 24h)",
     NULL, false, NULL},
    {"load:", HR_INJECT_LOAD, read_load, "RANK+TIME", "load:1+5ms (at most 24h)", NULL, false,
     NULL},
    {"kill:server:any@", HR_INJECT_KILL_ANY_SERVER, read_any, "p=P[xN]",
     "kill:server:any@p=0.01 or kill:server:any@p=0.01x2 (p from 0 to less than 1)", NULL, true,
     "it is of every server"},
    {"kill:server:", HR_INJECT_KILL_SERVER, read_kill, "SERVER@step=N|time=T",
     "kill:server:1@step=200 or kill:server:1@time=3s (at most 24h)",
     "when all servers die at once nobody has the weights", true, NULL},
    {"kill:any@", HR_INJECT_KILL_ANY, read_any, "p=P[xN]",
     "kill:any@p=0.01 or kill:any@p=0.01x3 (p from 0 to less than 1)", NULL, false,
     "it is of every worker"},
    {"kill:", HR_INJECT_KILL, read_kill, "RANK@step=N|time=T",
     "kill:2@step=100 or kill:2@time=500ms (at most 24h)",
     "when all workers die at once nobody goes on", false, NULL},
    {"drop-push:", HR_INJECT_DROP_PUSH, read_drop, "p=P[+TIME]",
     "drop-push:p=0.01 or drop-push:p=0.01+50ms (p from 0 to less than 1, at most 24h)", NULL,
     false, "it is of every push"},
    {"nan:", HR_INJECT_NAN, read_once, "RANK@step=N", "nan:1@step=7",
     "the message is to name the rank that it came from", false, NULL},
    {"flip-bit:weights:", HR_INJECT_FLIP_BIT, read_once, "RANK@step=N", "flip-bit:weights:1@step=9",
     "replicas that are all altered have nothing to differ from", false, NULL},
};

enum { FORMS = sizeof forms / sizeof *forms };

static const struct form *form_of(enum hr_inject_kind kind)
{
    const struct form *form = forms;
    while (form->kind != kind)
        form++;
    return form;
}

static enum hr_status refuse_unknown(const char *where, const char *word)
{
    char all[FORMS_TEXT];
    size_t used = 0;
    for (size_t i = 0; i < FORMS && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s%s", i ? ", " : "",
                                 forms[i].name, forms[i].rest);
    return hr_fail(HR_E_USAGE, "%s%s: expected a comma list of %s", where, word, all);
}

static enum hr_status read_entry(const char *where, const char *word, struct hr_inject_entry *entry)
{
    char rest[MAX_WORD];
    for (const struct form *form = forms; form < forms + FORMS; form++) {
        const char *text = behind(word, form->name);
        if (!text)
            continue;
        *entry = (struct hr_inject_entry){.kind = form->kind};
        snprintf(rest, sizeof rest, "%s", text);
        return form->read(rest, entry) ? HR_OK
                                       : hr_fail(HR_E_USAGE, "%s%s: expected %s%s, as %s", where,
                                                 word, form->name, form->rest, form->as);
    }
    return refuse_unknown(where, word);
}

/* --- the list */

struct run_size {
    size_t workers, servers;
};

static enum hr_status check_rank(const char *where, const char *word,
                                 const struct hr_inject_entry *entry, const struct run_size *size)
{
    const struct form *form = form_of(entry->kind);
    const size_t n = form->server ? size->servers : size->workers;
    const char *what = form->server ? "server" : "worker";
    if (form->server && n == 0)
        return hr_fail(HR_E_USAGE, "%s%s: this strategy has no servers; expected one that has",
                       where, word);
    if (entry->rank == HR_INJECT_ALL && form->why_one)
        return hr_fail(HR_E_USAGE, "%s%s: expected a %s from 0 to %zu, not *: %s", where, word,
                       what, n - 1, form->why_one);
    if (entry->rank != HR_INJECT_ALL && entry->rank >= n)
        return hr_fail(HR_E_USAGE, "%s%s: expected a %s from 0 to %zu%s", where, word, what, n - 1,
                       form->why_one ? "" : ", or * for all");
    return HR_OK;
}

static enum hr_status add_entry(const char *where, const char *text, size_t length,
                                const struct run_size *size, struct hr_inject *inject)
{
    char word[MAX_WORD];
    struct hr_inject_entry entry;
    if (length >= sizeof word)
        return hr_fail(HR_E_USAGE, "%s%.40s...: expected entries of at most %d characters", where,
                       text, MAX_WORD - 1);
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    HR_TRY(read_entry(where, word, &entry));
    HR_TRY(check_rank(where, word, &entry, size));
    if (inject->n == HR_INJECT_ENTRIES)
        return hr_fail(HR_E_USAGE, "%s%s: expected at most %d entries", where, word,
                       HR_INJECT_ENTRIES);
    const struct form *form = form_of(entry.kind);
    if (form->why_once && hr_inject_has(inject, entry.kind))
        return hr_fail(HR_E_USAGE, "%s%s: expected %.*s once, %s", where, word,
                       (int)strlen(form->name) - 1, form->name, form->why_once);
    inject->entry[inject->n++] = entry;
    return HR_OK;
}

enum hr_status hr_inject_parse(const char *where, const char *text, size_t workers, size_t servers,
                               struct hr_inject *out)
{
    const struct run_size size = {workers, servers};
    struct hr_inject inject = {0};
    while (*text) {
        text += strspn(text, " ");
        const size_t length = strcspn(text, ",");
        HR_TRY(add_entry(where, text, length, &size, &inject));
        text += length;
        if (*text == ',' && !*++text)
            return hr_fail(HR_E_USAGE, "%s: expected an entry behind the last comma", where);
    }
    *out = inject;
    return HR_OK;
}

static bool is_delay(enum hr_inject_kind kind)
{
    return kind == HR_INJECT_SLOW || kind == HR_INJECT_SLOW_STAGE || kind == HR_INJECT_STALL ||
           kind == HR_INJECT_LOAD;
}

const char *hr_inject_timed(const char *text)
{
    struct hr_inject inject;
    if (hr_inject_parse("", text, SIZE_MAX, SIZE_MAX, &inject) != HR_OK)
        return NULL;
    for (size_t i = 0; i < inject.n; i++)
        if (is_delay(inject.entry[i].kind) || inject.entry[i].timed)
            return form_of(inject.entry[i].kind)->name;
    return NULL;
}

const char *hr_inject_explored(const char *text)
{
    struct hr_inject inject;
    if (hr_inject_parse("", text, SIZE_MAX, SIZE_MAX, &inject) != HR_OK)
        return NULL;
    return hr_inject_has(&inject, HR_INJECT_KILL_ANY)          ? "kill:any"
           : hr_inject_has(&inject, HR_INJECT_KILL_ANY_SERVER) ? "kill:server:any"
           : hr_inject_has(&inject, HR_INJECT_STALL_ANY)       ? "stall:any"
                                                               : NULL;
}

static bool is_death(enum hr_inject_kind kind)
{
    return kind == HR_INJECT_KILL || kind == HR_INJECT_KILL_SERVER || kind == HR_INJECT_KILL_ANY ||
           kind == HR_INJECT_KILL_ANY_SERVER;
}

static bool is_not_repeated(const char *word)
{
    for (const struct form *form = forms; form < forms + FORMS; form++)
        if (behind(word, form->name))
            return is_delay(form->kind) || is_death(form->kind) ||
                   form->kind == HR_INJECT_STALL_ANY || form->kind == HR_INJECT_DROP_PUSH;
    return false;
}

void hr_inject_to_repeat(const char *text, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    while (*text) {
        text += strspn(text, " ");
        const size_t length = strcspn(text, ",");
        if (!is_not_repeated(text) && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "," : "",
                                     (int)length, text);
        text += length + (text[length] == ',');
    }
}
