#include "train/several.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "checkpoint/digest.h"
#include "drive/rest.h"
#include "machines/carried_group.h"
#include "machines/machines.h"
#include "options/train_options.h"
#include "strategy/shared.h"

/* Letters between machines. */
enum { MEETINGS, REQUESTS };

enum { SAVE, STOP };

static const int64_t LEAVE_NS = 5 * HR_NS_PER_SECOND;

struct hr_several {
    struct hr_carrier *carrier;
    struct hr_meet *meet;
    struct hr_carried_group carried;
    struct hr_asked_elsewhere elsewhere;
};

bool hr_several_is_first(const struct hr_run *run)
{
    return hr_machines_first(run->machines);
}

/* --- who lives where --- */

static enum hr_status refuse(const char *what, const char *instead)
{
    return hr_fail(HR_E_USAGE, "%s: not there yet on several machines; %s", what, instead);
}

static enum hr_status check(const struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    const struct hr_strategy *strategy = run->shared.strategy;
    if (strategy->served)
        return refuse(o->strategy, "expected allreduce, local-sgd or gossip");
    if (!strategy->synchronous)
        return refuse(o->strategy, "workers share no weights there; expected local-sgd, which "
                                   "averages them, or allreduce");
    if (run->drive.driver->played)
        return refuse("one process that plays all ranks", "expected it on one, without mpirun");
    if (run->job.launch != HR_LAUNCH_THREAD)
        return refuse("--launch process", "expected thread");
    if (run->shared.outlives)
        return refuse("--on-loss", "expected stop; --resume goes on from the last checkpoint");
    if (o->record[0])
        return refuse("--record", "record the run on one machine");
    if (o->calibrate[0])
        return refuse("--calibrate", "calibrate on one machine");
    if (o->pipeline > 1 || o->tensor_parallel > 1)
        return refuse("a model cut into stages or shards", "expected workers that have it whole");
    if (o->compress[0] && strcmp(o->compress, "none") != 0)
        return refuse("--compress", "expected it on one machine, or none");
    if (o->link[0] || o->topology[0])
        return refuse("emulated links", "the machines' links are real");
    return HR_OK;
}

enum hr_status hr_several_deal(struct hr_run *run)
{
    const struct hr_machines *machines = run->machines;
    const size_t workers = run->shared.workers;
    if (!machines)
        return HR_OK;
    HR_TRY(check(run));
    if (workers % machines->wire->machines)
        return hr_fail(HR_E_USAGE,
                       "--workers %zu: cannot be dealt out to %zu machines evenly; expected a "
                       "multiple of %zu",
                       workers, machines->wire->machines, machines->wire->machines);
    hr_homes_deal(&run->shared.homes, workers, machines->wire->machines, machines->wire->self);
    return HR_OK;
}

/* --- what is agreed upon --- */

enum { DIGEST = 24 };

struct facts {
    char version[24], bits[DIGEST], options[DIGEST], data[80];
    uint32_t steps, spans; /* are records wanted: machine 0's count */
    uint64_t spans_from, spans_to;
};

_Static_assert(sizeof(struct facts) <= HR_TOGETHER_BYTES, "facts fit a word");

