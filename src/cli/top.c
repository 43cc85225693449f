#include "cli/top.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/printable.h"
#include "base/size.h"
#include "json/value.h"
#include "plan/layout.h"
#include "report/human.h"
#include "report/progress.h"
#include "shm/process.h"
#include "terminal/grid.h"

const char *hr_without_folder(const char *command)
{
    const char *slash = memrchr(command, '/', strcspn(command, " "));
    return slash ? slash + 1 : command;
}

enum hr_status hr_cli_parse_pid(const struct hr_cli *cli, const char *command, long *pid)
{
    char *end;
    *pid = 0;
    if (cli->npositional > 1)
        return hr_fail(HR_E_USAGE, "%s: one run at a time (hogring doctor lists them)", command);
    if (!cli->npositional)
        return HR_OK;
    const char *text = cli->positional[0];
    *pid = strtol(text, &end, 10);
    if (*pid <= 0 || *end)
        return hr_fail(HR_E_USAGE, "%s %s: expected the pid of a run (hogring doctor lists them)",
                       command, text);
    return HR_OK;
}

const char *hr_time_text(char text[HR_HUMAN_MAX], double seconds)
{
    if (seconds >= 100)
        return hr_human_wait(text, seconds);
    snprintf(text, HR_HUMAN_MAX, "%.1f s", seconds > 0 ? seconds : 0);
    return text;
}

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

static const char *const role_names[] = {"rank", "worker", "server", "stage"};

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
    const size_t kinds = about->stages, team = about->team ? about->team : 1;
    const size_t behind = r - about->first_stage;
    rank->role = !about->workers ? HR_TOP_RANK : r < about->workers ? HR_TOP_WORKER : HR_TOP_SERVER;
    if (!about->workers || kinds < 2 || (r >= about->workers && r < about->first_stage))
        return;
    const size_t member = r < about->workers ? 0 : behind % (kinds - 1) + 1;
    rank->role = HR_TOP_STAGE;
    rank->replica = r < about->workers ? r : behind / (kinds - 1);
    rank->stage = member / team;
    rank->part = member % team;
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
    const bool apart = control->about.rank_kind == HR_RANKS_PROCESSES ||
                       control->about.rank_kind == HR_RANKS_JOINED;
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
    if (control->about.rank_kind == HR_RANKS_SERIAL)
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

/* --- the run, and how far it is, above the table of top --- */

enum { BAR = 20, NARROW = 72 };

static void print_progress(FILE *out, const struct hr_top *top, size_t columns_there)
{
    const struct hr_course *course = &top->run.control->course;
    const uint64_t done = word(&course->samples), total = word(&course->total);
    const bool narrow = columns_there && columns_there < NARROW;
    struct hr_parts line = {.n = 0};
    char text[HR_HUMAN_MAX], shown[HR_PARTS_BYTES];
    if (!total)
        return;
    const double part = fmin((double)done / (double)total, 1);
    const int full = (int)(part * BAR);
    if (narrow)
        hr_parts_add(&line, 0, "%.0f %%", 100 * part);
    else
        hr_parts_add(&line, 0, "[%.*s%.*s] %.0f %%", full, "####################", BAR - full,
                     "--------------------", 100 * part);
    hr_parts_add(&line, 1, "epoch %.2f of %.10g", hr_course_load(&course->epoch),
                 hr_course_load(&course->epochs));
    if (isfinite(top->eta_s))
        hr_parts_add(&line, 2, "about %s to go", hr_human_about(text, top->eta_s));
    fprintf(out, "%s\n", hr_parts_write(&line, ", ", columns_there, shown));
}

static void print_measures(FILE *out, const struct hr_top *top, size_t columns_there)
{
    const struct hr_control *control = top->run.control;
    const struct hr_course *course = &control->course;
    const double loss = hr_course_load(&course->train_loss),
                 accuracy = hr_course_load(&course->accuracy);
    struct hr_parts line = {.n = 0};
    char text[HR_HUMAN_MAX], shown[HR_PARTS_BYTES];
    if (isfinite(top->samples_per_s))
        hr_parts_add(&line, 0, "%s",
                     hr_human_rate(text, top->samples_per_s, control->about.tokens));
    if (isfinite(loss))
        hr_parts_add(&line, 1, "loss %s", hr_human_loss(text, loss));
    if (isfinite(accuracy))
        hr_parts_add(&line, 2, "accuracy %.2f %%", 100 * accuracy);
    hr_parts_add(&line, 3, "memory %s",
                 hr_bytes_text(hr_process_resident_bytes(top->run.pid)).text);
    if (control->about.segment_bytes)
        hr_parts_add(&line, 4, "shared %s", hr_bytes_text(control->about.segment_bytes).text);
    fprintf(out, "%s\n", hr_parts_write(&line, ", ", columns_there, shown));
}

