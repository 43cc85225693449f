#include "machines/bridge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/size.h"
#include "group/executor.h"
#include "machines/inside.h"

/* === which rings are carried: their order gives them their numbers === */

/* What it was, where there is no memory: then *ok is false. */
static void *grown(void *array, size_t n, size_t bytes, bool *ok)
{
    void *larger = realloc(array, n * bytes);
    *ok &= larger != NULL;
    return larger ? larger : array;
}

/* Room for one more of everything, so that nothing has to grow later. */
static bool make_room(struct hr_bridge *bridge)
{
    const size_t n = bridge->nrings + 1;
    bool ok = true;
    bridge->sending = grown(bridge->sending, n, sizeof *bridge->sending, &ok);
    bridge->landing = grown(bridge->landing, n, sizeof *bridge->landing, &ok);
    bridge->active = grown(bridge->active, n, sizeof *bridge->active, &ok);
    for (size_t m = 0; m < bridge->machines; m++) {
        struct hr_machine *machine = &bridge->machine[m];
        machine->due = grown(machine->due, n, sizeof *machine->due, &ok);
    }
    return ok;
}

static bool add_sending(struct hr_bridge *bridge, const struct hr_sending *made)
{
    struct hr_sending *sending = malloc(sizeof *sending);
    if (!sending)
        return false;
    *sending = *made;
    sending->number = (uint32_t)bridge->nrings;
    sending->machine = bridge->options.hosts.machine[made->to];
    sending->next = bridge->sending_to[made->to];
    bridge->sending_to[made->to] = sending;
    bridge->sending[bridge->nrings] = sending;
    return true;
}

static bool add_landing(struct hr_bridge *bridge, const struct hr_landing *made)
{
    struct hr_landing *landing = malloc(sizeof *landing);
    if (!landing)
        return false;
    *landing = *made;
    landing->number = (uint32_t)bridge->nrings;
    landing->machine = bridge->options.hosts.machine[made->from];
    landing->next = bridge->landing_from[made->from];
    bridge->landing_from[made->from] = landing;
    bridge->landing[bridge->nrings] = landing;
    return true;
}

static bool add(struct hr_bridge *bridge, struct hr_ring *ring, size_t from, size_t to,
                hr_cargo_fn cargo, const void *arg)
{
    const struct hr_hosts *hosts = &bridge->options.hosts;
    if (!make_room(bridge))
        return false;
    bridge->sending[bridge->nrings] = NULL;
    bridge->landing[bridge->nrings] = NULL;
    if (hr_hosts_here(hosts, from) && !hr_hosts_here(hosts, to) &&
        !add_sending(bridge, &(struct hr_sending){.ring = ring,
                                                  .from = (uint16_t)from,
                                                  .to = (uint16_t)to,
                                                  .cargo = cargo,
                                                  .arg = arg}))
        return false;
    if (!hr_hosts_here(hosts, from) && hr_hosts_here(hosts, to) &&
        !add_landing(
            bridge, &(struct hr_landing){.ring = ring, .from = (uint16_t)from, .to = (uint16_t)to}))
        return false;
    bridge->nrings++;
    return true;
}

enum hr_status hr_bridge_add_ring(struct hr_bridge *bridge, struct hr_ring *ring, size_t from,
                                  size_t to, hr_cargo_fn cargo, const void *arg)
{
    pthread_mutex_lock(&bridge->lock);
    const bool added = add(bridge, ring, from, to, cargo, arg);
    pthread_mutex_unlock(&bridge->lock);
    return added ? HR_OK : hr_fail(HR_E_NOMEM, "no memory to carry a ring between machines");
}

/* --- of a group --- */

static struct hr_cargo cargo_of_group(const void *arg, const struct hr_ring *ring,
                                      const struct hr_message *message)
{
    const struct hr_carried_group *carried = arg;
    return hr_stream_cargo(carried->segment, ring, carried->slot_bytes, message);
}

struct adding {
    struct hr_bridge *bridge;
    const struct hr_carried_group *carried;
    const struct hr_place *place;
};

static enum hr_status add_of_group(void *arg, size_t from, size_t to, struct hr_ring *ring)
{
    const struct adding *adding = arg;
    return hr_bridge_add_ring(adding->bridge, ring, hr_place_world_rank(adding->place, from),
                              hr_place_world_rank(adding->place, to), cargo_of_group,
                              adding->carried);
}

