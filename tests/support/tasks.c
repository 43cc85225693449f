#include "support/tasks.h"

#include <string.h>

#include "support/check.h"

static struct hr_plan_for plan_for(const struct task *task, size_t rank)
{
    return (struct hr_plan_for){.rank = rank,
                                .n = task->n,
                                .root = task->root,
                                .group_size = task->group_size,
                                .upper = task->upper,
                                .in_place = task->in_place};
}

void plan_all(struct hr_plan *plan, const struct task *task)
{
    const hr_plan_fn make =
        task->algorithm ? task->algorithm->plan : hr_operation_facts(task->operation)->plan;
    memset(plan, 0, task->n * sizeof *plan);
    for (size_t r = 0; r < task->n; r++) {
        const struct hr_plan_for of = plan_for(task, r);
        CHECK_OK(make(&plan[r], &of));
    }
}

void plan_fini_all(struct hr_plan *plan, size_t n)
{
    for (size_t r = 0; r < n; r++)
        hr_plan_fini(&plan[r]);
}

static void each_root(struct task task, task_fn visit)
{
    const size_t roots = hr_operation_facts(task.operation)->rooted ? task.n : 1;
    for (task.root = 0; task.root < roots; task.root++)
        for (int in_place = 0; in_place < 2; in_place++) {
            task.in_place = in_place || task.operation == HR_OP_BROADCAST;
            visit(&task);
        }
}

void each_task(size_t n, size_t count, task_fn visit)
{
    static const struct hr_algorithm *const uppers[] = {NULL, &hr_allreduce_direct,
                                                        &hr_allreduce_one_shot, &hr_allreduce_tree};
    struct task task = {.n = n, .count = count, .operation = HR_OP_ALL_REDUCE};
    for (size_t i = 1; (task.algorithm = hr_algorithm_at(i)); i++)
        each_root(task, visit);
    task.algorithm = &hr_allreduce_hierarchical;
    for (task.group_size = 1; task.group_size <= 4; task.group_size++)
        for (size_t u = 0; u < sizeof uppers / sizeof *uppers; u++) {
            task.upper = uppers[u];
            each_root(task, visit);
        }
    task.upper = NULL;
    task.algorithm = NULL;
    for (task.operation = HR_OP_BARRIER; task.operation < HR_OPERATIONS; task.operation++)
        if (hr_operation_facts(task.operation)->plan)
            each_root(task, visit);
}

const char *name_of(const struct task *task)
{
    return task->algorithm ? task->algorithm->name : hr_operation_facts(task->operation)->name;
}
