#include "train/multinode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "checkpoint/digest.h"
#include "drive/losses_multinode.h"
#include "drive/record.h"
#include "drive/quiesce.h"
#include "kernels/select.h"
#include "machines/bridge.h"
#include "machines/machines.h"
#include "options/train_options.h"
#include "server/server.h"
#include "server/staleness.h"
#include "session/saved.h"
#include "strategy/shared.h"
#include "train/areas.h"
#include "worker/staged.h"

bool hr_multinode_is_first(const struct hr_run *run)
{
    return hr_machines_first(run->machines);
}

const char *hr_multinode_host(const struct hr_run *run, size_t m)
{
    return run->machines->wire->host[m];
}

/* --- which rank lives where --- */

/* Known of Open MPI 4, which MPI_Get_library_version names. */
static void warn_of_library(const struct hr_machines *machines)
{
    const char *library = machines->wire->table->name;
    if (!strncmp(library, "Open MPI 4.", 11))
        hr_log(HR_LOG_WARNING,
               "--on-loss continue: survivors may wait in %s until --timeout ends the run; Open "
               "MPI 5 and MPICH let them go on (help machines)",
               library);
}

static struct hr_machine_report report_of(const struct hr_run *run, size_t m)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_machines *machines = run->machines;
    const struct hr_machine_clock *clock = &machines->clock[m];
    struct hr_machine_report report = {.processors = (size_t)machines->traits[m].processors,
                                       .clock_offset_s = hr_seconds(clock->offset_ns),
                                       .clock_error_s = hr_seconds(clock->error_ns)};
    snprintf(report.host, sizeof report.host, "%s", machines->wire->host[m]);
    snprintf(report.isa, sizeof report.isa, "%s", machines->traits[m].isa);
    for (size_t w = shared->workers; w-- > 0;)
        if (shared->hosts.machine[w] == m) {
            report.first_worker = w;
            report.workers++;
        }
    for (size_t s = 0; s < shared->servers; s++)
        report.servers += shared->hosts.machine[hr_shard_rank(shared, s)] == m;
    return report;
}

enum hr_status hr_multinode_describe(struct hr_run *run)
{
    struct hr_run_result *result = run->result;
    if (!run->machines || !hr_multinode_is_first(run))
        return HR_OK;
    const size_t n = run->machines->wire->machines;
    if (run->shared.outlives)
        warn_of_library(run->machines);
    result->machines = calloc(n, sizeof *result->machines);
    if (!result->machines)
        return hr_fail(HR_E_NOMEM, "no memory to describe %zu machines", n);
    result->nmachines = n;
    for (size_t m = 0; m < n; m++)
        result->machines[m] = report_of(run, m);
    return HR_OK;
}

/* Also to machines on which workers have stages alone. */
static enum hr_status deal_servers(struct hr_run *run)
{
    struct hr_shared_state *shared = &run->shared;
    const bool first = run->job.choices.server_placement == HR_SERVERS_FIRST;
    const bool asked =
        first && !hr_saved_option_is(run->resume.checkpoint, "server-placement", "first");
    if (asked && !run->machines)
        return hr_fail(HR_E_USAGE,
                       "--placement dedicated:first: is not supported on one machine (it "
                       "belongs to a run on several, which mpirun starts)");
    if (asked && shared->colocated)
        return hr_fail(HR_E_USAGE, "--placement dedicated:first: is not supported with --placement "
                                   "colocated, where server s is worker s");
    if (run->machines && !shared->colocated)
        hr_hosts_deal_behind(&shared->hosts, shared->workers, shared->servers, first);
    return HR_OK;
}

/* Stages of all workers, one worker's behind another's: machines have equal runs of them. */
struct deal {
    size_t machines, workers, stages, team; /* stages of a worker; team: ranks of a stage */
};