enum hr_status hr_bridge_add_group(struct hr_bridge *bridge, struct hr_carried_group *carried,
                                   const struct hr_group_options *options,
                                   const struct hr_place *place)
{
    struct adding adding = {bridge, carried, place};
    *carried = (struct hr_carried_group){place->segment, options->slot_bytes};
    return hr_group_each_remote_ring(options, place->group, add_of_group, &adding);
}

/* --- terms --- */

void hr_bridge_end_term(struct hr_bridge *bridge, uint32_t term)
{
    pthread_mutex_lock(&bridge->lock);
    bridge->term = term;
    bridge->stage = HR_TERM_ENDED;
    for (size_t m = 0; m < bridge->machines; m++)
        bridge->machine[m].direct[true].receiving = false;
    pthread_mutex_unlock(&bridge->lock);
}

/* Direct messages of no term may be: who reads them does not wait for us. */
static bool has_old_direct(const struct hr_bridge *bridge, const struct hr_machine *machine)
{
    const struct hr_direct_message *l = machine->first;
    while (l && !machine->gone && (!l->term || l->term == bridge->term))
        l = l->next;
    return l != NULL;
}

bool hr_bridge_is_still(void *arg)
{
    struct hr_bridge *bridge = arg;
    bool still = true;
    pthread_mutex_lock(&bridge->lock);
    for (size_t r = 0; r < bridge->nrings; r++) {
        const struct hr_sending *s = bridge->sending[r];
        still &= !s || !s->nparts || bridge->machine[s->machine].gone;
    }
    for (size_t m = 0; m < bridge->machines; m++)
        still &= !has_old_direct(bridge, &bridge->machine[m]) &&
                 (!bridge->machine[m].coming || bridge->machine[m].gone);
    pthread_mutex_unlock(&bridge->lock);
    return still;
}

/* Memory that the wire of a lost machine may still write to is left. */
static void forget_landed(struct hr_machine *machine)
{
    for (size_t i = 0; i < machine->nlanded && !machine->gone; i++)
        free(machine->landed[i].aside);
    machine->nlanded = machine->ndue = 0;
    memset(machine->knows, 0, sizeof machine->knows);
}

void hr_bridge_begin_term(struct hr_bridge *bridge, const struct hr_hosts *hosts)
{
    pthread_mutex_lock(&bridge->lock);
    for (size_t m = 0; m < bridge->machines; m++)
        forget_landed(&bridge->machine[m]);
    for (size_t r = 0; r < bridge->nrings; r++) {
        const struct hr_sending *s = bridge->sending[r];
        if (!s || !s->nparts) /* else its wire may still say that they are done */
            free(bridge->sending[r]);
        free(bridge->landing[r]);
    }
    memset(bridge->sending_to, 0, sizeof bridge->sending_to);
    memset(bridge->landing_from, 0, sizeof bridge->landing_from);
    bridge->nactive = bridge->nrings = bridge->ntracked = 0;
    bridge->options.hosts = *hosts;
    bridge->stage = HR_TERM_BEGINS;
    pthread_mutex_unlock(&bridge->lock);
}

void hr_bridge_run_term(struct hr_bridge *bridge)
{
    pthread_mutex_lock(&bridge->lock);
    bridge->stage = HR_TERM_READY;
    for (size_t r = 0; r < HR_MAX_RANKS; r++) {
        hr_bridge_stir(bridge, r);
    }
    pthread_mutex_unlock(&bridge->lock);
}

/* === what machines tell of themselves: heartbeats, aborts, that they leave; their silence ===
 *
 *   Silence  counts while this machine listens: a look that comes late adds little, because what
 *            was sent meanwhile may be there and not read yet. */

enum { HEARTBEAT_NS = 100 * 1000 * 1000, LOOKS_A_DEADLINE = 8 };

/* --- heartbeats --- */

static size_t write_lines(struct hr_bridge *bridge, struct hr_heartbeat_line *line)
{
    struct hr_control *control = bridge->options.control;
    size_t n = 0;
    for (size_t r = 0; r < control->nranks; r++) {
        struct hr_rank_status *rank = &control->rank[r]; /* partner of all: the rank */
        if (!hr_hosts_here(&bridge->options.hosts, r))
            continue;
        line[n++] = (struct hr_heartbeat_line){
            .rank = (uint32_t)r,
            .phase = hr_atom32_load_relaxed(&rank->phase),
            .result = hr_atom32_load_acquire(&rank->result),
            .stage = hr_atom32_load_relaxed(&rank->stage),
            .step = hr_atom64_load_relaxed(&rank->step),
            .age_ns = (uint64_t)bridge->now - hr_atom64_load_relaxed(&rank->since),
            .samples = hr_atom64_load_relaxed(&rank->gauge.samples),
            .gradients = hr_atom64_load_relaxed(&rank->gauge.gradients)};
    }
    return n;
}

