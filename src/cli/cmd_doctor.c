/* hogring doctor - the runs that are here, and whose fault it is that one does not go on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "views/views.h"
#include "terminal/output.h"
#include "manual/manual.h"
#include "json/value.h"

struct round {
    const struct hr_cli *cli;
    long pid; /* the one that is asked for; 0: all */
    struct hr_runs runs;
    struct hr_patient *patients; /* those that are asked for */
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

static enum hr_status parse_pid(struct round *round)
{
    const struct hr_cli *cli = round->cli;
    char *end;
    if (cli->npositional > 1)
        return hr_fail(HR_E_USAGE, "doctor: one run at a time (hogring doctor lists them)");
    if (!cli->npositional)
        return HR_OK;
    const char *text = cli->positional[0];
    round->pid = strtol(text, &end, 10);
    if (round->pid <= 0 || *end)
        return hr_fail(HR_E_USAGE,
                       "doctor %s: expected the pid of a run (hogring doctor lists them)", text);
    return HR_OK;
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
        struct hr_patient *patient = &round->patients[round->n++];
        *patient = (struct hr_patient){.run = run, .last_crash = run == last};
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
    const size_t width = hr_manual_width(STDOUT_FILENO), others = json_array_size(round->others);
    if (!round->n)
        fprintf(stdout, "no runs%s are here, and none has left anything\n",
                others ? " of this user" : "");
    else if (!round->pid)
        hr_patients_print(stdout, round->patients, round->n, width);
    if (others && !round->pid)
        fprintf(stdout, "%zu of other users cannot be read: /dev/shm/%s%s\n", others,
                json_string_value(json_array_get(round->others, 0)), others > 1 ? ", ..." : "");
    for (size_t i = 0; round->pid && i < round->n; i++)
        hr_patient_print(stdout, &round->patients[i], width);
}

static enum hr_status write_json(const struct round *round, json_t *removed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < round->n; i++)
        json_array_append_new(list, hr_patient_json(&round->patients[i]));
    return hr_json_write(round->cli->json, json_pack("{so sO sO}", "runs", list, "removed", removed,
                                                     "others", round->others));
}

static enum hr_status attend(struct round *round, json_t *removed)
{
    HR_TRY(parse_pid(round));
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
    .summary = "runs that go on or crashed: who waits for whom, and why",
    .bit = HR_DOCTOR,
    .usage = "[PID] [OPTIONS]",
    .story =
        "Without PID it lists the runs of this user that are here, also one that has crashed. "
        "With the\n"
        "pid of a run, or of one of its ranks, it says what each rank does and since when, who "
        "waits for\n"
        "whom, and who holds up the others. It only reads: a run does not notice.\n",
    .examples = "  hogring doctor\n"
                "  hogring doctor 4711\n"
                "  hogring doctor 4711 --json -\n"
                "  hogring doctor --clean\n",
    .run = run,
};