static struct deal deal_of(const struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    const bool split = run->job.first_stage < run->job.nranks;
    return (struct deal){.machines = run->machines->wire->machines,
                         .workers = run->shared.workers,
                         .stages = split && o->pipeline ? o->pipeline : 1,
                         .team = split && o->tensor_parallel ? o->tensor_parallel : 1};
}

static size_t stages_of_a_machine(const struct deal *deal)
{
    return deal->workers * deal->stages / deal->machines;
}

static enum hr_status refuse_deal(const struct deal *deal)
{
    const char *team = deal->team > 1 ? "; the ranks of --tensor-parallel stay on one" : "";
    if (deal->stages * deal->team == 1)
        return hr_fail(HR_E_USAGE,
                       "--workers %zu: cannot be dealt out to %zu machines evenly; expected a "
                       "multiple of %zu",
                       deal->workers, deal->machines, deal->machines);
    return hr_fail(HR_E_USAGE,
                   "--workers %zu of %zu stage%s: cannot be dealt out to %zu machines; expected a "
                   "multiple of %zu workers, or machines that share each worker's stages evenly%s",
                   deal->workers, deal->stages, deal->stages == 1 ? "" : "s", deal->machines,
                   deal->machines, team);
}

/* Whole workers on a machine, or whole machines to a worker. */
static enum hr_status check_deal(const struct hr_run *run, const struct deal *deal)
{
    if (deal->workers % deal->machines == 0)
        return HR_OK;
    if (deal->machines % deal->workers || deal->stages % (deal->machines / deal->workers))
        return refuse_deal(deal);
    if (hr_strategy_shares_weights(run->shared.strategy))
        return hr_fail(HR_E_USAGE, "hogwild of workers whose stages live on several machines: not "
                                   "there yet; expected a worker or more on each");
    return HR_OK;
}

/* Ranks are counted as worker/staged.h has it. */
static void place(struct hr_run *run, const struct deal *deal)
{
    const size_t members = deal->stages * deal->team, each = stages_of_a_machine(deal);
    struct hr_hosts *hosts = &run->shared.hosts;
    hosts->machines = (uint8_t)deal->machines;
    hosts->self = (uint8_t)run->machines->wire->self;
    for (size_t w = 0; w < deal->workers; w++)
        for (size_t member = 0; member < members; member++) {
            const size_t rank = member ? run->job.first_stage + w * (members - 1) + member - 1 : w;
            hosts->machine[rank] = (uint8_t)((w * deal->stages + member / deal->team) / each);
        }
}

enum hr_status hr_multinode_deal(struct hr_run *run)
{
    if (!run->machines)
        return deal_servers(run);
    const struct deal deal = deal_of(run);
    HR_TRY(check_deal(run, &deal));
    place(run, &deal);
    if (hr_strategy_shares_weights(run->shared.strategy))
        hr_leaders_choose(&run->shared.leaders, &run->shared.hosts, NULL, run->shared.workers);
    return deal_servers(run);
}

/* --- what machines compare before anything is trained --- */

enum { DIGEST = 24 };

struct facts {
    char version[24], options[DIGEST], data[80];
    uint32_t steps, spans; /* are records wanted: machine 0's count */
    uint64_t spans_from, spans_to;
};

_Static_assert(sizeof(struct facts) <= HR_MACHINES_BYTES, "facts fit a word");

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
    char more[900];
    snprintf(more, sizeof more, "%016llx %d %d %d %s %s %.9g %zu %zu %zu %s %s %zu %d %s %s",
             (unsigned long long)digest, o->checkpoint_dir[0] != 0, o->resume[0] != 0,
             o->wants_answers, o->overlap, o->launch, o->timeout, run->shared.workers, o->pipeline,
             o->tensor_parallel, o->pipeline_schedule, o->stages, o->chunks, o->recompute,
             o->server_placement, o->aggregate);
    snprintf(out, DIGEST, "%s", hr_digest64_text(hr_digest64(more, strlen(more))).hex);
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
    }
    return HR_OK;
}

