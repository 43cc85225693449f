/* hogring gate - did a change of the program change what an earlier run gave?
 *
 *  1. the baseline is read, and run again by this program, or a second file read in its place
 *  2. each strategy is judged: by digests, or by band
 *  3. where bits part: the step and the tensor, out of step digests, or by running both binaries
 *  4. with --slower both binaries are timed in pairs
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/inputs.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "watch/watch.h"
#include "terminal/output.h"
#include "gate/findings.h"
#include "gate/place.h"
#include "json/value.h"
#include "options/sweep.h"

struct gate {
    const struct hr_cli *cli;
    char self[HR_PATH_MAX], folder[HR_PATH_MAX];
    struct hr_gate_document baseline, fresh, older; /* older: of --against, on this machine */
    struct hr_gate_judgement judgement;
    struct hr_gate_speeds speeds;
    struct hr_gate_more *more;
    double slower;
    double took_s;      /* this program's own runs */
    char helpless[160]; /* why both binaries do not find the step; "" */
};

/* --- what is asked --- */

/* "20%": 0.2. */
static enum hr_status parse_slower(const char *text, double *out)
{
    char *end;
    const double percent = strtod(text, &end);
    if (end == text || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= 1000))
        return hr_fail(HR_E_USAGE, "--slower %s: expected a share in percent, as 20%%", text);
    *out = percent / 100;
    return HR_OK;
}

static enum hr_status check(struct gate *gate)
{
    const struct hr_cli *cli = gate->cli;
    if (cli->npositional < 1 || cli->npositional > 2)
        return hr_fail(HR_E_USAGE,
                       "gate: by what? (hogring gate BASELINE.json, as --json of train, "
                       "compare or simulate wrote it; or BASELINE.json NEW.json)");
    if (cli->npositional == 2 && cli->against[0])
        return hr_fail(HR_E_USAGE,
                       "--against: is not supported beside a second file: nothing is run");
    if (cli->slower[0] && !cli->against[0])
        return hr_fail(HR_E_USAGE, "--slower: than what? give --against OLD-BINARY too");
    if (hr_cli_was_given(cli, "pairs") && !cli->slower[0])
        return hr_fail(HR_E_USAGE, "--pairs: of what? give --against OLD-BINARY and --slower too");
    if (cli->pairs < HR_GATE_PAIRS_LEAST || cli->pairs > HR_GATE_PAIRS_MAX)
        return hr_fail(HR_E_USAGE, "--pairs %zu: expected %d to %d", cli->pairs,
                       HR_GATE_PAIRS_LEAST, HR_GATE_PAIRS_MAX);
    if (cli->slower[0])
        HR_TRY(parse_slower(cli->slower, &gate->slower));
    if (cli->against[0])
        HR_TRY(hr_gate_child_check("--against", cli->against));
    return cli->junit[0] ? hr_file_check_writable(cli->junit) : HR_OK;
}

/* Nothing is written over that is read, nor what the runs of the baseline read. */
static enum hr_status check_apart(const struct gate *gate)
{
    const char *name;
    json_t *value;
    if (gate->cli->npositional == 1)
        json_object_foreach(json_object_get(gate->baseline.json, "given"), name, value)
        {
            if (json_is_string(value))
                HR_TRY(hr_input_named(json_string_value(value), !strcmp(name, "data")));
        }
    return hr_outcome_check_files(gate->cli);
}

/* --- what is run --- */

/* The baseline says what is trained, this command line how long and how large it may be. */
static enum hr_status take_given(struct gate *gate)
{
    static const char *const names[] = {"timeout", "max-memory"};
    json_t *given = hr_sweep_given(gate->cli), *limits = json_object();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(given, names[i]))
            json_object_set(limits, names[i], json_object_get(given, names[i]));
    const enum hr_status status =
        given && limits ? hr_gate_take_given(&gate->baseline, limits, gate->cli->quiet)
                        : hr_fail(HR_E_NOMEM, "no memory for a gate");
    json_decref(given);
    json_decref(limits);
    return status;
}

