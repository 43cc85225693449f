#include "support/run_state.h"

#include <stddef.h>

#include "server/server.h"
#include "shm/control.h"
#include "support/rewind.h"
#include "train/run.h"

struct sink {
    void (*add)(void *arg, const void *piece, size_t bytes);
    void *arg;
};

#define ADD(to, value) (to)->add((to)->arg, &(value), sizeof(value))

static void add_worker(const struct sink *to, const struct hr_serial *serial, size_t w)
{
    const struct hr_worker *worker = &serial->worker[w].worker;
    ADD(to, serial->task[w]);
    if (!serial->ranks[w].up)
        return;
    ADD(to, worker->group_rank);
    ADD(to, worker->group_size);
    ADD(to, worker->back);
    ADD(to, worker->applied);
    ADD(to, worker->index);
    ADD(to, worker->steps);
    ADD(to, worker->cut);
    ADD(to, worker->samples);
    ADD(to, worker->requests);
    to->add(to->arg, worker->own, serial->shared->strategy->worker_own);
}

static void add_shard(const struct sink *to, const struct hr_serial *serial, size_t s)
{
    const struct hr_shard *shard = &serial->shard[s];
    if (!serial->ranks[serial->shared->workers + s].up)
        return;
    ADD(to, shard->version);
    ADD(to, shard->before);
    ADD(to, shard->ndone);
    ADD(to, shard->ngone);
    ADD(to, shard->joined);
    ADD(to, shard->exported);
    ADD(to, shard->next);
    ADD(to, shard->nin);
    ADD(to, shard->shares);
    ADD(to, shard->expected);
    ADD(to, shard->open);
    to->add(to->arg, shard->worker, serial->shared->workers * sizeof *shard->worker);
}

static void add_losses(const struct sink *to, const struct hr_serial *serial)
{
    const struct hr_losses *losses = &serial->drive->losses;
    ADD(to, losses->view);
    ADD(to, losses->kept);
    ADD(to, losses->in_span);
    ADD(to, losses->restarts);
    ADD(to, losses->n);
}

static const struct hr_run *run_of(const struct hr_serial *serial)
{
    return (const void *)((const char *)serial->drive - offsetof(struct hr_run, drive));
}

const struct hr_segment *run_state_segment(const struct hr_serial *serial)
{
    return &run_of(serial)->segment;
}

const struct hr_segment *run_state_control(const struct hr_serial *serial)
{
    return &run_of(serial)->control_segment;
}

/* Where it was mapped is no state: addresses in it, as the last cut has, count from its base. */
static void add_words(const struct sink *to, const struct hr_segment *segment)
{
    enum { WORDS = 512 };
    const uintptr_t *all = segment->base, base = (uintptr_t)segment->base;
    for (size_t i = 0, n = segment->bytes / sizeof *all; i < n; i += WORDS) {
        uintptr_t word[WORDS] = {0};
        for (size_t k = 0; k < WORDS && i + k < n; k++)
            word[k] = all[i + k] - base < segment->bytes ? all[i + k] - base : all[i + k];
        ADD(to, word);
    }
}

static void add_private(const struct sink *to, const struct hr_serial *serial)
{
    const struct hr_shared_state *shared = serial->shared;
    const size_t ranks = shared->workers + shared->servers;
    to->add(to->arg, serial->state, ranks * sizeof *serial->state);
    for (size_t w = 0; w < shared->workers; w++)
        add_worker(to, serial, w);
    for (size_t s = 0; s < shared->servers; s++)
        add_shard(to, serial, s);
    for (size_t r = 0; r < ranks; r++)
        ADD(to, serial->ranks[r].up);
    add_losses(to, serial);
}

void run_state(const struct hr_serial *serial, bool rewinds, bool heap,
               void (*add)(void *arg, const void *piece, size_t bytes), void *arg)
{
    const struct sink to = {add, arg};
    const struct hr_shared_state *shared = serial->shared;
    const struct hr_segment *segment = run_state_segment(serial);
    ADD(&to, shared->control->roster);
    add(arg, shared->control->rank,
        (shared->workers + shared->servers) * sizeof *shared->control->rank);
    if (rewinds) {
        const XXH128_hash_t digest = rewind_digest(segment->base, segment->bytes);
        ADD(&to, digest);
    } else
        add_words(&to, segment);
    if (shared->servers && !heap) {
        add_private(&to, serial);
        return;
    }
    const XXH128_hash_t digest = rewind_heap_digest();
    ADD(&to, digest);
}
