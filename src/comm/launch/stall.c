#include "launch/stall.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* === who waits for whom === */

/* Ranks that a line names. */
enum { NAMED = 3 };

/* --- who waits --- */

static bool is_worker(const struct hr_waits *waits, size_t r)
{
    return r < waits->rules.workers;
}

/* The worker of whose pipeline rank r is; SIZE_MAX: of none. */
static size_t replica_of(const struct hr_waits *waits, size_t r)
{
    const struct hr_wait_rules *rules = &waits->rules;
    if (rules->stages < 2)
        return SIZE_MAX;
    if (is_worker(waits, r))
        return r;
    return r < rules->first_stage ? SIZE_MAX : (r - rules->first_stage) / (rules->stages - 1);
}

static bool is_stage(const struct hr_waits *waits, size_t r)
{
    return !is_worker(waits, r) && replica_of(waits, r) != SIZE_MAX;
}

/* It computes, or does what it will between two collectives. */
static bool is_away(const struct hr_seen_rank *rank)
{
    return rank->view.phase == HR_PHASE_COMPUTE || rank->view.phase == HR_PHASE_BETWEEN;
}

static bool is_busy(const struct hr_seen_rank *rank)
{
    return rank->view.phase == HR_PHASE_STARTING || is_away(rank);
}

/* Since when a server has had nothing to take: since the last worker has begun to compute; `now`:
 * it may have something. */
static int64_t idle_since(const struct hr_waits *waits)
{
    int64_t since = 0;
    bool any = false;
    for (size_t r = 0; r < waits->rules.workers; r++) {
        const struct hr_seen_rank *rank = &waits->rank[r];
        if (rank->view.over)
            continue;
        if (!is_busy(rank))
            return waits->now;
        any = true;
        since = rank->since > since ? rank->since : since;
    }
    return any ? since : waits->now;
}

/* For how long rank r has waited; 0: it does not wait, or has just begun. */
static int64_t waited(const struct hr_waits *waits, size_t r)
{
    const struct hr_seen_rank *rank = &waits->rank[r];
    const enum hr_phase phase = rank->view.phase;
    int64_t since = rank->awake_since;
    if (rank->view.over || rank->view.stopped)
        return 0;
    if (is_worker(waits, r) || is_stage(waits, r))
        return phase == HR_PHASE_COMMUNICATE || phase == HR_PHASE_CUT ? waits->now - since : 0;
    if (phase != HR_PHASE_SERVE)
        return 0;
    since = idle_since(waits) > since ? idle_since(waits) : since;
    return waits->now - since;
}

/* --- for whom --- */

bool hr_waits_is_stopped(const struct hr_waits *waits, size_t r)
{
    const struct hr_seen_rank *rank = &waits->rank[r];
    return rank->view.stopped && waits->now - rank->stopped_since >= waits->stop_ns;
}

/* Does worker `waiter`, who communicates, wait for a gradient of worker c? */
static bool awaits_gradient(const struct hr_waits *waits, size_t waiter, size_t c)
{
    const struct hr_wait_rules *rules = &waits->rules;
    const struct hr_seen_rank *rank = &waits->rank[c];
    const int64_t computed = waits->now - rank->since;
    if (rules->waits == HR_WAITS_FOR_STEP) /* a phase is stored before its step: look twice */
        return rank->view.step <= waits->rank[waiter].view.step && computed > 0;
    return (rules->waits == HR_WAITS_FOR_SLOWEST || c < rules->owners) &&
           computed >= rules->warn_ns;
}

int64_t hr_waits_time(const struct hr_waits *waits, size_t waiter, size_t c)
{
    const struct hr_seen_rank *rank = &waits->rank[c];
    const int64_t time = waited(waits, waiter);
    const bool server = !is_worker(waits, waiter) && !is_stage(waits, waiter);
    const bool together =
        !server && replica_of(waits, waiter) == replica_of(waits, c) && waits->rules.stages > 1;
    bool held = false;
    if (waiter == c || time == 0)
        return 0;
    if (hr_waits_is_stopped(waits, c))
        held = time >= waits->rules.warn_ns / 2;
    else if (rank->view.phase == HR_PHASE_STARTING)
        held = !server || is_worker(waits, c);
    else if (is_away(rank) && together)
        held = waits->now > rank->since;
    else if (is_away(rank) && !is_stage(waits, waiter))
        held = server || waits->rank[waiter].view.phase == HR_PHASE_CUT ||
               awaits_gradient(waits, waiter, c);
    return held ? time : 0;
}

