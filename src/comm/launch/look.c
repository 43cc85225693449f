#include "launch/look.h"

#include <stdio.h>
#include <string.h>

#include "shm/process.h"

const char *hr_run_state_str(enum hr_run_state state)
{
    static const char *const texts[] = {"alive", "held up", "stopped", "ending", "dead"};
    return texts[state];
}

/* --- what the copy says; it may hold anything, and has no writers --- */

/* A time of the copy: between the beginning of the clock and now. */
static int64_t time_in(uint64_t ns, int64_t now)
{
    return ns < (uint64_t)now ? (int64_t)ns : now;
}

static struct hr_wait_rules rules_of(const struct hr_control *control, int64_t long_ns)
{
    const struct hr_about *about = &control->about;
    const bool trains = about->workers > 0; /* else it is a group of the library */
    return (struct hr_wait_rules){
        .warn_ns = long_ns,
        .workers = trains && about->workers < control->nranks ? about->workers : control->nranks,
        .owners = about->owners,
        .first_stage = about->first_stage,
        .stages = about->stages,
        .waits = !trains                                ? HR_WAITS_FOR_STEP
                 : about->waits <= HR_WAITS_FOR_SLOWEST ? (enum hr_waits_for)about->waits
                                                        : HR_WAITS_FOR_SERVERS,
    };
}

/* --- what the kernel says --- */

static bool is_stopped(const struct hr_run_file *run, size_t r)
{
    char text[100];
    if (run->dead) /* as its launcher saw it last */
        return hr_atom64_load_relaxed(&run->control->rank[r].presence.stopped) != 0;
    return hr_control_stopped(run->control, r, text, sizeof text);
}

/* When it was stopped. Where no launcher has seen it: when the launcher itself was, or, at the
 * earliest, when the rank began what it does. */
static void see_stop(const struct hr_run_file *run, size_t r, struct hr_look *look)
{
    const uint64_t seen = hr_atom64_load_relaxed(&run->control->rank[r].presence.stopped);
    const uint64_t looked = hr_atom64_load_relaxed(&run->control->looked);
    struct hr_seen_rank *rank = &look->waits.rank[r];
    rank->not_before = !seen && !looked;
    rank->stopped_since =
        rank->not_before ? rank->since : time_in(seen ? seen : looked, look->waits.now);
}

static void see_rank(const struct hr_run_file *run, size_t r, struct hr_look *look)
{
    const struct hr_rank_status *line = &run->control->rank[r];
    struct hr_seen_rank *rank = &look->waits.rank[r];
    const uint64_t since = hr_atom64_load_relaxed(&line->since);
    rank->view = (struct hr_rank_view){
        .pid = (long)hr_atom64_load_relaxed(&line->pid),
        .host = line->host,
        .phase = (enum hr_phase)hr_atom32_load_relaxed(&line->phase),
        .step = hr_atom64_load_relaxed(&line->step),
        .over = hr_atom32_load_relaxed(&line->result) != HR_RUNNING ||
                hr_roster_is_gone(run->control, r),
    };
    rank->view.stopped = !rank->view.over && is_stopped(run, r);
    rank->since = rank->awake_since =
        time_in(since ? since : (uint64_t)run->control->about.began, look->waits.now);
    look->lost[r] = !run->dead && !rank->view.over && rank->view.pid > 0 &&
                    hr_process_is_dead(rank->view.pid, hr_atom64_load_relaxed(&line->started));
}

/* --- ranks that do not train: their phases say little, their flight recorders more --- */

/* Its last collective of all ranks; false: it has called none. */
static bool last_of_all(const struct hr_flight *flight, struct hr_flight_entry *entry)
{
    for (size_t back = 0; back < HR_FLIGHT_ENTRIES; back++)
        if (hr_flight_read(flight, back, entry) && entry->group == 0)
            return true;
    return false;
}

/* A rank is in its last collective, or between that and the next, whose number is its step. */
static void see_collective(struct hr_control *control, size_t r, struct hr_look *look)
{
    struct hr_seen_rank *rank = &look->waits.rank[r];
    struct hr_flight_entry last = {.end_ns = 1};
    if (rank->view.phase != HR_PHASE_COMMUNICATE)
        return;
    const bool any = last_of_all(hr_control_flight(control, r), &last);
    const int64_t since = last.end_ns ? last.end_ns : last.start_ns;
    rank->view.phase = last.end_ns ? HR_PHASE_BETWEEN : HR_PHASE_COMMUNICATE;
    rank->view.step = last.sequence + (last.end_ns != 0);
    if (any)
        rank->since = rank->awake_since = time_in(since > 0 ? (uint64_t)since : 0, look->waits.now);
}

/* --- whose fault it is --- */

static void find_culprits(struct hr_look *look)
{
    const struct hr_waits *waits = &look->waits;
    struct hr_hold_up *hold_up = &look->hold_up;
    for (size_t c = 0; c < waits->nranks; c++) {
        const bool stopped = hr_waits_is_stopped(waits, c);
        const int64_t longest = hr_waits_longest(waits, c);
        if (!waits->rank[c].view.over && (stopped || longest >= waits->rules.warn_ns))
            hold_up->holding[hold_up->n++] = c;
    }
    hr_hold_up_find_waiters(waits, hold_up);
}

