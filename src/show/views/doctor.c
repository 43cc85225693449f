#include "views/views.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/printable.h"
#include "json/value.h"
#include "manual/manual.h"
#include "plan/layout.h"
#include "report/human.h"
#include "terminal/grid.h"

/* --- doctor view --- */

/* What hogring doctor prints. */

/* "stopped", "dead", "left behind", "unreadable" */
static const char *state_of(const struct hr_patient *patient)
{
    const struct hr_run_file *run = patient->run;
    if (run->dead)
        return patient->last_crash ? "dead" : "left behind";
    return run->control ? hr_run_state_str(patient->look.state) : "unreadable";
}

/* How old it is, in seconds; of a dead one: when it was seen last. */
static double age_of(const struct hr_patient *patient)
{
    const struct hr_control *control = patient->run->control;
    const int64_t age = hr_control_clock_ns(control) - control->about.began;
    return age > 0 ? hr_seconds(age) : 0;
}

/* "2026-11-22 15:40:03", by the clock on the wall; `format` is strftime's. */
static void date_of(const struct hr_control *control, const char *format, char *text, size_t size)
{
    const time_t began = (time_t)control->about.began_s;
    struct tm parts;
    if (!localtime_r(&began, &parts) || !strftime(text, size, format, &parts))
        snprintf(text, size, "?");
}

/* The command, without the folder of its program. */
static const char *command_of(const struct hr_control *control)
{
    const char *text = control->about.command;
    const char *slash = memrchr(text, '/', strcspn(text, " "));
    return slash ? slash + 1 : text;
}

/* --- the list --- */

void hr_patients_print(FILE *out, const struct hr_patient *patients, size_t n, size_t width)
{
    struct hr_grid table;
    hr_grid_begin(&table, "pid\tranks\t-started\tage\t-state\t-command");
    for (size_t i = 0; i < n; i++) {
        const struct hr_run_file *run = patients[i].run;
        char date[32] = "", age[HR_HUMAN_MAX] = "", ranks[24] = "";
        if (run->control) {
            snprintf(ranks, sizeof ranks, "%u", run->nranks);
            date_of(run->control, "%m-%d %H:%M", date, sizeof date);
            hr_human_wait(age, age_of(&patients[i]));
        }
        fprintf(table.cells, "%ld\t%s\t%s\t%s\t%s\t%s\n", run->pid, ranks, date, age,
                state_of(&patients[i]),
                hr_printable(run->control ? command_of(run->control) : run->fault).text);
    }
    hr_grid_squeeze(&table, 5, width);
    hr_grid_end(&table, out, 0);
}

/* --- one run --- */

static const char *seats_of(const struct hr_control *control)
{
    static const char *const texts[] = {
        [HR_SEATS_PLAYED] = "played by one process (virtual time, explore, replay)",
        [HR_SEATS_THREADS] = "as threads",
        [HR_SEATS_PROCESSES] = "as processes",
        [HR_SEATS_JOINED] = "as processes that were started one by one"};
    return control->about.seating <= HR_SEATS_JOINED ? texts[control->about.seating] : "?";
}

static void print_head(FILE *out, const struct hr_patient *patient)
{
    const struct hr_control *control = patient->run->control;
    char date[32], age[HR_HUMAN_MAX];
    date_of(control, "%Y-%m-%d %H:%M:%S", date, sizeof date);
    hr_human_wait(age, age_of(patient));
    fprintf(out, "%s\n", command_of(control));
    fprintf(out, "pid %ld, started %s, %s ago: %s\n", patient->run->pid, date, age,
            state_of(patient));
    fprintf(out, "%u rank%s %s\n\n", patient->run->nranks, patient->run->nranks == 1 ? "" : "s",
            seats_of(control));
}

enum { ROOM = 10 }; /* behind the other columns, of 80 */

/* "0, 2, 3", or how many where that is too long. */
static void waits_for(const struct hr_look *look, size_t rank, char *text, size_t size)
{
    size_t whom[HR_MAX_RANKS], used = 0;
    int64_t time;
    const size_t n = hr_look_waits_for(look, rank, whom, &time);
    text[0] = '\0';
    for (size_t i = 0; i < n && used <= ROOM; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i ? ", " : "", whom[i]);
    if (used > ROOM)
        snprintf(text, size, "%zu ranks", n);
}

static void write_rank(FILE *cells, const struct hr_look *look, size_t r)
{
    const struct hr_seen_rank *rank = &look->waits.rank[r];
    char whom[32], time[HR_HUMAN_MAX];
    const double seconds = hr_seconds(look->waits.now - rank->since);
    waits_for(look, r, whom, sizeof whom);
    if (seconds < 100)
        snprintf(time, sizeof time, "%.1f s", seconds);
    else
        hr_human_wait(time, seconds);
    const char *last = look->lost[r]        ? "is gone"
                       : rank->view.over    ? "has ended"
                       : rank->view.stopped ? "is stopped"
                                            : whom;
    fprintf(cells, "%zu\t%ld\t%s\t%llu\t%s\t%s\n", r, rank->view.pid,
            hr_phase_str(rank->view.phase), (unsigned long long)rank->view.step, time, last);
}

