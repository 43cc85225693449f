#include "views/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/process.h"

enum { LONG_WAIT_S = 1 };

enum hr_status hr_top_open(struct hr_top *top, const struct hr_run_file *run)
{
    *top = (struct hr_top){.fd = hr_run_open(run), .run = *run};
    top->run.control = NULL;
    if (top->fd < 0)
        return hr_fail(HR_E_SHM, "top: the run of pid %ld has just ended", run->pid);
    return HR_OK;
}

void hr_top_close(struct hr_top *top)
{
    if (!top->run.name[0])
        return;
    if (top->fd >= 0)
        close(top->fd);
    free(top->run.control);
    *top = (struct hr_top){0};
}

/* --- what the words say; all are a copy's, which has no writers --- */

static uint64_t word(const struct hr_atom64 *atom)
{
    return hr_atom64_load_relaxed(atom);
}

/* A time of the copy; a stranger's may be any number. */
static int64_t spent(const struct hr_atom64 *atom, int64_t most)
{
    const uint64_t ns = word(atom);
    return ns < (uint64_t)most ? (int64_t)ns : most;
}

/* With what it is in the middle of. */
static void see_time(const struct hr_top *top, size_t r, int64_t ns[HR_ACTIVITIES])
{
    const struct hr_gauge *gauge = &top->run.control->rank[r].gauge;
    const int64_t now = top->look.waits.now, since = spent(&gauge->since_ns, now);
    uint64_t doing = word(&gauge->doing);
    for (size_t i = 0; i < HR_ACTIVITIES; i++)
        ns[i] = spent(&gauge->spent_ns[i], now);
    if (doing < 1 || doing > HR_ACTIVITIES || top->look.waits.rank[r].view.over)
        return;
    doing = doing - 1 == HR_COMMUNICATE ? HR_WAIT : doing - 1;
    ns[doing] += now - since;
}

static void see(struct hr_top *top)
{
    const struct hr_control *control = top->run.control;
    if (top->n == HR_TOP_LOOKS)
        memmove(top->seen, top->seen + 1, --top->n * sizeof *top->seen);
    struct hr_top_seen *seen = &top->seen[top->n++];
    seen->at_ns = top->look.waits.now;
    seen->samples_of_all = word(&control->course.samples);
    for (size_t r = 0; r < control->nranks; r++) {
        seen->samples[r] = word(&control->rank[r].gauge.samples);
        see_time(top, r, seen->spent_ns[r]);
    }
}

/* --- who a rank is --- */

static void place(const struct hr_about *about, size_t r, struct hr_top_rank *rank)
{
    const size_t seats = about->stages, team = about->team ? about->team : 1;
    const size_t behind = r - about->first_stage;
    rank->role = !about->workers ? HR_TOP_RANK : r < about->workers ? HR_TOP_WORKER : HR_TOP_SERVER;
    if (!about->workers || seats < 2 || (r >= about->workers && r < about->first_stage))
        return;
    const size_t seat = r < about->workers ? 0 : behind % (seats - 1) + 1;
    rank->role = HR_TOP_STAGE;
    rank->replica = r < about->workers ? r : behind / (seats - 1);
    rank->stage = seat / team;
    rank->part = seat % team;
}

/* --- what it does --- */

static void add_rates(const struct hr_top *top, size_t r, struct hr_top_rank *rank)
{
    const struct hr_top_seen *newest = &top->seen[top->n - 1], *oldest = &top->seen[0];
    int64_t passed[HR_ACTIVITIES], sum = 0;
    rank->samples_per_s = NAN;
    for (size_t i = 0; i < HR_ACTIVITIES; i++) {
        passed[i] = newest->spent_ns[r][i] - oldest->spent_ns[r][i];
        passed[i] = passed[i] > 0 && top->n > 1 ? passed[i] : 0;
        sum += passed[i];
        rank->spent_s[i] = hr_seconds(newest->spent_ns[r][i]);
    }
    for (size_t i = 0; i < HR_ACTIVITIES; i++)
        rank->share[i] = sum > 0 ? (double)passed[i] / (double)sum : NAN;
    const uint64_t more = newest->samples[r] - oldest->samples[r];
    if (top->window_s > 0 && newest->samples[r] && newest->samples[r] >= oldest->samples[r])
        rank->samples_per_s = (double)more / top->window_s;
}