/* Of everything that decides, and what beside it decides how memory is laid out. */
static enum hr_status digest_options(const struct hr_run *run, char *out)
{
    const struct hr_train_options *o = &run->options;
    json_t *options = hr_train_options_json(o);
    char *text = options ? json_dumps(options, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(options);
    if (!text)
        return hr_fail(HR_E_NOMEM, "no memory for the options that machines compare");
    uint64_t digest = hr_digest64(text, strlen(text));
    free(text);
    char more[600];
    snprintf(more, sizeof more, "%016llx %d %d %d %s %s %.9g %zu", (unsigned long long)digest,
             o->checkpoint_dir[0] != 0, o->resume[0] != 0, o->wants_answers, o->overlap, o->launch,
             o->timeout, run->shared.workers);
    snprintf(out, DIGEST, "%s", hr_digest64_text(hr_digest64(more, strlen(more))).hex);
    return HR_OK;
}

static enum hr_status digest_bits(char *out)
{
    json_t *bits = hr_machine_bits_json();
    char *text = bits ? json_dumps(bits, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(bits);
    if (!text)
        return hr_fail(HR_E_NOMEM, "no memory to describe this machine");
    snprintf(out, DIGEST, "%s", hr_digest64_text(hr_digest64(text, strlen(text))).hex);
    free(text);
    return HR_OK;
}

static enum hr_status fill_facts(const struct hr_run *run, struct facts *facts)
{
    const struct hr_observer *observer = run->launcher.observer;
    *facts = (struct facts){.steps = observer->stepped != NULL,
                            .spans = observer->spanned != NULL,
                            .spans_from = observer->spans_from,
                            .spans_to = observer->spans_to};
    snprintf(facts->version, sizeof facts->version, "%s", HR_VERSION);
    snprintf(facts->data, sizeof facts->data, "%s", run->job.dataset->digest);
    HR_TRY(digest_bits(facts->bits));
    return digest_options(run, facts->options);
}

static enum hr_status compare_facts(const struct hr_machines *machines, const struct facts *all)
{
    const struct hr_wire *wire = machines->wire;
    for (size_t m = 1; m < wire->machines; m++) {
        if (strcmp(all[m].version, all[0].version) != 0)
            return hr_fail(HR_E_USAGE, "%s has hogring %s and %s %s; expected one version",
                           wire->host[0], all[0].version, wire->host[m], all[m].version);
        if (strcmp(all[m].options, all[0].options) != 0)
            return hr_fail(HR_E_USAGE,
                           "%s and %s were told other options; expected the same command line and "
                           "the same --config on all machines",
                           wire->host[0], wire->host[m]);
        if (strcmp(all[m].data, all[0].data) != 0)
            return hr_fail(HR_E_USAGE,
                           "--data: %s has other samples (%s) than %s (%s); expected the same data "
                           "on all machines",
                           wire->host[m], all[m].data, wire->host[0], all[0].data);
        if (strcmp(all[m].bits, all[0].bits) != 0)
            return hr_fail(HR_E_USAGE,
                           "%s and %s have other instruction sets or libraries, and would give "
                           "other bits; expected machines alike, or the lowest level in all "
                           "machines' environment, as HOGRING_ISA=v3, and --kernels reference "
                           "where that is not enough",
                           wire->host[0], wire->host[m]);
    }
    return HR_OK;
}

enum hr_status hr_several_agree(struct hr_run *run, enum hr_status status)
{
    struct hr_machines *machines = run->machines;
    struct facts mine, all[HR_WIRE_MACHINES];
    if (!machines)
        return status;
    if (status == HR_OK)
        status = fill_facts(run, &mine);
    HR_TRY(hr_together_fail(&machines->together, status, "all machines to prepare"));
    HR_TRY(hr_together_gather(&machines->together, &mine, sizeof mine, all,
                              "what all machines were told"));
    HR_TRY(compare_facts(machines, all));
    run->shared.feed.steps = all[0].steps;
    run->shared.feed.spans = all[0].spans;
    run->shared.feed.spans_from = all[0].spans_from;
    run->shared.feed.spans_to = all[0].spans_to;
    return HR_OK;
}

/* --- joined --- */

/* Requests of a launcher that follows. */
static bool place_request(void *arg, size_t from, const void *note, size_t note_bytes,
                          size_t body_bytes, void **where)
{
    (void)arg, (void)from, (void)note, (void)where;
    return note_bytes == sizeof(uint64_t) && body_bytes == 0;
}

static void take_request(void *arg, size_t from, const void *note, size_t note_bytes)
{
    struct hr_run *run = arg;
    struct hr_asked_elsewhere *elsewhere = &run->several->elsewhere;
    uint64_t what;
    (void)from;
    memcpy(&what, note, note_bytes);
    if (what == STOP)
        hr_atom32_store_release(&elsewhere->stop, 1); /* partner: the launcher */
    else
        hr_atom32_store_release(&elsewhere->saves, hr_atom32_load_relaxed(&elsewhere->saves) + 1);
    hr_bell_ring(&run->shared.control->launcher_bell);
}

static enum hr_status pass_on(void *arg, bool stop)
{
    const struct hr_run *run = arg;
    const uint64_t what = stop ? STOP : SAVE;
    return hr_carrier_post(run->several->carrier, 0, REQUESTS, &what, sizeof what, NULL, 0, NULL,
                           NULL);
}

size_t hr_several_bytes(const struct hr_run *run)
{
    return run->machines ? hr_meet_bytes(run->areas.area, run->areas.n) : 0;
}

static struct hr_cargo cargo_of(const void *arg, const struct hr_ring *ring,
                                const struct hr_message *message)
{
    (void)arg, (void)ring;
    return (struct hr_cargo){.offset = message->word[0], .bytes = message->word[1]};
}

static enum hr_status add_ring(void *carrier, size_t from, size_t to, struct hr_ring *ring)
{
    return hr_carrier_add_ring(carrier, ring, from, to, cargo_of, NULL);
}

static enum hr_status add_rings(const struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_feed *feed = &shared->feed;
    struct hr_carrier *carrier = run->several->carrier;
    hr_carrier_track(carrier, 0, &shared->dispenser->stop_at, sizeof shared->dispenser->stop_at);
    for (size_t r = 0; hr_feed_is_on(feed) && r < feed->nranks; r++)
        HR_TRY(hr_carrier_add_ring(carrier, hr_feed_ring(feed, r), r, 0, NULL, NULL));
    if (shared->strategy->each_ring)
        HR_TRY(shared->strategy->each_ring(shared, add_ring, carrier));
    const struct hr_place place = {.group = shared->group, .segment = shared->segment};
    return hr_carrier_add_group(carrier, &run->several->carried, &shared->group_options, &place);
}

static enum hr_status open_all(struct hr_run *run)
{
    struct hr_several *several = run->several;
    struct hr_shared_state *shared = &run->shared;
    const struct hr_carrier_options carried = {.wire = run->machines->wire,
                                               .homes = shared->homes,
                                               .control = shared->control,
                                               .segment = run->segment.base,
                                               .segment_bytes = run->segment.bytes,
                                               .timeout_ns = run->job.timeout_ns};
    HR_TRY(hr_carrier_open(&carried, &several->carrier));
    HR_TRY(add_rings(run));
    const struct hr_meet_options meets = {.carrier = several->carrier,
                                          .wire = run->machines->wire,
                                          .homes = shared->homes,
                                          .nranks = shared->workers,
                                          .control = shared->control,
                                          .segment = run->segment.base,
                                          .area = run->areas.area,
                                          .nareas = run->areas.n,
                                          .words = run->meet_words,
                                          .channel = MEETINGS};
    HR_TRY(hr_meet_open(&meets, &several->meet));
    const struct hr_wire_sink requests = {run, place_request, take_request};
    hr_carrier_listen(several->carrier, REQUESTS, &requests);
    run->job.meet = several->meet;
    run->job.poll = hr_carrier_poll;
    run->job.poll_arg = several->carrier;
    return HR_OK;
}

void hr_several_lead(struct hr_run *run)
{
    if (!run->several)
        return;
    if (hr_several_is_first(run)) {
        run->launcher.elsewhere = &run->several->elsewhere;
    } else {
        run->launcher.pass_on = pass_on;
        run->launcher.pass_arg = run;
    }
}

/* Where all machines' memory is alike to begin with. */
struct layout {
    uint64_t bytes, areas, weights, first;
};

static enum hr_status compare_layouts(struct hr_run *run)
{
    struct hr_machines *machines = run->machines;
    const struct layout mine = {
        run->segment.bytes, hr_digest64(run->areas.area, run->areas.n * sizeof *run->areas.area),
        run->job.begins_with, run->shared.schedule.first};
    struct layout all[HR_WIRE_MACHINES];
    HR_TRY(hr_together_gather(&machines->together, &mine, sizeof mine, all,
                              "all machines to be ready"));
    for (size_t m = 1; m < machines->wire->machines; m++) {
        if (all[m].weights != all[0].weights || all[m].first != all[0].first)
            return hr_fail(HR_E_USAGE,
                           "%s begins with other weights, or elsewhere, than %s; expected the same "
                           "checkpoint on all machines",
                           machines->wire->host[m], machines->wire->host[0]);
        if (all[m].bytes != all[0].bytes || all[m].areas != all[0].areas)
            return hr_fail(HR_E_FAILED, "%s has laid out %llu bytes of memory and %s %llu",
                           machines->wire->host[m], (unsigned long long)all[m].bytes,
                           machines->wire->host[0], (unsigned long long)all[0].bytes);
    }
    return HR_OK;
}

enum hr_status hr_several_join(struct hr_run *run, enum hr_status status)
{
    struct hr_machines *machines = run->machines;
    if (!machines)
        return status;
    if (status == HR_OK) {
        run->several = calloc(1, sizeof *run->several);
        status = run->several ? open_all(run) : hr_fail(HR_E_NOMEM, "no memory for machines");
    }
    HR_TRY(hr_together_fail(&machines->together, status, "all machines to get ready"));
    HR_TRY(compare_layouts(run));
    for (size_t r = 0; r < run->job.nranks; r++)
        if (!hr_homes_here(&run->shared.homes, r))
            hr_control_place(run->shared.control, r,
                             machines->wire->host[run->shared.homes.machine[r]]);
    return hr_carrier_start(run->several->carrier);
}

/* --- the end --- */

enum hr_status hr_several_end(struct hr_run *run, enum hr_status status)
{
    static struct hr_bell nobodys;
    static const struct hr_atom32 no_abort;
    if (!run->several)
        return status;
    struct hr_carrier *carrier = run->several->carrier;
    struct hr_control *control = run->shared.control;
    struct hr_waiter waiter = {.abort = &control->abort,
                               .timeout_ns = run->job.timeout_ns,
                               .poll = hr_carrier_poll,
                               .poll_arg = carrier};
    if (status == HR_OK)
        status = hr_meet_alone(run->several->meet, &waiter, HR_STAGE_OVER, "the end of the run");
    if (status == HR_E_ABORTED)
        status = hr_control_failure(control);
    else if (status != HR_OK) /* does nothing where a rank has failed before */
        hr_control_abort(control, HR_MAX_RANKS, status, hr_error_message());
    char message[600];
    snprintf(message, sizeof message, "%s", hr_error_message());
    hr_carrier_leave(carrier);
    waiter.abort = &no_abort;
    waiter.timeout_ns = LEAVE_NS;
    const enum hr_status left =
        hr_wait_until(&waiter, &nobodys, hr_carrier_is_over, carrier, "the others to leave");
    run->machines->together.ran = true;
    run->job.poll = NULL;
    hr_carrier_close(carrier);
    run->several->carrier = NULL;
    if (status != HR_OK)
        return hr_fail(status, "%s", message);
    return left;
}

void hr_several_free(struct hr_run *run)
{
    if (!run->several)
        return;
    hr_carrier_close(run->several->carrier);
    hr_meet_close(run->several->meet);
    free(run->several);
    run->several = NULL;
}