static void heartbeat(struct hr_bridge *bridge, size_t to)
{
    struct hr_machine *machine = &bridge->machine[to];
    struct hr_head head;
    if (!machine->heartbeat_done)
        return;
    const size_t n = write_lines(bridge, machine->out);
    /* One that speaks of a term that is to begin might keep back the word of it. */
    hr_head_begin(&head, HR_HEAD_HEARTBEAT, bridge->stage == HR_TERM_RUNS ? bridge->term : 0)
        ->number = (uint32_t)n;
    if (!hr_bridge_send(bridge, to, &head, machine->out, n * sizeof *machine->out,
                        &machine->heartbeat_done))
        machine->heartbeat_done = true;
}

/* The lines of another machine's ranks: here the bridge writes them, as no rank does. */
static void heartbeat_arrived(struct hr_bridge *bridge, size_t from, size_t lines)
{
    for (size_t i = 0; i < lines && i < HR_MAX_RANKS; i++) {
        const struct hr_heartbeat_line *line = &bridge->machine[from].in[i];
        if (line->rank >= bridge->options.control->nranks ||
            bridge->options.hosts.machine[line->rank] != from)
            continue;
        struct hr_rank_status *rank = &bridge->options.control->rank[line->rank];
        hr_atom32_store_relaxed(&rank->phase, line->phase);
        hr_atom32_store_relaxed(&rank->stage, line->stage);
        hr_atom64_store_relaxed(&rank->step, line->step);
        hr_atom64_store_relaxed(&rank->since, (uint64_t)bridge->now - line->age_ns);
        hr_gauge_work(&rank->gauge, line->samples, line->gradients);
        hr_atom32_store_release(&rank->result, line->result); /* partner: who looks on */
    }
}

/* --- losses --- */

/* "ranks 2, 3" */
static void name_ranks(const struct hr_bridge *bridge, size_t machine, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t r = 0; r < bridge->options.control->nranks; r++)
        n += bridge->options.hosts.machine[r] == machine;
    for (size_t r = 0, used = 0; r < bridge->options.control->nranks; r++) {
        if (bridge->options.hosts.machine[r] != machine || used >= size)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%zu",
                                 used    ? ", "
                                 : n > 1 ? "ranks "
                                         : "rank ",
                                 r);
    }
}

static void lose(struct hr_bridge *bridge, size_t machine, const char *how)
{
    struct hr_machine *lost = &bridge->machine[machine];
    char ranks[400], text[sizeof bridge->loss];
    if (lost->gone)
        return;
    lost->gone = true;
    if (lost->left)
        return; /* it said so */
    name_ranks(bridge, machine, ranks, sizeof ranks);
    snprintf(text, sizeof text, "lost machine %s (%s): %s", bridge->options.wire->host[machine],
             ranks, how);
    if (!bridge->loss[0])
        snprintf(bridge->loss, sizeof bridge->loss, "%s", text);
    if (bridge->options.lost)
        bridge->options.lost(bridge->options.lost_arg, machine, text);
    else
        hr_bridge_fail(bridge, HR_E_LOST, "%s", bridge->loss);
}

static void listen_for_silence(struct hr_bridge *bridge, int64_t passed)
{
    const int64_t deadline = bridge->options.timeout_ns / 4 * 3;
    char text[120];
    size_t machine;
    while (hr_wire_lost(bridge->options.wire, &machine, text, sizeof text))
        lose(bridge, machine, text);
    passed =
        deadline && passed > deadline / LOOKS_A_DEADLINE ? deadline / LOOKS_A_DEADLINE : passed;
    for (size_t m = 0; m < bridge->machines; m++) {
        if (!hr_bridge_speaks_to(bridge, m) || bridge->machine[m].left)
            continue;
        bridge->machine[m].silent_ns += passed;
        if (!deadline || bridge->machine[m].silent_ns < deadline)
            continue;
        snprintf(text, sizeof text, "nothing has come from it for %.1f s (--timeout %.1f)",
                 hr_seconds(bridge->machine[m].silent_ns), hr_seconds(bridge->options.timeout_ns));
        lose(bridge, m, text);
    }
}

