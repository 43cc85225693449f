#include "train/calibrate.h"

#include <string.h>

#include "base/file.h"
#include "base/size.h"
#include "strategy/server.h"
#include "train/run.h"

/* inih reads 200 bytes a line. */
enum { LONGEST_NAME = 150 };

enum hr_status hr_calibrate_check(const struct hr_run *run)
{
    const char *path = run->options->calibrate;
    if (!path[0])
        return HR_OK;
    if (run->schedule != HR_SCHEDULE_FREE)
        return hr_fail(HR_E_USAGE, "--calibrate %s: expected a run in real time", path);
    if (run->shared.colocated)
        return hr_fail(HR_E_USAGE,
                       "--calibrate %s: a server that waits for its worker cannot be timed; "
                       "expected --placement dedicated",
                       path);
    if (strlen(path) > LONGEST_NAME || strpbrk(path, " ;\t\n"))
        return hr_fail(HR_E_USAGE,
                       "--calibrate %s: expected a name of at most %d bytes without blanks and ;",
                       path, LONGEST_NAME);
    HR_TRY(hr_file_check_regular(path));
    if (hr_file_check_writable(path) != HR_OK)
        return hr_fail(HR_E_IO, "--calibrate %s", hr_error_message());
    return HR_OK;
}

/* --- memory */

static size_t arrays_of(const struct hr_run *run)
{
    return 3 * run->shared.workers + run->nranks + HR_SENT_REPLY * run->shared.servers;
}

static size_t sent_words(const struct hr_run *run)
{
    return run->shared.workers * run->shared.servers * HR_SENT_KINDS;
}

size_t hr_calibration_bytes(const struct hr_run *run)
{
    if (!run->options->calibrate[0])
        return 0;
    return arrays_of(run) * sizeof(struct hr_samples) + sent_words(run) * sizeof(struct hr_atom64);
}

static struct hr_atom64 *sent_at(const struct hr_run *run, size_t worker, size_t shard,
                                 enum hr_sent kind)
{
    return &run->calibration
                .sent[(worker * run->shared.servers + shard) * HR_SENT_KINDS + (size_t)kind];
}

static bool posted(void *arg, const struct hr_posted *what)
{
    const struct hr_run *run = arg;
    const size_t workers = run->shared.workers;
    const bool reply = what->from >= workers;
    const enum hr_sent kind = reply                                     ? HR_SENT_REPLY
                              : what->bytes > sizeof(struct hr_message) ? HR_SENT_PUSH
                                                                        : HR_SENT_PULL;
    /* Partner: whoever takes the message, which is committed after this. */
    if (reply)
        hr_atom64_store_relaxed(sent_at(run, what->to, what->from - workers, kind),
                                (uint64_t)hr_clock_ns());
    else if (what->to >= workers)
        hr_atom64_store_relaxed(sent_at(run, what->from, what->to - workers, kind),
                                (uint64_t)hr_clock_ns());
    return false;
}

void hr_calibration_place(struct hr_run *run, unsigned char *memory)
{
    struct hr_calibration *calibration = &run->calibration;
    if (!run->options->calibrate[0] || !memory)
        return;
    calibration->compute = (struct hr_samples *)(void *)memory;
    calibration->idle = calibration->compute + run->shared.workers;
    calibration->came = calibration->idle + run->shared.workers;
    calibration->noticed = calibration->came + run->shared.workers;
    calibration->served = calibration->noticed + run->nranks;
    calibration->sent = (struct hr_atom64 *)(void *)(calibration->compute + arrays_of(run));
    run->shared.posted = posted;
    run->shared.posted_arg = run;
}

/* --- samples */

static void keep(struct hr_samples *samples, int64_t ns)
{
    samples->ns[samples->seen++ % HR_SAMPLES_KEPT] = ns;
}

void hr_calibrate_replies(const struct hr_trainee *trainee)
{
    const struct hr_run *run = trainee->run;
    const size_t rank = trainee->worker.rank;
    int64_t last = 0;
    if (!hr_calibrates(run) || !run->shared.servers)
        return;
    for (size_t s = 0; s < run->shared.servers; s++) {
        const struct hr_atom64 *sent = sent_at(run, rank, s, HR_SENT_REPLY);
        const int64_t ns = (int64_t)hr_atom64_load_relaxed(sent); /* partner: posted */
        last = ns > last ? ns : last;
    }
    keep(&run->calibration.noticed[rank], hr_clock_ns() - last);
}

void hr_calibrate_step(struct hr_trainee *trainee, bool cut, int64_t came_ns, int64_t idle_ns)
{
    const struct hr_run *run = trainee->run;
    if (!hr_calibrates(run))
        return;
    const int64_t now = hr_clock_ns();
    const size_t rank = trainee->worker.rank;
    if (trainee->accepted_ns) {
        keep(&run->calibration.compute[rank], now - trainee->accepted_ns - idle_ns);
        keep(&run->calibration.idle[rank], idle_ns);
        keep(&run->calibration.came[rank], came_ns);
    }
    trainee->accepted_ns = cut ? 0 : now;
}

void hr_calibrate_take(const struct hr_run *run, const struct hr_shard *shard, int64_t since,
                       int64_t began)
{
    const bool push = shard->taken.kind == HR_PUSH;
    if (!hr_calibrates(run) || (!push && shard->taken.kind != HR_PULL))
        return;
    const struct hr_atom64 *sent =
        sent_at(run, shard->taken.worker, shard->number, push ? HR_SENT_PUSH : HR_SENT_PULL);
    const int64_t came = (int64_t)hr_atom64_load_relaxed(sent); /* partner: posted */
    const bool waited = came >= since;
    if (waited)
        keep(&run->calibration.noticed[hr_shard_rank(&run->shared, shard->number)], began - came);
    keep(&run->calibration.served[shard->number * HR_SENT_REPLY + push],
         hr_clock_ns() - (waited ? began : since));
}
