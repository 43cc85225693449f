#include "report/details.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "report/human.h"
#include "terminal/grid.h"

/* --- lost ranks --- */

/* --- counts --- */

size_t hr_run_group_lost(const struct hr_run_group *group)
{
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++)
        n += group->run[i]->nlosses > 0;
    return n;
}

bool hr_groups_lost_alike(const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            if (groups->group[g].run[i]->nlosses != groups->group[0].run[0]->nlosses)
                return false;
    return true;
}

uint64_t hr_run_lost_samples(const struct hr_run_result *run)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < run->nlosses; i++)
        sum += run->losses[i].lost_samples;
    return sum;
}

static bool may_be_absent(const struct hr_run_result *run, size_t worker)
{
    for (size_t i = 0; i < run->nlosses; i++)
        if (run->micro_shards || (!run->losses[i].server && run->losses[i].rank == worker))
            return true;
    return false;
}

double hr_run_absent(const struct hr_run_result *run, size_t worker)
{
    static const double rounding = 1e-9; /* clocks count nanoseconds */
    const struct hr_worker_time *time = &run->worker_time[worker];
    const double absent =
        run->seconds - (time->load_s + time->compute_s + time->communicate_s + time->wait_s);
    return may_be_absent(run, worker) && absent > rounding ? absent : 0;
}

enum { COLUMNS = 80, WHOSE = 240 };

/* --- a loss --- */

static void add_seconds(FILE *text, double seconds)
{
    char number[HR_HUMAN_MAX];
    if (seconds < 1)
        fprintf(text, "%.3g ms", 1e3 * seconds);
    else
        fprintf(text, "%s s", hr_human_seconds(number, seconds));
}

static void add_count(FILE *text, uint64_t n, const char *one, const char *many)
{
    char number[HR_HUMAN_MAX];
    if (n > 0)
        fprintf(text, "; %s %s", hr_human_count(number, n), n == 1 ? one : many);
}

static void add_who(FILE *text, const struct hr_loss *loss)
{
    char number[HR_HUMAN_MAX];
    fprintf(text, "%s %zu", loss->server ? "server" : "worker", loss->rank);
    if (!loss->server && loss->step == 0)
        fprintf(text, " before its first gradient,");
    else if (!loss->server)
        fprintf(text, " after %s gradient%s,", hr_human_count(number, loss->step),
                loss->step == 1 ? "" : "s");
    fprintf(text, " at ");
    add_seconds(text, loss->seconds);
    fprintf(text, " (%s)", loss->how);
}

static void tell(FILE *out, const char *whose, const struct hr_loss *loss)
{
    char *all = NULL;
    size_t bytes;
    FILE *text = open_memstream(&all, &bytes);
    if (!text)
        return;
    fprintf(text, "lost%s: ", whose);
    add_who(text, loss);
    if (loss->pause_s < 0) {
        fprintf(text, "; no update came after it");
    } else {
        fprintf(text, "; training went on after ");
        add_seconds(text, loss->pause_s);
    }
    add_count(text, loss->again_samples, "sample handed out again", "samples handed out again");
    add_count(text, loss->lost_samples, "sample lost", "samples lost");
    add_count(text, loss->partial, "push reached the weights in part",
              "pushes reached the weights in part");
    if (loss->rolled_back)
        fprintf(text, "; all went back to the last cut");
    if (loss->back)
        fprintf(text, "; it came back");
    fputc('\n', text);
    fclose(text);
    hr_fold_print(out, all, COLUMNS);
    free(all);
}

/* --- all of a table --- */

/* " by ssp s=3, seed 2": what is needed to tell it from the others. */
static void name_run(const struct hr_groups *groups, const struct hr_run_group *group, size_t i,
                     char whose[WHOSE])
{
    char seed[40] = "";
    if (group->n > 1)
        snprintf(seed, sizeof seed, "%s seed %llu", groups->n > 1 ? "," : " by",
                 (unsigned long long)group->run[i]->seed);
    snprintf(whose, WHOSE, "%s%s%s", groups->n > 1 ? " by " : "", groups->n > 1 ? group->label : "",
             seed);
}

