/* hogring doctor - the runs that are here, and whose fault it is that one does not go on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fold.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/top.h"
#include "json/value.h"
#include "launch/runs.h"
#include "manual/manual.h"
#include "plan/layout.h"
#include "report/human.h"
#include "terminal/grid.h"
#include "terminal/output.h"

/* A run, and what a look at it showed (nothing, when it cannot be read). */
struct patient {
    const struct hr_run_file *run;
    struct hr_look look;
    bool last_crash;
};

/* "stopped", "dead", "left behind", "unreadable" */
static const char *state_of(const struct patient *patient)
{
    const struct hr_run_file *run = patient->run;
    if (run->dead)
        return patient->last_crash ? "dead" : "left behind";
    return run->control ? hr_run_state_str(patient->look.state) : "unreadable";
}

/* How old it is, in seconds; of a dead one: when it was seen last. */
static double age_of(const struct patient *patient)
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

/* --- the list --- */

static void print_list(FILE *out, const struct patient *patients, size_t n, size_t width)
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
        fprintf(
            table.cells, "%ld\t%s\t%s\t%s\t%s\t%s\n", run->pid, ranks, date, age,
            state_of(&patients[i]),
            hr_printable(run->control ? hr_without_folder(run->control->about.command) : run->fault)
                .text);
    }
    hr_grid_squeeze(&table, 5, width);
    hr_grid_end(&table, out, 0);
}

/* --- one run --- */

static const char *ranks_of(const struct hr_control *control)
{
    static const char *const texts[] = {
        [HR_RANKS_SERIAL] = "run by one process (virtual time, explore, replay)",
        [HR_RANKS_THREADS] = "as threads",
        [HR_RANKS_PROCESSES] = "as processes",
        [HR_RANKS_JOINED] = "as processes that were started one by one"};
    return control->about.rank_kind <= HR_RANKS_JOINED ? texts[control->about.rank_kind] : "?";
}