/* --- aborts, and the end --- */

static void send_abort(struct hr_bridge *bridge)
{
    const struct hr_control *control = bridge->options.control;
    if (!hr_atom32_load_acquire(&control->abort)) /* partner: hr_control_abort */
        return;
    if (!bridge->failure.status)
        bridge->failure = control->failure;
    const size_t rank = bridge->failure.rank;
    const uint64_t step =
        rank < control->nranks ? hr_atom64_load_relaxed(&control->rank[rank].step) : 0;
    for (size_t m = 0; m < bridge->machines; m++) {
        struct hr_machine *machine = &bridge->machine[m];
        struct hr_head head;
        if (machine->abort_sent || !hr_bridge_speaks_to(bridge, m))
            continue;
        hr_head_begin(&head, HR_HEAD_ABORT, 0)->number = (uint32_t)step;
        machine->abort_sent =
            hr_bridge_send(bridge, m, &head, &bridge->failure, sizeof bridge->failure, NULL);
    }
}

static void abort_arrived(struct hr_bridge *bridge, size_t from, uint32_t step)
{
    struct hr_machine *machine = &bridge->machine[from];
    const size_t rank = machine->failure.rank;
    machine->failure.message[sizeof machine->failure.message - 1] = '\0';
    machine->abort_sent = true; /* it knows */
    if (rank < bridge->options.control->nranks && !hr_hosts_here(&bridge->options.hosts, rank))
        hr_control_step(bridge->options.control, rank, step);
    hr_control_abort(bridge->options.control, machine->failure.rank, machine->failure.status,
                     machine->failure.message);
}

static bool has_sent_all(const struct hr_bridge *bridge, size_t to)
{
    for (size_t i = 0; i < bridge->nactive; i++)
        if (bridge->active[i]->machine == to)
            return false;
    return !bridge->machine[to].first;
}

static void send_leave(struct hr_bridge *bridge)
{
    for (size_t m = 0; m < bridge->machines; m++) {
        struct hr_machine *machine = &bridge->machine[m];
        struct hr_head head;
        if (machine->leave_sent || !hr_bridge_speaks_to(bridge, m) || !has_sent_all(bridge, m))
            continue;
        hr_head_begin(&head, HR_HEAD_LEAVE, 0);
        machine->leave_sent = hr_bridge_send(bridge, m, &head, NULL, 0, NULL);
    }
}

/* Whoever leaves stays until that is known, because a wire that is closed may drop what it has. */
static void send_leave_seen(struct hr_bridge *bridge)
{
    for (size_t m = 0; m < bridge->machines; m++) {
        struct hr_machine *machine = &bridge->machine[m];
        struct hr_head head;
        if (machine->leave_seen_sent || !machine->left || !hr_bridge_speaks_to(bridge, m))
            continue;
        hr_head_begin(&head, HR_HEAD_LEAVE_SEEN, 0);
        machine->leave_seen_sent = hr_bridge_send(bridge, m, &head, NULL, 0, NULL);
    }
}

static void send_notices(struct hr_bridge *bridge)
{
    const int64_t passed = bridge->now - bridge->scanned;
    send_abort(bridge);
    if (bridge->leaves)
        send_leave(bridge);
    send_leave_seen(bridge);
    if (passed < HR_SCAN_NS)
        return;
    listen_for_silence(bridge, passed);
    bridge->scanned = bridge->now;
    if (bridge->now - bridge->beaten < HEARTBEAT_NS)
        return;
    bridge->beaten = bridge->now;
    for (size_t m = 0; m < bridge->machines; m++)
        if (hr_bridge_speaks_to(bridge, m))
            heartbeat(bridge, m);
}

/* === moved by who waits, or by its own thread === */

enum {
    PART_BYTES = 1 << 20,
    LEAST_NAP_NS = 20 * 1000,
    MOST_NAP_NS = 1000 * 1000,
    NAP_SHARE = 16,              /* of the time since something moved: as in shm/wait.c */
    OTHERS_POLL_NS = 200 * 1000, /* somebody has within that time: the thread need not */
};

/* --- in --- */