struct bits {
    char text[HR_MACHINES_BYTES]; /* of hr_machine_bits_json */
};

static enum hr_status fill_bits(struct bits *bits)
{
    json_t *object = hr_machine_bits_json();
    char *text = object ? json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text)
        return hr_fail(HR_E_NOMEM, "no memory to describe this machine");
    HR_ASSERT(strlen(text) < sizeof bits->text);
    snprintf(bits->text, sizeof bits->text, "%s", text);
    free(text);
    return HR_OK;
}

static const char *text_of(const json_t *bits, const char *field)
{
    const char *text = json_string_value(json_object_get(bits, field));
    return text ? text : "";
}

/* What makes them alike. */
static const char *cure_of(const char *field)
{
    if (!strcmp(field, "libm"))
        return "the same C library on processors of one kind";
    if (!strcmp(field, "bf16"))
        return "the same HOGRING_ISA on all machines";
    if (hr_kernels_use_blas())
        return "the same OpenBLAS and OPENBLAS_CORETYPE on all machines, or --kernels reference";
    return "machines alike, or --kernels reference";
}

static enum hr_status compare_bits(const struct hr_run *run, const struct bits *one,
                                   const struct bits *other, size_t m)
{
    char(*const host)[HR_WIRE_HOST] = run->machines->wire->host;
    const bool bf16 = hr_machine_bits_are_bf16(run->options.precision);
    enum hr_status status = HR_OK;
    json_t *there = json_loads(one->text, 0, NULL), *here = json_loads(other->text, 0, NULL);
    const char *name = there && here ? hr_machine_bits_difference(there, here, bf16) : "bits";
    if (name)
        status = hr_fail(HR_E_USAGE,
                         "%s and %s would give other bits: their %s differ, \"%s\" and \"%s\"; "
                         "expected %s",
                         host[0], host[m], name, text_of(there, name), text_of(here, name),
                         cure_of(name));
    json_decref(there);
    json_decref(here);
    return status;
}

static enum hr_status agree_on_bits(const struct hr_run *run)
{
    const struct hr_wire *wire = run->machines->wire;
    struct bits mine = {""}, all[HR_WIRE_MACHINES];
    HR_TRY(fill_bits(&mine));
    HR_TRY(hr_machines_gather(run->machines, &mine, sizeof mine, all,
                              "what all machines compute with"));
    for (size_t m = 1; m < wire->machines; m++)
        HR_TRY(compare_bits(run, &all[0], &all[m], m));
    return HR_OK;
}

enum hr_status hr_multinode_agree(struct hr_run *run, enum hr_status status)
{
    struct hr_machines *machines = run->machines;
    struct facts mine, all[HR_WIRE_MACHINES];
    if (!machines)
        return status;
    if (status == HR_OK)
        status = fill_facts(run, &mine);
    HR_TRY(hr_machines_fail(machines, status, "all machines to prepare"));
    HR_TRY(hr_machines_gather(machines, &mine, sizeof mine, all, "what all machines were told"));
    HR_TRY(compare_facts(machines, all));
    HR_TRY(agree_on_bits(run));
    run->shared.feed.steps = all[0].steps;
    run->shared.feed.spans = all[0].spans;
    run->shared.feed.spans_from = all[0].spans_from;
    run->shared.feed.spans_to = all[0].spans_to;
    return HR_OK;
}

/* Messages between machines. */
enum { MEETINGS = HR_CHANNEL_OF_A_TERM, REQUESTS, LOGS, LOSSES };

enum { SAVE, STOP };

static const int64_t LEAVE_NS = 5 * HR_NS_PER_SECOND;

struct hr_multinode {
    struct hr_areas areas;
    struct hr_bridge *bridge;
    struct hr_gather_barrier *barrier;
    struct hr_carried_group carried, carried_leaders;
    struct hr_asked_elsewhere elsewhere;
    struct hr_losses_multinode losses;
};

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
    struct hr_asked_elsewhere *elsewhere = &run->multinode->elsewhere;
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
    return hr_bridge_post(run->multinode->bridge, 0, REQUESTS, &what, sizeof what, NULL, 0, NULL,
                          NULL);
}