static enum hr_run_state state_of(const struct hr_run_file *run, const struct hr_look *look)
{
    bool stopped = look->launcher_stopped;
    for (size_t i = 0; i < look->hold_up.n; i++)
        stopped = stopped || look->waits.rank[look->hold_up.holding[i]].view.stopped;
    if (run->dead)
        return HR_RUN_DEAD;
    if (hr_atom32_load_relaxed(&run->control->abort))
        return HR_RUN_ENDING;
    const bool held_up = look->hold_up.n || look->silent_ns >= look->waits.rules.warn_ns;
    return stopped ? HR_RUN_STOPPED : held_up ? HR_RUN_HELD_UP : HR_RUN_ALIVE;
}

void hr_look_at(const struct hr_run_file *run, int64_t long_ns, struct hr_look *look)
{
    const struct hr_control *control = run->control;
    const int64_t now = hr_control_clock_ns(control), last = hr_run_last_seen(control);
    *look = (struct hr_look){.waits = {.rules = rules_of(control, long_ns),
                                       .nranks = control->nranks,
                                       .now = run->dead && last < now ? last : now}};
    const uint64_t looked = hr_atom64_load_relaxed(&control->looked);
    if (looked)
        look->silent_ns = look->waits.now - time_in(looked, look->waits.now);
    look->launcher_stopped = !run->dead && !run->joined && hr_process_is_stopped(run->pid);
    for (size_t r = 0; r < control->nranks; r++)
        see_rank(run, r, look);
    for (size_t r = 0; !control->about.workers && r < control->nranks; r++)
        see_collective(run->control, r, look);
    for (size_t r = 0; r < control->nranks; r++)
        see_stop(run, r, look);
    find_culprits(look);
    look->state = state_of(run, look);
}

size_t hr_look_waits_for(const struct hr_look *look, size_t rank, size_t *whom, int64_t *time)
{
    size_t n = 0;
    *time = 0;
    for (size_t c = 0; c < look->waits.nranks; c++) {
        const int64_t waited =
            look->waits.rank[c].view.over ? 0 : hr_waits_time(&look->waits, rank, c);
        if (waited)
            whom[n++] = c;
        *time = waited > *time ? waited : *time;
    }
    return n;
}

/* --- in words --- */

/* Is the launcher's process that of all ranks, too? */
static bool is_one_process(const struct hr_control *control)
{
    return control->about.seating == HR_SEATS_THREADS || control->about.seating == HR_SEATS_PLAYED;
}

/* A launcher that is stopped, or has not looked for long. */
static size_t say_launcher(const struct hr_run_file *run, const struct hr_look *look, char *text,
                           size_t size)
{
    const double silent = hr_seconds(look->silent_ns);
    if (look->launcher_stopped && !look->silent_ns) /* nobody looks after ranks that are played */
        return (size_t)snprintf(text, size, "the process (pid %ld) is stopped", run->pid);
    if (look->launcher_stopped && is_one_process(run->control))
        return (size_t)snprintf(text, size,
                                "the process (pid %ld) has been stopped for %.1f s, with all its "
                                "ranks",
                                run->pid, silent);
    if (look->launcher_stopped)
        return (size_t)snprintf(text, size,
                                "the launcher (pid %ld) has been stopped for %.1f s: meanwhile "
                                "nothing is saved, and nobody is missed",
                                run->pid, silent);
    if (look->silent_ns >= look->waits.rules.warn_ns)
        return (size_t)snprintf(text, size,
                                "the launcher (pid %ld) has not looked after its ranks for %.1f s: "
                                "it saves, or has no processor",
                                run->pid, silent);
    return 0;
}

static size_t say_lost(const struct hr_look *look, char *text, size_t size)
{
    for (size_t r = 0; r < look->waits.nranks; r++)
        if (look->lost[r])
            return (size_t)snprintf(text, size, "rank %zu (pid %ld) is gone, while %s", r,
                                    look->waits.rank[r].view.pid,
                                    hr_phase_str(look->waits.rank[r].view.phase));
    return 0;
}

/* How it ended, as far as that is known. */
static size_t say_end(const struct hr_run_file *run, char *text, size_t size)
{
    const struct hr_failure *failure = &run->control->failure;
    if (!hr_atom32_load_relaxed(&run->control->abort))
        return run->dead ? (size_t)snprintf(text, size, "the run died: its %s (pid %ld) is gone",
                                            run->joined ? "rank 0" : "launcher", run->pid)
                         : 0;
    if (failure->rank < run->control->nranks)
        return (size_t)snprintf(text, size, "the run %s: rank %u: %s",
                                run->dead ? "failed" : "fails", failure->rank, failure->message);
    return (size_t)snprintf(text, size, "the run %s: %s", run->dead ? "failed" : "fails",
                            failure->message);
}

void hr_look_say(const struct hr_run_file *run, const struct hr_look *look, char *text, size_t size)
{
    text[0] = '\0';
    size_t used = say_end(run, text, size);
    const bool all_stopped = look->launcher_stopped && is_one_process(run->control);
    if (!used && !run->dead)
        used = say_launcher(run, look, text, size);
    if (!used)
        used = say_lost(look, text, size);
    if (!look->hold_up.n || all_stopped || used + 3 >= size)
        return;
    used += (size_t)snprintf(text + used, size - used, "%s", used ? "; " : "");
    hr_hold_up_describe(&look->waits, &look->hold_up, text + used, size - used);
}
