/* What machines tell of themselves: beats, aborts, that they leave; and their silence.
 *
 *   Silence  counts while this machine listens: a look that comes late adds little, because what
 *            was sent meanwhile may be there and not read yet.
 */
#include <stdio.h>
#include <string.h>

#include "machines/inside.h"

enum { LOOKS_A_DEADLINE = 8 };

/* --- beats --- */

static size_t write_lines(struct hr_carrier *carrier, struct hr_beat_line *line)
{
    struct hr_control *control = carrier->options.control;
    size_t n = 0;
    for (size_t r = 0; r < control->nranks; r++) {
        struct hr_rank_status *rank = &control->rank[r]; /* partner of all: the rank */
        if (!hr_homes_here(&carrier->options.homes, r))
            continue;
        line[n++] = (struct hr_beat_line){
            .rank = (uint32_t)r,
            .phase = hr_atom32_load_relaxed(&rank->phase),
            .result = hr_atom32_load_acquire(&rank->result),
            .stage = hr_atom32_load_relaxed(&rank->stage),
            .step = hr_atom64_load_relaxed(&rank->step),
            .age_ns = (uint64_t)carrier->now - hr_atom64_load_relaxed(&rank->since),
            .samples = hr_atom64_load_relaxed(&rank->gauge.samples),
            .gradients = hr_atom64_load_relaxed(&rank->gauge.gradients)};
    }
    return n;
}

static void beat(struct hr_carrier *carrier, size_t to)
{
    struct hr_machine *machine = &carrier->machine[to];
    struct hr_head head;
    if (!machine->beat_done)
        return;
    const size_t n = write_lines(carrier, machine->out);
    /* One that speaks of a term that is to begin might keep back the word of it. */
    hr_head_begin(&head, HR_HEAD_BEAT, carrier->stage == HR_TERM_RUNS ? carrier->term : 0)->number =
        (uint32_t)n;
    if (!hr_carrier_send(carrier, to, &head, machine->out, n * sizeof *machine->out,
                         &machine->beat_done))
        machine->beat_done = true;
}

/* The lines of another machine's ranks: here the carrier writes them, as no rank does. */
void hr_beats_arrived(struct hr_carrier *carrier, size_t from, size_t lines)
{
    for (size_t i = 0; i < lines && i < HR_MAX_RANKS; i++) {
        const struct hr_beat_line *line = &carrier->machine[from].in[i];
        if (line->rank >= carrier->options.control->nranks ||
            carrier->options.homes.machine[line->rank] != from)
            continue;
        struct hr_rank_status *rank = &carrier->options.control->rank[line->rank];
        hr_atom32_store_relaxed(&rank->phase, line->phase);
        hr_atom32_store_relaxed(&rank->stage, line->stage);
        hr_atom64_store_relaxed(&rank->step, line->step);
        hr_atom64_store_relaxed(&rank->since, (uint64_t)carrier->now - line->age_ns);
        hr_gauge_work(&rank->gauge, line->samples, line->gradients);
        hr_atom32_store_release(&rank->result, line->result); /* partner: who looks on */
    }
}

/* --- losses --- */

/* "ranks 2, 3" */
static void name_ranks(const struct hr_carrier *carrier, size_t machine, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t r = 0; r < carrier->options.control->nranks; r++)
        n += carrier->options.homes.machine[r] == machine;
    for (size_t r = 0, used = 0; r < carrier->options.control->nranks; r++) {
        if (carrier->options.homes.machine[r] != machine || used >= size)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%zu",
                                 used    ? ", "
                                 : n > 1 ? "ranks "
                                         : "rank ",
                                 r);
    }
}

static void lose(struct hr_carrier *carrier, size_t machine, const char *how)
{
    struct hr_machine *lost = &carrier->machine[machine];
    char ranks[400], text[sizeof carrier->loss];
    if (lost->gone)
        return;
    lost->gone = true;
    if (lost->left)
        return; /* it said so */
    name_ranks(carrier, machine, ranks, sizeof ranks);
    snprintf(text, sizeof text, "lost machine %s (%s): %s", carrier->options.wire->host[machine],
             ranks, how);
    if (!carrier->loss[0])
        snprintf(carrier->loss, sizeof carrier->loss, "%s", text);
    if (carrier->options.lost)
        carrier->options.lost(carrier->options.lost_arg, machine, text);
    else
        hr_carrier_fail(carrier, HR_E_LOST, "%s", carrier->loss);
}