/* What stands in a head behind its base. */
struct parsed {
    const struct hr_head_base *base;
    const struct hr_head_message *message;
    const struct hr_head_direct *direct;
    const void *note;
    struct hr_head_reader rest;
};

static bool parse(const void *head, size_t bytes, struct parsed *parsed)
{
    *parsed = (struct parsed){.rest = {head, (const unsigned char *)head + bytes}};
    parsed->base = hr_head_take(&parsed->rest, sizeof *parsed->base);
    if (!parsed->base)
        return false;
    switch ((enum hr_head_kind)parsed->base->kind) {
    case HR_HEAD_MESSAGE:
        return (parsed->message = hr_head_take(&parsed->rest, sizeof *parsed->message)) != NULL;
    case HR_HEAD_DIRECT:
        parsed->direct = hr_head_take(&parsed->rest, sizeof *parsed->direct);
        parsed->note =
            parsed->direct ? hr_head_take(&parsed->rest, parsed->direct->note_bytes) : NULL;
        return parsed->note != NULL;
    case HR_HEAD_HEARTBEAT:
    case HR_HEAD_ABORT:
    case HR_HEAD_LEAVE:
    case HR_HEAD_LEAVE_SEEN:
    case HR_HEAD_NOTHING:
        return true;
    }
    return false;
}

/* Bytes that mean nothing any more: several bodies may be under way into them. */
static bool place_waste(struct hr_bridge *bridge, size_t from, size_t bytes, void **where)
{
    struct hr_machine *machine = &bridge->machine[from];
    const size_t most = hr_max_size(bridge->options.part_bytes, sizeof machine->in);
    if (bytes && !machine->waste)
        machine->waste = malloc(most);
    *where = machine->waste;
    return bytes <= most && (!bytes || machine->waste);
}

/* A place for what is of a term, in this one; false: not now. */
static bool place_in_term(struct hr_bridge *bridge, size_t from, const struct parsed *parsed,
                          size_t body_bytes, void **where)
{
    struct hr_machine *machine = &bridge->machine[from];
    const struct hr_head_base *base = parsed->base;
    const int32_t ahead = (int32_t)(base->term - bridge->term);
    if (ahead < 0)
        return place_waste(bridge, from, body_bytes, where);
    if (ahead > 0 ||
        (bridge->stage != HR_TERM_RUNS && bridge->stage != HR_TERM_READY && !base->bare))
        return false;
    if (parsed->message)
        return hr_landing_place(bridge, from, parsed->message, base->last, where);
    if (parsed->direct)
        return hr_direct_place(bridge, from, parsed->direct, parsed->note, where);
    *where = machine->in;
    return body_bytes <= sizeof machine->in;
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_bridge *bridge = arg;
    struct hr_machine *machine = &bridge->machine[from];
    struct parsed parsed;
    if (hr_wire_is_probe(head, head_bytes)) /* it has not seen yet that we are here */
        return true;
    if (machine->gone) /* it was only silent, and the others go on without it */
        return false;
    machine->silent_ns = 0;
    if (!parse(head, head_bytes, &parsed)) {
        if (machine->left) /* it speaks to whoever has the wire after us */
            return false;
        hr_bridge_fail(bridge, HR_E_FAILED, "%s sent a head that nobody here understands",
                       bridge->options.wire->host[from]);
        return false;
    }
    if (parsed.base->term) {
        const bool placed = place_in_term(bridge, from, &parsed, body_bytes, where);
        machine->coming += placed;
        return placed;
    }
    if (parsed.direct)
        return hr_direct_place(bridge, from, parsed.direct, parsed.note, where);
    const bool heartbeats = parsed.base->kind == HR_HEAD_HEARTBEAT;
    *where = heartbeats ? (void *)machine->in : &machine->failure;
    return body_bytes <= (heartbeats ? sizeof machine->in : sizeof machine->failure);
}