void hr_lost_ranks_print(FILE *out, const struct hr_groups *groups, bool details)
{
    char whose[WHOSE];
    const size_t most = details ? HR_LOST_RANKS_TOLD : groups->n > 1 ? 0 : HR_LOST_RANKS_BRIEF;
    size_t lost = 0, told = 0;
    for (size_t g = 0; g < groups->n; g++)
        lost += hr_run_group_lost(&groups->group[g]);
    if (lost == 0)
        return;
    fprintf(out, "~ lost workers or servers, and went on%s\n",
            hr_groups_lost_alike(groups) ? "" : "; others lost fewer: not like for like");
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++) {
            name_run(groups, &groups->group[g], i, whose);
            for (size_t k = 0; k < groups->group[g].run[i]->nlosses; k++)
                if (told++ < most)
                    tell(out, whose, &groups->group[g].run[i]->losses[k]);
        }
    if (told > most && most > 0)
        fprintf(out, "... and %zu more: %s\n", told - most,
                details ? "--json has them all" : "--details tells of them");
}

/* --- waited for --- */

/* --- of all seeds together */

static size_t nwaited(const struct hr_run_group *group)
{
    size_t n = SIZE_MAX;
    for (size_t i = 0; i < group->n; i++)
        n = group->run[i]->nwaited < n ? group->run[i]->nwaited : n;
    return group->n ? n : 0;
}

static struct hr_waited_for cost_of(const struct hr_run_group *group, size_t rank)
{
    struct hr_waited_for sum = {0};
    for (size_t i = 0; i < group->n; i++) {
        const struct hr_waited_for *w = &group->run[i]->waited_for[rank];
        sum.cost_s += w->cost_s;
        sum.load_s += w->load_s;
        sum.compute_s += w->compute_s;
        sum.stall_s += w->stall_s;
        sum.preempted_s += w->preempted_s;
        sum.communicate_s += w->communicate_s;
        sum.wait_s += w->wait_s;
    }
    return sum;
}

static double all_waiting(const struct hr_run_group *group)
{
    double sum = 0;
    for (size_t i = 0; i < group->n; i++)
        sum += group->run[i]->waited_for_others_s;
    return sum;
}

static double all_time(const struct hr_run_group *group)
{
    double sum = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct hr_run_result *run = group->run[i];
        sum += run->load_s + run->compute_s + run->communicate_s + run->wait_s;
    }
    return sum;
}

/* --- the one who stands out */

static const char *doing(const struct hr_waited_for *cost, bool pipeline)
{
    const struct {
        double s;
        const char *text;
    } part[] = {{cost->compute_s, "computing"},
                {cost->load_s, "loading"},
                {cost->stall_s, "stalled"},
                {cost->preempted_s, "preempted by the system"},
                {cost->communicate_s, "communicating"},
                {cost->wait_s, "waiting for a server or a processor"}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof part / sizeof *part; i++)
        most = part[i].s > part[most].s ? i : most;
    return pipeline && most == 5 ? "waiting for its stages" : part[most].text;
}

/* At least half, and half as much again as if all cost the same. */
static bool stands_out(double its, double all, size_t n)
{
    return its >= all / 2 && its >= 1.5 * all / (double)n;
}

static bool say_dropped(const struct hr_run_group *group, char text[HR_WAITED_FOR_MAX])
{
    const struct hr_run_result *run = group->run[0];
    uint64_t all = 0, of_worst = 0;
    size_t worst = 0;
    for (size_t w = 0; w < run->ndropped_by; w++) {
        uint64_t n = 0;
        for (size_t i = 0; i < group->n; i++)
            n += w < group->run[i]->ndropped_by ? group->run[i]->dropped_by[w] : 0;
        all += n;
        worst = n > of_worst ? w : worst;
        of_worst = n > of_worst ? n : of_worst;
    }
    if (!all || !stands_out((double)of_worst, (double)all, run->ndropped_by))
        return false;
    snprintf(text, HR_WAITED_FOR_MAX, "rank %zu came too late for %llu of %llu dropped gradients",
             worst, (unsigned long long)of_worst, (unsigned long long)all);
    return true;
}