static struct hr_cargo cargo_of(const void *arg, const struct hr_ring *ring,
                                const struct hr_message *message)
{
    (void)arg, (void)ring;
    return (struct hr_cargo){.offset = message->word[0], .bytes = message->word[1]};
}

static enum hr_status add_ring(void *bridge, size_t from, size_t to, struct hr_ring *ring)
{
    return hr_bridge_add_ring(bridge, ring, from, to, cargo_of, NULL);
}

/* Of the active workers. */
static enum hr_status add_group(const struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_group_options options = hr_group_of_active(shared);
    const struct hr_place place = {
        .group = shared->group, .segment = shared->segment, .world_rank = shared->active->rank};
    return hr_bridge_add_group(run->multinode->bridge, &run->multinode->carried, &options, &place);
}

static enum hr_status add_rings(struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_feed *feed = &shared->feed;
    struct hr_bridge *bridge = run->multinode->bridge;
    hr_bridge_track(bridge, 0, &shared->dispenser->stop_at, sizeof shared->dispenser->stop_at);
    for (size_t w = 0; w < shared->workers; w++)
        for (size_t i = 0; i < HR_ARRIVALS; i++)
            hr_bridge_track(bridge, w, hr_stragglers_words(shared, w, i), HR_ARRIVAL_WORDS_BYTES);
    for (size_t r = 0; hr_feed_is_on(feed) && r < feed->nranks; r++)
        HR_TRY(hr_bridge_add_ring(bridge, hr_feed_ring(feed, r), r, 0, NULL, NULL));
    HR_TRY(hr_peers_each_ring(shared, add_ring, bridge));
    if (hr_strategy_is_served(shared->strategy))
        HR_TRY(hr_server_carry(shared, bridge));
    if (run->job.pipeline)
        HR_TRY(hr_staged_each_ring(&run->job, add_ring, bridge));
    const struct hr_leaders *leaders = &shared->leaders;
    const struct hr_place of_leaders = {
        .group = leaders->group, .segment = shared->segment, .world_rank = leaders->rank};
    if (leaders->options.nranks)
        HR_TRY(hr_bridge_add_group(bridge, &run->multinode->carried_leaders, &leaders->options,
                                   &of_leaders));
    return add_group(run);
}

/* A term begins, in which others are active: what still lies in rings that it does not make anew
 * has been taken, or will be told once more. */
static enum hr_status begin_rings(void *arg)
{
    struct hr_run *run = arg;
    struct hr_shared_state *shared = &run->shared;
    struct hr_leaders *leaders = &shared->leaders;
    if (hr_feed_is_on(&shared->feed)) {
        hr_launcher_report(&run->launcher);
        hr_feed_init(&shared->feed, shared->feed.memory);
    }
    if (leaders->options.nranks) {
        size_t bytes;
        HR_TRY(hr_group_bytes(&leaders->options, &bytes));
        memset(leaders->group, 0, bytes);
        hr_leaders_choose(leaders, &shared->hosts, shared->active->rank, shared->active->n);
        HR_TRY(hr_group_init(leaders->group, &leaders->options));
    }
    struct hr_areas *areas = &run->multinode->areas;
    HR_TRY(hr_areas_list(run, areas));
    hr_gather_barrier_share(run->multinode->barrier, areas->area, areas->n);
    return add_rings(run);
}

static enum hr_status meet(void *arg, size_t rank, struct hr_waiter *waiter, unsigned stage)
{
    const struct hr_run *run = arg;
    return hr_gather_barrier_at(run->multinode->barrier, rank, waiter, stage, "a cut");
}