/* "3 workers, 1 server, as threads" */
static void print_ranks(FILE *out, const struct hr_top *top)
{
    const struct hr_control *control = top->run.control;
    static const char *const kinds[] = {", all run by one process", " as threads", " as processes",
                                        " started one by one"};
    const struct hr_about *about = &control->about;
    const bool staged = about->stages > 1;
    const size_t workers = about->workers, n = top->run.nranks;
    const size_t servers = (staged ? hr_min_size(about->first_stage, n) : n) - workers;
    if (!workers || workers > n)
        fprintf(out, "%zu rank%s", n, n == 1 ? "" : "s");
    else
        fprintf(out, "%zu %s%s", workers, staged ? "replica" : "worker", workers == 1 ? "" : "s");
    if (workers && workers <= n && staged)
        fprintf(out, " of %u ranks", about->stages);
    if (workers && servers && servers <= n)
        fprintf(out, ", %zu server%s", servers, servers == 1 ? "" : "s");
    fputs(about->rank_kind < sizeof kinds / sizeof *kinds ? kinds[about->rank_kind] : "", out);
}

/* Its header alone. */
static void print_head(FILE *out, const struct hr_top *top, const struct hr_top_room *room)
{
    const struct hr_control *control = top->run.control;
    char command[sizeof control->about.command];
    memcpy(command, control->about.command, sizeof command); /* a stranger's, perhaps */
    hr_make_printable(&(struct hr_printable_state){0}, command, strlen(command), "");
    const bool well = top->look.state == HR_RUN_ALIVE;
    const FILE *style = room->style;
    char text[HR_HUMAN_MAX];
    fprintf(out, "%s%s%s\n", hr_style(style, HR_BOLD), hr_without_folder(command),
            hr_style(style, HR_PLAIN));
    fprintf(out, "pid %ld, %s%s", top->run.pid, hr_printable(control->about.strategy).text,
            control->about.strategy[0] ? ", " : "");
    print_ranks(out, top);
    fprintf(out, ", %s: %s%s%s\n", hr_human_wait(text, top->age_s),
            hr_style(style, well ? HR_GOOD : HR_BAD), hr_run_state_str(top->look.state),
            hr_style(style, HR_PLAIN));
    print_progress(out, top, room->columns);
    print_measures(out, top, room->columns);
    if (control->about.rank_kind == HR_RANKS_SERIAL &&
        isfinite(hr_course_load(&control->course.seconds)))
        fprintf(out, "%.6g s of the run's own clock\n", hr_course_load(&control->course.seconds));
}

/* --- hogring top --once --json --- */

static json_t *number_of(const struct hr_atom64 *word)
{
    return hr_json_number(hr_course_load(word));
}

static json_t *by_activity(const double of[HR_ACTIVITIES])
{
    return hr_json_object("load", HR_JSON(of[HR_LOAD]), "compute", HR_JSON(of[HR_COMPUTE]),
                          "communicate", HR_JSON(of[HR_COMMUNICATE]), "wait", HR_JSON(of[HR_WAIT]),
                          NULL);
}

static json_t *role_json(const struct hr_top_rank *rank)
{
    json_t *role = HR_JSON(role_names[rank->role]);
    return rank->role != HR_TOP_STAGE ? hr_json_object("role", role, NULL)
                                      : hr_json_object("role", role, HR_OF(rank, replica),
                                                       HR_OF(rank, stage), HR_OF(rank, part), NULL);
}

static json_t *rank_json(const void *of, size_t r)
{
    const struct hr_top *top = of;
    const struct hr_top_rank *rank = &top->rank[r];
    const bool played = top->run.control->about.rank_kind == HR_RANKS_SERIAL;
    json_t *object = role_json(rank);
    json_object_set_new(object, "rank", hr_json_count(r));
    json_object_set_new(object, "step", hr_json_count(rank->step));
    if (played) /* its ranks take turns, and have no times of their own */
        return object;
    json_t *more = hr_json_object(
        "pid", json_integer(rank->pid), "phase", HR_JSON(hr_phase_str(rank->phase)),
        HR_OF(rank, phase_s), HR_OF(rank, stopped), "gone", HR_JSON(rank->lost), "ended",
        HR_JSON(rank->over), HR_OF(rank, holds_up), HR_OF(rank, samples), HR_OF(rank, gradients),
        HR_OF(rank, samples_per_s), "share", by_activity(rank->share), "spent_s",
        by_activity(rank->spent_s), "staleness",
        rank->updates ? hr_json_object(HR_OF(rank, updates), "mean", HR_JSON(rank->stale_mean),
                                       "max", HR_JSON(rank->stale_max), NULL)
                      : json_null(),
        "inputs_taken", rank->taken ? hr_json_count(rank->taken) : json_null(), "inputs_waiting",
        rank->taken ? hr_json_count(rank->waiting) : json_null(), "resident_bytes",
        rank->resident ? hr_json_count(rank->resident) : json_null(), NULL);
    json_object_update(object, more);
    json_decref(more);
    return object;
}

