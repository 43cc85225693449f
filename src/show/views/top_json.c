/* What hogring top --once --json writes of a run. */
#include <math.h>

#include "json/value.h"
#include "shm/process.h"
#include "views/top.h"

static json_t *number_of(const struct hr_atom64 *word)
{
    return hr_json_number(hr_course_load(word));
}

static json_t *by_activity(const double of[HR_ACTIVITIES])
{
    return json_pack("{so so so so}", "load", hr_json_number(of[HR_LOAD]), "compute",
                     hr_json_number(of[HR_COMPUTE]), "communicate",
                     hr_json_number(of[HR_COMMUNICATE]), "wait", hr_json_number(of[HR_WAIT]));
}

static json_t *role_json(const struct hr_top_rank *rank)
{
    static const char *const names[] = {"rank", "worker", "server", "stage"};
    if (rank->role != HR_TOP_STAGE)
        return json_pack("{ss}", "role", names[rank->role]);
    return json_pack("{ss so so so}", "role", names[rank->role], "replica",
                     hr_json_count(rank->replica), "stage", hr_json_count(rank->stage), "part",
                     hr_json_count(rank->part));
}

static json_t *rank_json(const struct hr_top *top, size_t r)
{
    const struct hr_top_rank *rank = &top->rank[r];
    const bool played = top->run.control->about.seating == HR_SEATS_PLAYED;
    json_t *object = role_json(rank);
    json_object_set_new(object, "rank", hr_json_count(r));
    json_object_set_new(object, "step", hr_json_count(rank->step));
    if (played) /* its ranks take turns, and have no times of their own */
        return object;
    json_t *more = json_pack(
        "{sI ss so sb sb sb sb so so so so so so so so so}", "pid", (json_int_t)rank->pid, "phase",
        hr_phase_str(rank->phase), "phase_s", hr_json_number(rank->phase_s), "stopped",
        rank->stopped, "gone", rank->lost, "ended", rank->over, "holds_up", rank->holds_up,
        "samples", hr_json_count(rank->samples), "gradients", hr_json_count(rank->gradients),
        "samples_per_s", hr_json_number(rank->samples_per_s), "share", by_activity(rank->share),
        "spent_s", by_activity(rank->spent_s), "staleness",
        rank->updates
            ? json_pack("{so so so}", "updates", hr_json_count(rank->updates), "mean",
                        hr_json_number(rank->stale_mean), "max", hr_json_count(rank->stale_max))
            : json_null(),
        "inputs_taken", rank->taken ? hr_json_count(rank->taken) : json_null(), "inputs_waiting",
        rank->taken ? hr_json_count(rank->waiting) : json_null(), "resident_bytes",
        rank->resident ? hr_json_count(rank->resident) : json_null());
    json_object_update(object, more);
    json_decref(more);
    return object;
}

static json_t *course_json(const struct hr_top *top)
{
    const struct hr_course *course = &top->run.control->course;
    const bool told = hr_atom64_load_relaxed(&course->told_ns) != 0; /* a copy: no partner */
    if (!told)
        return json_null();
    return json_pack("{so so so so so so so so so so so}", "samples",
                     hr_json_count(hr_atom64_load_relaxed(&course->samples)), "samples_total",
                     hr_json_count(hr_atom64_load_relaxed(&course->total)), "steps_total",
                     hr_json_count(hr_atom64_load_relaxed(&course->batches)), "epoch",
                     number_of(&course->epoch), "epochs", number_of(&course->epochs), "clock_s",
                     number_of(&course->seconds), "evaluations",
                     hr_json_count(hr_atom64_load_relaxed(&course->points)), "train_loss",
                     number_of(&course->train_loss), "loss", number_of(&course->loss), "accuracy",
                     number_of(&course->accuracy), "eta_s", hr_json_number(top->eta_s));
}

json_t *hr_top_json(const struct hr_top *top)
{
    static const char *const launches[] = {"played", "thread", "process", "joined"};
    const struct hr_control *control = top->run.control;
    const uint32_t seating = control->about.seating;
    json_t *ranks = json_array();
    char said[1200];
    for (size_t r = 0; r < top->nranks; r++)
        json_array_append_new(ranks, rank_json(top, r));
    hr_look_say(&top->run, &top->look, said, sizeof said);
    return json_pack(
        "{so sI ss so so so sI so so so so so so so so so so}", "file", hr_json_text(top->run.name),
        "pid", (json_int_t)top->run.pid, "state", hr_run_state_str(top->look.state), "said",
        hr_json_text_or_null(said), "command", hr_json_text(control->about.command), "strategy",
        hr_json_text_or_null(control->about.strategy), "started",
        (json_int_t)control->about.began_s, "age_s", hr_json_number(top->age_s), "launch",
        hr_json_text(seating < sizeof launches / sizeof *launches ? launches[seating] : "?"),
        "window_s", hr_json_number(top->window_s), "samples_per_s",
        hr_json_number(top->samples_per_s), "course", course_json(top), "resident_bytes",
        hr_json_count(hr_process_resident_bytes(top->run.pid)), "segment_bytes",
        hr_json_count(control->about.segment_bytes), "control_bytes",
        hr_json_count(hr_control_bytes(control->nranks)), "nranks", hr_json_count(top->run.nranks),
        "ranks", ranks);
}