static void listen_for_silence(struct hr_carrier *carrier, int64_t passed)
{
    const int64_t deadline = carrier->options.timeout_ns / 4 * 3;
    char text[120];
    size_t machine;
    while (hr_wire_lost(carrier->options.wire, &machine, text, sizeof text))
        lose(carrier, machine, text);
    passed =
        deadline && passed > deadline / LOOKS_A_DEADLINE ? deadline / LOOKS_A_DEADLINE : passed;
    for (size_t m = 0; m < carrier->machines; m++) {
        if (!hr_carrier_speaks_to(carrier, m) || carrier->machine[m].left)
            continue;
        carrier->machine[m].silent_ns += passed;
        if (!deadline || carrier->machine[m].silent_ns < deadline)
            continue;
        snprintf(text, sizeof text, "nothing has come from it for %.1f s (--timeout %.1f)",
                 hr_seconds(carrier->machine[m].silent_ns),
                 hr_seconds(carrier->options.timeout_ns));
        lose(carrier, m, text);
    }
}

/* --- aborts, and the end --- */

static void tell_abort(struct hr_carrier *carrier)
{
    const struct hr_control *control = carrier->options.control;
    if (!hr_atom32_load_acquire(&control->abort)) /* partner: hr_control_abort */
        return;
    if (!carrier->failure.status)
        carrier->failure = control->failure;
    const size_t rank = carrier->failure.rank;
    const uint64_t step =
        rank < control->nranks ? hr_atom64_load_relaxed(&control->rank[rank].step) : 0;
    for (size_t m = 0; m < carrier->machines; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        struct hr_head head;
        if (machine->abort_told || !hr_carrier_speaks_to(carrier, m))
            continue;
        hr_head_begin(&head, HR_HEAD_ABORT, 0)->number = (uint32_t)step;
        machine->abort_told =
            hr_carrier_send(carrier, m, &head, &carrier->failure, sizeof carrier->failure, NULL);
    }
}

void hr_beats_abort_arrived(struct hr_carrier *carrier, size_t from, uint32_t step)
{
    struct hr_machine *machine = &carrier->machine[from];
    const size_t rank = machine->failure.rank;
    machine->failure.message[sizeof machine->failure.message - 1] = '\0';
    machine->abort_told = true; /* it knows */
    if (rank < carrier->options.control->nranks && !hr_homes_here(&carrier->options.homes, rank))
        hr_control_step(carrier->options.control, rank, step);
    hr_control_abort(carrier->options.control, machine->failure.rank, machine->failure.status,
                     machine->failure.message);
}

static bool has_sent_all(const struct hr_carrier *carrier, size_t to)
{
    for (size_t i = 0; i < carrier->nactive; i++)
        if (carrier->active[i]->machine == to)
            return false;
    return !carrier->machine[to].first;
}

static void tell_leave(struct hr_carrier *carrier)
{
    for (size_t m = 0; m < carrier->machines; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        struct hr_head head;
        if (machine->leave_told || !hr_carrier_speaks_to(carrier, m) || !has_sent_all(carrier, m))
            continue;
        hr_head_begin(&head, HR_HEAD_LEAVE, 0);
        machine->leave_told = hr_carrier_send(carrier, m, &head, NULL, 0, NULL);
    }
}

/* Whoever leaves stays until that is known, because a wire that is closed may drop what it has. */
static void tell_seen(struct hr_carrier *carrier)
{
    for (size_t m = 0; m < carrier->machines; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        struct hr_head head;
        if (machine->seen_told || !machine->left || !hr_carrier_speaks_to(carrier, m))
            continue;
        hr_head_begin(&head, HR_HEAD_LEAVE_SEEN, 0);
        machine->seen_told = hr_carrier_send(carrier, m, &head, NULL, 0, NULL);
    }
}

void hr_beats_go(struct hr_carrier *carrier)
{
    const int64_t passed = carrier->now - carrier->scanned;
    tell_abort(carrier);
    if (carrier->leaves)
        tell_leave(carrier);
    tell_seen(carrier);
    if (passed < HR_SCAN_NS)
        return;
    listen_for_silence(carrier, passed);
    carrier->scanned = carrier->now;
    if (carrier->now - carrier->beaten < carrier->options.beat_ns)
        return;
    carrier->beaten = carrier->now;
    for (size_t m = 0; m < carrier->machines; m++)
        if (hr_carrier_speaks_to(carrier, m))
            beat(carrier, m);
}