static json_t *course_json(const struct hr_top *top)
{
    const struct hr_course *course = &top->run.control->course;
    if (!word(&course->updated_ns))
        return json_null();
    return hr_json_object(
        "samples", HR_JSON(word(&course->samples)), "samples_total", HR_JSON(word(&course->total)),
        "steps_total", HR_JSON(word(&course->batches)), "epoch", number_of(&course->epoch),
        "epochs", number_of(&course->epochs), "clock_s", number_of(&course->seconds), "evaluations",
        HR_JSON(word(&course->points)), "train_loss", number_of(&course->train_loss), "loss",
        number_of(&course->loss), "accuracy", number_of(&course->accuracy), HR_OF(top, eta_s),
        NULL);
}

json_t *hr_top_json(const struct hr_top *top)
{
    static const char *const launches[] = {"played", "thread", "process", "joined"};
    const struct hr_control *control = top->run.control;
    const uint32_t kind = control->about.rank_kind;
    char said[1200];
    hr_look_say(&top->run, &top->look, said, sizeof said);
    return hr_json_object(
        "file", HR_JSON(top->run.name), "pid", json_integer(top->run.pid), "state",
        HR_JSON(hr_run_state_str(top->look.state)), "said", hr_json_text_or_null(said),
        HR_OF(&control->about, command), "strategy", hr_json_text_or_null(control->about.strategy),
        "started", json_integer(control->about.began_s), HR_OF(top, age_s), "launch",
        HR_JSON(kind < sizeof launches / sizeof *launches ? launches[kind] : "?"),
        HR_OF(top, window_s), HR_OF(top, samples_per_s), "course", course_json(top),
        "resident_bytes", HR_JSON(hr_process_resident_bytes(top->run.pid)),
        HR_OF(&control->about, segment_bytes), "control_bytes",
        HR_JSON(hr_control_bytes(control->nranks)), HR_OF(&top->run, nranks), "ranks",
        hr_json_list(top->nranks, rank_json, top), NULL);
}

enum { LEAST_COLUMNS = 20 };

/* --- cells of a rank --- */

void hr_top_role_name(const struct hr_top_rank *rank, char *text, size_t size)
{
    if (rank->role != HR_TOP_STAGE)
        snprintf(text, size, "%s", role_names[rank->role]);
    else
        snprintf(text, size, "replica %zu stage %zu", rank->replica, rank->stage);
    const size_t used = strlen(text);
    if (rank->part)
        snprintf(text + used, size - used, " part %zu", rank->part);
}

static const char *doing(const struct hr_top_rank *rank)
{
    static const char *const words[] = {
        [HR_PHASE_STARTING] = "starting",      [HR_PHASE_COMPUTE] = "computing",
        [HR_PHASE_COMMUNICATE] = "exchanging", [HR_PHASE_SERVE] = "serving",
        [HR_PHASE_CUT] = "at a cut",           [HR_PHASE_FINISHED] = "finished",
        [HR_PHASE_BETWEEN] = "between"};
    return rank->lost                                           ? "gone"
           : rank->over                                         ? "ended"
           : rank->stopped                                      ? "stopped"
           : (size_t)rank->phase < sizeof words / sizeof *words ? words[rank->phase]
                                                                : "?";
}

/* Where there is no room, the most expendable goes first; 0: never. */
enum { ROLE = 1 };
static const int expendable[] = {0, 7, 0, 4, 5, 1, 3, 2, 2, 1, 6, 6, 8, 9};

struct row {
    size_t rank;
    int interest;
    double waits; /* share of its time; the less, the more others may wait for it */
    enum hr_style style;
};

static struct row row_of(const struct hr_top *top, size_t r)
{
    const struct hr_top_rank *rank = &top->rank[r];
    struct row row = {.rank = r,
                      .waits = isfinite(rank->share[HR_WAIT]) ? rank->share[HR_WAIT] : 1};
    row.interest = rank->lost ? 4 : rank->over ? 0 : rank->stopped ? 3 : rank->holds_up ? 2 : 1;
    row.style = row.interest > 2                ? HR_BAD
                : rank->holds_up && !rank->over ? HR_WARN
                : rank->over                    ? HR_FAINT
                                                : HR_PLAIN;
    return row;
}

