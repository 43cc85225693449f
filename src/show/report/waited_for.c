#include "report/waited_for.h"

#include <stddef.h>

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
    fprintf(out, "\n%s: waiting caused by each rank, by cause, in seconds\n", group->label);
    fprintf(out, "%6s %9s %9s %9s %9s %9s %9s %9s\n", "rank", "all", "load", "compute", "stalled",
            "preempted", "comm", "wait");
    for (size_t r = 0; r < nwaited(group); r++) {
        const struct hr_waited_for c = cost_of(group, r);
        if (c.cost_s >= worth_a_line * all_waiting(group))
            fprintf(out, "%6zu %9.4g %9.4g %9.4g %9.4g %9.4g %9.4g %9.4g\n", r, c.cost_s, c.load_s,
                    c.compute_s, c.stall_s, c.preempted_s, c.communicate_s, c.wait_s);
    }
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
