#include "launch/stall.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* The longest time between two looks that counts; and who has moved in so long is not asked about,
 * since it is not stopped. */
static const int64_t GAP_NS = HR_NS_PER_SECOND / 4;
/* Ranks that a line names. */
enum { NAMED = 3 };

int64_t hr_stall_limit_ns(double warn_s, double timeout_s)
{
    const bool heard = timeout_s <= 0 || warn_s < timeout_s;
    return warn_s > 0 && heard ? (int64_t)(warn_s * (double)HR_NS_PER_SECOND) : 0;
}

void hr_stall_begin(struct hr_stall *stall, const struct hr_stall_rules *rules, size_t nranks)
{
    HR_ASSERT(nranks <= HR_MAX_RANKS);
    memset(stall, 0, sizeof *stall);
    stall->rules = *rules;
    stall->nranks = nranks;
}

/* --- a look --- */

static bool has_moved(const struct hr_stall_view *before, const struct hr_stall_view *now)
{
    return before->phase != now->phase || before->step != now->step;
}

static void see_rank(struct hr_stall_rank *rank, const struct hr_stall_view *view, int64_t now)
{
    const struct hr_stall_view before = rank->view;
    const bool moved = has_moved(&before, view), woke = before.stopped && !view->stopped;
    if (before.step != view->step) {
        rank->told_before = rank->told;
        rank->told = false;
    }
    if (moved)
        rank->since = now;
    if (moved || woke)
        rank->awake_since = now;
    if (view->stopped && !before.stopped)
        rank->stopped_since = now;
    if (!view->stopped)
        rank->told_stop = false;
    if (rank->said && (moved || woke))
        rank->goes_on = true;
    rank->view = *view;
}

void hr_stall_see(struct hr_stall *stall, int64_t clock_ns, const struct hr_stall_view *view)
{
    const int64_t passed = stall->looked_ns ? clock_ns - stall->looked_ns : 0;
    stall->now += passed < GAP_NS ? passed : GAP_NS;
    stall->looked_ns = clock_ns;
    for (size_t r = 0; r < stall->nranks; r++)
        see_rank(&stall->rank[r], &view[r], stall->now);
}

/* --- who waits --- */

static bool is_worker(const struct hr_stall *stall, size_t r)
{
    return r < stall->rules.workers;
}

static bool is_busy(const struct hr_stall_rank *rank)
{
    return rank->view.phase == HR_PHASE_STARTING || rank->view.phase == HR_PHASE_COMPUTE;
}

/* Since when a server has had nothing to take: since the last worker has begun to compute; `now`:
 * it may have something. */
static int64_t idle_since(const struct hr_stall *stall)
{
    int64_t since = 0;
    bool any = false;
    for (size_t r = 0; r < stall->rules.workers; r++) {
        const struct hr_stall_rank *rank = &stall->rank[r];
        if (rank->view.over)
            continue;
        if (!is_busy(rank))
            return stall->now;
        any = true;
        since = rank->since > since ? rank->since : since;
    }
    return any ? since : stall->now;
}

/* For how long rank r has waited; 0: it does not wait, or has just begun. */
static int64_t waited(const struct hr_stall *stall, size_t r)
{
    const struct hr_stall_rank *rank = &stall->rank[r];
    const enum hr_phase phase = rank->view.phase;
    int64_t since = rank->awake_since;
    if (rank->view.over || rank->view.stopped)
        return 0;
    if (is_worker(stall, r))
        return phase == HR_PHASE_COMMUNICATE || phase == HR_PHASE_CUT ? stall->now - since : 0;
    if (phase != HR_PHASE_SERVE)
        return 0;
    since = idle_since(stall) > since ? idle_since(stall) : since;
    return stall->now - since;
}

/* --- for whom --- */

static bool is_stopped(const struct hr_stall *stall, const struct hr_stall_rank *rank)
{
    return rank->view.stopped && stall->now - rank->stopped_since >= stall->rules.warn_ns;
}