/* Credits and words; the words before what comes with them is delivered. */
static bool take_extras(struct hr_bridge *bridge, size_t from, struct parsed *parsed)
{
    if (!hr_tracked_unpack(bridge, from, parsed->base->words, &parsed->rest))
        return false;
    for (size_t i = 0; i < parsed->base->credits; i++) {
        const struct hr_head_credit *credit = hr_head_take(&parsed->rest, sizeof *credit);
        if (!credit)
            return false;
        hr_credit_arrived(bridge, credit);
    }
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct hr_bridge *bridge = arg;
    struct parsed parsed;
    if (bridge->machine[from].gone || hr_wire_is_probe(head, head_bytes))
        return;
    bridge->machine[from].silent_ns = 0;
    bridge->moved = true;
    bridge->carried.messages_received++;
    bridge->carried.bytes_received += head_bytes;
    const bool whole = parse(head, head_bytes, &parsed);
    if (whole && parsed.base->term) {
        bridge->machine[from].coming--;
        if (parsed.base->term != bridge->term)
            return;
    }
    if (!whole || !take_extras(bridge, from, &parsed)) {
        hr_bridge_fail(bridge, HR_E_FAILED, "%s sent a head that is broken off",
                       bridge->options.wire->host[from]);
        return;
    }
    if (parsed.message)
        hr_landing_arrived(bridge, from, parsed.message, parsed.base->last);
    else if (parsed.direct)
        hr_direct_arrived(bridge, from, parsed.direct, parsed.note, parsed.base->last);
    else if (parsed.base->kind == HR_HEAD_HEARTBEAT)
        heartbeat_arrived(bridge, from, parsed.base->number);
    else if (parsed.base->kind == HR_HEAD_ABORT)
        abort_arrived(bridge, from, parsed.base->number);
    else if (parsed.base->kind == HR_HEAD_LEAVE)
        bridge->machine[from].left = true;
    else if (parsed.base->kind == HR_HEAD_LEAVE_SEEN)
        bridge->machine[from].seen = true;
}

/* --- polling --- */

/* Whose bell has rung since we looked? Once in a while: everybody's. */
static void look_at_bells(struct hr_bridge *bridge)
{
    struct hr_control *control = bridge->options.control;
    const bool all = bridge->now - bridge->scanned >= HR_SCAN_NS;
    for (size_t r = 0; r < control->nranks; r++) {
        if (hr_hosts_here(&bridge->options.hosts, r))
            continue;
        /* Partner: hr_bell_ring; bit 0 says that somebody sleeps on it, and nobody does. */
        const uint32_t word = hr_atom32_load_acquire(&control->rank[r].bell.word);
        if (word == bridge->bell_seen[r] && !all)
            continue;
        bridge->bell_seen[r] = word;
        hr_bridge_stir(bridge, r);
    }
}

/* With the lock. */
static void move_all(struct hr_bridge *bridge)
{
    const struct hr_wire_sink sink = {bridge, place, arrived};
    bridge->now = hr_clock_ns();
    hr_atom64_store_relaxed(&bridge->polled, (uint64_t)bridge->now); /* partner: run */
    look_at_bells(bridge);
    hr_sending_go(bridge);
    bridge->moved |= hr_wire_poll(bridge->options.wire, &sink);
    hr_landing_go(bridge);
    hr_direct_go(bridge);
    if (bridge->stage == HR_TERM_READY && !hr_direct_is_due(bridge))
        bridge->stage = HR_TERM_RUNS;
    hr_credits_alone(bridge);
    send_notices(bridge);
}

void hr_bridge_poll(void *arg)
{
    struct hr_bridge *bridge = arg;
    if (pthread_mutex_trylock(&bridge->lock) != 0)
        return;
    move_all(bridge);
    pthread_mutex_unlock(&bridge->lock);
}

/* Did something move? Another thread polls: it need not be done twice. */
static bool poll_alone(struct hr_bridge *bridge)
{
    bool moved = false;
    const int64_t polled = (int64_t)hr_atom64_load_relaxed(&bridge->polled);
    if (hr_clock_ns() - polled < OTHERS_POLL_NS / 2 || pthread_mutex_trylock(&bridge->lock) != 0)
        return false;
    bridge->moved = false;
    move_all(bridge);
    moved = bridge->moved;
    pthread_mutex_unlock(&bridge->lock);
    return moved;
}

static void *run(void *arg)
{
    struct hr_bridge *bridge = arg;
    int64_t moved = hr_clock_ns();
    prctl(PR_SET_TIMERSLACK, 1);
    while (!hr_atom32_load_acquire(&bridge->stop)) { /* partner: hr_bridge_close */
        const bool moves = poll_alone(bridge);
        const int64_t now = hr_clock_ns(), share = (now - moved) / NAP_SHARE;
        moved = moves ? now : moved;
        const int64_t nap = moves || share < LEAST_NAP_NS ? LEAST_NAP_NS
                            : share > MOST_NAP_NS         ? MOST_NAP_NS
                                                          : share;
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
    }
    return NULL;
}

