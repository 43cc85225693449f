#include "launch/stall.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* The longest time between two looks that counts; and who has moved in so long is not asked about,
 * since it is not stopped. */
static const int64_t GAP_NS = HR_NS_PER_SECOND / 4;

int64_t hr_stall_limit_ns(double warn_s, double timeout_s)
{
    const bool heard = timeout_s <= 0 || warn_s < timeout_s;
    return warn_s > 0 && heard ? (int64_t)(warn_s * (double)HR_NS_PER_SECOND) : 0;
}

void hr_stall_begin(struct hr_stall *stall, const struct hr_wait_rules *rules, size_t nranks)
{
    HR_ASSERT(nranks <= HR_MAX_RANKS);
    memset(stall, 0, sizeof *stall);
    stall->waits.rules = *rules;
    stall->waits.stop_ns = rules->warn_ns;
    stall->waits.nranks = nranks;
}

/* --- a look --- */

static bool has_moved(const struct hr_rank_view *before, const struct hr_rank_view *now)
{
    return before->phase != now->phase || before->step != now->step;
}

static void see_rank(struct hr_stall *stall, size_t r, const struct hr_rank_view *view)
{
    struct hr_seen_rank *seen = &stall->waits.rank[r];
    struct hr_said_rank *said = &stall->said[r];
    const struct hr_rank_view before = seen->view;
    const int64_t now = stall->waits.now;
    const bool moved = has_moved(&before, view), woke = before.stopped && !view->stopped;
    if (before.step != view->step) {
        said->told_before = said->told;
        said->told = false;
    }
    if (moved)
        seen->since = now;
    if (moved || woke)
        seen->awake_since = now;
    if (view->stopped && !before.stopped)
        seen->stopped_since = now;
    if (!view->stopped)
        said->told_stop = false;
    if (said->said && (moved || woke))
        said->goes_on = true;
    seen->view = *view;
}

void hr_stall_see(struct hr_stall *stall, int64_t clock_ns, const struct hr_rank_view *view)
{
    const int64_t passed = stall->looked_ns ? clock_ns - stall->looked_ns : 0;
    stall->waits.now += passed < GAP_NS ? passed : GAP_NS;
    stall->looked_ns = clock_ns;
    for (size_t r = 0; r < stall->waits.nranks; r++)
        see_rank(stall, r, &view[r]);
}

/* --- what is new --- */

/* Is there something to say of rank c? */
static bool is_news(struct hr_stall *stall, size_t c)
{
    const struct hr_rank_view *view = &stall->waits.rank[c].view;
    struct hr_said_rank *said = &stall->said[c];
    const bool stopped = hr_waits_is_stopped(&stall->waits, c);
    if (view->over)
        return false;
    const bool holds_up = hr_waits_longest(&stall->waits, c) >= stall->waits.rules.warn_ns;
    const bool news = (stopped && !said->told_stop) ||
                      (holds_up && !said->told && !said->told_before && !said->told_stop);
    said->told = said->told || holds_up;
    said->told_stop = said->told_stop || stopped || (news && view->stopped);
    return news;
}

static void look_for_news(struct hr_stall *stall, struct hr_hold_up *hold_up)
{
    hold_up->n = 0;
    for (size_t c = 0; c < stall->waits.nranks; c++)
        if (is_news(stall, c))
            hold_up->holding[hold_up->n++] = c;
    hr_hold_up_find_waiters(&stall->waits, hold_up);
}

/* --- in words --- */

/* A line about all of them is said: what they do next is news. */
static void remember(struct hr_stall *stall, const struct hr_hold_up *hold_up)
{
    for (size_t i = 0; i < hold_up->n; i++) {
        const struct hr_seen_rank *seen = &stall->waits.rank[hold_up->holding[i]];
        struct hr_said_rank *said = &stall->said[hold_up->holding[i]];
        if (!said->said)
            said->said_since = seen->view.stopped ? seen->stopped_since : seen->since;
        said->said = true;
    }
}

