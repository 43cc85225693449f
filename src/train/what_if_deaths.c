#include "train/what_if_deaths.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "netsim/inject.h"
#include "drive/replay.h"
#include "drive/record.h"
#include "options/train_options.h"

static enum hr_status add(struct hr_train_options *options, const char *who, uint64_t step)
{
    const size_t used = strlen(options->inject), size = sizeof options->inject;
    const int more = snprintf(options->inject + used, size - used, "%skill:%s@step=%llu",
                              used ? "," : "", who, (unsigned long long)step);
    return more > 0 && (size_t)more < size - used
               ? HR_OK
               : hr_fail(HR_E_USAGE, "--what-if: the run lost more ranks than --inject can kill; "
                                     "expected fewer");
}

static enum hr_status add_death(struct hr_train_options *options, const struct hr_roll_event *event)
{
    char who[40];
    if (event->rank < options->workers) {
        snprintf(who, sizeof who, "%u", event->rank);
        return add(options, who, event->step);
    }
    snprintf(who, sizeof who, "server:%zu", event->rank - options->workers);
    return add(options, who, event->value);
}

/* Who is lost on its way back has not begun. */
static enum hr_status add_all(const struct hr_roll *roll, struct hr_train_options *options)
{
    bool gone[HR_TRACE_RANKS] = {false};
    for (size_t e = 0; e < roll->n; e++) {
        const struct hr_roll_event *event = &roll->event[e];
        if (event->kind == HR_ROLL_LOST && !gone[event->rank])
            HR_TRY(add_death(options, event));
        if (event->kind == HR_ROLL_LOST || event->kind == HR_ROLL_BACK)
            gone[event->rank] = event->kind == HR_ROLL_LOST;
    }
    return HR_OK;
}

enum hr_status hr_what_if_recorded_deaths(const struct hr_replay *replay,
                                          struct hr_train_options *options)
{
    struct hr_roll roll;
    if (!hr_train_outlives(options))
        return HR_OK;
    HR_TRY(hr_roll_read(&hr_replay_own(replay)->trace, &roll));
    const enum hr_status status = add_all(&roll, options);
    hr_roll_free(&roll);
    return status;
}

/* "2", or "server:0". */
static bool is_rank(const char *who, const struct hr_train_options *options)
{
    static const char server[] = "server:";
    const bool serves = !strncmp(who, server, strlen(server));
    uint64_t rank;
    return hr_parse_count(serves ? who + strlen(server) : who, &rank) &&
           rank < (serves ? options->servers : options->workers);
}

enum hr_status hr_what_if_kill(const char *who, struct hr_train_options *options)
{
    char rank[40] = "";
    const char *at = strchr(who, '@');
    uint64_t step;
    if (!strcmp(who, "none")) {
        char left[sizeof options->inject];
        hr_inject_to_repeat(options->inject, left, sizeof left);
        if (!strcmp(left, options->inject))
            return hr_fail(HR_E_USAGE, "--what-if kill=none: the run lost nobody");
        memcpy(options->inject, left, sizeof left);
        return HR_OK;
    }
    if (at && (size_t)(at - who) < sizeof rank)
        memcpy(rank, who, (size_t)(at - who));
    if (!is_rank(rank, options) || !hr_parse_count(at + 1, &step))
        return hr_fail(HR_E_USAGE,
                       "--what-if kill=%s: expected kill=none, kill=R@N (worker R, below %zu, dies "
                       "at its step N) or kill=server:S@N",
                       who, options->workers);
    if (!hr_train_outlives(options))
        snprintf(options->on_loss, sizeof options->on_loss, "continue");
    return add(options, rank, step);
}