/* The launcher conducts barriers where no worker lives. */
static enum hr_status tend(void *arg)
{
    struct hr_run *run = arg;
    struct hr_waiter waiter = {.abort = &run->shared.control->abort,
                               .timeout_ns = run->job.waits.timeout_ns,
                               .poll = hr_bridge_poll,
                               .poll_arg = run->multinode->bridge};
    return hr_gather_barrier_conduct(run->multinode->barrier, &waiter, "a cut");
}

static void open_losses(struct hr_run *run)
{
    struct hr_losses_multinode *losses = &run->multinode->losses;
    losses->bridge = run->multinode->bridge;
    losses->barrier = run->multinode->barrier;
    losses->wire = run->machines->wire;
    losses->hosts = &run->shared.hosts;
    losses->term = 1;
    losses->control = run->shared.control;
    losses->timeout_ns = run->job.waits.timeout_ns;
    losses->channel = LOSSES;
    losses->carry = begin_rings;
    losses->arg = run;
    run->drive.losses.multinode = losses;
    run->drive.losses.begin = hr_losses_multinode_begin;
    const struct hr_wire_sink sink = hr_losses_multinode_sink(losses);
    hr_bridge_listen(losses->bridge, LOSSES, &sink);
}

static enum hr_status open_all(struct hr_run *run)
{
    struct hr_multinode *multinode = run->multinode;
    struct hr_shared_state *shared = &run->shared;
    const struct hr_bridge_options carried = {.wire = run->machines->wire,
                                              .hosts = shared->hosts,
                                              .control = shared->control,
                                              .segment = run->segment.base,
                                              .segment_bytes = run->segment.bytes,
                                              .timeout_ns = run->job.waits.timeout_ns,
                                              .lost =
                                                  shared->outlives ? hr_losses_multinode_saw : NULL,
                                              .lost_arg = &multinode->losses};
    HR_TRY(hr_bridge_open(&carried, &multinode->bridge));
    HR_TRY(add_rings(run));
    HR_TRY(hr_areas_list(run, &multinode->areas));
    const struct hr_gather_barrier_options meets = {.bridge = multinode->bridge,
                                                    .wire = run->machines->wire,
                                                    .hosts = shared->hosts,
                                                    .nranks = shared->workers,
                                                    .in_order = shared->outlives,
                                                    .led = hr_workers_here(shared) == 0 ||
                                                           shared->outlives,
                                                    .control = shared->control,
                                                    .segment = run->segment.base,
                                                    .area = multinode->areas.area,
                                                    .nareas = multinode->areas.n,
                                                    .channel = MEETINGS};
    HR_TRY(hr_gather_barrier_open(&meets, &multinode->barrier));
    const struct hr_wire_sink requests = {run, place_request, take_request};
    hr_bridge_listen(multinode->bridge, REQUESTS, &requests);
    hr_record_listen(&run->drive, multinode->bridge, LOGS);
    if (shared->outlives)
        open_losses(run);
    run->job.barrier = meet;
    run->job.waits.poll = hr_bridge_poll;
    run->job.waits.poll_arg = multinode->bridge;
    run->job.tend = tend;
    run->job.machines_arg = run;
    return HR_OK;
}