bool hr_waited_for_say(const struct hr_run_group *group, char text[HR_WAITED_FOR_MAX])
{
    const double worth_it = 0.05, all = all_waiting(group);
    const size_t n = nwaited(group);
    const bool staged = group->n && group->run[0]->pipeline.stages > 1;
    struct hr_waited_for worst = {0};
    size_t rank = 0;
    char stage[48] = "";
    if (group->n && say_dropped(group, text))
        return true;
    for (size_t r = 0; r < n; r++) {
        const struct hr_waited_for cost = cost_of(group, r);
        if (cost.cost_s <= worst.cost_s)
            continue;
        worst = cost;
        rank = r;
    }
    if (n < 2 || all < worth_it * all_time(group) || !stands_out(worst.cost_s, all, n))
        return false;
    if (staged)
        snprintf(stage, sizeof stage, "; its stage %zu is the slowest",
                 group->run[0]->waited_for[rank].stage);
    snprintf(text, HR_WAITED_FOR_MAX,
             "rank %zu caused %.0f %% of all waiting (%.0f %% of the workers' time), %s%s", rank,
             100 * worst.cost_s / all, 100 * all / all_time(group), doing(&worst, staged), stage);
    return true;
}

/* --- below the table */

static void print_ranks(FILE *out, const struct hr_run_group *group)
{
    const double worth_a_line = 0.01;
    struct hr_grid grid;
    fprintf(out, "\n%s: waiting caused by each rank, by cause, in seconds\n", group->label);
    hr_grid_begin(&grid, "rank\tall\tload\tcompute\tstalled\tpreempted\tcomm\twait");
    for (size_t r = 0; r < nwaited(group); r++) {
        const struct hr_waited_for c = cost_of(group, r);
        if (c.cost_s >= worth_a_line * all_waiting(group))
            fprintf(grid.cells, "%zu\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\n", r, c.cost_s,
                    c.load_s, c.compute_s, c.stall_s, c.preempted_s, c.communicate_s, c.wait_s);
    }
    hr_grid_end(&grid, out, 0);
}

void hr_waited_for_print(FILE *out, const struct hr_groups *groups)
{
    char text[HR_WAITED_FOR_MAX];
    for (size_t g = 0; g < groups->n; g++)
        if (hr_waited_for_say(&groups->group[g], text))
            fprintf(out, "%s: %s\n", groups->group[g].label, text);
    for (size_t g = 0; g < groups->n; g++)
        if (all_waiting(&groups->group[g]) > 0)
            print_ranks(out, &groups->group[g]);
}

/* --- of a machine's workers who push as one */

/* Means over a row's runs; workers 0: they were not measured. */
static struct hr_node_step mean_step(const struct hr_run_group *group)
{
    struct hr_node_step mean = {0};
    for (size_t i = 0; i < group->n; i++) {
        const struct hr_node_step *step = &group->run[i]->node_step;
        const double share = 1.0 / (double)group->n;
        if (!step->workers)
            return (struct hr_node_step){0};
        mean.workers = step->workers;
        mean.load_s += share * step->load_s;
        mean.compute_s += share * step->compute_s;
        mean.aggregate_s += share * step->aggregate_s;
        mean.push_s += share * step->push_s;
        mean.update_s += share * step->update_s;
        mean.distribute_s += share * step->distribute_s;
        mean.rest_s += share * step->rest_s;
    }
    return mean;
}

void hr_node_step_print(FILE *out, const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_node_step step = mean_step(&groups->group[g]);
        const double all = step.load_s + step.compute_s + step.aggregate_s + step.push_s +
                           step.update_s + step.distribute_s + step.rest_s;
        if (!step.workers)
            continue;
        fprintf(out,
                "%s: of %.3g s of a mean worker: load %.3g, compute %.3g, aggregate %.3g (%zu "
                "workers a machine), push %.3g, update %.3g, distribute %.3g, rest %.3g\n",
                groups->group[g].label, all, step.load_s, step.compute_s, step.aggregate_s,
                step.workers, step.push_s, step.update_s, step.distribute_s, step.rest_s);
    }
}