static void fill_rank(struct hr_top *top, size_t r)
{
    const struct hr_control *control = top->run.control;
    const struct hr_gauge *gauge = &control->rank[r].gauge;
    const struct hr_seen_rank *seen = &top->look.waits.rank[r];
    const bool apart =
        control->about.seating == HR_SEATS_PROCESSES || control->about.seating == HR_SEATS_JOINED;
    const uint64_t updates = word(&gauge->updates);
    struct hr_top_rank *rank = &top->rank[r];
    *rank = (struct hr_top_rank){
        .pid = seen->view.pid,
        .phase = seen->view.phase,
        .phase_s = hr_seconds(top->look.waits.now - seen->since),
        .stopped = seen->view.stopped,
        .lost = top->look.lost[r],
        .over = seen->view.over,
        .step = seen->view.step,
        .samples = word(&gauge->samples),
        .gradients = word(&gauge->gradients),
        .updates = updates,
        .stale_max = word(&gauge->stale_max),
        .stale_mean = updates ? (double)word(&gauge->stale_sum) / (double)updates : NAN,
        .taken = word(&gauge->taken),
        .waiting = word(&gauge->waiting),
        .resident = apart && seen->view.pid > 0 ? hr_process_resident_bytes(seen->view.pid) : 0,
    };
    place(&control->about, r, rank);
    add_rates(top, r, rank);
}

/* --- the run --- */

static void fill_course(struct hr_top *top)
{
    const struct hr_control *control = top->run.control;
    const struct hr_top_seen *newest = &top->seen[top->n - 1], *oldest = &top->seen[0];
    const uint64_t done = newest->samples_of_all, total = word(&control->course.total);
    const double age = hr_seconds(newest->at_ns - control->about.began);
    top->age_s = age > 0 ? age : 0;
    top->window_s = hr_seconds(newest->at_ns - oldest->at_ns);
    top->samples_per_s = top->eta_s = NAN;
    if (top->window_s > 0 && done >= oldest->samples_of_all)
        top->samples_per_s = (double)(done - oldest->samples_of_all) / top->window_s;
    if (done && total > done && age >= 1)
        top->eta_s = age / (double)done * (double)(total - done);
}

bool hr_top_look(struct hr_top *top)
{
    struct hr_control *before = top->run.control;
    top->run.control = NULL;
    if (!hr_run_read_again(top->fd, &top->run)) {
        top->run.control = before; /* the last that could be read */
        return false;
    }
    free(before);
    hr_look_at(&top->run, LONG_WAIT_S * HR_NS_PER_SECOND, &top->look);
    top->nranks = top->run.control->nranks;
    see(top);
    fill_course(top);
    for (size_t r = 0; r < top->nranks; r++)
        fill_rank(top, r);
    for (size_t i = 0; i < top->look.hold_up.n; i++)
        top->rank[top->look.hold_up.holding[i]].holds_up = true;
    return !top->run.gone && !top->run.dead;
}

bool hr_top_moved(const struct hr_top *top)
{
    return top->n > 1 && top->seen[top->n - 1].samples_of_all > top->seen[0].samples_of_all;
}

/* --- how it ended --- */

static bool all_returned(const struct hr_control *control)
{
    if (control->about.seating == HR_SEATS_PLAYED)
        return true;
    for (size_t r = 0; r < control->nranks; r++)
        if (hr_atom32_load_relaxed(&control->rank[r].result) == HR_RUNNING)
            return false;
    return true;
}

bool hr_top_ended_well(const struct hr_top *top)
{
    const struct hr_control *control = top->run.control;
    return control && top->run.gone && !hr_atom32_load_relaxed(&control->abort) &&
           all_returned(control);
}

static size_t say_course(const struct hr_control *control, char *text, size_t size)
{
    const struct hr_course *course = &control->course;
    const double loss = hr_course_load(&course->train_loss),
                 accuracy = hr_course_load(&course->accuracy);
    size_t used = 0;
    if (word(&course->total))
        used += (size_t)snprintf(text, size, ": epoch %.4g of %.4g", hr_course_load(&course->epoch),
                                 hr_course_load(&course->epochs));
    if (isfinite(loss) && used < size)
        used += (size_t)snprintf(text + used, size - used, ", loss %.4g", loss);
    if (isfinite(accuracy) && used < size)
        used += (size_t)snprintf(text + used, size - used, ", accuracy %.2f %%", 100 * accuracy);
    return used;
}

void hr_top_say_end(const struct hr_top *top, char *text, size_t size)
{
    const struct hr_control *control = top->run.control;
    size_t used = 0;
    text[0] = '\0';
    if (!control || (!top->run.gone && !top->run.dead)) {
        snprintf(text, size, "the run of pid %ld cannot be read any more%s%s", top->run.pid,
                 top->run.fault[0] ? ": its file " : "", top->run.fault);
        return;
    }
    const double age = hr_seconds(top->look.waits.now - control->about.began);
    if (hr_top_ended_well(top)) {
        used = (size_t)snprintf(text, size, "the run of pid %ld ended after %.1f s", top->run.pid,
                                age > 0 ? age : 0);
        say_course(control, text + used, size - used);
        return;
    }
    hr_look_say(&top->run, &top->look, text, size);
    if (!text[0])
        snprintf(text, size, "the run of pid %ld ended before its ranks had", top->run.pid);
}
