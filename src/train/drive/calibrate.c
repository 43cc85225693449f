#include "drive/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/cpus.h"
#include "base/file.h"
#include "base/median.h"
#include "base/size.h"
#include "drive/driver.h"
#include "netsim/delay.h"
#include "server/server.h"
#include "strategy/shared.h"
#include "worker/staged.h"

/* inih reads 200 bytes per line. */
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
    if (job->shared->hosts.self) /* machine 0 writes it */
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
    return arrays_of(job) * sizeof(struct hr_durations) +
           sent_words(job) * sizeof(struct hr_atom64);
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
    calibration->compute = (struct hr_durations *)(void *)memory;
    calibration->idle = calibration->compute + drive->job->shared->workers;
    calibration->came = calibration->idle + drive->job->shared->workers;
    calibration->noticed = calibration->came + drive->job->shared->workers;
    calibration->served = calibration->noticed + drive->job->nranks;
    calibration->sent = (struct hr_atom64 *)(void *)(calibration->compute + arrays_of(drive->job));
    drive->job->shared->posted = posted;
    drive->job->shared->posted_arg = drive;
}

/* --- samples */

static void keep(struct hr_durations *samples, int64_t ns)
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
    struct hr_durations *compute = &calibration->compute[rank];
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
    if (came > began) /* of a later message: its worker was lost in between, and came back */
        return;
    const bool waited = came >= since;
    if (waited)
        keep(&drive->calibration.noticed[hr_shard_rank(drive->job->shared, shard->number)],
             began - came);
    keep(&drive->calibration.served[shard->number * HR_SENT_REPLY + push],
         hr_clock_ns() - (waited ? began : since));
}

/* The samples of a calibration as a configuration file: see calibrate.h. */
static const double most_alike = 1.1; /* workers whose medians are nearer are equally fast */

enum { ENOUGH = 8 }; /* steps, to call a worker slower than the others */

struct writer {
    const struct hr_drive *drive;
    FILE *out;      /* what FILE will hold */
    double *ns;     /* (as many as all ranks keep) owned */
    size_t n;       /* durations in ns */
    double *factor; /* (workers) owned: how much slower than the others */
};

static size_t kept(const struct hr_durations *samples)
{
    return samples->seen < HR_SAMPLES_KEPT ? samples->seen : HR_SAMPLES_KEPT;
}

/* Append `samples`, each divided by `factor`. */
static void gather(struct writer *writer, const struct hr_durations *samples, double factor)
{
    for (size_t i = 0; i < kept(samples); i++)
        writer->ns[writer->n++] = (double)samples->ns[i] / factor;
}

/* Synchronous replicas: add to a worker's step its wait after the last worker had come, which is
 * the exchange; the wait before that is due to the others. */
static void add_exchange(const struct hr_drive *drive)
{
    const struct hr_calibration *calibration = &drive->calibration;
    const size_t workers = drive->job->shared->workers;
    for (size_t i = 0; i < kept(&calibration->compute[0]); i++) {
        int64_t last = calibration->came[0].ns[i];
        for (size_t w = 1; w < workers; w++)
            last = calibration->came[w].ns[i] > last ? calibration->came[w].ns[i] : last;
        for (size_t w = 0; w < workers; w++) {
            const int64_t others = last - calibration->came[w].ns[i];
            const int64_t idle = calibration->idle[w].ns[i];
            calibration->compute[w].ns[i] += idle > others ? idle - others : 0;
        }
    }
}

static double mean_ns(const struct writer *writer)
{
    double sum = 0;
    for (size_t i = 0; i < writer->n; i++)
        sum += writer->ns[i];
    return sum / (double)writer->n;
}

/* --- files */

static const char durations_head[] = "# measured by hogring ";

/* Nobody named that file: what is there is to be of an earlier calibration. */
static enum hr_status check_durations(const char *path)
{
    char head[sizeof durations_head] = "";
    FILE *there = fopen(path, "r");
    if (!there)
        return HR_OK;
    const size_t n = fread(head, 1, sizeof head - 1, there);
    fclose(there);
    return n == 0 || !strcmp(head, durations_head)
               ? HR_OK
               : hr_fail(HR_E_USAGE,
                         "%s: durations go there, and it is none of hogring's files; expected "
                         "--calibrate with another name",
                         path);
}