/* What it does, or did, in the operation `entry`: "all_reduce direct number 7 of 100 float32
 * sum"; 240 will do. */
static void operation_text(const struct hr_flight_entry *entry, char *text, size_t size)
{
    char call[160];
    hr_call_describe(call, sizeof call,
                     &(struct hr_call){entry->sequence, entry->count, entry->kind, 0});
    snprintf(text, size, "%s%s%.0u", call, entry->group ? " of group " : "", entry->group);
}

/* Its last operation, and whether it is in it. */
static void write_operation(FILE *out, const struct hr_patient *patient, size_t r)
{
    const struct hr_flight *flight = hr_control_flight(patient->run->control, r);
    const int64_t now = patient->look.waits.now;
    struct hr_flight_entry entry;
    char text[240];
    size_t back = 0;
    while (back < HR_FLIGHT_ENTRIES && !hr_flight_read(flight, back, &entry))
        back++;
    if (back == HR_FLIGHT_ENTRIES)
        return;
    operation_text(&entry, text, sizeof text);
    const int64_t end = entry.end_ns ? entry.end_ns : entry.start_ns;
    fprintf(out, "rank %zu :: %s, %s %.1f s%s\n", r, text, entry.end_ns ? "finished" : "begun",
            end > 0 && end < now ? hr_seconds(now - end) : 0.0,
            entry.end_ns ? " ago" : " ago, and not finished");
}

static void print_operations(FILE *out, const struct hr_patient *patient, size_t width)
{
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return;
    for (size_t r = 0; r < patient->run->control->nranks; r++)
        write_operation(memory, patient, r);
    fclose(memory);
    if (text[0])
        fputs("\nlast collective of each rank (--json has 64 of each):\n", out);
    hr_manual_print(out, text, width);
    free(text);
}

void hr_patient_print(FILE *out, const struct hr_patient *patient, size_t width)
{
    const struct hr_look *look = &patient->look;
    char said[1200];
    print_head(out, patient);
    hr_look_say(patient->run, look, said, sizeof said);
    if (patient->run->control->about.seating != HR_SEATS_PLAYED) {
        struct hr_grid table;
        hr_grid_begin(&table, "rank\tpid\t-doing\tstep\tfor\t-waits for");
        for (size_t r = 0; r < look->waits.nranks; r++)
            write_rank(table.cells, look, r);
        hr_grid_end(&table, out, 0);
        fputc('\n', out);
    }
    hr_manual_print(out, said[0] ? said : "Nobody holds up others.", width);
    print_operations(out, patient, width);
}

/* --- doctor json --- */

/* What hogring doctor --json writes of a run. */

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
        operation_text(&entry, text, sizeof text);
        json_array_append_new(
            list,
            hr_json_object(HR_OF(&entry, number), "operation", HR_JSON(text), HR_OF(&entry, group),
                           "begun_s_ago", seconds_ago(now, entry.start_ns), "ended_s_ago",
                           entry.end_ns ? seconds_ago(now, entry.end_ns) : json_null(), NULL));
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
    return hr_json_object("rank", HR_JSON(r), "pid", json_integer(rank->view.pid), "phase",
                          HR_JSON(hr_phase_str(rank->view.phase)), HR_OF(&rank->view, step),
                          "phase_s", HR_JSON(hr_seconds(look->waits.now - rank->since)),
                          HR_OF(&rank->view, stopped), "ended", HR_JSON(rank->view.over), "gone",
                          HR_JSON(look->lost[r]), "waits_for", list, "waited_s",
                          n ? hr_json_number(hr_seconds(time)) : json_null(), "operations",
                          operations(patient, r), NULL);
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
        return hr_json_object("file", HR_JSON(run->name), "pid", json_integer(run->pid), "state",
                              HR_JSON(state_of(patient)), "fault", hr_json_text_or_null(run->fault),
                              NULL);
    for (size_t r = 0; r < run->control->nranks; r++)
        json_array_append_new(ranks, rank_json(patient, r));
    hr_look_say(run, &patient->look, said, sizeof said);
    return hr_json_object("file", HR_JSON(run->name), "pid", json_integer(run->pid), "state",
                          HR_JSON(state_of(patient)), "fault", json_null(),
                          HR_OF(&run->control->about, command), "started",
                          json_integer(run->control->about.began_s), "age_s",
                          HR_JSON(age_of(patient)), "said", hr_json_text_or_null(said), "culprits",
                          culprits(&patient->look), "ranks", ranks, NULL);
}
