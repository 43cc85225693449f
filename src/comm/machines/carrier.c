#include "machines/carrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/size.h"
#include "machines/inside.h"

enum {
    BEAT_NS = 100 * 1000 * 1000,
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
    const struct hr_head_letter *letter;
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
    case HR_HEAD_LETTER:
        parsed->letter = hr_head_take(&parsed->rest, sizeof *parsed->letter);
        parsed->note =
            parsed->letter ? hr_head_take(&parsed->rest, parsed->letter->note_bytes) : NULL;
        return parsed->note != NULL;
    case HR_HEAD_BEAT:
    case HR_HEAD_ABORT:
    case HR_HEAD_LEAVE:
    case HR_HEAD_LEAVE_SEEN:
    case HR_HEAD_NOTHING:
        return true;
    }
    return false;
}

/* Bytes that mean nothing any more: several bodies may be under way into them. */
static bool place_waste(struct hr_carrier *carrier, size_t from, size_t bytes, void **where)
{
    struct hr_machine *machine = &carrier->machine[from];
    const size_t most = hr_max_size(carrier->options.part_bytes, sizeof machine->in);
    if (bytes && !machine->waste)
        machine->waste = malloc(most);
    *where = machine->waste;
    return bytes <= most && (!bytes || machine->waste);
}

/* A place for what is of a term, in this one; false: not now. */
static bool place_in_term(struct hr_carrier *carrier, size_t from, const struct parsed *parsed,
                          size_t body_bytes, void **where)
{
    struct hr_machine *machine = &carrier->machine[from];
    const struct hr_head_base *base = parsed->base;
    const int32_t ahead = (int32_t)(base->term - carrier->term);
    if (ahead < 0)
        return place_waste(carrier, from, body_bytes, where);
    if (ahead > 0 ||
        (carrier->stage != HR_TERM_RUNS && carrier->stage != HR_TERM_READY && !base->bare))
        return false;
    if (parsed->message)
        return hr_landing_place(carrier, from, parsed->message, base->last, where);
    if (parsed->letter)
        return hr_letters_place(carrier, from, parsed->letter, parsed->note, where);
    *where = machine->in;
    return body_bytes <= sizeof machine->in;
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_carrier *carrier = arg;
    struct hr_machine *machine = &carrier->machine[from];
    struct parsed parsed;
    if (hr_wire_is_probe(head, head_bytes)) /* it has not seen yet that we are here */
        return true;
    if (machine->gone) /* it was only silent, and the others go on without it */
        return false;
    machine->silent_ns = 0;
    if (!parse(head, head_bytes, &parsed)) {
        if (machine->left) /* it speaks to whoever has the wire after us */
            return false;
        hr_carrier_fail(carrier, HR_E_FAILED, "%s sent a head that nobody here understands",
                        carrier->options.wire->host[from]);
        return false;
    }
    if (parsed.base->term) {
        const bool placed = place_in_term(carrier, from, &parsed, body_bytes, where);
        machine->coming += placed;
        return placed;
    }
    if (parsed.letter)
        return hr_letters_place(carrier, from, parsed.letter, parsed.note, where);
    const bool beats = parsed.base->kind == HR_HEAD_BEAT;
    *where = beats ? (void *)machine->in : &machine->failure;
    return body_bytes <= (beats ? sizeof machine->in : sizeof machine->failure);
}

