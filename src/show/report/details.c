/* What stands below a table, in sentences and small tables; and advice. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "report/groups.h"
#include "report/human.h"
#include "terminal/grid.h"

enum { WHOSE = 240 };

/* --- lost ranks --- */

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

static void describe(FILE *out, const char *whose, const struct hr_loss *loss)
{
    fprintf(out, "%slost%s: ", hr_yields(out, HR_NOTICE), whose);
    add_who(out, loss);
    if (loss->pause_s < 0) {
        fprintf(out, "; no update came after it");
    } else {
        fprintf(out, "; training went on after ");
        add_seconds(out, loss->pause_s);
    }
    add_count(out, loss->again_samples, "sample handed out again", "samples handed out again");
    add_count(out, loss->lost_samples, "sample lost", "samples lost");
    add_count(out, loss->partial, "push reached the weights in part",
              "pushes reached the weights in part");
    if (loss->rolled_back)
        fprintf(out, "; all went back to the last cut");
    if (loss->back)
        fprintf(out, "; it came back");
    fputc('\n', out);
}

/* " by ssp s=3, seed 2": what is needed to tell it from the others. */
static void name_run(const struct hr_groups *groups, const struct hr_run_group *group, size_t i,
                     char whose[WHOSE])
{
    char seed[40] = "";
    if (group->n > 1)
        snprintf(seed, sizeof seed, "%s seed %llu", groups->n > 1 ? "," : " by",
                 (unsigned long long)group->run[i]->seed);
    snprintf(whose, WHOSE, "%s%s%s", groups->n > 1 ? " by " : "", groups->n > 1 ? group->name : "",
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
    fprintf(out, "%s~ lost workers or servers, and went on%s\n", hr_yields(out, HR_LEGEND),
            hr_groups_lost_alike(groups) ? "" : "; others lost fewer: not like for like");
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++) {
            name_run(groups, &groups->group[g], i, whose);
            for (size_t k = 0; k < groups->group[g].run[i]->nlosses; k++)
                if (told++ < most)
                    describe(out, whose, &groups->group[g].run[i]->losses[k]);
        }
    if (told > most && most > 0)
        fprintf(out, "... and %zu more: %s\n", told - most,
                details ? "--json has them all" : "--details tells of them");
}

/* --- who was waited for, of all seeds together --- */

static size_t nwaited(const struct hr_run_group *group)
{
    size_t n = SIZE_MAX;
    for (size_t i = 0; i < group->n; i++)
        n = group->run[i]->nwaited < n ? group->run[i]->nwaited : n;
    return group->n ? n : 0;
}

/* What a rank cost, and of this each cause; in seconds. */
enum { COST, LOAD, COMPUTE, STALL, PREEMPTED, COMMUNICATE, WAIT, CAUSES };
static const struct {
    size_t offset;
    const char *head, *doing;
} causes[CAUSES] = {
    [COST] = {offsetof(struct hr_waited_for, cost_s), "all", ""},
    [LOAD] = {offsetof(struct hr_waited_for, load_s), "load", "loading"},
    [COMPUTE] = {offsetof(struct hr_waited_for, compute_s), "compute", "computing"},
    [STALL] = {offsetof(struct hr_waited_for, stall_s), "stalled", "stalled"},
    [PREEMPTED] = {offsetof(struct hr_waited_for, preempted_s), "preempted",
                   "preempted by the system"},
    [COMMUNICATE] = {offsetof(struct hr_waited_for, communicate_s), "comm", "communicating"},
    [WAIT] = {offsetof(struct hr_waited_for, wait_s), "wait",
              "waiting for a server or a processor"},
};

