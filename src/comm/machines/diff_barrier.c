#include "machines/diff_barrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "shm/atom.h"

/* === what this machine has changed === */

enum { BLOCK = 4096, PAD = 8 };

/* Before the bytes of a packed run. */
struct label {
    uint64_t offset, bytes;
};

size_t hr_twin_bytes(const struct hr_area *area, size_t nareas)
{
    size_t bytes = 0;
    for (size_t i = 0; i < nareas; i++)
        bytes += area[i].bytes;
    return bytes;
}

enum hr_status hr_twin_open(unsigned char *segment, const struct hr_area *area, size_t nareas,
                            struct hr_twin *out)
{
    struct hr_twin *twin = out;
    size_t used = 0;
    *twin = (struct hr_twin){.segment = segment, .nareas = nareas};
    twin->area = malloc(nareas * sizeof *area + 1);
    twin->at = malloc(nareas * sizeof *twin->at + 1);
    twin->copy = malloc(hr_twin_bytes(area, nareas) + 1);
    if (!twin->area || !twin->at || !twin->copy)
        return hr_fail(HR_E_NOMEM, "no memory for a copy of %zu KiB that machines share",
                       hr_twin_bytes(area, nareas) / 1024);
    for (size_t i = 0; i < nareas; i++) {
        HR_ASSERT(!i || area[i - 1].offset + area[i - 1].bytes <= area[i].offset);
        twin->area[i] = area[i];
        twin->at[i] = used;
        memcpy(twin->copy + used, segment + area[i].offset, area[i].bytes);
        used += area[i].bytes;
    }
    return HR_OK;
}

void hr_twin_close(struct hr_twin *twin)
{
    free(twin->area);
    free(twin->at);
    free(twin->copy);
    free(twin->run);
    *twin = (struct hr_twin){0};
}

/* --- compared --- */

/* One unit more: behind the last run, or the beginning of another. */
static enum hr_status add_unit(struct hr_twin *twin, const struct hr_area *area, size_t offset,
                               size_t bytes)
{
    struct hr_changed_run *last = twin->nruns ? &twin->run[twin->nruns - 1] : NULL;
    if (last && last->offset + last->bytes == offset && last->for_first == area->for_first &&
        last->offset >= area->offset) {
        last->bytes += bytes;
        return HR_OK;
    }
    if (twin->nruns == twin->room) {
        const size_t room = twin->room ? 2 * twin->room : 64;
        struct hr_changed_run *run = realloc(twin->run, room * sizeof *run);
        if (!run)
            return hr_fail(HR_E_NOMEM, "no memory for %zu changes that machines share", room);
        twin->run = run;
        twin->room = room;
    }
    twin->run[twin->nruns++] = (struct hr_changed_run){offset, bytes, area->for_first};
    return HR_OK;
}

/* Of a block that differs. */
static enum hr_status find_units(struct hr_twin *twin, size_t i, size_t begin, size_t end)
{
    const struct hr_area *area = &twin->area[i];
    for (size_t at = begin; at < end; at += area->unit) {
        const size_t bytes = hr_min_size(area->unit, end - at), offset = area->offset + at;
        if (memcmp(twin->segment + offset, twin->copy + twin->at[i] + at, bytes) != 0)
            HR_TRY(add_unit(twin, area, offset, bytes));
    }
    return HR_OK;
}

static bool is_compared(const struct hr_area *area, unsigned stage)
{
    return !area->stages || area->stages >> stage & 1;
}

enum hr_status hr_twin_find(struct hr_twin *twin, unsigned stage)
{
    twin->nruns = 0;
    for (size_t i = 0; i < twin->nareas; i++) {
        const struct hr_area *area = &twin->area[i];
        for (size_t at = 0; is_compared(area, stage) && at < area->bytes; at += BLOCK) {
            const size_t bytes = hr_min_size(BLOCK, area->bytes - at);
            if (memcmp(twin->segment + area->offset + at, twin->copy + twin->at[i] + at, bytes) !=
                0)
                HR_TRY(find_units(twin, i, at, at + bytes));
        }
    }
    return HR_OK;
}