/* Credits and words; the words before what comes with them is delivered. */
static bool take_extras(struct hr_carrier *carrier, size_t from, struct parsed *parsed)
{
    if (!hr_tracked_unpack(carrier, from, parsed->base->words, &parsed->rest))
        return false;
    for (size_t i = 0; i < parsed->base->credits; i++) {
        const struct hr_head_credit *credit = hr_head_take(&parsed->rest, sizeof *credit);
        if (!credit)
            return false;
        hr_credit_arrived(carrier, credit);
    }
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct hr_carrier *carrier = arg;
    struct parsed parsed;
    if (carrier->machine[from].gone || hr_wire_is_probe(head, head_bytes))
        return;
    carrier->machine[from].silent_ns = 0;
    carrier->moved = true;
    carrier->carried.messages_received++;
    carrier->carried.bytes_received += head_bytes;
    const bool whole = parse(head, head_bytes, &parsed);
    if (whole && parsed.base->term) {
        carrier->machine[from].coming--;
        if (parsed.base->term != carrier->term)
            return;
    }
    if (!whole || !take_extras(carrier, from, &parsed)) {
        hr_carrier_fail(carrier, HR_E_FAILED, "%s sent a head that is broken off",
                        carrier->options.wire->host[from]);
        return;
    }
    if (parsed.message)
        hr_landing_arrived(carrier, from, parsed.message, parsed.base->last);
    else if (parsed.letter)
        hr_letters_arrived(carrier, from, parsed.letter, parsed.note, parsed.base->last);
    else if (parsed.base->kind == HR_HEAD_BEAT)
        hr_beats_arrived(carrier, from, parsed.base->number);
    else if (parsed.base->kind == HR_HEAD_ABORT)
        hr_beats_abort_arrived(carrier, from, parsed.base->number);
    else if (parsed.base->kind == HR_HEAD_LEAVE)
        carrier->machine[from].left = true;
    else if (parsed.base->kind == HR_HEAD_LEAVE_SEEN)
        carrier->machine[from].seen = true;
}

/* --- polling --- */

/* Whose bell has rung since we looked? Once in a while: everybody's. */
static void look_at_bells(struct hr_carrier *carrier)
{
    struct hr_control *control = carrier->options.control;
    const bool all = carrier->now - carrier->scanned >= HR_SCAN_NS;
    for (size_t r = 0; r < control->nranks; r++) {
        if (hr_homes_here(&carrier->options.homes, r))
            continue;
        /* Partner: hr_bell_ring; bit 0 says that somebody sleeps on it, and nobody does. */
        const uint32_t word = hr_atom32_load_acquire(&control->rank[r].bell.word);
        if (word == carrier->bell_seen[r] && !all)
            continue;
        carrier->bell_seen[r] = word;
        hr_sending_stir(carrier, r);
        hr_landing_stir(carrier, r);
    }
}

/* With the lock. */
static void move_all(struct hr_carrier *carrier)
{
    const struct hr_wire_sink sink = {carrier, place, arrived};
    carrier->now = hr_clock_ns();
    hr_atom64_store_relaxed(&carrier->polled, (uint64_t)carrier->now); /* partner: run */
    look_at_bells(carrier);
    hr_sending_go(carrier);
    carrier->moved |= hr_wire_poll(carrier->options.wire, &sink);
    hr_landing_go(carrier);
    hr_letters_go(carrier);
    if (carrier->stage == HR_TERM_READY && !hr_letters_are_due(carrier))
        carrier->stage = HR_TERM_RUNS;
    hr_credits_alone(carrier);
    hr_beats_go(carrier);
}

void hr_carrier_poll(void *arg)
{
    struct hr_carrier *carrier = arg;
    if (pthread_mutex_trylock(&carrier->lock) != 0)
        return;
    move_all(carrier);
    pthread_mutex_unlock(&carrier->lock);
}

/* Did something move? Another thread polls: it need not be done twice. */
static bool poll_alone(struct hr_carrier *carrier)
{
    bool moved = false;
    const int64_t polled = (int64_t)hr_atom64_load_relaxed(&carrier->polled);
    if (hr_clock_ns() - polled < OTHERS_POLL_NS / 2 || pthread_mutex_trylock(&carrier->lock) != 0)
        return false;
    carrier->moved = false;
    move_all(carrier);
    moved = carrier->moved;
    pthread_mutex_unlock(&carrier->lock);
    return moved;
}

static void *run(void *arg)
{
    struct hr_carrier *carrier = arg;
    int64_t moved = hr_clock_ns();
    prctl(PR_SET_TIMERSLACK, 1);
    while (!hr_atom32_load_acquire(&carrier->stop)) { /* partner: hr_carrier_close */
        const bool moves = poll_alone(carrier);
        const int64_t now = hr_clock_ns(), share = (now - moved) / NAP_SHARE;
        moved = moves ? now : moved;
        const int64_t nap = moves || share < LEAST_NAP_NS ? LEAST_NAP_NS
                            : share > MOST_NAP_NS         ? MOST_NAP_NS
                                                          : share;
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
    }
    return NULL;
}

