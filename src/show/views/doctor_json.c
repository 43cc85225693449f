/* What hogring doctor --json writes of a run. */
#include "views/doctor_view.h"

#include "json/value.h"

/* A recorder's time may be any number. */
static json_t *seconds_ago(int64_t now, int64_t then)
{
    return hr_json_number(((double)now - (double)then) / (double)HR_NS_PER_SECOND);
}

static json_t *operations(const struct hr_patient *patient, size_t r)
{
    const struct hr_flight *flight = hr_control_flight(patient->run->control, r);
    const int64_t now = patient->look.waits.now;
    struct hr_flight_entry entry;
    json_t *list = json_array();
    char text[240];
    for (size_t back = 0; back < HR_FLIGHT_ENTRIES; back++) {
        if (!hr_flight_read(flight, back, &entry))
            continue;
        hr_patient_operation(&entry, text, sizeof text);
        json_array_append_new(
            list, json_pack("{so so so so so}", "number", hr_json_count(entry.number), "operation",
                            hr_json_text(text), "group", hr_json_count(entry.group), "begun_s_ago",
                            seconds_ago(now, entry.start_ns), "ended_s_ago",
                            entry.end_ns ? seconds_ago(now, entry.end_ns) : json_null()));
    }
    return list;
}

static json_t *rank_json(const struct hr_patient *patient, size_t r)
{
    const struct hr_look *look = &patient->look;
    const struct hr_seen_rank *rank = &look->waits.rank[r];
    size_t whom[HR_MAX_RANKS];
    int64_t time;
    const size_t n = hr_look_waits_for(look, r, whom, &time);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, hr_json_count(whom[i]));
    return json_pack(
        "{so sI ss so so sb sb sb so so so}", "rank", hr_json_count(r), "pid",
        (json_int_t)rank->view.pid, "phase", hr_phase_str(rank->view.phase), "step",
        hr_json_count(rank->view.step), "phase_s",
        hr_json_number(hr_seconds(look->waits.now - rank->since)), "stopped", rank->view.stopped,
        "ended", rank->view.over, "gone", look->lost[r], "waits_for", list, "waited_s",
        n ? hr_json_number(hr_seconds(time)) : json_null(), "operations", operations(patient, r));
}

static json_t *culprits(const struct hr_look *look)
{
    json_t *list = json_array();
    for (size_t i = 0; i < look->hold_up.n; i++)
        json_array_append_new(list, hr_json_count(look->hold_up.holding[i]));
    return list;
}

json_t *hr_patient_json(const struct hr_patient *patient)
{
    const struct hr_run_file *run = patient->run;
    json_t *ranks = json_array();
    char said[1200];
    if (!run->control)
        return json_pack("{so sI ss so}", "file", hr_json_text(run->name), "pid",
                         (json_int_t)run->pid, "state", hr_patient_state(patient), "fault",
                         hr_json_text_or_null(run->fault));
    for (size_t r = 0; r < run->control->nranks; r++)
        json_array_append_new(ranks, rank_json(patient, r));
    hr_look_say(run, &patient->look, said, sizeof said);
    return json_pack("{so sI ss so so sI so so so so}", "file", hr_json_text(run->name), "pid",
                     (json_int_t)run->pid, "state", hr_patient_state(patient), "fault", json_null(),
                     "command", hr_json_text(run->control->about.command), "started",
                     (json_int_t)run->control->about.began_s, "age_s",
                     hr_json_number(hr_patient_age(patient)), "said", hr_json_text_or_null(said),
                     "culprits", culprits(&patient->look), "ranks", ranks);
}