/* The old program has ten times what this one took, and a minute. */
static struct hr_gate_child child_of(const struct gate *gate, const char *binary, bool shown)
{
    return (struct hr_gate_child){.binary = binary,
                                  .folder = gate->folder,
                                  .most_s = binary == gate->self ? 0 : 60 + 10 * gate->took_s,
                                  .quiet = !shown || gate->cli->quiet || !isatty(STDERR_FILENO)};
}

static void say(const struct gate *gate, const char *what)
{
    if (!gate->cli->quiet)
        hr_log(HR_LOG_INFO, "%s", what);
}

static enum hr_status run_all(const struct gate *gate, const char *binary,
                              struct hr_gate_document *out)
{
    const struct hr_gate_child child = child_of(gate, binary, true);
    struct hr_gate_words words;
    char line[1200] = "re-running: ";
    HR_TRY(hr_gate_words_of(&gate->baseline, &words));
    hr_gate_words_say(&words, line + strlen(line), sizeof line - strlen(line));
    say(gate, line);
    const enum hr_status status = hr_gate_child_run(&child, &words, "new.json", out);
    hr_gate_words_free(&words);
    return status;
}

static enum hr_status get_fresh(struct gate *gate)
{
    if (gate->cli->npositional == 2)
        return hr_gate_read(gate->cli->positional[1], true, &gate->fresh);
    const ssize_t length = readlink("/proc/self/exe", gate->self, sizeof gate->self - 1);
    if (length < 0)
        return hr_fail_errno(HR_E_IO, "/proc/self/exe: does not say which program this is");
    gate->self[length] = '\0';
    HR_TRY(take_given(gate));
    HR_TRY(hr_gate_folder_make(gate->folder));
    const int64_t begun = hr_clock_ns();
    const enum hr_status status = run_all(gate, gate->self, &gate->fresh);
    gate->took_s = hr_seconds(hr_clock_ns() - begun);
    return status;
}

/* --- what is judged --- */

/* No fault of the old program. */
static bool is_own(enum hr_status status)
{
    return status == HR_E_INTERRUPTED || status == HR_E_NOMEM;
}

/* Where the baseline's machine is another, the old binary's runs on this one take its place. */
static enum hr_status judge(struct gate *gate)
{
    const size_t speeds =
        gate->cli->slower[0] ? HR_GATE_CLOCKS * hr_gate_nlabels(&gate->baseline) : 0;
    HR_TRY(hr_gate_judge(&gate->baseline, &gate->baseline, &gate->fresh, speeds, &gate->judgement));
    if (!gate->judgement.bits || !gate->cli->against[0])
        return HR_OK;
    say(gate, "the baseline's bits are another machine's: the old binary runs it here");
    const enum hr_status status = run_all(gate, gate->cli->against, &gate->older);
    if (status != HR_OK && (is_own(status) || gate->judgement.failed == 0))
        return status;
    if (status != HR_OK) { /* what has failed has failed without it */
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
        hr_gate_document_free(&gate->older);
        return HR_OK;
    }
    hr_gate_judgement_free(&gate->judgement);
    return hr_gate_judge(&gate->baseline, &gate->older, &gate->fresh, speeds, &gate->judgement);
}

static const struct hr_gate_document *judged_by(const struct gate *gate)
{
    return gate->older.json ? &gate->older : &gate->baseline;
}

/* --- where bits part --- */