static bool say_who_goes_on(struct hr_stall *stall, char *text, size_t size)
{
    for (size_t r = 0; r < stall->waits.nranks; r++) {
        const struct hr_rank_view *view = &stall->waits.rank[r].view;
        struct hr_said_rank *said = &stall->said[r];
        char name[HR_RANK_NAME];
        if (!said->goes_on)
            continue;
        said->said = said->goes_on = false;
        if (view->stopped)
            continue;
        hr_rank_view_name(r, view, name, sizeof name);
        snprintf(text, size, "%s goes on after %.1f s", name,
                 hr_seconds(stall->waits.now - said->said_since));
        return true;
    }
    return false;
}

enum hr_stall_word hr_stall_next(struct hr_stall *stall, char *text, size_t size)
{
    struct hr_hold_up hold_up;
    if (!stall->waits.rules.warn_ns)
        return HR_STALL_NOTHING;
    if (say_who_goes_on(stall, text, size))
        return HR_STALL_GOES_ON;
    look_for_news(stall, &hold_up);
    if (!hold_up.n)
        return HR_STALL_NOTHING;
    const size_t used = hr_hold_up_describe(&stall->waits, &hold_up, text, size);
    snprintf(text + used, size - used, " (--stall-warn)");
    remember(stall, &hold_up);
    return HR_STALL_WAITS;
}

/* --- the control block --- */

static struct hr_rank_view view_of(const struct hr_stall *stall, const struct hr_control *control,
                                   size_t r, int64_t clock_ns)
{
    const struct hr_seen_rank *seen = &stall->waits.rank[r];
    const struct hr_rank_status *line = &control->rank[r];
    char text[100];
    /* Partner: the rank, or who starts it. Relaxed, but for its end: they order no data. */
    struct hr_rank_view view = {
        .pid = (long)hr_atom64_load_relaxed(&line->pid),
        .host = line->host,
        .phase = (enum hr_phase)hr_atom32_load_relaxed(&line->phase),
        .step = hr_atom64_load_relaxed(&line->step),
        .over =
            hr_atom32_load_acquire(&line->result) != HR_RUNNING || hr_roster_is_gone(control, r),
    };
    const int64_t still = stall->waits.now + clock_ns - stall->looked_ns - seen->since;
    if (!has_moved(&seen->view, &view) && (seen->view.stopped || still >= GAP_NS))
        view.stopped = hr_control_stopped(control, r, text, sizeof text);
    return view;
}

/* For who looks from outside: since when ranks are stopped, and that we have looked. */
static void publish(const struct hr_stall *stall, struct hr_control *control)
{
    for (size_t r = 0; r < stall->waits.nranks; r++) {
        const struct hr_seen_rank *seen = &stall->waits.rank[r];
        const int64_t since = stall->looked_ns - (stall->waits.now - seen->stopped_since);
        hr_atom64_store_relaxed(&control->rank[r].presence.stopped, /* partner: hogring doctor */
                                seen->view.stopped ? (uint64_t)since : 0);
    }
    hr_atom64_store_relaxed(&control->looked, (uint64_t)stall->looked_ns); /* the same */
    hr_control_tell_clock(control);
}

void hr_stall_look(struct hr_stall *stall, struct hr_control *control)
{
    struct hr_rank_view view[HR_MAX_RANKS];
    const int64_t now = hr_clock_ns();
    char text[900];
    enum hr_stall_word word;
    if (hr_atom32_load_relaxed(&control->abort_claimed)) /* partner: claim */
        return;
    for (size_t r = 0; r < stall->waits.nranks; r++)
        view[r] = view_of(stall, control, r, now);
    hr_stall_see(stall, now, view);
    publish(stall, control);
    while ((word = hr_stall_next(stall, text, sizeof text)) != HR_STALL_NOTHING)
        hr_log(word == HR_STALL_WAITS ? HR_LOG_WARNING : HR_LOG_INFO, "%s", text);
}