/* In place of that: all of the areas that are compared there, for all machines. HR_E_NOMEM. */
static enum hr_status twin_take(struct hr_twin *twin, unsigned stage)
{
    twin->nruns = 0;
    for (size_t i = 0; i < twin->nareas; i++) {
        struct hr_area area = twin->area[i];
        area.for_first = false;
        if (is_compared(&area, stage))
            HR_TRY(add_unit(twin, &area, area.offset, area.bytes));
    }
    return HR_OK;
}

/* The area in which these bytes lie; nareas: none. */
static size_t area_of(const struct hr_twin *twin, size_t offset, size_t bytes)
{
    size_t low = 0, high = twin->nareas;
    while (low < high) { /* the last that begins at or before offset */
        const size_t middle = (low + high) / 2;
        if (twin->area[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return twin->nareas;
    const struct hr_area *area = &twin->area[low - 1];
    const size_t inside = offset - area->offset;
    return inside <= area->bytes && bytes <= area->bytes - inside ? low - 1 : twin->nareas;
}

/* Do these bytes lie in one area? */
static bool twin_has(const struct hr_twin *twin, size_t offset, size_t bytes)
{
    return area_of(twin, offset, bytes) < twin->nareas;
}

void hr_twin_keep(const struct hr_twin *twin, size_t offset, size_t bytes)
{
    const size_t i = area_of(twin, offset, bytes);
    HR_ASSERT(i < twin->nareas);
    memcpy(twin->copy + twin->at[i] + (offset - twin->area[i].offset), twin->segment + offset,
           bytes);
}

/* --- packed --- */

static bool goes_packed(const struct hr_changed_run *run, bool to_first)
{
    return !hr_run_is_large(run) && (to_first || !run->for_first);
}

size_t hr_twin_packed_bytes(const struct hr_twin *twin, bool to_first)
{
    size_t bytes = 0;
    for (size_t i = 0; i < twin->nruns; i++)
        if (goes_packed(&twin->run[i], to_first))
            bytes += sizeof(struct label) + hr_round_up(twin->run[i].bytes, PAD);
    return bytes;
}

void hr_twin_pack(const struct hr_twin *twin, bool to_first, unsigned char *to)
{
    for (size_t i = 0; i < twin->nruns; i++) {
        const struct hr_changed_run *run = &twin->run[i];
        const struct label label = {run->offset, run->bytes};
        const size_t padded = hr_round_up(run->bytes, PAD);
        if (!goes_packed(run, to_first))
            continue;
        memcpy(to, &label, sizeof label);
        memcpy(to + sizeof label, twin->segment + run->offset, run->bytes);
        memset(to + sizeof label + run->bytes, 0, padded - run->bytes);
        to += sizeof label + padded;
    }
}

/* Some bytes of a word, in one store. */
static void merge_word(struct hr_atom64 *word, size_t at, const unsigned char *from, size_t bytes)
{
    uint64_t old, merged;
    do {
        merged = old = hr_atom64_load_relaxed(word);
        memcpy((unsigned char *)&merged + at, from, bytes);
    } while (!hr_atom64_replace_acq_rel(word, old, merged)); /* partner: who looks on */
}

/* A launcher looks at words while its ranks are quiescent: it never sees half of one. */
static void put_words(unsigned char *segment, size_t offset, const unsigned char *from,
                      size_t bytes)
{
    for (size_t n; bytes; offset += n, from += n, bytes -= n) {
        const size_t at = offset % sizeof(struct hr_atom64);
        n = hr_min_size(bytes, sizeof(struct hr_atom64) - at);
        merge_word((struct hr_atom64 *)(void *)(segment + offset - at), at, from, n);
    }
}

enum hr_status hr_twin_unpack(const struct hr_twin *twin, const unsigned char *packed, size_t bytes)
{
    struct label label;
    for (size_t at = 0; at < bytes; at += hr_round_up(label.bytes, PAD)) {
        if (bytes - at < sizeof label)
            return hr_fail(HR_E_FORMAT, "%zu bytes that machines share are torn", bytes);
        memcpy(&label, packed + at, sizeof label);
        at += sizeof label;
        if (label.bytes > bytes - at || !twin_has(twin, label.offset, label.bytes))
            return hr_fail(HR_E_FORMAT,
                           "%zu bytes at %zu are not what machines share: are both of the same "
                           "version?",
                           (size_t)label.bytes, (size_t)label.offset);
        put_words(twin->segment, label.offset, packed + at, label.bytes);
        hr_twin_keep(twin, label.offset, label.bytes);
    }
    return HR_OK;
}

/* === barriers === */

/* Of the ranks of this machine. Numbers of barriers, from 1, modulo 2^32. */
struct words {
    alignas(HR_LINE) struct hr_atom32 arrived; /* of ranks, in all barriers; fetch_add by each */
    alignas(HR_LINE) struct hr_atom32 passed;  /* the last that is over; writer: the conductor */
    alignas(HR_LINE) struct hr_bell bell;      /* the conductor's */
    struct hr_atom32 ready;                    /* the last that all ranks here have come to, and */
    struct hr_atom32 stage;                    /* where: writer: who came last */
    alignas(HR_LINE) struct hr_atom32 came[HR_MAX_RANKS]; /* the last that a rank has come to */
};

enum kind {
    COME,
    RUN,
    PACK,
    END,
    HAVE, /* to machine 0; and */
    PASS  /* from it */
};

/* Notes of direct messages. */
struct note {
    uint32_t kind, round, stage, alone; /* alone: of launchers, behind all ranks */
    uint64_t offset, bytes;             /* of a RUN */
};

/* Another machine. */
struct other {
    struct hr_atom32 came, ended;  /* barriers. Writer: who polls; partner: the conductor */
    struct hr_atom32 has;          /* the same */
    bool gone;                     /* the conductor's */
    struct hr_atom32 stage, alone; /* of the last that it has come to */
    unsigned char *packet;         /* (room) owned: of what is packed; who polls has it */
    size_t room, bytes;
    bool arriving; /* into the packet */
};

struct packet {
    unsigned char *bytes; /* (room) owned */
    size_t n, room;
};

struct hr_diff_barrier {
    struct hr_diff_barrier_options options;
    struct words words;
    size_t here; /* ranks that live here */
    struct hr_twin twin;
    struct hr_atom32 over;   /* the last that machine 0 says is. Writer: who polls */
    struct hr_atom32 lands;  /* the barrier whose bytes may land. Writer: the conductor */
    struct hr_atom32 wrong;  /* what came was not what should. Writer: who polls */
    char why[200];           /* published by wrong */
    struct packet packet[2]; /* for all, and for machine 0 */
    struct hr_atom32 done;   /* bodies that were sent. Writer: the bridge */
    uint32_t posted;
    uint64_t bytes;
    struct other other[HR_WIRE_MACHINES];
};

/* Is that barrier, or a later one, the last that this word tells of? */
static bool is_past(const struct hr_atom32 *last, uint32_t round)
{
    /* Partners: who polls, the conductor, ranks. */
    return (int32_t)(hr_atom32_load_acquire(last) - round) >= 0;
}

/* A barrier that is conducted. */
struct round {
    unsigned stage;
    bool alone, spreads; /* spreads: machine 0 sends areas as a whole */
    const char *what;
};

struct gathering {
    struct hr_diff_barrier *barrier;
    uint32_t round;
};

static bool is_wrong(const struct hr_diff_barrier *barrier)
{
    return hr_atom32_load_acquire(&barrier->wrong); /* partner: say_wrong */
}

/* Does that machine take part, beside this one? */
static bool has(const struct hr_diff_barrier *barrier, size_t machine)
{
    return machine != barrier->options.hosts.self && !barrier->other[machine].gone;
}

/* --- what other machines send: called by who polls --- */

static void say_wrong(struct hr_diff_barrier *barrier, size_t from, const char *what)
{
    const char *host = barrier->options.wire->host[from];
    if (hr_atom32_load_relaxed(&barrier->wrong)) /* our own word */
        return;
    snprintf(barrier->why, sizeof barrier->why, "%s sent %s", host, what);
    hr_atom32_store_release(&barrier->wrong, 1); /* partner: the conductor */
    hr_bell_ring(&barrier->words.bell);
}

static bool take_packet(struct hr_diff_barrier *barrier, size_t from, size_t bytes, void **where)
{
    struct other *other = &barrier->other[from];
    if (other->arriving)
        return false;
    if (bytes > other->room) {
        unsigned char *larger = realloc(other->packet, bytes);
        if (!larger) {
            say_wrong(barrier, from, "more than there is memory for");
            return false;
        }
        other->packet = larger;
        other->room = bytes;
    }
    other->arriving = true;
    other->bytes = bytes;
    *where = other->packet;
    return true;
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_diff_barrier *barrier = arg;
    struct note note;
    if (head_bytes != sizeof note) {
        say_wrong(barrier, from, "no note of a barrier");
        return false;
    }
    memcpy(&note, head, sizeof note);
    if (note.kind != RUN && note.kind != PACK)
        return true;
    /* Partner: the conductor; behind its comparison. */
    if (note.round != hr_atom32_load_acquire(&barrier->lands)) {
        say_wrong(barrier, from, "changes of another barrier");
        return false;
    }
    if (note.kind == PACK)
        return take_packet(barrier, from, body_bytes, where);
    if (note.kind != RUN || note.bytes != body_bytes ||
        !twin_has(&barrier->twin, note.offset, note.bytes)) {
        say_wrong(barrier, from, "changes of what is not shared");
        return false;
    }
    *where = (unsigned char *)barrier->options.segment + note.offset;
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct hr_diff_barrier *barrier = arg;
    struct other *other = &barrier->other[from];
    struct note note;
    HR_ASSERT(head_bytes == sizeof note);
    memcpy(&note, head, sizeof note);
    switch ((enum kind)note.kind) {
    case COME:
        hr_atom32_store_relaxed(&other->stage, note.stage); /* both published by came */
        hr_atom32_store_relaxed(&other->alone, note.alone);
        hr_atom32_store_release(&other->came, note.round);
        if (barrier->options.led)
            hr_bell_ring(&barrier->options.control->launcher_bell);
        break;
    case RUN:
        hr_twin_keep(&barrier->twin, note.offset, note.bytes);
        return;
    case PACK:
        other->arriving = false;
        if (hr_twin_unpack(&barrier->twin, other->packet, other->bytes) != HR_OK)
            say_wrong(barrier, from, hr_error_message());
        return;
    case END:
        hr_atom32_store_release(&other->ended, note.round);
        break;
    case HAVE:
        hr_atom32_store_release(&other->has, note.round);
        break;
    case PASS:
        hr_atom32_store_release(&barrier->over, note.round);
        break;
    }
    hr_bell_ring(&barrier->words.bell);
}

size_t hr_diff_barrier_bytes(const struct hr_area *area, size_t nareas)
{
    return sizeof(struct hr_diff_barrier) + hr_twin_bytes(area, nareas);
}

/* --- open, close --- */

enum hr_status hr_diff_barrier_open(const struct hr_diff_barrier_options *options,
                                    struct hr_diff_barrier **out)
{
    struct hr_diff_barrier *barrier =
        aligned_alloc(HR_LINE, sizeof *barrier); /* a multiple of it */
    if (!barrier)
        return hr_fail(HR_E_NOMEM, "no memory for machines to meet");
    memset(barrier, 0, sizeof *barrier);
    barrier->options = *options;
    for (size_t r = 0; r < options->nranks; r++)
        barrier->here += hr_hosts_here(&options->hosts, r);
    HR_ASSERT(barrier->here || options->led);
    const enum hr_status status =
        hr_twin_open(options->segment, options->area, options->nareas, &barrier->twin);
    if (status != HR_OK) {
        hr_diff_barrier_close(barrier);
        return status;
    }
    hr_bridge_listen(options->bridge, options->channel,
                     &(struct hr_wire_sink){barrier, place, arrived});
    *out = barrier;
    return HR_OK;
}

void hr_diff_barrier_close(struct hr_diff_barrier *barrier)
{
    if (!barrier)
        return;
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++)
        free(barrier->other[m].packet);
    for (size_t i = 0; i < 2; i++)
        free(barrier->packet[i].bytes);
    hr_twin_close(&barrier->twin);
    free(barrier);
}

struct hr_met hr_diff_barrier_so_far(const struct hr_diff_barrier *barrier)
{
    return (struct hr_met){hr_atom32_load_acquire(&barrier->words.passed), barrier->bytes};
}

/* --- the conductor --- */

static enum hr_status post(struct hr_diff_barrier *barrier, size_t to, const struct note *note,
                           const void *body, size_t bytes)
{
    barrier->posted += bytes > 0;
    barrier->bytes += bytes;
    return hr_bridge_post(barrier->options.bridge, to, barrier->options.channel, note, sizeof *note,
                          body, bytes, bytes ? &barrier->done : NULL,
                          bytes ? &barrier->words.bell : NULL);
}

static enum hr_status wait_for(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                               uint32_t round, hr_ready_fn ready, const char *what)
{
    struct gathering at = {barrier, round};
    HR_TRY(hr_wait_until(waiter, &barrier->words.bell, ready, &at, what));
    return is_wrong(barrier) ? hr_fail(HR_E_FAILED, "%s: %s", what, barrier->why) : HR_OK;
}

static enum hr_status post_all(struct hr_diff_barrier *barrier, const struct note *note)
{
    for (size_t m = 0; m < barrier->options.hosts.machines; m++)
        if (has(barrier, m))
            HR_TRY(post(barrier, m, note, NULL, 0));
    return HR_OK;
}

/* Has every other machine come to that point of the barrier? word: of struct other. */
static bool all_are_past(const struct gathering *at, size_t word)
{
    const struct hr_diff_barrier *barrier = at->barrier;
    for (size_t m = 0; m < barrier->options.hosts.machines; m++)
        if (has(barrier, m) &&
            !is_past((const void *)((const char *)&barrier->other[m] + word), at->round))
            return false;
    return true;
}

static bool all_came(void *arg)
{
    const struct gathering *at = arg;
    return all_are_past(at, offsetof(struct other, came)) || is_wrong(at->barrier);
}

static bool all_ended(void *arg)
{
    const struct gathering *at = arg;
    return (all_are_past(at, offsetof(struct other, ended)) &&
            hr_atom32_load_acquire(&at->barrier->done) ==
                at->barrier->posted) || /* partner: the bridge */
           is_wrong(at->barrier);
}

static bool all_have(void *arg)
{
    const struct gathering *at = arg;
    return all_are_past(at, offsetof(struct other, has)) || is_wrong(at->barrier);
}

/* Over for all machines or for none, since machine 0 says so. */

static bool is_over(void *arg)
{
    const struct gathering *at = arg;
    return is_past(&at->barrier->over, at->round) || is_wrong(at->barrier);
}

static enum hr_status agree(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                            uint32_t round)
{
    const struct note have = {.kind = HAVE, .round = round}, pass = {.kind = PASS, .round = round};
    if (barrier->options.hosts.self != 0) {
        HR_TRY(post(barrier, 0, &have, NULL, 0));
        const enum hr_status status =
            wait_for(barrier, waiter, round, is_over, "machine 0, which says that all have met");
        /* It may have said so before it said what revokes. */
        return status == HR_E_REVOKED && is_past(&barrier->over, round) ? HR_OK : status;
    }
    HR_TRY(wait_for(barrier, waiter, round, all_have, "all machines to have what others changed"));
    return post_all(barrier, &pass);
}

static enum hr_status pack(struct hr_diff_barrier *barrier, bool for_first)
{
    struct packet *packet = &barrier->packet[for_first];
    packet->n = hr_twin_packed_bytes(&barrier->twin, for_first);
    if (packet->n > packet->room) {
        unsigned char *larger = realloc(packet->bytes, packet->n);
        if (!larger)
            return hr_fail(HR_E_NOMEM, "no memory for %zu KiB of changes", packet->n / 1024);
        packet->bytes = larger;
        packet->room = packet->n;
    }
    if (packet->n)
        hr_twin_pack(&barrier->twin, for_first, packet->bytes);
    return HR_OK;
}

static enum hr_status send_changes(struct hr_diff_barrier *barrier, size_t to, uint32_t round)
{
    const struct hr_twin *twin = &barrier->twin;
    const struct packet *packet = &barrier->packet[to == 0];
    const struct note packed = {.kind = PACK, .round = round};
    for (size_t i = 0; i < twin->nruns; i++) {
        const struct hr_changed_run *run = &twin->run[i];
        const struct note note = {RUN, round, 0, 0, run->offset, run->bytes};
        if (hr_run_is_large(run) && (to == 0 || !run->for_first))
            HR_TRY(post(barrier, to, &note, twin->segment + run->offset, run->bytes));
    }
    return packet->n ? post(barrier, to, &packed, packet->bytes, packet->n) : HR_OK;
}

/* Do ranks that meet live there? */
static bool has_ranks(const struct hr_diff_barrier *barrier, size_t machine)
{
    for (size_t r = 0; r < barrier->options.nranks; r++)
        if (barrier->options.hosts.machine[r] == machine)
            return true;
    return false;
}

/* Where no rank meets, other ranks may be woken by those of other machines: these leave behind us.
 */
static bool leaves_behind_us(const struct hr_diff_barrier *barrier, size_t machine)
{
    return !barrier->here && has_ranks(barrier, machine);
}

static enum hr_status send_ends(struct hr_diff_barrier *barrier, uint32_t round, bool passed)
{
    const struct hr_diff_barrier_options *o = &barrier->options;
    const struct note end = {END, round, 0, 0, 0, 0};
    for (size_t m = 0; m < o->hosts.machines; m++)
        if (has(barrier, m) && leaves_behind_us(barrier, m) == passed)
            HR_TRY(post(barrier, m, &end, NULL, 0));
    return HR_OK;
}

static void keep_changes(const struct hr_diff_barrier *barrier)
{
    const struct hr_twin *twin = &barrier->twin;
    for (size_t i = 0; i < twin->nruns; i++)
        hr_twin_keep(twin, twin->run[i].offset, twin->run[i].bytes);
}

/* "node-b (ranks 2 to 3)" of those that are not there yet. */
static enum hr_status name_missing(const struct hr_diff_barrier *barrier, bool come, uint32_t round,
                                   const char *what)
{
    const struct hr_diff_barrier_options *o = &barrier->options;
    char waited[160], missing[300] = "";
    snprintf(waited, sizeof waited, "%s", hr_error_message());
    for (size_t m = 0; m < o->hosts.machines; m++) {
        const size_t used = strlen(missing);
        size_t first = o->nranks, last = 0;
        if (!has(barrier, m) ||
            is_past(come ? &barrier->other[m].came : &barrier->other[m].ended, round))
            continue;
        for (size_t r = 0; r < o->nranks; r++)
            if (o->hosts.machine[r] == m) {
                first = first < r ? first : r;
                last = r;
            }
        snprintf(missing + used, sizeof missing - used, "%s%s (ranks %zu to %zu)", used ? ", " : "",
                 o->wire->host[m], first, last);
    }
    return hr_fail(HR_E_TIMEOUT, "%s: %s: not there: %s", waited, what,
                   missing[0] ? missing : "none, but what was sent is under way");
}

static enum hr_status gather(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                             uint32_t round, bool come, const char *what)
{
    struct gathering at = {barrier, round};
    const enum hr_status status =
        hr_wait_until(waiter, &barrier->words.bell, come ? all_came : all_ended, &at,
                      come ? "all machines" : "what other machines have changed");
    if (is_wrong(barrier))
        return hr_fail(HR_E_FAILED, "%s: %s", what, barrier->why);
    return status == HR_E_TIMEOUT ? name_missing(barrier, come, round, what) : status;
}

static enum hr_status check_stages(const struct hr_diff_barrier *barrier, unsigned stage,
                                   const char *what)
{
    const struct hr_diff_barrier_options *o = &barrier->options;
    for (size_t m = 0; m < o->hosts.machines; m++) {
        const uint32_t theirs = hr_atom32_load_relaxed(&barrier->other[m].stage); /* behind came */
        if (has(barrier, m) && theirs != stage)
            return hr_fail(HR_E_MISMATCH, "%s: this machine meets at stage %u, %s at stage %u",
                           what, stage, o->wire->host[m], theirs);
    }
    return HR_OK;
}

static enum hr_status find_changes(struct hr_diff_barrier *barrier, const struct round *how)
{
    if (!how->spreads)
        HR_TRY(hr_twin_find(&barrier->twin, how->stage));
    else if (barrier->options.hosts.self == 0)
        HR_TRY(twin_take(&barrier->twin, how->stage));
    else
        barrier->twin.nruns = 0;
    for (int for_first = 0; for_first < 2; for_first++)
        HR_TRY(pack(barrier, for_first));
    return HR_OK;
}

static enum hr_status exchange(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                               uint32_t round, const struct round *how)
{
    const struct hr_diff_barrier_options *o = &barrier->options;
    const struct note come = {COME, round, how->stage, how->alone, 0, 0};
    hr_atom32_store_release(&barrier->lands, round); /* partner: place */
    HR_TRY(post_all(barrier, &come));
    HR_TRY(gather(barrier, waiter, round, true, how->what));
    HR_TRY(check_stages(barrier, how->stage, how->what));
    for (size_t m = 0; m < o->hosts.machines; m++)
        if (has(barrier, m))
            HR_TRY(send_changes(barrier, m, round));
    HR_TRY(send_ends(barrier, round, false));
    return gather(barrier, waiter, round, false, how->what);
}

static enum hr_status conduct_one(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                                  const struct round *how)
{
    const struct hr_diff_barrier_options *o = &barrier->options;
    const uint32_t round = hr_atom32_load_relaxed(&barrier->words.passed) + 1; /* our own word */
    HR_TRY(find_changes(barrier, how));
    HR_TRY(exchange(barrier, waiter, round, how));
    if (o->in_order)
        HR_TRY(agree(barrier, waiter, round));
    keep_changes(barrier);
    hr_atom32_store_release(&barrier->words.passed, round); /* partner: ranks of this machine */
    HR_TRY(send_ends(barrier, round, true));
    for (size_t r = 0; r < o->nranks; r++)
        if (hr_hosts_here(&o->hosts, r))
            hr_bell_ring(&o->control->rank[r].bell);
    return HR_OK;
}

static enum hr_status conduct(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                              unsigned stage, bool alone, const char *what)
{
    return conduct_one(barrier, waiter,
                       &(struct round){.stage = stage, .alone = alone, .what = what});
}

/* --- ranks --- */

static bool has_passed(void *arg)
{
    const struct gathering *at = arg;
    return is_past(&at->barrier->words.passed, at->round); /* partner: conduct */
}

/* Of the ranks here: "1, 3". */
static enum hr_status name_missing_here(const struct hr_diff_barrier *barrier, uint32_t round,
                                        const char *what)
{
    const struct hr_diff_barrier_options *o = &barrier->options;
    char waited[160], missing[200] = "";
    snprintf(waited, sizeof waited, "%s", hr_error_message());
    for (size_t r = 0; r < o->nranks; r++) {
        const size_t used = strlen(missing);
        if (hr_hosts_here(&o->hosts, r) && !is_past(&barrier->words.came[r], round))
            snprintf(missing + used, sizeof missing - used, "%s%zu", used ? ", " : "", r);
    }
    if (!missing[0])
        return hr_fail(HR_E_TIMEOUT, "%s: %s: all of this machine are there", waited, what);
    return hr_fail(HR_E_TIMEOUT, "%s: %s: not there: rank %s", waited, what, missing);
}

enum hr_status hr_diff_barrier_at(struct hr_diff_barrier *barrier, size_t rank,
                                  struct hr_waiter *waiter, unsigned stage, const char *what)
{
    struct words *words = &barrier->words;
    struct gathering at = {barrier, hr_atom32_load_relaxed(&words->came[rank]) + 1}; /* our own */
    hr_atom32_store_release(&words->came[rank], at.round); /* partner: name_missing_here */
    /* Acquire: the last one sees what all have stored. Release: their stores. */
    const uint32_t arrived = hr_atom32_fetch_add_acq_rel(&words->arrived, 1) + 1;
    const bool is_last = arrived == (uint32_t)(at.round * barrier->here);
    if (is_last && !barrier->options.led)
        return conduct(barrier, waiter, stage, false, what);
    if (is_last) {
        hr_atom32_store_relaxed(&words->stage, stage);    /* published by ready */
        hr_atom32_store_release(&words->ready, at.round); /* partner: is_due */
        hr_bell_ring(&barrier->options.control->launcher_bell);
    }
    const enum hr_status status = hr_wait_until(waiter, &barrier->options.control->rank[rank].bell,
                                                has_passed, &at, "all other ranks");
    return status == HR_E_TIMEOUT ? name_missing_here(barrier, at.round, what) : status;
}

enum hr_status hr_diff_barrier_alone(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                                     unsigned stage, const char *what)
{
    return conduct(barrier, waiter, stage, true, what);
}

enum hr_status hr_diff_barrier_spread(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                                      unsigned stage, const char *what)
{
    return conduct_one(
        barrier, waiter,
        &(struct round){.stage = stage, .alone = true, .spreads = true, .what = what});
}

/* --- the launcher, where it conducts --- */

/* Have all ranks of this machine come, or of another, where none of this one does? */
static bool is_due(const struct hr_diff_barrier *barrier, uint32_t round, unsigned *stage)
{
    const struct hr_diff_barrier_options *o = &barrier->options;
    if (barrier->here && is_past(&barrier->words.ready, round)) { /* partner: hr_diff_barrier_at */
        *stage = hr_atom32_load_relaxed(&barrier->words.stage);
        return true;
    }
    for (size_t m = 0; !barrier->here && m < o->hosts.machines; m++) {
        const struct other *other = &barrier->other[m];
        if (m == o->hosts.self || !is_past(&other->came, round) ||
            hr_atom32_load_relaxed(&other->alone))
            continue;
        *stage = hr_atom32_load_relaxed(&other->stage);
        return true;
    }
    return false;
}

enum hr_status hr_diff_barrier_conduct(struct hr_diff_barrier *barrier, struct hr_waiter *waiter,
                                       const char *what)
{
    unsigned stage;
    while (barrier->options.led &&
           is_due(barrier, hr_atom32_load_relaxed(&barrier->words.passed) + 1, &stage))
        HR_TRY(conduct(barrier, waiter, stage, false, what));
    return HR_OK;
}

/* --- terms --- */

void hr_diff_barrier_drop(struct hr_diff_barrier *barrier, size_t machine)
{
    barrier->other[machine].gone = true;
}

void hr_diff_barrier_end_term(struct hr_diff_barrier *barrier)
{
    struct hr_atom32 *passed = &barrier->words.passed; /* our own word; no rank waits for it */
    hr_atom32_store_release(passed, hr_atom32_load_relaxed(passed) + 1);
}

void hr_diff_barrier_begin_term(struct hr_diff_barrier *barrier, const struct hr_hosts *hosts)
{
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++) /* what was under way has been dropped */
        barrier->other[m].arriving = false;
    barrier->posted = hr_atom32_load_acquire(&barrier->done); /* partner: the bridge */
    barrier->options.hosts = *hosts;
    barrier->here = 0;
    for (size_t r = 0; r < barrier->options.nranks; r++)
        barrier->here += hr_hosts_here(hosts, r);
}

bool hr_diff_barrier_is_called(const struct hr_diff_barrier *barrier, unsigned *stage)
{
    const uint32_t next = hr_atom32_load_relaxed(&barrier->words.passed) + 1;
    for (size_t m = 0; m < barrier->options.hosts.machines; m++) {
        if (!has(barrier, m) || !is_past(&barrier->other[m].came, next))
            continue;
        *stage = hr_atom32_load_relaxed(&barrier->other[m].stage); /* behind came */
        return true;
    }
    return false;
}