/* Write the durations, one per line. */
static enum hr_status write_durations(const struct writer *writer, const char *path)
{
    HR_TRY(check_durations(path));
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return hr_fail(HR_E_NOMEM, "no memory to write %s", path);
    fprintf(out, "%strain --calibrate %s\n", durations_head,
            writer->drive->job->options->calibrate);
    for (size_t i = 0; i < writer->n; i++)
        fprintf(out, "%.0fns\n", writer->ns[i]);
    enum hr_status status = fclose(out) == 0 ? HR_OK : HR_E_NOMEM;
    status = status == HR_OK ? hr_file_replace_durably(path, text, bytes)
                             : hr_fail(status, "no memory to write %s", path);
    free(text);
    return status;
}

/* "<option> = " a model of the durations. If no lognormal fits well, they get a file of their own.
 */
static enum hr_status write_model(struct writer *writer, const char *option, const char *suffix)
{
    char path[HR_PATH_MAX], text[HR_DELAY_TEXT];
    const struct hr_delay_fit fit = hr_delay_fit(writer->ns, writer->n);
    hr_delay_text(&fit.delay, text);
    fprintf(writer->out,
            "#   mean %.6g us, median %.6g us; %s is %.3f away, its mean %+.1f %%: %s\n",
            fit.mean_ns / 1e3, writer->ns[writer->n / 2] / 1e3, text, fit.distance,
            100 * fit.mean_off, fit.good ? "good" : "no good, so the durations themselves");
    if (fit.good) {
        fprintf(writer->out, "%s = %s\n", option, text);
        return HR_OK;
    }
    HR_TRY(hr_path(path, "%s.%s", writer->drive->job->options->calibrate, suffix));
    const char *slash = strrchr(path, '/'); /* the model looks in its own folder */
    fprintf(writer->out, "%s = trace:%s\n", option, slash ? slash + 1 : path);
    return write_durations(writer, path);
}

/* --- what the file says */

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void write_head(const struct writer *writer)
{
    const struct hr_drive *drive = writer->drive;
    const struct hr_train_options *o = drive->job->options;
    struct utsname system = {0};
    char processor[80], date[32];
    double load = 0;
    const time_t now = time(NULL);
    struct tm parts;
    uname(&system);
    hr_cpus_model(processor, sizeof processor);
    if (getloadavg(&load, 1) != 1)
        load = NAN;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &parts));
    fprintf(writer->out,
            "# How long things took in a run, for hogring simulate --config %s\n"
            "# machine   %s, %zu processors, %s, load average %.1f\n"
            "# date      %s\n"
            "# run       %s, %zu worker%s, %zu server%s, %ss; batch %zu, %zu parameters\n"
            "# model     %.100s\n",
            o->calibrate, processor[0] ? processor : "?", hr_cpus_allowed(), system.release, load,
            date, drive->job->options->strategy, drive->job->shared->workers,
            plural(drive->job->shared->workers), drive->job->shared->servers,
            plural(drive->job->shared->servers), o->launch, drive->job->batch_size,
            drive->job->shared->params, o->model);
    if (o->compute_time[0] || o->inject[0])
        fprintf(writer->out, "#           --compute-time \"%.60s\" --inject \"%.60s\"\n",
                o->compute_time, o->inject);
}

/* Of a run on several. */
static void write_machines(const struct writer *writer)
{
    const struct hr_run_result *result = writer->drive->result;
    for (size_t m = 0; m < result->nmachines; m++)
        fprintf(writer->out, "%s%s", m ? ", " : "# machines  ", result->machines[m].host);
    if (result->nmachines)
        fputs(": what goes between them is in compute-time\n", writer->out);
}

/* How much slower each worker is: the median of its durations over the median of all medians; 1 if
 * that is near 1, or if it made too few steps. */
static void find_factors(struct writer *writer)
{
    const struct hr_drive *drive = writer->drive;
    const size_t workers = drive->job->shared->workers;
    for (size_t w = 0; w < workers; w++) {
        writer->n = 0;
        gather(writer, &drive->calibration.compute[w], 1);
        writer->factor[w] = writer->n >= ENOUGH ? hr_median(writer->ns, writer->n) : NAN;
    }
    size_t known = 0;
    for (size_t w = 0; w < workers; w++)
        if (!isnan(writer->factor[w]))
            writer->ns[known++] = writer->factor[w];
    const double middle = known ? hr_median(writer->ns, known) : NAN;
    for (size_t w = 0; w < workers; w++) {
        const double factor = writer->factor[w] / middle;
        const bool alike = factor < most_alike && factor > 1 / most_alike;
        writer->factor[w] = alike || !(factor >= 0.001 && factor <= 1000) ? 1 : factor;
    }
}

