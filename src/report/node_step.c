#include "report/node_step.h"

/* Means over a row's runs; workers 0: they were not measured. */
static struct hr_node_step mean_of(const struct hr_run_group *group)
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
        const struct hr_node_step step = mean_of(&groups->group[g]);
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