/* Does worker `waiter`, who communicates, wait for a gradient of worker c? */
static bool awaits_gradient(const struct hr_stall *stall, size_t waiter, size_t c)
{
    const struct hr_stall_rules *rules = &stall->rules;
    const struct hr_stall_rank *rank = &stall->rank[c];
    const int64_t computed = stall->now - rank->since;
    if (rules->waits == HR_WAITS_FOR_STEP) /* a phase is stored before its step: look twice */
        return rank->view.step <= stall->rank[waiter].view.step && computed > 0;
    return (rules->waits == HR_WAITS_FOR_SLOWEST || c < rules->owners) &&
           computed >= rules->warn_ns;
}

/* How long `waiter` has waited for rank c; 0: it does not. */
static int64_t waited_for(const struct hr_stall *stall, size_t waiter, size_t c)
{
    const struct hr_stall_rank *rank = &stall->rank[c];
    const int64_t time = waited(stall, waiter);
    const bool server = !is_worker(stall, waiter);
    bool waits = false;
    if (waiter == c || time == 0)
        return 0;
    if (is_stopped(stall, rank))
        waits = time >= stall->rules.warn_ns / 2;
    else if (rank->view.phase == HR_PHASE_STARTING)
        waits = !server || is_worker(stall, c);
    else if (rank->view.phase == HR_PHASE_COMPUTE)
        waits = server || stall->rank[waiter].view.phase == HR_PHASE_CUT ||
                awaits_gradient(stall, waiter, c);
    return waits ? time : 0;
}

/* The ranks that a line is about, and those that wait for one of them. */
struct scene {
    size_t holding[HR_MAX_RANKS], n;
    size_t first, nwaiting; /* the one that has waited longest; how many wait */
    int64_t longest;
};

static int64_t longest_wait_for(const struct hr_stall *stall, size_t c)
{
    int64_t longest = 0;
    for (size_t w = 0; w < stall->nranks; w++) {
        const int64_t time = waited_for(stall, w, c);
        longest = time > longest ? time : longest;
    }
    return longest;
}

/* Is there something to say of rank c? */
static bool is_news(struct hr_stall *stall, size_t c)
{
    struct hr_stall_rank *rank = &stall->rank[c];
    const bool stopped = is_stopped(stall, rank);
    if (rank->view.over)
        return false;
    const bool holds_up = longest_wait_for(stall, c) >= stall->rules.warn_ns;
    const bool news = (stopped && !rank->told_stop) ||
                      (holds_up && !rank->told && !rank->told_before && !rank->told_stop);
    rank->told = rank->told || holds_up;
    rank->told_stop = rank->told_stop || stopped || (news && rank->view.stopped);
    return news;
}