int64_t hr_waits_longest(const struct hr_waits *waits, size_t c)
{
    int64_t longest = 0;
    for (size_t w = 0; w < waits->nranks; w++) {
        const int64_t time = hr_waits_time(waits, w, c);
        longest = time > longest ? time : longest;
    }
    return longest;
}

void hr_hold_up_find_waiters(const struct hr_waits *waits, struct hr_hold_up *hold_up)
{
    hold_up->nwaiting = 0;
    hold_up->longest = 0;
    for (size_t w = 0; w < waits->nranks; w++) {
        int64_t longest = 0;
        for (size_t i = 0; i < hold_up->n; i++) {
            const int64_t time = hr_waits_time(waits, w, hold_up->holding[i]);
            longest = time > longest ? time : longest;
        }
        hold_up->nwaiting += longest > 0;
        if (longest > hold_up->longest) {
            hold_up->longest = longest;
            hold_up->first = w;
        }
    }
}

/* --- in words --- */

struct line {
    char *text;
    size_t size, used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line->text + line->used, line->size - line->used, format, args);
    va_end(args);
    line->used += n > 0 ? (size_t)n : 0;
    if (line->used >= line->size)
        line->used = line->size - 1;
}

static void add_doing(struct line *line, const struct hr_rank_view *view)
{
    add(line, "%s", hr_phase_str(view->phase));
    if (view->phase != HR_PHASE_STARTING && view->phase != HR_PHASE_SERVE)
        add(line, " at step %llu", (unsigned long long)view->step);
}

/* "rank 2 (pid 4711)", "rank 5 (on node-b)" */
static void rank_view_name(size_t r, const struct hr_rank_view *view, char *text, size_t size)
{
    if (view->host && view->host[0])
        snprintf(text, size, "rank %zu (on %s)", r, view->host);
    else
        snprintf(text, size, "rank %zu (pid %ld)", r, view->pid);
}

/* "rank 2 (pid 4711) has been computing a gradient at step 40 for 10.2 s" */
static void add_rank(struct line *line, const struct hr_waits *waits, size_t r)
{
    const struct hr_seen_rank *rank = &waits->rank[r];
    char name[HR_RANK_NAME];
    rank_view_name(r, &rank->view, name, sizeof name);
    add(line, "%s has been ", name);
    if (rank->view.stopped) {
        add(line, "stopped for %s%.1f s, while ", rank->not_before ? "up to " : "",
            hr_seconds(waits->now - rank->stopped_since));
        add_doing(line, &rank->view);
    } else {
        add_doing(line, &rank->view);
        add(line, " for %.1f s", hr_seconds(waits->now - rank->since));
    }
}

size_t hr_hold_up_describe(const struct hr_waits *waits, const struct hr_hold_up *hold_up,
                           char *text, size_t size)
{
    struct line said = {text, size, 0}, *line = &said;
    const char *whom = hold_up->n > 1 ? "them" : "it";
    for (size_t i = 0; i < hold_up->n && i < NAMED; i++) {
        add(line, "%s", i ? ", " : "");
        add_rank(line, waits, hold_up->holding[i]);
    }
    if (hold_up->n > NAMED)
        add(line, ", and %zu more", hold_up->n - NAMED);
    if (hold_up->nwaiting == 1)
        add(line, "; rank %zu has waited %.1f s for %s", hold_up->first,
            hr_seconds(hold_up->longest), whom);
    if (hold_up->nwaiting > 1)
        add(line, "; rank %zu and %zu more have waited up to %.1f s for %s", hold_up->first,
            hold_up->nwaiting - 1, hr_seconds(hold_up->longest), whom);
    return line->used;
}

/* === said before a deadline === */

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
        said->reported_before = said->reported;
        said->reported = false;
    }
    if (moved)
        seen->since = now;
    if (moved || woke)
        seen->awake_since = now;
    if (view->stopped && !before.stopped)
        seen->stopped_since = now;
    if (!view->stopped)
        said->reported_stop = false;
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
    const int64_t warn = stall->waits.rules.warn_ns;
    /* Who was named and goes on has its time again: a waiter may only be late to see it. */
    const bool holds_up =
        hr_waits_longest(&stall->waits, c) >= warn && stall->waits.now - said->went_on_at >= warn;
    const bool news =
        (stopped && !said->reported_stop) ||
        (holds_up && !said->reported && !said->reported_before && !said->reported_stop);
    said->reported = said->reported || holds_up;
    said->reported_stop = said->reported_stop || stopped || (news && view->stopped);
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
        said->went_on_at = stall->waits.now;
        if (view->stopped)
            continue;
        rank_view_name(r, view, name, sizeof name);
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
    snprintf(text + used, size - used, " (--timeout T:WARN)");
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
    hr_control_publish_clock(control);
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