static double cost_of(const struct hr_run_group *group, size_t rank, size_t cause)
{
    double sum = 0;
    for (size_t i = 0; i < group->n; i++)
        sum += *(const double *)(const void *)((const char *)&group->run[i]->waited_for[rank] +
                                               causes[cause].offset);
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

static const char *doing(const struct hr_run_group *group, size_t rank, bool pipeline)
{
    size_t most = COMPUTE;
    for (size_t c = LOAD; c < CAUSES; c++)
        most = cost_of(group, rank, c) > cost_of(group, rank, most) ? c : most;
    return pipeline && most == WAIT ? "waiting for its stages" : causes[most].doing;
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
    size_t rank = 0;
    char stage[48] = "";
    if (group->n && say_dropped(group, text))
        return true;
    for (size_t r = 1; r < n; r++)
        rank = cost_of(group, r, COST) > cost_of(group, rank, COST) ? r : rank;
    const double worst = n ? cost_of(group, rank, COST) : 0;
    if (n < 2 || all < worth_it * all_time(group) || !stands_out(worst, all, n))
        return false;
    if (staged)
        snprintf(stage, sizeof stage, "; its stage %zu is the slowest",
                 group->run[0]->waited_for[rank].stage);
    snprintf(text, HR_WAITED_FOR_MAX,
             "rank %zu caused %.0f %% of all waiting (%.0f %% of the workers' time), %s%s", rank,
             100 * worst / all, 100 * all / all_time(group), doing(group, rank, staged), stage);
    return true;
}

/* --- below the table */

/* Ranks that caused a hundredth of their row's waiting, by the causes that there are. */
static void print_ranks(FILE *out, const struct hr_groups *groups)
{
    const double worth_a_line = 0.01;
    bool occurs[CAUSES] = {false};
    struct hr_grid grid;
    for (size_t g = 0; g < groups->n; g++)
        for (size_t r = 0; r < nwaited(&groups->group[g]); r++)
            for (size_t c = COST; c < CAUSES; c++)
                occurs[c] = occurs[c] || cost_of(&groups->group[g], r, c) > 0;
    if (!occurs[COST])
        return;
    hr_grid_begin(&grid, "-waiting caused, s\trank");
    for (size_t c = COST; c < CAUSES; c++)
        if (occurs[c])
            hr_grid_add(&grid, causes[c].head);
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        for (size_t r = 0; r < nwaited(group); r++) {
            const double all = cost_of(group, r, COST);
            if (!(all > 0) || all < worth_a_line * all_waiting(group))
                continue;
            fprintf(grid.cells, "%s\t%zu", group->name, r);
            for (size_t c = COST; c < CAUSES; c++)
                if (occurs[c])
                    fprintf(grid.cells, "\t%.4g", cost_of(group, r, c));
            fputc('\n', grid.cells);
        }
    }
    fputc('\n', out);
    hr_grid_end(&grid, out, 0);
}

void hr_waited_for_print(FILE *out, const struct hr_groups *groups)
{
    char text[HR_WAITED_FOR_MAX];
    for (size_t g = 0; g < groups->n; g++)
        if (hr_waited_for_say(&groups->group[g], text))
            fprintf(out, "%s: %s\n", groups->group[g].name, text);
    print_ranks(out, groups);
}

/* --- of a machine's workers who push as one */

static void print_step(FILE *out, const struct hr_run_group *group)
{
    static const struct {
        size_t offset;
        const char *name;
    } parts[] = {{offsetof(struct hr_node_step, load_s), "load"},
                 {offsetof(struct hr_node_step, compute_s), "compute"},
                 {offsetof(struct hr_node_step, aggregate_s), "aggregate"},
                 {offsetof(struct hr_node_step, push_s), "push"},
                 {offsetof(struct hr_node_step, update_s), "update"},
                 {offsetof(struct hr_node_step, distribute_s), "distribute"},
                 {offsetof(struct hr_node_step, rest_s), "rest"}};
    enum { PARTS = sizeof parts / sizeof *parts, AGGREGATE = 2 };
    double mean[PARTS] = {0}, all = 0;
    for (size_t i = 0; i < group->n; i++)
        for (size_t p = 0; p < PARTS; p++) {
            const char *step = (const char *)&group->run[i]->node_step;
            const double its = *(const double *)(const void *)(step + parts[p].offset);
            mean[p] += its / (double)group->n;
            all += its / (double)group->n;
        }
    fprintf(out, "%s: of %.3g s of a mean worker: ", group->name, all);
    for (size_t p = 0; p < PARTS; p++) {
        fprintf(out, "%s%s %.3g", p ? ", " : "", parts[p].name, mean[p]);
        if (p == AGGREGATE)
            fprintf(out, " (%zu workers per machine)", group->run[0]->node_step.workers);
    }
    fputc('\n', out);
}

/* Of rows whose runs were all measured. */
void hr_node_step_print(FILE *out, const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        size_t measured = 0;
        for (size_t i = 0; i < group->n; i++)
            measured += group->run[i]->node_step.workers > 0;
        if (measured == group->n)
            print_step(out, group);
    }
}

/* --- best --- */

static void print_value(FILE *out, const struct hr_run_result *run)
{
    const struct hr_best_evaluation *best = &run->best;
    enum hr_metric metric = HR_METRIC_LOSS;
    char loss[HR_HUMAN_MAX];
    hr_metric_parse(best->metric, &metric);
    fprintf(out, "%s %s%s %s", run->validation_samples ? "validation" : "test", best->metric,
            metric == HR_METRIC_BALANCED_ACCURACY ? " accuracy" : "",
            metric == HR_METRIC_LOSS ? hr_human_loss(loss, best->value)
                                     : hr_metric_text(metric, best->value).text);
}