static void print_head(FILE *out, const struct patient *patient)
{
    const struct hr_control *control = patient->run->control;
    char date[32], age[HR_HUMAN_MAX];
    date_of(control, "%Y-%m-%d %H:%M:%S", date, sizeof date);
    hr_human_wait(age, age_of(patient));
    fprintf(out, "%s\n", hr_without_folder(control->about.command));
    fprintf(out, "pid %ld, started %s, %s ago: %s\n", patient->run->pid, date, age,
            state_of(patient));
    fprintf(out, "%u rank%s %s\n\n", patient->run->nranks, patient->run->nranks == 1 ? "" : "s",
            ranks_of(control));
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
    hr_time_text(time, seconds);
    const char *last = look->lost[r]        ? "is gone"
                       : rank->view.over    ? "has ended"
                       : rank->view.stopped ? "is stopped"
                                            : whom;
    fprintf(cells, "%s%zu\t%ld\t%s\t%llu\t%s\t%s\n", hr_yields(stdout, HR_ROW), r, rank->view.pid,
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

/* Its last operation, and whether it is in it; behind `head`. Was there one? */
static bool print_operation(FILE *out, const struct patient *patient, size_t r, const char *head)
{
    const struct hr_flight *flight = hr_control_flight(patient->run->control, r);
    const int64_t now = patient->look.waits.now;
    struct hr_flight_entry entry;
    char text[240];
    size_t back = 0;
    while (back < HR_FLIGHT_ENTRIES && !hr_flight_read(flight, back, &entry))
        back++;
    if (back == HR_FLIGHT_ENTRIES)
        return false;
    operation_text(&entry, text, sizeof text);
    const int64_t end = entry.end_ns ? entry.end_ns : entry.start_ns;
    fprintf(out, "%s%srank %zu  %s, %s %.1f s%s\n", head, hr_yields(out, HR_NOTICE), r, text,
            entry.end_ns ? "finished" : "begun", end > 0 && end < now ? hr_seconds(now - end) : 0.0,
            entry.end_ns ? " ago" : " ago, and not finished");
    return true;
}

static void print_operations(FILE *out, const struct patient *patient)
{
    char head[80];
    snprintf(head, sizeof head, "\n%slast collective of each rank (--json has 64 of each):\n",
             hr_yields(out, HR_NOTICE));
    for (size_t r = 0; r < patient->run->control->nranks; r++)
        if (print_operation(out, patient, r, head))
            head[0] = '\0';
}

static void print_one(FILE *out, const struct patient *patient, size_t width)
{
    const struct hr_look *look = &patient->look;
    char said[1200];
    print_head(out, patient);
    hr_look_say(patient->run, look, said, sizeof said);
    if (patient->run->control->about.rank_kind != HR_RANKS_SERIAL) {
        struct hr_grid table;
        hr_grid_begin(&table, "rank\tpid\t-doing\tstep\tfor\t-waits for");
        for (size_t r = 0; r < look->waits.nranks; r++)
            write_rank(table.cells, look, r);
        hr_grid_end(&table, out, 0);
        fputc('\n', out);
    }
    hr_manual_print(out, said[0] ? said : "Nobody holds up others.", width);
    print_operations(out, patient);
}

/* --- --json --- */

/* A recorder's time may be any number. */
static json_t *seconds_ago(int64_t now, int64_t then)
{
    return hr_json_number(((double)now - (double)then) / (double)HR_NS_PER_SECOND);
}

static json_t *operations(const struct patient *patient, size_t r)
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

static json_t *patient_rank_json(const void *of, size_t r)
{
    const struct patient *patient = of;
    const struct hr_look *look = &patient->look;
    const struct hr_seen_rank *rank = &look->waits.rank[r];
    size_t whom[HR_MAX_RANKS];
    int64_t time;
    const size_t n = hr_look_waits_for(look, r, whom, &time);
    return hr_json_object("rank", HR_JSON(r), "pid", json_integer(rank->view.pid), "phase",
                          HR_JSON(hr_phase_str(rank->view.phase)), HR_OF(&rank->view, step),
                          "phase_s", HR_JSON(hr_seconds(look->waits.now - rank->since)),
                          HR_OF(&rank->view, stopped), "ended", HR_JSON(rank->view.over), "gone",
                          HR_JSON(look->lost[r]), "waits_for", hr_json_counts(whom, n), "waited_s",
                          n ? hr_json_number(hr_seconds(time)) : json_null(), "operations",
                          operations(patient, r), NULL);
}

static json_t *patient_json(const void *patients, size_t i)
{
    const struct patient *patient = (const struct patient *)patients + i;
    const struct hr_run_file *run = patient->run;
    char said[1200];
    if (!run->control)
        return hr_json_object("file", HR_JSON(run->name), "pid", json_integer(run->pid), "state",
                              HR_JSON(state_of(patient)), "fault", hr_json_text_or_null(run->fault),
                              NULL);
    hr_look_say(run, &patient->look, said, sizeof said);
    return hr_json_object(
        "file", HR_JSON(run->name), "pid", json_integer(run->pid), "state",
        HR_JSON(state_of(patient)), "fault", json_null(), HR_OF(&run->control->about, command),
        "started", json_integer(run->control->about.began_s), "age_s", HR_JSON(age_of(patient)),
        "said", hr_json_text_or_null(said), "culprits",
        hr_json_counts(patient->look.hold_up.holding, patient->look.hold_up.n), "ranks",
        hr_json_list(run->control->nranks, patient_rank_json, patient), NULL);
}

/* --- the command --- */

struct round {
    const struct hr_cli *cli;
    long pid; /* the one that is asked for; 0: all */
    struct hr_runs runs;
    struct patient *patients; /* those that are asked for */
    size_t n;
    json_t *others; /* owned: names of other users' */
};

/* Others' are not listed, but refused when they are asked for. */
static bool is_asked_for(const struct round *round, const struct hr_run_file *run)
{
    if (round->pid)
        return hr_run_has_pid(run, round->pid);
    return !run->foreign && !run->gone && !run->fresh;
}

static enum hr_status examine(struct round *round)
{
    const int64_t long_ns = (int64_t)(round->cli->long_wait * (double)HR_NS_PER_SECOND);
    HR_TRY(hr_runs_find(&round->runs));
    const struct hr_run_file *last = hr_runs_last_crash(&round->runs);
    round->patients = calloc(round->runs.n + 1, sizeof *round->patients);
    if (!round->patients)
        return hr_fail(HR_E_NOMEM, "no memory for %zu runs", round->runs.n);
    for (size_t i = 0; i < round->runs.n; i++) {
        const struct hr_run_file *run = &round->runs.file[i];
        if (run->foreign && !run->gone)
            json_array_append_new(round->others, hr_json_text(run->name));
        if (!is_asked_for(round, run))
            continue;
        struct patient *patient = &round->patients[round->n++];
        *patient = (struct patient){.run = run, .last_crash = run == last};
        if (run->control)
            hr_look_at(run, long_ns, &patient->look);
    }
    return HR_OK;
}

/* One that is asked for, and that is not there, or cannot be read. */
static enum hr_status check_patients(const struct round *round)
{
    if (round->pid && !round->n)
        return hr_fail(HR_E_SHM,
                       "doctor %ld: there is no run of that process; it may have ended (hogring "
                       "doctor lists those that are here)",
                       round->pid);
    for (size_t i = 0; round->pid && i < round->n; i++) {
        const struct hr_run_file *run = round->patients[i].run;
        if (run->gone || run->fresh)
            return hr_fail(HR_E_SHM, "doctor %ld: the run %s", round->pid,
                           run->gone ? "has just ended" : "has not begun yet");
        if (!run->control && !round->cli->clean)
            return hr_fail(HR_E_SHM, "/dev/shm/%s %s", run->name, run->fault);
    }
    return HR_OK;
}

/* --- --clean --- */

static enum hr_status clean(const struct round *round, json_t *removed)
{
    FILE *out = hr_cli_speaks(round->cli) ? stdout : stderr;
    size_t n = 0;
    for (size_t i = 0; i < round->n; i++) {
        const struct hr_run_file *run = round->patients[i].run;
        if (!run->dead || !hr_run_remove(run))
            continue;
        fprintf(out, "removed /dev/shm/%s, which pid %ld has left\n", run->name, run->pid);
        json_array_append_new(removed, hr_json_text(run->name));
        n++;
    }
    if (!n && round->pid && !round->patients[0].run->dead)
        return hr_fail(HR_E_USAGE,
                       "doctor %ld --clean: the process lives; only what dead ones have left is "
                       "removed",
                       round->pid);
    if (!n)
        fputs("nothing to remove: no dead process has left anything\n", out);
    return HR_OK;
}

/* --- */

static void print(const struct round *round)
{
    const size_t width = hr_text_columns(STDOUT_FILENO), others = json_array_size(round->others);
    hr_output_hold();
    if (!round->n)
        fprintf(stdout, "no runs%s are here, and none has left anything\n",
                others ? " of this user" : "");
    else if (!round->pid)
        print_list(stdout, round->patients, round->n, width);
    if (round->n && !round->pid)
        fputs("hogring doctor PID says who waits for whom in one of them\n", stdout);
    if (others && !round->pid)
        fprintf(stdout, "%zu of other users cannot be read:\n  /dev/shm/%s%s\n", others,
                json_string_value(json_array_get(round->others, 0)), others > 1 ? ", ..." : "");
    for (size_t i = 0; round->pid && i < round->n; i++)
        print_one(stdout, &round->patients[i], width);
}

static enum hr_status write_json(const struct round *round, json_t *removed)
{
    return hr_json_write(
        round->cli->json,
        hr_json_object("runs", hr_json_list(round->n, patient_json, round->patients), "removed",
                       json_incref(removed), "others", json_incref(round->others), NULL));
}

static enum hr_status attend(struct round *round, json_t *removed)
{
    HR_TRY(hr_cli_parse_pid(round->cli, "doctor", &round->pid));
    HR_TRY(examine(round));
    HR_TRY(check_patients(round));
    if (round->cli->clean)
        HR_TRY(clean(round, removed));
    else if (hr_cli_speaks(round->cli))
        print(round);
    return round->cli->json[0] ? write_json(round, removed) : HR_OK;
}

/* 1 when something is wrong with one of them. */
static int judge(const struct round *round)
{
    for (size_t i = 0; !round->cli->clean && i < round->n; i++)
        if (!round->patients[i].run->control || round->patients[i].look.state != HR_RUN_ALIVE)
            return 1;
    return 0;
}

static int run(struct hr_cli *cli)
{
    struct round round = {.cli = cli, .others = json_array()};
    json_t *removed = json_array();
    const enum hr_status status = attend(&round, removed);
    const int code = status == HR_OK ? judge(&round) : hr_cli_failed(status);
    json_decref(removed);
    json_decref(round.others);
    free(round.patients);
    hr_runs_free(&round.runs);
    return code;
}

const struct hr_command hr_command_doctor = {
    .name = "doctor",
    .summary = "diagnose a running or crashed run: who waits for whom?",
    .bit = HR_DOCTOR,
    .usage = "[PID] [OPTIONS]",
    .story =
        "Without PID it lists this user's runs, also one that has crashed. With the pid of a\n"
        "run, or of one of its ranks, it says what each rank does and for how long, which rank\n"
        "waits for which, and which ranks hold up the others. It only reads, and does not slow\n"
        "the run down.\n",
    .examples = "  hogring doctor\n"
                "  hogring doctor 4711\n"
                "  hogring doctor 4711 --json -\n"
                "  hogring doctor --clean\n",
    .run = run,
};