/* --- best --- */

static void print_value(FILE *out, const struct hr_run_result *run)
{
    const struct hr_best_evaluation *best = &run->best;
    enum hr_metric metric = HR_METRIC_LOSS;
    char loss[HR_HUMAN_MAX];
    hr_metric_parse(best->metric, &metric);
    fprintf(out, "%s %s %s", run->validation_samples ? "validation" : "test", best->metric,
            metric == HR_METRIC_LOSS ? hr_human_loss(loss, best->value)
                                     : hr_metric_text(metric, best->value).text);
}

static void print_run(FILE *out, const struct hr_run_group *group, const struct hr_run_result *run)
{
    const struct hr_best_evaluation *best = &run->best;
    fputs(group->label, out);
    if (group->n > 1)
        fprintf(out, ", seed %llu", (unsigned long long)run->seed);
    fprintf(out, ": %s epoch %.4g; ", best->stopped ? "stopped early, at" : "ended at",
            best->ended);
    if (!isfinite(best->value)) {
        fputs("no evaluation at the end of an epoch was a number\n", out);
        return;
    }
    fprintf(out, "%s epoch %.4g, the best by ", best->restored ? "has the weights of" : "kept",
            best->epoch);
    print_value(out, run);
    fputc('\n', out);
}

void hr_best_print(FILE *out, const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            if (groups->group[g].run[i]->best.metric[0])
                print_run(out, &groups->group[g], groups->group[g].run[i]);
}

/* --- what a comparison compares --- */

enum hr_compared hr_best_compared(const struct hr_groups *groups)
{
    size_t runs = 0, restored = 0;
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++, runs++)
            restored += groups->group[g].run[i]->best.restored;
    return restored == 0      ? HR_COMPARED_LAST
           : restored == runs ? HR_COMPARED_BEST
                              : HR_COMPARED_MIXED;
}

static double last_epoch(const struct hr_run_result *run)
{
    return run->ncurve ? run->curve[run->ncurve - 1].epoch : (double)NAN;
}

static double epoch_of_weights(const struct hr_run_result *run)
{
    return run->best.restored ? run->best.epoch : last_epoch(run);
}

/* "2", or "2 to 5" */
static void print_epochs(FILE *out, const struct hr_run_group *group, hr_measure_fn measure)
{
    const struct hr_spread s = hr_run_group_spread(group, measure);
    fprintf(out, "%.4g", s.least);
    if (s.most > s.least)
        fprintf(out, " to %.4g", s.most);
}

static bool are_alike(const struct hr_groups *groups)
{
    const double first = epoch_of_weights(groups->group[0].run[0]);
    bool alike = true;
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_spread s = hr_run_group_spread(&groups->group[g], epoch_of_weights);
        alike = alike && !(s.least < first) && !(s.most > first);
    }
    return alike;
}

void hr_best_epochs_print(FILE *out, const struct hr_groups *groups, bool details)
{
    if (hr_best_compared(groups) == HR_COMPARED_LAST)
        return;
    if (!details) {
        fputs(
            "Compared are the weights of each run's best epoch; seconds and updates are of all.\n",
            out);
        return;
    }
    fputs("Compared: the weights of each run's best epoch, ", out);
    fputs(are_alike(groups) ? "for all the same: " : "not of the same one: ", out);
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        const struct hr_groups one = {.n = 1, .group = groups->group + g};
        fprintf(out, "%s%s: ", g ? "; " : "", group->label);
        print_epochs(out, group, epoch_of_weights);
        if (hr_best_compared(&one) == HR_COMPARED_LAST) {
            fputs(" (its last: it looked for no best)", out);
            continue;
        }
        fputs(" (ended at ", out);
        print_epochs(out, group, last_epoch);
        fputc(')', out);
    }
    fputs(".\n  Seconds and updates are of all epochs that were trained.\n", out);
}
