#include "launch/join.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "launch/runs.h"
#include "shm/process.h"

/* === what launchers tell the ranks that they start === */

enum { MOST_PARTS = 4 };

static const struct family {
    const char *rank, *nranks, *local_rank, *local_nranks;
} FAMILIES[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
};
enum { NFAMILIES = sizeof FAMILIES / sizeof *FAMILIES };

/* Variables that name a run, the best first; a row is taken when its first is set. A run that
 * torchrun restarted counts as another. MPICH sets none. */
static const char *const NAMES[][MOST_PARTS] = {
    {"HOGRING_RUN"},
    {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"},
    {"MASTER_PORT", "MASTER_ADDR"},
    {"PMIX_NAMESPACE"},
    {"OMPI_MCA_ess_base_jobid"},
    {"SLURM_STEP_ID", "SLURM_JOB_ID"},
};
enum { NNAMES = sizeof NAMES / sizeof *NAMES };

static const char *value_of(const char *variable)
{
    const char *text = getenv(variable);
    return text && *text ? text : NULL;
}

static const struct family *find_family(void)
{
    for (size_t f = 0; f < NFAMILIES; f++)
        if (value_of(FAMILIES[f].rank))
            return &FAMILIES[f];
    return NULL;
}

static enum hr_status read_number(const char *variable, size_t *value)
{
    const char *text = value_of(variable);
    if (!text)
        return hr_fail(HR_E_USAGE, "%s is not set", variable);
    if (strspn(text, "0123456789") != strlen(text) || strlen(text) > 9)
        return hr_fail(HR_E_USAGE, "%s=%s: expected a number", variable, text);
    *value = (size_t)strtoul(text, NULL, 10);
    return HR_OK;
}

static enum hr_status read_optional(const char *variable, size_t usual, size_t *value)
{
    *value = usual;
    return value_of(variable) ? read_number(variable, value) : HR_OK;
}

/* Ranks that nobody gave a common name have a common parent. */
static void name_by_parent(struct hr_join_options *options)
{
    snprintf(options->name, sizeof options->name, "of parent %ld, started at %llu", (long)getppid(),
             hr_process_start_time(getppid()));
}

static void name_run(struct hr_join_options *options)
{
    options->name[0] = '\0';
    for (size_t n = 0; n < NNAMES && !options->name[0]; n++)
        for (size_t p = 0; p < MOST_PARTS && NAMES[n][p] && value_of(NAMES[n][0]); p++)
            hr_append(options->name, sizeof options->name, "%s%s", options->name[0] ? " " : "",
                      value_of(NAMES[n][p]) ? value_of(NAMES[n][p]) : "");
    if (!options->name[0])
        name_by_parent(options);
}

enum hr_status hr_join_environment(struct hr_join_options *options)
{
    const struct family *family = find_family();
    size_t local_nranks;
    if (!family)
        return hr_fail(HR_E_USAGE, "RANK is not set (nor %s, nor %s): not started as a rank",
                       FAMILIES[1].rank, FAMILIES[2].rank);
    HR_TRY(read_number(family->rank, &options->rank));
    HR_TRY(read_number(family->nranks, &options->nranks));
    HR_TRY(read_optional(family->local_rank, options->rank, &options->local_rank));
    HR_TRY(read_optional(family->local_nranks, options->nranks, &local_nranks));
    if (options->nranks < 1 || options->nranks > HR_MAX_RANKS)
        return hr_fail(HR_E_USAGE, "%s=%zu: expected 1 to %d", family->nranks, options->nranks,
                       HR_MAX_RANKS);
    if (options->rank >= options->nranks)
        return hr_fail(HR_E_USAGE, "%s=%zu: expected less than %s=%zu", family->rank, options->rank,
                       family->nranks, options->nranks);
    if (local_nranks != options->nranks)
        return hr_fail(HR_E_USAGE, "%s=%zu, but %s=%zu: all ranks have to be on one machine",
                       family->local_nranks, local_nranks, family->nranks, options->nranks);
    if (options->local_rank >= local_nranks)
        return hr_fail(HR_E_USAGE, "%s=%zu: expected less than %zu", family->local_rank,
                       options->local_rank, local_nranks);
    name_run(options);
    return HR_OK;
}

/* === ranks watch one another === */

static long pid_of(const struct hr_rank_status *line)
{
    return (long)hr_atom64_load_acquire(&line->pid); /* partner: claim_line */
}

/* Is that rank gone? Its pidfd is opened at the first look and asked from the next one on. */
static bool is_gone(struct hr_join *join, size_t rank)
{
    const struct hr_rank_status *line = &join->control->rank[rank];
    struct pollfd *process = &join->process[rank];
    if (process->fd >= 0)
        return process->revents != 0;
    process->revents = 0;
    if (pid_of(line))
        process->fd = hr_process_open((pid_t)pid_of(line));
    return hr_rank_is_dead(line); /* if not, the descriptor is of that process and no later one */
}

static void stop_looking_at(struct hr_join *join, size_t rank)
{
    if (join->process[rank].fd >= 0)
        close(join->process[rank].fd);
    join->process[rank].fd = -1;
    join->over[rank] = true;
}

/* One of the survivors publishes; if it dies while doing so, another one does. */
static bool may_speak(struct hr_join *join)
{
    struct hr_atom32 *speaker = &join->control->speaker;
    const uint32_t now = hr_atom32_load_relaxed(speaker); /* partner: below; hands nothing over */
    const uint32_t me = (uint32_t)join->options.rank + 1;
    if (now == me)
        return true;
    if (now && !hr_rank_is_dead(&join->control->rank[now - 1]))
        return false;
    return hr_atom32_replace_relaxed(speaker, now, me);
}

static void speak_for(struct hr_join *join, size_t rank)
{
    const struct hr_rank_status *line = &join->control->rank[rank];
    char text[200];
    snprintf(text, sizeof text, "pid %ld is gone, while %s", pid_of(line),
             hr_phase_str((enum hr_phase)hr_atom32_load_relaxed(&line->phase)));
    if (may_speak(join))
        hr_control_abort(join->control, rank, HR_E_LOST, text);
}

/* For hr_waiter's look; arg is the join. */
static void look_at_others(void *arg)
{
    struct hr_join *join = arg;
    const size_t n = join->control->nranks;
    poll(join->process, n, 0);
    for (size_t r = 0; r < n; r++) {
        if (r == join->options.rank || join->over[r] || !is_gone(join, r))
            continue;
        /* Asked after its end, so that its last words are seen. */
        if (hr_rank_has_returned(&join->control->rank[r]))
            stop_looking_at(join, r);
        else
            speak_for(join, r);
    }
}

void hr_join_stopped(const struct hr_waiter *waiter, const struct hr_control *control, char *text,
                     size_t size)
{
    char stopped[100];
    text[0] = '\0';
    for (size_t r = 0; waiter->look == look_at_others && r < control->nranks && !text[0]; r++)
        if (hr_control_stopped(control, r, stopped, sizeof stopped))
            snprintf(text, size, "; rank %zu: %s", r, stopped);
}

/* === ranks find each other === */

enum { POLL_NS = 2 * 1000 * 1000 }; /* how often a rank looks for rank 0's name */

struct hr_rendezvous {
    char run[sizeof((struct hr_join_options *)0)->name];
    char segment[64]; /* the large segment's name, until rank 0 unlinks it */
    uint64_t segment_bytes;
    alignas(HR_LINE) struct hr_atom64 left; /* ranks that have left: read-modify-write by all */
};

/* --- the control segment --- */

static struct hr_rendezvous *rendezvous_of(struct hr_control *control)
{
    return (struct hr_rendezvous *)(void *)((unsigned char *)control +
                                            hr_control_bytes(control->nranks));
}

static uint64_t hash(const char *text)
{
    uint64_t value = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 0x100000001b3u;
    return value;
}

void hr_join_file(const char *run, char *file, size_t size)
{
    snprintf(file, size, "/hogring-run.%ld.%016" PRIx64, (long)geteuid(), hash(run));
}

static uint64_t started_of(const struct hr_rank_status *line)
{
    return hr_atom64_load_acquire(&line->started); /* partner: say_here */
}

/* Is this run alive? Otherwise it is what a dead run left behind. */
static bool is_live(const struct hr_control *control)
{
    return !hr_rank_has_returned(&control->rank[0]) && !hr_rank_is_dead(&control->rank[0]);
}

/* Was it made by a version with the same layout? */
static bool has_form(const struct hr_segment *segment)
{
    const struct hr_control *control = segment->base;
    return segment->bytes >= sizeof *control && !memcmp(control->magic, "HOGRING", 8) &&
           control->version == HR_CONTROL_VERSION && control->nranks >= 1 &&
           control->nranks <= HR_MAX_RANKS &&
           segment->bytes == hr_control_bytes(control->nranks) + sizeof(struct hr_rendezvous);
}

static enum hr_status check_form(const struct hr_segment *segment, const struct hr_join *join)
{
    struct hr_control *control = segment->base;
    if (segment->bytes < sizeof *control || memcmp(control->magic, "HOGRING", 8) != 0)
        return hr_fail(HR_E_SHM, "/dev/shm%s is not a run of hogring; remove it", join->file);
    if (control->version != HR_CONTROL_VERSION)
        return hr_fail(HR_E_USAGE, "run %s was opened by another version of hogring (%u, here %d)",
                       join->options.name, control->version, HR_CONTROL_VERSION);
    if (!has_form(segment) ||
        strncmp(rendezvous_of(control)->run, join->options.name, sizeof join->options.name) != 0)
        return hr_fail(HR_E_SHM, "/dev/shm%s is not of run %s; remove it", join->file,
                       join->options.name);
    return HR_OK;
}

/* --- who is there --- */

static bool is_here(const struct hr_control *control, size_t rank)
{
    return started_of(&control->rank[rank]) != 0;
}

static bool all_are_here(void *arg)
{
    const struct hr_control *control = arg;
    for (size_t r = 0; r < control->nranks; r++)
        if (!is_here(control, r))
            return false;
    return true;
}

/* Take this rank's line; false: another process has it. */
static bool claim_line(struct hr_join *join)
{
    struct hr_rank_status *line = &join->control->rank[join->options.rank];
    join->registered = hr_atom64_replace_acq_rel(&line->pid, 0, (uint64_t)getpid());
    return join->registered;
}

/* The last step: both segments are mapped. */
static void say_here(struct hr_join *join)
{
    struct hr_control *control = join->control;
    const uint64_t started = hr_process_start_time(getpid());
    hr_atom64_store_release(&control->rank[join->options.rank].started, started ? started : 1);
    for (size_t r = 0; r < control->nranks; r++)
        hr_bell_ring(&control->rank[r].bell);
}

/* Ranks do not fit together. While ranks join, this ends it for all; after that, only for
 * the rank that came too late. */
static enum hr_status refuse(struct hr_control *control, enum hr_status status)
{
    if (!all_are_here(control))
        hr_control_abort(control, HR_MAX_RANKS, status, hr_error_message());
    return status;
}

static enum hr_status refuse_twin(struct hr_join *join, struct hr_control *control)
{
    const size_t rank = join->options.rank;
    return refuse(control,
                  hr_fail(HR_E_USAGE, "rank %zu of run %s is there twice: pid %ld and %ld", rank,
                          join->options.name, pid_of(&control->rank[rank]), (long)getpid()));
}

void hr_join_watch(struct hr_join *join, struct hr_waiter *waiter)
{
    waiter->abort = &join->control->abort;
    waiter->look = look_at_others;
    waiter->look_arg = join;
}

/* --- rank 0 --- */

static enum hr_status create(size_t bytes, struct hr_segment *segment)
{
    HR_TRY(hr_segment_create(bytes, true, segment));
    if (segment->name[0])
        return HR_OK;
    hr_segment_destroy(segment);
    return hr_fail(HR_E_SHM,
                   "ranks that were started one by one meet in /dev/shm, and it has no %zu KiB "
                   "(containers: --shm-size)",
                   (bytes + 1023) / 1024);
}

/* Remove what a finished run has left, or fail because it is not finished. */
static enum hr_status remove_leftover(struct hr_join *join)
{
    struct hr_segment old;
    bool exists;
    enum hr_status status = hr_segment_attach(join->file, &old, &exists);
    if (status != HR_OK)
        return exists ? status : HR_OK;
    status = check_form(&old, join);
    if (status == HR_OK && is_live(old.base))
        status = refuse_twin(join, old.base);
    if (status == HR_OK && hr_segment_remove(join->file, old.inode))
        shm_unlink(rendezvous_of(old.base)->segment);
    hr_segment_destroy(&old);
    return status;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

static bool is_past(struct hr_patience *patience)
{
    const int64_t waited = hr_patience_look(patience, hr_clock_ns());
    return patience->limit_ns && waited >= patience->limit_ns;
}

static enum hr_status publish(struct hr_join *join, struct hr_patience *patience)
{
    for (;; nap()) {
        bool exists;
        const enum hr_status status =
            hr_segment_publish(&join->control_segment, join->file, &exists);
        if (status == HR_OK || !exists || is_past(patience))
            return status;
        HR_TRY(remove_leftover(join));
    }
}

static enum hr_status found(struct hr_join *join, struct hr_patience *patience)
{
    const struct hr_join_options *options = &join->options;
    hr_runs_sweep();
    HR_TRY(create(hr_control_bytes(options->nranks) + sizeof(struct hr_rendezvous),
                  &join->control_segment));
    HR_TRY(create(options->segment_bytes, &join->segment));
    join->control = join->control_segment.base;
    hr_control_init(join->control, options->nranks);
    join->control->about.rank_kind = HR_RANKS_JOINED;
    join->rendezvous = rendezvous_of(join->control);
    snprintf(join->rendezvous->run, sizeof join->rendezvous->run, "%s", options->name);
    snprintf(join->rendezvous->segment, sizeof join->rendezvous->segment, "%s", join->segment.name);
    join->rendezvous->segment_bytes = options->segment_bytes;
    claim_line(join);
    say_here(join);
    return publish(join, patience);
}

/* --- the others --- */

/* Map the control segment of the run when it is there. */
static enum hr_status find_run(struct hr_join *join, struct hr_patience *patience)
{
    for (; !is_past(patience); nap()) {
        bool exists;
        enum hr_status status = hr_segment_attach(join->file, &join->control_segment, &exists);
        if (status != HR_OK && exists)
            return status;
        if (status != HR_OK)
            continue;
        status = check_form(&join->control_segment, join);
        if (status != HR_OK || is_live(join->control_segment.base))
            return status;
        hr_segment_destroy(&join->control_segment);
    }
    return hr_fail(HR_E_TIMEOUT, "waited %.1f s for rank 0 of %zu, which opens the run (run %s)",
                   hr_seconds(join->options.timeout_ns), join->options.nranks, join->options.name);
}

static enum hr_status check_agreement(const struct hr_join *join, struct hr_control *control)
{
    const struct hr_join_options *mine = &join->options;
    const struct hr_rendezvous *rendezvous = rendezvous_of(control);
    if (control->nranks != mine->nranks)
        return refuse(control, hr_fail(HR_E_USAGE, "rank %zu expects %zu ranks, rank 0 %u (run %s)",
                                       mine->rank, mine->nranks, control->nranks, mine->name));
    if (rendezvous->segment_bytes != mine->segment_bytes)
        return refuse(control, hr_fail(HR_E_USAGE,
                                       "rank %zu expects a segment of %zu bytes, rank 0 of "
                                       "%" PRIu64 " (run %s): were they given the same options?",
                                       mine->rank, mine->segment_bytes, rendezvous->segment_bytes,
                                       mine->name));
    return HR_OK;
}

static enum hr_status enter(struct hr_join *join, struct hr_patience *patience)
{
    bool exists;
    HR_TRY(find_run(join, patience));
    struct hr_control *control = join->control_segment.base;
    HR_TRY(check_agreement(join, control));
    join->control = control;
    join->rendezvous = rendezvous_of(control);
    if (!claim_line(join))
        return refuse_twin(join, control);
    const enum hr_status status =
        hr_segment_attach(join->rendezvous->segment, &join->segment, &exists);
    if (status != HR_OK) /* rank 0 has given up, and said why, or died */
        return hr_control_failure(control) != HR_OK ? hr_control_failure(control) : status;
    say_here(join);
    return HR_OK;
}

/* --- all --- */

/* Names who is missing: "waited 30.0 s for ranks 2, 3 of 4 (run NAME)". */
static enum hr_status fail_late(const struct hr_join *join)
{
    char list[4 * HR_MAX_RANKS + 1] = "";
    size_t length = 0, missing = 0;
    for (size_t r = 0; r < join->control->nranks; r++)
        if (!is_here(join->control, r))
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%zu",
                                       missing++ ? ", " : "", r);
    return hr_fail(HR_E_TIMEOUT, "waited %.1f s for rank%s %s of %zu (run %s)",
                   hr_seconds(join->options.timeout_ns), missing == 1 ? "" : "s", list,
                   join->options.nranks, join->options.name);
}

static enum hr_status meet(struct hr_join *join, struct hr_patience *patience)
{
    struct hr_control *control = join->control;
    struct hr_waiter waiter = {0};
    if (join->options.timeout_ns) {
        const int64_t left = patience->limit_ns - hr_patience_look(patience, hr_clock_ns());
        waiter.timeout_ns = left > 0 ? left : 1;
    }
    hr_join_watch(join, &waiter);
    const enum hr_status status = hr_wait_until(&waiter, &control->rank[join->options.rank].bell,
                                                all_are_here, control, "the other ranks");
    if (status == HR_E_TIMEOUT)
        hr_control_abort(control, HR_MAX_RANKS, HR_E_TIMEOUT,
                         (fail_late(join) == HR_OK ? "" : hr_error_message()));
    if (status != HR_OK && hr_control_failure(control) != HR_OK)
        return hr_control_failure(control);
    return status;
}

enum hr_status hr_join_open(const struct hr_join_options *options, struct hr_join *join)
{
    struct hr_patience patience = {.limit_ns = options->timeout_ns, .looked_ns = hr_clock_ns()};
    HR_ASSERT(options->nranks >= 1 && options->nranks <= HR_MAX_RANKS);
    HR_ASSERT(options->rank < options->nranks && options->name[0]);
    *join = (struct hr_join){.options = *options};
    for (size_t r = 0; r < HR_MAX_RANKS; r++)
        join->process[r] = (struct pollfd){.fd = -1, .events = POLLIN};
    hr_join_file(options->name, join->file, sizeof join->file);
    enum hr_status status = options->rank == 0 ? found(join, &patience) : enter(join, &patience);
    if (status == HR_OK)
        status = meet(join, &patience);
    if (status == HR_OK)
        hr_segment_unlink(&join->segment); /* rank 0 has its name */
    else
        hr_join_close(join, status);
    return status;
}

static void leave(struct hr_join *join, enum hr_status outcome)
{
    struct hr_control *control = join->control;
    const size_t rank = join->options.rank;
    if (outcome != HR_OK) /* does nothing when another rank did fail first */
        hr_control_abort(control, rank, outcome, hr_error_message());
    hr_control_phase(control, rank, HR_PHASE_FINISHED);
    hr_atom32_store_release(&control->rank[rank].result, /* partner: hr_rank_has_returned */
                            outcome == HR_OK ? HR_RETURNED_OK : HR_RETURNED_ERROR);
    /* Of two that leave at once, the second here sees that the first has returned. */
    hr_atom64_fetch_add_acq_rel(&join->rendezvous->left, 1);
    if (hr_ranks_are_gone(control)) {
        shm_unlink(join->rendezvous->segment); /* if rank 0 died before it could */
        hr_segment_remove(join->file, join->control_segment.inode);
    }
}

void hr_join_close(struct hr_join *join, enum hr_status outcome)
{
    if (!join->options.nranks)
        return;
    if (join->registered)
        leave(join, outcome);
    for (size_t r = 0; r < HR_MAX_RANKS; r++)
        stop_looking_at(join, r);
    hr_segment_destroy(&join->segment);
    hr_segment_destroy(&join->control_segment);
    *join = (struct hr_join){0};
}