enum hr_status hr_bridge_start(struct hr_bridge *bridge)
{
    if (pthread_create(&bridge->thread, NULL, run, bridge) != 0)
        return hr_fail(HR_E_FAILED, "cannot start the thread that carries between machines");
    bridge->started = true;
    return HR_OK;
}

/* --- set-up --- */

enum hr_status hr_bridge_open(const struct hr_bridge_options *options, struct hr_bridge **out)
{
    struct hr_bridge *bridge = calloc(1, sizeof *bridge);
    const size_t machines = options->wire->machines;
    if (bridge)
        bridge->machine = calloc(machines, sizeof *bridge->machine);
    if (!bridge || !bridge->machine) {
        free(bridge);
        return hr_fail(HR_E_NOMEM, "no memory for what carries between machines");
    }
    HR_ASSERT(options->hosts.machines == machines && options->hosts.self == options->wire->self);
    bridge->options = *options;
    bridge->options.part_bytes = options->part_bytes ? options->part_bytes : PART_BYTES;
    bridge->machines = machines;
    bridge->self = options->wire->self;
    bridge->term = 1;
    bridge->scanned = hr_clock_ns();
    for (size_t m = 0; m < machines; m++) {
        bridge->machine[m].heartbeat_done = true;
        bridge->machine[m].landings = 1;
    }
    pthread_mutex_init(&bridge->lock, NULL);
    *out = bridge;
    return HR_OK;
}

static void free_rings(struct hr_bridge *bridge)
{
    for (size_t i = 0; i < bridge->nrings; i++) {
        free(bridge->sending[i]);
        free(bridge->landing[i]);
    }
    free(bridge->sending);
    free(bridge->landing);
    free(bridge->active);
}

void hr_bridge_close(struct hr_bridge *bridge)
{
    if (!bridge)
        return;
    hr_atom32_store_release(&bridge->stop, 1); /* partner: run */
    if (bridge->started)
        pthread_join(bridge->thread, NULL);
    for (size_t m = 0; m < bridge->machines; m++) {
        struct hr_machine *machine = &bridge->machine[m];
        hr_direct_drop(bridge, m);
        for (size_t i = 0; i < machine->nlanded; i++)
            free(machine->landed[i].aside);
        free(machine->landed);
        free(machine->due);
        free(machine->waste);
    }
    free_rings(bridge);
    free(bridge->machine);
    pthread_mutex_destroy(&bridge->lock);
    free(bridge);
}

void hr_bridge_leave(struct hr_bridge *bridge)
{
    pthread_mutex_lock(&bridge->lock);
    bridge->leaves = true;
    pthread_mutex_unlock(&bridge->lock);
}

bool hr_bridge_is_over(void *arg)
{
    struct hr_bridge *bridge = arg;
    bool over = true;
    pthread_mutex_lock(&bridge->lock);
    for (size_t m = 0; m < bridge->machines; m++) {
        const struct hr_machine *machine = &bridge->machine[m];
        if (hr_bridge_speaks_to(bridge, m))
            over &= machine->left && machine->seen && machine->leave_seen_sent &&
                    machine->heartbeat_done;
    }
    pthread_mutex_unlock(&bridge->lock);
    return over;
}

bool hr_bridge_has_lost(struct hr_bridge *bridge, size_t machine)
{
    pthread_mutex_lock(&bridge->lock);
    const bool lost = bridge->machine[machine].gone;
    pthread_mutex_unlock(&bridge->lock);
    return lost;
}

void hr_bridge_loss(struct hr_bridge *bridge, char *text, size_t size)
{
    pthread_mutex_lock(&bridge->lock);
    snprintf(text, size, "%s", bridge->loss);
    pthread_mutex_unlock(&bridge->lock);
}

void hr_bridge_lose(struct hr_bridge *bridge, size_t machine)
{
    pthread_mutex_lock(&bridge->lock);
    bridge->machine[machine].gone = true;
    pthread_mutex_unlock(&bridge->lock);
}

struct hr_carried hr_bridge_carried(struct hr_bridge *bridge)
{
    pthread_mutex_lock(&bridge->lock);
    const struct hr_carried carried = bridge->carried;
    pthread_mutex_unlock(&bridge->lock);
    return carried;
}