void hr_multinode_lead(struct hr_run *run)
{
    if (!run->multinode)
        return;
    if (hr_multinode_is_first(run)) {
        run->launcher.elsewhere = &run->multinode->elsewhere;
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
    const struct hr_areas *areas = &run->multinode->areas;
    const struct layout mine = {run->segment.bytes,
                                hr_digest64(areas->area, areas->n * sizeof *areas->area),
                                run->job.begins_with, run->shared.schedule.first};
    struct layout all[HR_WIRE_MACHINES];
    HR_TRY(hr_machines_gather(machines, &mine, sizeof mine, all, "all machines to be ready"));
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

enum hr_status hr_multinode_join(struct hr_run *run, enum hr_status status)
{
    struct hr_machines *machines = run->machines;
    if (!machines)
        return status;
    if (status == HR_OK) {
        run->multinode = calloc(1, sizeof *run->multinode);
        status = run->multinode ? open_all(run) : hr_fail(HR_E_NOMEM, "no memory for machines");
    }
    HR_TRY(hr_machines_fail(machines, status, "all machines to get ready"));
    HR_TRY(compare_layouts(run));
    for (size_t r = 0; r < run->job.nranks; r++)
        if (!hr_hosts_here(&run->shared.hosts, r))
            hr_control_place(run->shared.control, r,
                             machines->wire->host[run->shared.hosts.machine[r]]);
    return hr_bridge_start(run->multinode->bridge);
}

/* --- the end --- */

/* A wait for a machine may pass its deadline before that machine's silence does: the wire may hold
 * up whoever looks. By now that has been noticed, too. */
static enum hr_status say_why(struct hr_bridge *bridge, enum hr_status status, const char *message)
{
    char loss[600];
    hr_bridge_loss(bridge, loss, sizeof loss);
    if (status == HR_E_TIMEOUT && loss[0])
        return hr_fail(HR_E_LOST, "%s; %s", loss, message);
    return hr_fail(status, "%s", message);
}

enum hr_status hr_multinode_end(struct hr_run *run, enum hr_status status)
{
    static struct hr_bell nobodys;
    static const struct hr_atom32 no_abort;
    if (!run->multinode)
        return status;
    struct hr_bridge *bridge = run->multinode->bridge;
    struct hr_control *control = run->shared.control;
    struct hr_waiter waiter = {.abort = &control->abort,
                               .timeout_ns = run->job.waits.timeout_ns,
                               .poll = hr_bridge_poll,
                               .poll_arg = bridge};
    if (status == HR_OK && !hr_multinode_is_first(run))
        status = hr_record_bring(&run->drive, bridge, LOGS);
    if (status == HR_OK && run->shared.outlives)
        status = hr_losses_multinode_end(&run->drive.losses);
    else if (status == HR_OK)
        status = hr_gather_barrier_alone(run->multinode->barrier, &waiter, HR_STAGE_OVER,
                                         "the end of the run");
    if (status == HR_OK)
        hr_staleness_gather(&run->shared);
    if (status == HR_E_ABORTED)
        status = hr_control_failure(control);
    else if (status != HR_OK) /* does nothing where a rank has failed before */
        hr_control_abort(control, HR_MAX_RANKS, status, hr_error_message());
    char message[600];
    snprintf(message, sizeof message, "%s", hr_error_message());
    hr_bridge_leave(bridge);
    waiter.abort = &no_abort;
    waiter.timeout_ns = LEAVE_NS;
    const enum hr_status left =
        hr_wait_until(&waiter, &nobodys, hr_bridge_is_over, bridge, "the others to leave");
    run->machines->ran = true;
    for (size_t m = 0; m < run->machines->wire->machines; m++)
        run->machines->lost[m] |= hr_bridge_has_lost(bridge, m);
    run->job.waits.poll = NULL;
    if (status != HR_OK)
        status = say_why(bridge, status, message);
    hr_bridge_close(bridge);
    run->multinode->bridge = NULL;
    /* A run that went on without them goes on to its end. */
    for (size_t m = 0; m < run->machines->wire->machines && status != HR_OK; m++)
        run->machines->wire->abandoned |= run->machines->lost[m];
    for (size_t m = 0; m < run->machines->wire->machines && status == HR_OK; m++)
        run->machines->without[m] = run->machines->lost[m];
    return status != HR_OK ? status : left;
}

void hr_multinode_free(struct hr_run *run)
{
    if (!run->multinode)
        return;
    hr_bridge_close(run->multinode->bridge);
    hr_gather_barrier_close(run->multinode->barrier);
    hr_areas_free(&run->multinode->areas);
    free(run->multinode);
    run->multinode = NULL;
}