static enum hr_status locate(struct gate *gate, size_t i)
{
    const struct hr_gate_strategy *strategy = &gate->judgement.strategy[i];
    const struct hr_gate_child older = child_of(gate, gate->cli->against, false);
    const struct hr_gate_child newer = child_of(gate, gate->self, false);
    char text[HR_GATE_TEXT - 40], *where = gate->more[i].where;
    struct hr_gate_place place =
        hr_gate_place_of(hr_gate_run_find(judged_by(gate), strategy->label, strategy->seed),
                         hr_gate_run_find(&gate->fresh, strategy->label, strategy->seed));
    const bool exact = place.known && place.step - place.equal_until == 1;
    if (!exact && gate->cli->against[0] && !gate->helpless[0]) {
        const struct hr_gate_search search = {.baseline = &gate->baseline,
                                              .older = &older,
                                              .newer = &newer,
                                              .label = strategy->label,
                                              .seed = strategy->seed};
        say(gate, "bits differ: both binaries run again, to find the step");
        struct hr_gate_place found;
        const enum hr_status status = hr_gate_search_run(&search, &found);
        if (is_own(status))
            return status;
        if (status == HR_OK)
            place = found;
        else
            snprintf(gate->helpless, sizeof gate->helpless, "%s", hr_error_message());
    }
    if (place.known)
        snprintf(where, HR_GATE_TEXT, "seed %s: %s", strategy->seed,
                 hr_gate_place_text(&place, text, sizeof text));
    else if (gate->helpless[0])
        snprintf(where, HR_GATE_TEXT, "where: not found: %s", gate->helpless);
    else if (gate->cli->against[0])
        snprintf(where, HR_GATE_TEXT, "seed %s: the old binary gives the new bits here, too",
                 strategy->seed);
    else
        snprintf(where, HR_GATE_TEXT,
                 "which step? give --against OLD-BINARY, or make the baseline "
                 "with --json FILE,digests=N");
    return HR_OK;
}

/* A pair that lacks a run is no pair; what few are left would be judged as if none had failed. */
static void compare_speeds(struct gate *gate, size_t i)
{
    struct hr_gate_more *more = &gate->more[i];
    const struct hr_gate_pairs *pairs =
        hr_gate_pairs_find(&gate->speeds, gate->judgement.strategy[i].label);
    for (size_t c = 0; pairs && c < HR_GATE_CLOCKS; c++)
        more->ratio[c] =
            hr_gate_ratio_of(pairs->log_ratio[c], pairs->n[c], gate->judgement.level, gate->slower);
    if (!pairs || pairs->missing)
        snprintf(more->untimed, sizeof more->untimed, "not judged: %zu of %zu pairs lack a run",
                 pairs ? pairs->missing : gate->cli->pairs, gate->cli->pairs);
    else if (isnan(more->ratio[HR_GATE_WALL].mean) && isnan(more->ratio[HR_GATE_CPU].mean))
        snprintf(more->untimed, sizeof more->untimed, "not judged: the runs do not say their time");
}

static enum hr_status measure(struct gate *gate)
{
    const struct hr_gate_child older = child_of(gate, gate->cli->against, false);
    const struct hr_gate_child newer = child_of(gate, gate->self, false);
    char line[80];
    snprintf(line, sizeof line, "timing %zu pairs of runs", gate->cli->pairs);
    say(gate, line);
    const enum hr_status status =
        hr_gate_speeds_measure(&gate->baseline, &older, &newer, gate->cli->pairs, &gate->speeds);
    if (is_own(status))
        return status;
    for (size_t i = 0; i < gate->judgement.n; i++)
        if (status == HR_OK)
            compare_speeds(gate, i);
        else
            snprintf(gate->more[i].untimed, sizeof gate->more[i].untimed, "not measured: %.180s",
                     hr_error_message());
    return HR_OK;
}

static enum hr_status find_out(struct gate *gate)
{
    HR_TRY(get_fresh(gate));
    HR_TRY(judge(gate));
    gate->more = calloc(gate->judgement.n, sizeof *gate->more);
    if (!gate->more)
        return hr_fail(HR_E_NOMEM, "no memory for a gate");
    for (size_t i = 0; i < gate->judgement.n; i++)
        gate->more[i].ratio[HR_GATE_WALL].mean = gate->more[i].ratio[HR_GATE_CPU].mean =
            (double)NAN;
    for (size_t i = 0; i < gate->judgement.n; i++)
        if (gate->judgement.strategy[i].verdict == HR_GATE_FAILED &&
            gate->judgement.strategy[i].rule == HR_GATE_BY_DIGESTS)
            HR_TRY(locate(gate, i));
    return gate->cli->slower[0] ? measure(gate) : HR_OK;
}

/* --- what is told --- */

