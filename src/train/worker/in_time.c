#include "worker/in_time.h"

#include "base/clock.h"
#include "observe/spans.h"
#include "server/server_requests.h"

/* Sleep until the gradient, begun at began_ns with own_ns of processor time, has taken as long as
 * the conditions say. Only processor time is stretched, not waiting for a processor. A worker that
 * wakes late sleeps less in the next step, so that a busy machine does not slow every step. */
static enum hr_status take_longer(struct hr_train_worker *self, uint64_t step, int64_t began_ns,
                                  int64_t own_ns)
{
    const int64_t now = hr_clock_ns(), late = self->late_ns;
    const int64_t ps = hr_conditions_compute_ps(self->job, self->worker.rank, step, 1000 * own_ns);
    const int64_t until = began_ns - late + ps / 1000;
    self->late_ns = 0;
    if (until <= now)
        return HR_OK;
    HR_TRY(hr_train_worker_sleep(self, until, "its own slowness"));
    const int64_t woken = hr_clock_ns();
    self->late_ns = woken > until ? woken - until : 0;
    return HR_OK;
}

static enum hr_status stall(struct hr_train_worker *self, uint64_t step)
{
    struct hr_account *account = &self->worker.stats->account;
    const int64_t ps = hr_conditions_stall_ps(self->job, self->worker.rank, step);
    if (ps == 0)
        return HR_OK;
    hr_account_turn(account, HR_WAIT);
    const int64_t began = hr_clock_ns();
    HR_TRY(hr_train_worker_sleep(self, began + ps / 1000, "the end of its stall"));
    const int64_t ended = hr_clock_ns();
    self->worker.stats->stalled_ns += ended - began;
    hr_account_turn(account, HR_COMPUTE);
    hr_spans_name(self->worker.spans, HR_SPAN_WAIT, HR_SPAN_STALL, began, ended);
    return HR_OK;
}

/* Asking for the time on the processor is a system call, so short steps are not asked. */
enum { WORTH_ASKING_NS = 200 * 1000 };

/* Computing so far; it computes now. */
static int64_t computed_ns(const struct hr_train_worker *self)
{
    const struct hr_account *account = &self->worker.stats->account;
    return account->spent_ns[HR_COMPUTE] + hr_clock_ns() - account->since_ns;
}

/* Its gradient, and how long that had no processor. What was on it while it loaded counts as if it
 * had computed: too little rather than too much is said to have been taken away. */
static enum hr_status gradient(struct hr_train_worker *self, const struct hr_task *task)
{
    const bool asks = self->worker.took_ns >= WORTH_ASKING_NS && !self->job->pipeline &&
                      self->job->options->threads_per_worker == 1;
    if (!asks)
        return hr_train_worker_gradient(self, task);
    const int64_t had = hr_clock_thread_ns(), before = computed_ns(self);
    HR_TRY(hr_train_worker_gradient(self, task));
    const int64_t away = computed_ns(self) - before - (hr_clock_thread_ns() - had);
    self->worker.stats->preempted_ns += away > self->stood_ns ? away - self->stood_ns : 0;
    return HR_OK;
}

enum hr_status hr_gradient_in_time(struct hr_train_worker *self, const struct hr_task *task,
                                   int64_t now_ps)
{
    const uint64_t step = self->worker.steps;
    hr_train_worker_begin(self, task);
    if (!hr_conditions_matter(&self->job->conditions))
        return gradient(self, task);
    if (hr_conditions_kill(self->job, self->worker.rank, step, now_ps))
        return hr_conditions_die(self->job, self->worker.rank);
    HR_TRY(stall(self, step));
    const int64_t began = hr_clock_ns(), had = hr_clock_thread_ns();
    HR_TRY(gradient(self, task));
    return take_longer(self, step, began + self->slept_ns, hr_clock_thread_ns() - had);
}

static int64_t one_deadline_from_now(const struct hr_train_worker *self)
{
    return hr_clock_ns() + hr_inject_deadline_ps(&self->job->conditions.inject) / 1000;
}

struct hr_deadline hr_deadline_begin(struct hr_train_worker *self)
{
    return (struct hr_deadline){self, one_deadline_from_now(self)};
}

bool hr_deadline_has_passed(void *arg)
{
    struct hr_deadline *deadline = arg;
    struct hr_train_worker *self = deadline->self;
    const struct hr_atom32 *stop = &self->job->shared->dispenser->stop;
    const bool passed = hr_clock_ns() >= deadline->until_ns;
    if ((passed || hr_atom32_load_acquire(stop)) && /* partner: launcher.c */
        hr_requests_are_taken(&self->worker))
        return true;
    if (passed)
        deadline->until_ns = one_deadline_from_now(self);
    self->waiter.alarm_ns = deadline->until_ns;
    return false;
}
