#include "drive/calibrate.h"

#include <string.h>

#include "base/file.h"
#include "base/size.h"
#include "server/server.h"
#include "drive/driver.h"
#include "worker/staged.h"

/* inih reads 200 bytes a line. */
enum { LONGEST_NAME = 150 };

enum hr_status hr_calibrate_check(const struct hr_train_job *job)
{
    const char *path = job->options->calibrate;
    if (!path[0])
        return HR_OK;
    if (strlen(path) > LONGEST_NAME || strpbrk(path, " ;\t\n"))
        return hr_fail(HR_E_USAGE,
                       "--calibrate %s: expected a name of at most %d bytes without blanks and ;",
                       path, LONGEST_NAME);
    if (job->shared->homes.self) /* machine 0 writes it */
        return HR_OK;
    HR_TRY(hr_file_check_regular(path));
    if (hr_file_check_writable(path) != HR_OK)
        return hr_fail(HR_E_IO, "--calibrate %s", hr_error_message());
    return HR_OK;
}

/* --- memory */

static size_t arrays_of(const struct hr_train_job *job)
{
    return 3 * job->shared->workers + job->nranks + HR_SENT_REPLY * job->shared->servers;
}

static size_t sent_words(const struct hr_train_job *job)
{
    return job->shared->workers * job->shared->servers * HR_SENT_KINDS;
}

size_t hr_calibration_bytes(const struct hr_train_job *job)
{
    if (!job->options->calibrate[0])
        return 0;
    return arrays_of(job) * sizeof(struct hr_samples) + sent_words(job) * sizeof(struct hr_atom64);
}

static struct hr_atom64 *sent_at(const struct hr_drive *drive, size_t worker, size_t shard,
                                 enum hr_sent kind)
{
    return &drive->calibration.sent[(worker * drive->job->shared->servers + shard) * HR_SENT_KINDS +
                                    (size_t)kind];
}

static bool posted(void *arg, const struct hr_posted *what)
{
    const struct hr_drive *drive = arg;
    const size_t workers = drive->job->shared->workers;
    const bool reply = what->from >= workers;
    const enum hr_sent kind = reply                                     ? HR_SENT_REPLY
                              : what->bytes > sizeof(struct hr_message) ? HR_SENT_PUSH
                                                                        : HR_SENT_PULL;
    /* Partner: the receiver of the message, which is committed after this. */
    if (reply)
        hr_atom64_store_relaxed(sent_at(drive, what->to, what->from - workers, kind),
                                (uint64_t)hr_clock_ns());
    else if (what->to >= workers)
        hr_atom64_store_relaxed(sent_at(drive, what->from, what->to - workers, kind),
                                (uint64_t)hr_clock_ns());
    return false;
}

void hr_calibration_place(struct hr_drive *drive, unsigned char *memory)
{
    struct hr_calibration *calibration = &drive->calibration;
    if (!drive->job->options->calibrate[0] || !memory)
        return;
    calibration->compute = (struct hr_samples *)(void *)memory;
    calibration->idle = calibration->compute + drive->job->shared->workers;
    calibration->came = calibration->idle + drive->job->shared->workers;
    calibration->noticed = calibration->came + drive->job->shared->workers;
    calibration->served = calibration->noticed + drive->job->nranks;
    calibration->sent = (struct hr_atom64 *)(void *)(calibration->compute + arrays_of(drive->job));
    drive->job->shared->posted = posted;
    drive->job->shared->posted_arg = drive;
}

/* --- samples */

static void keep(struct hr_samples *samples, int64_t ns)
{
    samples->ns[samples->seen++ % HR_SAMPLES_KEPT] = ns;
}

void hr_calibrate_replies(const struct hr_drive *drive, size_t rank)
{
    const size_t servers = drive->job->shared->servers;
    int64_t last = 0;
    if (!drive->calibration.compute || !servers)
        return;
    for (size_t s = 0; s < servers; s++) {
        const struct hr_atom64 *sent = sent_at(drive, rank, s, HR_SENT_REPLY);
        const int64_t ns = (int64_t)hr_atom64_load_relaxed(sent); /* partner: posted */
        last = ns > last ? ns : last;
    }
    keep(&drive->calibration.noticed[rank], hr_clock_ns() - last);
}

int64_t hr_calibrate_step(const struct hr_drive *drive, size_t rank,
                          const struct hr_step_times *times, bool cut)
{
    const struct hr_calibration *calibration = &drive->calibration;
    if (!calibration->compute)
        return 0;
    const int64_t now = hr_clock_ns(), longer_ns = hr_staged_longer_ns(drive->job, rank);
    struct hr_samples *compute = &calibration->compute[rank];
    if (times->accepted_ns) {
        keep(compute, now - times->accepted_ns - times->idle_ns + longer_ns - compute->longer_ns);
        keep(&calibration->idle[rank], times->idle_ns);
        keep(&calibration->came[rank], times->came_ns);
    }
    compute->longer_ns = longer_ns;
    return cut ? 0 : now;
}

void hr_calibrate_take(const struct hr_drive *drive, const struct hr_shard *shard, int64_t since,
                       int64_t began)
{
    const bool push = shard->taken.kind == HR_PUSH;
    if (!drive->calibration.compute || (!push && shard->taken.kind != HR_PULL))
        return;
    const struct hr_atom64 *sent =
        sent_at(drive, shard->taken.worker, shard->number, push ? HR_SENT_PUSH : HR_SENT_PULL);
    const int64_t came = (int64_t)hr_atom64_load_relaxed(sent); /* partner: posted */
    const bool waited = came >= since;
    if (waited)
        keep(&drive->calibration.noticed[hr_shard_rank(drive->job->shared, shard->number)],
             began - came);
    keep(&drive->calibration.served[shard->number * HR_SENT_REPLY + push],
         hr_clock_ns() - (waited ? began : since));
}