enum hr_status hr_carrier_start(struct hr_carrier *carrier)
{
    if (pthread_create(&carrier->thread, NULL, run, carrier) != 0)
        return hr_fail(HR_E_FAILED, "cannot start the thread that carries between machines");
    carrier->started = true;
    return HR_OK;
}

/* --- set-up --- */

enum hr_status hr_carrier_open(const struct hr_carrier_options *options, struct hr_carrier **out)
{
    struct hr_carrier *carrier = calloc(1, sizeof *carrier);
    const size_t machines = options->wire->machines;
    if (carrier)
        carrier->machine = calloc(machines, sizeof *carrier->machine);
    if (!carrier || !carrier->machine) {
        free(carrier);
        return hr_fail(HR_E_NOMEM, "no memory for what carries between machines");
    }
    HR_ASSERT(options->homes.machines == machines && options->homes.self == options->wire->self);
    carrier->options = *options;
    carrier->options.beat_ns = options->beat_ns ? options->beat_ns : BEAT_NS;
    carrier->options.part_bytes = options->part_bytes ? options->part_bytes : PART_BYTES;
    carrier->machines = machines;
    carrier->self = options->wire->self;
    carrier->term = 1;
    carrier->scanned = hr_clock_ns();
    for (size_t m = 0; m < machines; m++) {
        carrier->machine[m].beat_done = true;
        carrier->machine[m].landings = 1;
    }
    pthread_mutex_init(&carrier->lock, NULL);
    *out = carrier;
    return HR_OK;
}

static void free_rings(struct hr_carrier *carrier)
{
    for (size_t i = 0; i < carrier->nrings; i++) {
        free(carrier->sending[i]);
        free(carrier->landing[i]);
    }
    free(carrier->sending);
    free(carrier->landing);
    free(carrier->active);
}

void hr_carrier_close(struct hr_carrier *carrier)
{
    if (!carrier)
        return;
    hr_atom32_store_release(&carrier->stop, 1); /* partner: run */
    if (carrier->started)
        pthread_join(carrier->thread, NULL);
    for (size_t m = 0; m < carrier->machines; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        hr_letters_drop(carrier, m);
        for (size_t i = 0; i < machine->nlanded; i++)
            free(machine->landed[i].aside);
        free(machine->landed);
        free(machine->due);
        free(machine->waste);
    }
    free_rings(carrier);
    free(carrier->machine);
    pthread_mutex_destroy(&carrier->lock);
    free(carrier);
}

void hr_carrier_leave(struct hr_carrier *carrier)
{
    pthread_mutex_lock(&carrier->lock);
    carrier->leaves = true;
    pthread_mutex_unlock(&carrier->lock);
}

bool hr_carrier_is_over(void *arg)
{
    struct hr_carrier *carrier = arg;
    bool over = true;
    pthread_mutex_lock(&carrier->lock);
    for (size_t m = 0; m < carrier->machines; m++) {
        const struct hr_machine *machine = &carrier->machine[m];
        if (hr_carrier_speaks_to(carrier, m))
            over &= machine->left && machine->seen && machine->seen_told && machine->beat_done;
    }
    pthread_mutex_unlock(&carrier->lock);
    return over;
}

bool hr_carrier_has_lost(struct hr_carrier *carrier, size_t machine)
{
    pthread_mutex_lock(&carrier->lock);
    const bool lost = carrier->machine[machine].gone;
    pthread_mutex_unlock(&carrier->lock);
    return lost;
}

void hr_carrier_loss(struct hr_carrier *carrier, char *text, size_t size)
{
    pthread_mutex_lock(&carrier->lock);
    snprintf(text, size, "%s", carrier->loss);
    pthread_mutex_unlock(&carrier->lock);
}

void hr_carrier_lose(struct hr_carrier *carrier, size_t machine)
{
    pthread_mutex_lock(&carrier->lock);
    carrier->machine[machine].gone = true;
    pthread_mutex_unlock(&carrier->lock);
}

struct hr_carried hr_carrier_carried(struct hr_carrier *carrier)
{
    pthread_mutex_lock(&carrier->lock);
    const struct hr_carried carried = carrier->carried;
    pthread_mutex_unlock(&carrier->lock);
    return carried;
}
