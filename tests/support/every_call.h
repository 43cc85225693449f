/* every_call.h - a task is done again and again, and each time another of its calls fails: memory,
 * or files. Include it in one file of a program (file_calls.h, memory_calls.h).
 *
 * Each time, either the task says so (a status, and a sentence), or it did well without: it checks
 * its result itself. Nothing stays in memory, and the next time all is well again.
 */
#ifndef HR_TESTS_SUPPORT_EVERY_CALL_H
#define HR_TESTS_SUPPORT_EVERY_CALL_H

#include <errno.h>
#include <string.h>

#include "support/check.h"
#include "support/file_calls.h"
#include "support/memory_calls.h"

struct task {
    const char *name;
    enum hr_status (*run)(void); /* does it, checks the result, gives everything back */
    void (*check)(void);         /* what must hold after it has failed, or not; may be NULL */
};

/* With n = 0 it must do well; *calls is how many there were. True when a call failed. */
static bool run_with(const struct task *task, const struct fault *fault, size_t *calls)
{
    const char *what;
    const long blocks = memory_blocks;
    enum hr_status status = hr_fail(HR_E_FAILED, "nothing is said");
    fault_plan(fault);
    status = task->run();
    const bool struck = fault_end(calls, &what);
    if (status != HR_OK && !struck)
        fail_msg("%s: %s", task->name, hr_error_message());
    if (status != HR_OK && !strcmp(hr_error_message(), "nothing is said"))
        fail_msg("%s, call %zu (%s) fails: nothing is said", task->name, fault->nth, what);
    if (status != HR_OK && fault->error == ENOMEM && status != HR_E_NOMEM && status != HR_E_IO)
        fail_msg("%s, call %zu (%s) fails: \"%s\" is not what is wrong", task->name, fault->nth,
                 what, hr_error_message());
    if (!CHECK_SANITIZED && memory_blocks != blocks)
        fail_msg("%s, call %zu (%s) fails: %ld blocks are not given back", task->name, fault->nth,
                 what, memory_blocks - blocks);
    if (task->check)
        task->check();
    return struck;
}

/* What is made once and kept is made; from then on each time begins as the next one does. */
static void run_once(const struct task *task)
{
    CHECK_OK(task->run());
    if (task->check)
        task->check();
}

/* Each call of these kinds fails once, and then each and all after it: every `stride`-th of them.
 * Returns how many calls there were. */
static size_t fail_every_call(const struct task *task, unsigned kinds, int error, size_t stride)
{
    size_t calls, unused;
    struct fault fault = {.kinds = kinds, .error = error};
    run_once(task);
    run_with(task, &fault, &calls);
    for (int stays = 0; stays < 2; stays++)
        for (size_t n = 1 + check_seed() % stride; n <= calls; n += stride) {
            fault.nth = n;
            fault.stays = stays;
            run_with(task, &fault, &unused);
        }
    fault.nth = 0;
    run_with(task, &fault, &unused);
    return calls;
}

/* All that is read and written comes byte by byte, or is interrupted, and it does well. */
static void do_in_pieces(const struct task *task)
{
    size_t calls, unused;
    run_once(task);
    run_with(task, &(struct fault){.kinds = OF_FILES, .shorts = true}, &unused);
    run_with(task, &(struct fault){.kinds = OF_FILES, .interrupts = true}, &calls);
    for (size_t n = 1; n <= calls; n++)
        run_with(task, &(struct fault){.kinds = OF_FILES, .nth = n, .interrupts = true}, &unused);
}

#endif