static void write_inject(const struct writer *writer)
{
    char text[sizeof writer->drive->job->options->inject] = "";
    const size_t most = 150; /* what fits in a line */
    for (size_t w = 0; w < writer->drive->job->shared->workers && strlen(text) < most; w++)
        if (writer->factor[w] != 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%sslow:%zux%.3f",
                     text[0] ? "," : "", w, writer->factor[w]);
    if (text[0])
        fprintf(writer->out, "inject = %s\n", text);
}

static enum hr_status write_compute(struct writer *writer)
{
    const struct hr_drive *drive = writer->drive;
    if (drive->job->shared->strategy->synchronous && !drive->job->shared->servers)
        add_exchange(drive);
    find_factors(writer);
    writer->n = 0;
    for (size_t w = 0; w < drive->job->shared->workers; w++)
        gather(writer, &drive->calibration.compute[w], writer->factor[w]);
    if (!writer->n)
        return hr_fail(HR_E_FAILED, "--calibrate %s: no step was measured",
                       drive->job->options->calibrate);
    fprintf(writer->out, "#\n# %zu steps of workers%s%s\n", writer->n,
            drive->job->shared->servers ? "" : ", updating and exchanging included",
            drive->job->pipeline ? "; as long as one rank would take for the work of all stages"
                                 : "");
    HR_TRY(write_model(writer, "compute-time", "compute"));
    write_inject(writer);
    return HR_OK;
}

static enum hr_status write_servers(struct writer *writer)
{
    const struct hr_drive *drive = writer->drive;
    static const char *const names[] = {"pulls", "pushes"};
    size_t all = 0;
    fputs("#\n", writer->out);
    for (size_t kind = 0; kind < HR_SENT_REPLY; kind++) {
        writer->n = 0;
        for (size_t s = 0; s < drive->job->shared->servers; s++)
            gather(writer, &drive->calibration.served[s * HR_SENT_REPLY + kind], 1);
        all += writer->n;
        if (writer->n)
            fprintf(writer->out, "# %zu %s, mean %.6g us\n", writer->n, names[kind],
                    mean_ns(writer) / 1e3);
    }
    writer->n = 0;
    for (size_t i = 0; i < drive->job->shared->servers * HR_SENT_REPLY; i++)
        gather(writer, &drive->calibration.served[i], 1);
    return all ? write_model(writer, "server-time", "server") : HR_OK;
}

static void write_link(struct writer *writer)
{
    const struct hr_drive *drive = writer->drive;
    char latency[HR_PS_TEXT];
    writer->n = 0;
    for (size_t r = 0; r < drive->job->nranks; r++)
        gather(writer, &drive->calibration.noticed[r], 1);
    if (!writer->n)
        return;
    const double mean = mean_ns(writer);
    fprintf(
        writer->out,
        "#\n# %zu messages were noticed %.6g us after they were sent (mean; median %.6g us), on\n"
        "#   two wires; copying is in server-time\n",
        writer->n, mean / 1e3, hr_median(writer->ns, writer->n) / 1e3);
    hr_ps_text(1000 * llround(mean / 2), latency);
    fprintf(writer->out, "link = 1000GB/s,%s\n", latency);
}

static enum hr_status write_all(struct writer *writer)
{
    write_head(writer);
    write_machines(writer);
    HR_TRY(write_compute(writer));
    if (!writer->drive->job->shared->servers)
        return HR_OK;
    HR_TRY(write_servers(writer));
    write_link(writer);
    return HR_OK;
}

enum hr_status hr_calibrate_write(const struct hr_drive *drive)
{
    const char *path = drive->job->options->calibrate;
    const size_t arrays = drive->job->shared->workers + drive->job->nranks +
                          HR_SENT_REPLY * drive->job->shared->servers;
    char *text = NULL;
    size_t bytes = 0;
    struct writer writer = {
        .drive = drive,
        .out = open_memstream(&text, &bytes),
        .ns = malloc(arrays * HR_SAMPLES_KEPT * sizeof(double)),
        .factor = calloc(drive->job->shared->workers, sizeof(double)),
    };
    enum hr_status status = writer.out && writer.ns && writer.factor
                                ? write_all(&writer)
                                : hr_fail(HR_E_NOMEM, "no memory to write %s", path);
    if (writer.out && fclose(writer.out) != 0 && status == HR_OK)
        status = hr_fail(HR_E_NOMEM, "no memory to write %s", path);
    if (status == HR_OK)
        status = hr_file_replace_durably(path, text, bytes);
    free(text);
    free(writer.ns);
    free(writer.factor);
    return status;
}