static void write_row(FILE *cells, const struct hr_top *top, const struct row *row,
                      const FILE *style)
{
    const struct hr_top_rank *rank = &top->rank[row->rank];
    const struct hr_control *control = top->run.control;
    const bool played = control->about.rank_kind == HR_RANKS_SERIAL;
    char text[HR_HUMAN_MAX];
    hr_top_role_name(rank, text, sizeof text);
    fprintf(cells, "%s%zu\t%s\t", hr_style(style, row->style), row->rank, text);
    if (!played) { /* else its ranks take turns, and have no times of their own */
        fprintf(cells, "%s\t%s", doing(rank), hr_time_text(text, rank->phase_s));
    } else
        fputc('\t', cells);
    fprintf(cells, "\t%" PRIu64 "\t", rank->step);
    if (!played && isfinite(rank->samples_per_s))
        fputs(hr_human_short(text, hr_rate_shown(rank->samples_per_s, control->about.tokens)),
              cells);
    for (size_t i = 0; i < HR_ACTIVITIES; i++) {
        fputc('\t', cells);
        if (!played && isfinite(rank->share[i]))
            fprintf(cells, "%.0f%%", 100 * rank->share[i]);
    }
    fputc('\t', cells);
    if (!played && rank->updates)
        fprintf(cells, "%.1f/%" PRIu64, rank->stale_mean, rank->stale_max);
    fputc('\t', cells);
    if (!played && rank->taken)
        fprintf(cells, "%" PRIu64, rank->waiting);
    fprintf(cells, "\t%s\t", !played && rank->resident ? hr_bytes_text(rank->resident).text : "");
    if (!played)
        fprintf(cells, "%ld", rank->pid);
    fprintf(cells, "%s\n", hr_style(style, HR_PLAIN));
}

/* --- the table --- */

static int by_interest(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->interest != y->interest)
        return y->interest - x->interest;
    if (x->waits < y->waits || x->waits > y->waits)
        return x->waits < y->waits ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Lines of at most so many columns. */
static size_t put_lines(FILE *out, char *text, size_t columns_there)
{
    size_t lines = 0;
    for (char *line = text; *line; lines++) {
        const size_t length = strcspn(line, "\n");
        const bool more = line[length] == '\n';
        line[length] = '\0';
        const size_t fits = columns_there ? hr_style_cut(line, columns_there) : length;
        fprintf(out, "%.*s\n", (int)hr_min_size(fits, length), line);
        line += length + more;
    }
    return lines;
}

static size_t print_top(FILE *out, const struct hr_top *top, const struct hr_top_room *room)
{
    char *text = NULL, said[700];
    size_t bytes = 0, lines = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return 0;
    print_head(memory, top, room);
    hr_look_say(&top->run, &top->look, said, sizeof said);
    hr_make_printable(&(struct hr_printable_state){0}, said, strlen(said), "");
    if (said[0])
        fprintf(memory, "%s%s%s\n", hr_style(room->style, HR_BAD), said,
                hr_style(room->style, HR_PLAIN));
    fputc('\n', memory);
    fclose(memory);
    lines = put_lines(out, text, room->columns);
    free(text);
    return lines;
}

void hr_top_print(FILE *out, const struct hr_top *top, const struct hr_top_room *room)
{
    struct hr_grid table;
    struct row row[HR_MAX_RANKS];
    char also[48], heads[120];
    const size_t columns_there = room->columns ? hr_max_size(room->columns, LEAST_COLUMNS) : 0;
    const struct hr_top_room real = {columns_there, room->lines, room->style};
    const size_t head = print_top(out, top, &real) + 1; /* and the table's */
    size_t fit = top->nranks;
    for (size_t r = 0; r < top->nranks; r++)
        row[r] = row_of(top, r);
    if (room->lines && head + fit + 1 > room->lines) {
        fit = room->lines > head + 1 ? room->lines - head - 1 : 0;
        qsort(row, top->nranks, sizeof *row, by_interest);
    }
    snprintf(
        heads, sizeof heads,
        "rank\t-role\t-doing\tfor\tstep\t%s\tload\tcomp\tcomm\twait\tstale\tqueue\tmemory\tpid",
        hr_rate_unit(top->run.control->about.tokens));
    hr_grid_begin(&table, heads);
    for (size_t c = 0; c < table.n; c++)
        table.column[c].fit.expendable = expendable[c];
    if (top->nranks && top->rank[0].role == HR_TOP_STAGE) /* then it says more than what it does */
        table.column[ROLE].fit.expendable = 0;
    for (size_t i = 0; i < fit && i < top->nranks; i++)
        write_row(table.cells, top, &row[i], room->style);
    const size_t left_out = top->run.nranks - hr_min_size(fit, top->nranks);
    snprintf(also, sizeof also, "%zu rank%s", left_out, left_out == 1 ? "" : "s");
    table.also = left_out ? also : NULL;
    hr_grid_end(&table, out, columns_there);
}