static bool annotates(const struct hr_cli *cli)
{
    const char *actions = getenv("GITHUB_ACTIONS");
    if (strcmp(cli->annotations, "auto") != 0)
        return !strcmp(cli->annotations, "github");
    return actions && !strcmp(actions, "true");
}

static enum hr_status write_junit(const struct hr_gate_findings *findings, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    HR_TRY(hr_gate_junit(findings, &text, &bytes));
    const enum hr_status status = hr_file_replace_durably(path, text, bytes);
    free(text);
    return status;
}

/* The summary is the last line. */
static enum hr_status report(const struct gate *gate, const struct hr_gate_findings *findings)
{
    FILE *out = hr_outcome_stream(gate->cli);
    const struct hr_gate_document *fresh = &gate->fresh;
    hr_output_hold();
    fprintf(
        out, "%s: hogring %s, %zu run%s of %s\n", gate->baseline.name,
        hr_gate_command(&gate->baseline), hr_gate_nruns(&gate->baseline),
        hr_gate_nruns(&gate->baseline) == 1 ? "" : "s",
        hr_printable(hr_json_text_at(
                         json_object_get(json_object_get(fresh->json, "config"), "data"), "name"))
            .text);
    if (gate->older.json)
        fprintf(out, "judged by the runs of %s on this machine\n", gate->cli->against);
    fputc('\n', out);
    if (gate->cli->junit[0])
        HR_TRY(write_junit(findings, gate->cli->junit));
    if (gate->cli->json[0])
        HR_TRY(hr_json_write(gate->cli->json, hr_gate_json(findings)));
    if (annotates(gate->cli))
        hr_gate_annotate(out, findings);
    hr_gate_print(out, findings);
    return HR_OK;
}

static void forget(struct gate *gate)
{
    hr_gate_folder_remove(gate->folder);
    hr_gate_speeds_free(&gate->speeds);
    hr_gate_judgement_free(&gate->judgement);
    hr_gate_document_free(&gate->baseline);
    hr_gate_document_free(&gate->fresh);
    hr_gate_document_free(&gate->older);
    free(gate->more);
}

static int run(struct hr_cli *cli)
{
    static const int codes[] = {0, 1, 2}; /* passed, failed, not judged */
    static struct gate gate;
    gate.cli = cli;
    struct hr_gate_findings findings = {.baseline = &gate.baseline,
                                        .judgement = &gate.judgement,
                                        .timed = cli->slower[0],
                                        .pairs = cli->pairs};
    enum hr_status status = check(&gate);
    if (status == HR_OK)
        status = hr_gate_read(cli->positional[0], false, &gate.baseline);
    if (status == HR_OK)
        status = check_apart(&gate);
    if (status == HR_OK)
        status = find_out(&gate);
    findings.more = gate.more;
    findings.slower = gate.slower;
    if (status == HR_OK)
        status = report(&gate, &findings);
    const int code = status == HR_OK ? codes[hr_gate_verdict_of_all(&findings)] : 0;
    forget(&gate);
    return status == HR_OK ? code : hr_cli_failed(status);
}

const struct hr_command hr_command_gate = {
    .name = "gate",
    .summary = "repeat an earlier run: is its result still the same?",
    .bit = HR_GATE,
    .usage = "BASELINE.json [NEW.json]",
    .story =
        "BASELINE.json was written by --json of train, compare or simulate. The same runs are\n"
        "repeated, and each strategy is judged: by digests, if bits repeat and this type of\n"
        "machine has the baseline's; else by whether its mean accuracy and loss are in the band\n"
        "that the baseline's seeds, at least 5, predict. If bits differ it finds the step, the\n"
        "tensor and the rank. Speed is only judged against the old binary. Exit code 1: it\n"
        "failed; 2: it could not be judged (hogring help gate has workflows for GitHub and\n"
        "GitLab).\n",
    .examples = "  hogring compare --seeds 10 --json baseline.json,digests=10\n"
                "  hogring gate baseline.json\n"
                "  hogring gate baseline.json --against ./hogring-main --slower 20%\n"
                "  hogring gate baseline.json --junit gate.xml\n"
                "  hogring gate monday.json tuesday.json\n",
    .run = run,
};
