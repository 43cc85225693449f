/* tasks.h - everything that plans are made for: all algorithms, all operations, all roots. */
#ifndef HR_TESTS_SUPPORT_TASKS_H
#define HR_TESTS_SUPPORT_TASKS_H

#include "plan/layout.h"

/* What is run: an operation, and the algorithm if it is an all_reduce. */
struct task {
    enum hr_operation operation;
    const struct hr_algorithm *algorithm;
    size_t n, count, root, group_size;
    const struct hr_algorithm *upper; /* of hierarchical */
    bool in_place;
};

typedef void (*task_fn)(const struct task *task);

/* Visit every task there is for n ranks. */
void each_task(size_t n, size_t count, task_fn visit);

const char *name_of(const struct task *task);

/* The plans of its n ranks; finish with plan_fini_all. */
void plan_all(struct hr_plan *plan, const struct task *task);
void plan_fini_all(struct hr_plan *plan, size_t n);

#endif