static void look_for_news(struct hr_stall *stall, struct scene *scene)
{
    *scene = (struct scene){.n = 0};
    for (size_t c = 0; c < stall->nranks; c++)
        if (is_news(stall, c))
            scene->holding[scene->n++] = c;
    for (size_t w = 0; w < stall->nranks; w++) {
        int64_t longest = 0;
        for (size_t i = 0; i < scene->n; i++) {
            const int64_t time = waited_for(stall, w, scene->holding[i]);
            longest = time > longest ? time : longest;
        }
        scene->nwaiting += longest > 0;
        if (longest > scene->longest) {
            scene->longest = longest;
            scene->first = w;
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

static void add_doing(struct line *line, const struct hr_stall_view *view)
{
    add(line, "%s", hr_phase_str(view->phase));
    if (view->phase != HR_PHASE_STARTING && view->phase != HR_PHASE_SERVE)
        add(line, " at step %llu", (unsigned long long)view->step);
}

/* "rank 2 (pid 4711) has been computing a gradient at step 40 for 10.2 s" */
static void add_rank(struct line *line, const struct hr_stall *stall, size_t r)
{
    const struct hr_stall_rank *rank = &stall->rank[r];
    add(line, "rank %zu (pid %ld) has been ", r, rank->view.pid);
    if (rank->view.stopped) {
        add(line, "stopped for %.1f s, while ", hr_seconds(stall->now - rank->stopped_since));
        add_doing(line, &rank->view);
    } else {
        add_doing(line, &rank->view);
        add(line, " for %.1f s", hr_seconds(stall->now - rank->since));
    }
}

static void describe(const struct hr_stall *stall, const struct scene *scene, struct line *line)
{
    const char *whom = scene->n > 1 ? "them" : "it";
    for (size_t i = 0; i < scene->n && i < NAMED; i++) {
        add(line, "%s", i ? ", " : "");
        add_rank(line, stall, scene->holding[i]);
    }
    if (scene->n > NAMED)
        add(line, ", and %zu more", scene->n - NAMED);
    if (scene->nwaiting == 1)
        add(line, "; rank %zu has waited %.1f s for %s", scene->first, hr_seconds(scene->longest),
            whom);
    if (scene->nwaiting > 1)
        add(line, "; rank %zu and %zu more have waited up to %.1f s for %s", scene->first,
            scene->nwaiting - 1, hr_seconds(scene->longest), whom);
    add(line, " (--stall-warn)");
}

/* A line about all in `scene` is said: what they do next is news. */
static void remember(struct hr_stall *stall, const struct scene *scene)
{
    for (size_t i = 0; i < scene->n; i++) {
        struct hr_stall_rank *rank = &stall->rank[scene->holding[i]];
        if (!rank->said)
            rank->said_since = rank->view.stopped ? rank->stopped_since : rank->since;
        rank->said = true;
    }
}

static bool say_who_goes_on(struct hr_stall *stall, struct line *line)
{
    for (size_t r = 0; r < stall->nranks; r++) {
        struct hr_stall_rank *rank = &stall->rank[r];
        if (!rank->goes_on)
            continue;
        rank->said = rank->goes_on = false;
        if (rank->view.stopped)
            continue;
        add(line, "rank %zu (pid %ld) goes on after %.1f s", r, rank->view.pid,
            hr_seconds(stall->now - rank->said_since));
        return true;
    }
    return false;
}

enum hr_stall_word hr_stall_next(struct hr_stall *stall, char *text, size_t size)
{
    struct line line = {text, size, 0};
    struct scene scene;
    if (!stall->rules.warn_ns)
        return HR_STALL_NOTHING;
    if (say_who_goes_on(stall, &line))
        return HR_STALL_GOES_ON;
    look_for_news(stall, &scene);
    if (!scene.n)
        return HR_STALL_NOTHING;
    describe(stall, &scene, &line);
    remember(stall, &scene);
    return HR_STALL_WAITS;
}

/* --- the control block --- */

static struct hr_stall_view view_of(const struct hr_stall *stall, const struct hr_control *control,
                                    size_t r, int64_t clock_ns)
{
    const struct hr_stall_rank *rank = &stall->rank[r];
    const struct hr_rank_status *line = &control->rank[r];
    char text[100];
    /* Partner: the rank, or who starts it. Relaxed, but for its end: they order no data. */
    struct hr_stall_view view = {
        .pid = (long)hr_atom64_load_relaxed(&line->pid),
        .phase = (enum hr_phase)hr_atom32_load_relaxed(&line->phase),
        .step = hr_atom64_load_relaxed(&line->step),
        .over =
            hr_atom32_load_acquire(&line->result) != HR_RUNNING || hr_roster_is_gone(control, r),
    };
    const int64_t still = stall->now + clock_ns - stall->looked_ns - rank->since;
    if (!has_moved(&rank->view, &view) && (rank->view.stopped || still >= GAP_NS))
        view.stopped = hr_control_stopped(control, r, text, sizeof text);
    return view;
}

void hr_stall_look(struct hr_stall *stall, const struct hr_control *control)
{
    struct hr_stall_view view[HR_MAX_RANKS];
    const int64_t now = hr_clock_ns();
    char text[900];
    enum hr_stall_word word;
    if (!stall->rules.warn_ns ||
        hr_atom32_load_relaxed(&control->abort_claimed)) /* partner: claim */
        return;
    for (size_t r = 0; r < stall->nranks; r++)
        view[r] = view_of(stall, control, r, now);
    hr_stall_see(stall, now, view);
    while ((word = hr_stall_next(stall, text, sizeof text)) != HR_STALL_NOTHING)
        hr_log(word == HR_STALL_WAITS ? HR_LOG_WARNING : HR_LOG_INFO, "%s", text);
}