static void print_run(FILE *out, const struct hr_run_group *group, const struct hr_run_result *run)
{
    const struct hr_best_evaluation *best = &run->best;
    fprintf(out, "%s%s", hr_yields(out, HR_NOTICE), group->name);
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

void hr_best_epochs_print(FILE *out, const struct hr_groups *groups)
{
    if (hr_best_compared(groups) == HR_COMPARED_LAST)
        return;
    fprintf(out, "%sCompared are the weights of each run's best epoch", hr_yields(out, HR_NOTICE));
    for (size_t g = 0; g < groups->n; g++)
        if (hr_best_compared(&(struct hr_groups){.n = 1, .group = groups->group + g}) ==
            HR_COMPARED_LAST)
            fprintf(out, ", of %s of its last", groups->group[g].name);
    fputs("; seconds and updates are of all.\n", out);
}

/* --- what a user may want to change, with the numbers that say so --- */

bool hr_advice_before(const struct hr_run_info *info, char text[HR_ADVICE_MAX])
{
    const struct hr_cpu_budget budget = hr_cpu_budget();
    const size_t servers_apart = info->colocated || info->servers_rest ? 0 : info->servers;
    const size_t threads = info->workers + servers_apart;
    char quota[32] = "none", servers[48] = "";
    if (threads <= 2 * info->processors || info->played)
        return false;
    if (budget.quota)
        snprintf(quota, sizeof quota, "%zu", budget.quota);
    if (servers_apart)
        snprintf(servers, sizeof servers, " and %zu server%s", servers_apart,
                 servers_apart == 1 ? "" : "s");
    snprintf(text, HR_ADVICE_MAX,
             "%zu workers%s take turns on %zu processor%s (affinity mask %zu, cgroup quota %s): "
             "good for trying things out, not for speed",
             info->workers, servers, info->processors, info->processors == 1 ? "" : "s",
             budget.affinity, quota);
    return true;
}

/* Larger batches need fewer messages. They are no help against waiting for a worker that is slow,
 * or stalls (who that is stands below the table), nor for want of processors. */
bool hr_advice_after(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX])
{
    const double worth_it = 1; /* seconds; shorter runs need no advice */
    const double useful = run->compute_s + run->load_s;
    const double other =
        run->communicate_s + run->wait_s - run->waited_for_others_s - run->stalled_s;
    const bool crowded = !strcmp(run->clock, "real") && run->workers > hr_cpus_allowed();
    char batch[60] = "";
    if (run->workers < 2 || other <= useful || other < worth_it || run->conflicts.omega)
        return false; /* sparse models have no batches to enlarge */
    if (!crowded)
        snprintf(batch, sizeof batch, "a larger --batch-size (now %zu) or ", run->batch_size);
    snprintf(
        text, HR_ADVICE_MAX,
        "%s: %.2f s of computing, %.2f s of communicating and waiting; %sfewer --workers would "
        "be faster",
        name, useful, other, batch);
    return true;
}

bool hr_advice_rising(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX])
{
    char last[HR_HUMAN_MAX], first[HR_HUMAN_MAX];
    struct hr_rise rise;
    if (!(run->lr > 0) || !hr_run_rose(run, &rise)) /* what no rate made, none mends */
        return false;
    snprintf(text, HR_ADVICE_MAX,
             "%s: the training loss ended at %s, above the %s %s; try first: %s", name,
             hr_human_loss(last, run->train_loss), hr_human_loss(first, rise.above), rise.what,
             run->cure[0] ? run->cure : "a smaller --lr");
    return true;
}

bool hr_advice_chance(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX])
{
    if (run->chance[0])
        snprintf(text, HR_ADVICE_MAX, "%s: %.2f %% right is %s", name, 100 * run->test_accuracy,
                 run->chance);
    return run->chance[0];
}

/* The measure is a gradient's total effect on the weights, lr / (1 - momentum), times the updates
 * in flight: runs near 1 learned worse, or diverged. Adaptive rules scale their own steps. */
bool hr_advice_asynchrony(const struct hr_run_result *run, const char *name,
                          char text[HR_ADVICE_MAX])
{
    const struct hr_asynchrony *a = &run->asynchrony;
    const double in_flight = 1 / (1 - a->implicit_momentum);
    const bool large = a->lr_is_step && a->effective_lr >= 1 - a->explicit_momentum;
    if (!(in_flight >= 1.5) || !(large || a->total_momentum >= 0.98))
        return false;
    const double momentum = 1 - (1 - a->explicit_momentum) * in_flight;
    char cure[80] = "a smaller --lr (--async-lr divide) is the safer choice";
    if (momentum > 0.005 && a->lr_is_step)
        snprintf(cure, sizeof cure, "--momentum %.2f would keep momentum at %.2f", momentum,
                 a->explicit_momentum);
    snprintf(
        text, HR_ADVICE_MAX,
        "%s: on average %.1f updates were computed at once, so lr %.3g acts like %.3g and momentum "
        "%.2f like %.3f (predicted); %s",
        name, in_flight, a->effective_lr / in_flight, a->effective_lr, a->explicit_momentum,
        a->total_momentum, cure);
    return true;
}
