#include "machines/gather_barrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "shm/atom.h"

/* Areas of fewer bytes travel together. */
enum { SMALL = 4096 };

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
    AREA, /* a large one */
    PACK, /* all small ones, behind one another as they are listed */
    END,
    HAVE, /* to machine 0; and */
    PASS  /* from it */
};

/* Notes of direct messages. */
struct note {
    uint32_t kind, round, stage, alone; /* alone: of launchers, behind all ranks */
    uint64_t area;                      /* of an AREA: which one of the list */
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

struct hr_gather_barrier {
    struct hr_gather_barrier_options options;
    struct words words;
    size_t here;             /* ranks that live here */
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
    bool alone;
    const char *what;
};

struct gathering {
    struct hr_gather_barrier *barrier;
    uint32_t round;
};

static bool is_wrong(const struct hr_gather_barrier *barrier)
{
    return hr_atom32_load_acquire(&barrier->wrong); /* partner: say_wrong */
}

/* Does that machine take part, beside this one? */
static bool has(const struct hr_gather_barrier *barrier, size_t machine)
{
    return machine != barrier->options.hosts.self && !barrier->other[machine].gone;
}

/* --- areas: what machine `from` sends to machine `to` at a barrier of that stage --- */

struct sending {
    unsigned stage;
    size_t from, to;
};

static bool is_sent(const struct hr_gather_barrier *barrier, const struct hr_area *area,
                    const struct sending *way)
{
    return area->stages >> way->stage & 1 &&
           barrier->options.hosts.machine[area->writer] == way->from &&
           (way->to == 0 || !area->for_first);
}

static bool is_small(const struct hr_area *area)
{
    return area->bytes < SMALL;
}

static size_t packed_bytes(const struct hr_gather_barrier *barrier, const struct sending *way)
{
    size_t bytes = 0;
    for (size_t i = 0; i < barrier->options.nareas; i++) {
        const struct hr_area *area = &barrier->options.area[i];
        bytes += is_sent(barrier, area, way) && is_small(area) ? area->bytes : 0;
    }
    return bytes;
}

static void pack(const struct hr_gather_barrier *barrier, const struct sending *way,
                 unsigned char *to)
{
    for (size_t i = 0; i < barrier->options.nareas; i++) {
        const struct hr_area *area = &barrier->options.area[i];
        if (!is_sent(barrier, area, way) || !is_small(area))
            continue;
        memcpy(to, (unsigned char *)barrier->options.segment + area->offset, area->bytes);
        to += area->bytes;
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

static void unpack(const struct hr_gather_barrier *barrier, const struct sending *way,
                   const unsigned char *from)
{
    for (size_t i = 0; i < barrier->options.nareas; i++) {
        const struct hr_area *area = &barrier->options.area[i];
        if (!is_sent(barrier, area, way) || !is_small(area))
            continue;
        put_words(barrier->options.segment, area->offset, from, area->bytes);
        from += area->bytes;
    }
}

/* --- what other machines send: called by who polls --- */

static void say_wrong(struct hr_gather_barrier *barrier, size_t from, const char *what)
{
    const char *host = barrier->options.wire->host[from];
    if (hr_atom32_load_relaxed(&barrier->wrong)) /* our own word */
        return;
    snprintf(barrier->why, sizeof barrier->why, "%s sent %s", host, what);
    hr_atom32_store_release(&barrier->wrong, 1); /* partner: the conductor */
    hr_bell_ring(&barrier->words.bell);
}

static bool take_packet(struct hr_gather_barrier *barrier, size_t from, size_t bytes, void **where)
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
    struct hr_gather_barrier *barrier = arg;
    struct note note;
    if (head_bytes != sizeof note) {
        say_wrong(barrier, from, "no note of a barrier");
        return false;
    }
    memcpy(&note, head, sizeof note);
    if (note.kind != AREA && note.kind != PACK)
        return true;
    /* Partner: the conductor. */
    if (note.round != hr_atom32_load_acquire(&barrier->lands)) {
        say_wrong(barrier, from, "what it has for another barrier");
        return false;
    }
    const struct sending way = {note.stage, from, barrier->options.hosts.self};
    const struct hr_area *area =
        note.area < barrier->options.nareas ? &barrier->options.area[note.area] : NULL;
    if (note.stage > 31 ||
        (note.kind == PACK ? body_bytes != packed_bytes(barrier, &way)
                           : !area || !is_sent(barrier, area, &way) || body_bytes != area->bytes)) {
        say_wrong(barrier, from, "what it does not share there: are both of the same version?");
        return false;
    }
    if (note.kind == PACK)
        return take_packet(barrier, from, body_bytes, where);
    *where = (unsigned char *)barrier->options.segment + area->offset;
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct hr_gather_barrier *barrier = arg;
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
    case AREA:
        return;
    case PACK:
        other->arriving = false;
        unpack(barrier, &(struct sending){note.stage, from, barrier->options.hosts.self},
               other->packet);
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

/* --- open, close --- */

enum hr_status hr_gather_barrier_open(const struct hr_gather_barrier_options *options,
                                      struct hr_gather_barrier **out)
{
    struct hr_gather_barrier *barrier =
        aligned_alloc(HR_LINE, sizeof *barrier); /* a multiple of it */
    if (!barrier)
        return hr_fail(HR_E_NOMEM, "no memory for machines to meet");
    memset(barrier, 0, sizeof *barrier);
    barrier->options = *options;
    for (size_t r = 0; r < options->nranks; r++)
        barrier->here += hr_hosts_here(&options->hosts, r);
    HR_ASSERT(barrier->here || options->led);
    hr_bridge_listen(options->bridge, options->channel,
                     &(struct hr_wire_sink){barrier, place, arrived});
    *out = barrier;
    return HR_OK;
}

void hr_gather_barrier_close(struct hr_gather_barrier *barrier)
{
    if (!barrier)
        return;
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++)
        free(barrier->other[m].packet);
    for (size_t i = 0; i < 2; i++)
        free(barrier->packet[i].bytes);
    free(barrier);
}

struct hr_met hr_gather_barrier_so_far(const struct hr_gather_barrier *barrier)
{
    return (struct hr_met){hr_atom32_load_acquire(&barrier->words.passed), barrier->bytes};
}

/* --- the conductor --- */

static enum hr_status post(struct hr_gather_barrier *barrier, size_t to, const struct note *note,
                           const void *body, size_t bytes)
{
    barrier->posted += bytes > 0;
    barrier->bytes += bytes;
    return hr_bridge_post(barrier->options.bridge, to, barrier->options.channel, note, sizeof *note,
                          body, bytes, bytes ? &barrier->done : NULL,
                          bytes ? &barrier->words.bell : NULL);
}

static enum hr_status wait_for(struct hr_gather_barrier *barrier, struct hr_waiter *waiter,
                               uint32_t round, hr_ready_fn ready, const char *what)
{
    struct gathering at = {barrier, round};
    HR_TRY(hr_wait_until(waiter, &barrier->words.bell, ready, &at, what));
    return is_wrong(barrier) ? hr_fail(HR_E_FAILED, "%s: %s", what, barrier->why) : HR_OK;
}

static enum hr_status post_all(struct hr_gather_barrier *barrier, const struct note *note)
{
    for (size_t m = 0; m < barrier->options.hosts.machines; m++)
        if (has(barrier, m))
            HR_TRY(post(barrier, m, note, NULL, 0));
    return HR_OK;
}

/* Has every other machine come to that point of the barrier? word: of struct other. */
static bool all_are_past(const struct gathering *at, size_t word)
{
    const struct hr_gather_barrier *barrier = at->barrier;
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

static enum hr_status agree(struct hr_gather_barrier *barrier, struct hr_waiter *waiter,
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

/* For machine 0, and for each other one. */
static enum hr_status fill_packet(struct hr_gather_barrier *barrier, unsigned stage, size_t to)
{
    struct packet *packet = &barrier->packet[to == 0];
    const struct sending way = {stage, barrier->options.hosts.self, to};
    packet->n = packed_bytes(barrier, &way);
    if (packet->n > packet->room) {
        unsigned char *larger = realloc(packet->bytes, packet->n);
        if (!larger)
            return hr_fail(HR_E_NOMEM, "no memory for %zu KiB that machines share",
                           packet->n / 1024);
        packet->bytes = larger;
        packet->room = packet->n;
    }
    if (packet->n)
        pack(barrier, &way, packet->bytes);
    return HR_OK;
}

static enum hr_status send_areas(struct hr_gather_barrier *barrier, size_t to, uint32_t round,
                                 unsigned stage)
{
    const struct hr_gather_barrier_options *o = &barrier->options;
    const struct packet *packet = &barrier->packet[to == 0];
    const struct sending way = {stage, o->hosts.self, to};
    for (size_t i = 0; i < o->nareas; i++) {
        const struct note note = {AREA, round, stage, 0, i};
        if (is_sent(barrier, &o->area[i], &way) && !is_small(&o->area[i]))
            HR_TRY(post(barrier, to, &note, (unsigned char *)o->segment + o->area[i].offset,
                        o->area[i].bytes));
    }
    const struct note packed = {.kind = PACK, .round = round, .stage = stage};
    return packet->n ? post(barrier, to, &packed, packet->bytes, packet->n) : HR_OK;
}

/* Do ranks that meet live there? */
static bool has_ranks(const struct hr_gather_barrier *barrier, size_t machine)
{
    for (size_t r = 0; r < barrier->options.nranks; r++)
        if (barrier->options.hosts.machine[r] == machine)
            return true;
    return false;
}

/* Where no rank meets, other ranks may be woken by those of other machines: these leave behind us.
 */
static bool leaves_behind_us(const struct hr_gather_barrier *barrier, size_t machine)
{
    return !barrier->here && has_ranks(barrier, machine);
}

static enum hr_status send_ends(struct hr_gather_barrier *barrier, uint32_t round, bool passed)
{
    const struct hr_gather_barrier_options *o = &barrier->options;
    const struct note end = {.kind = END, .round = round};
    for (size_t m = 0; m < o->hosts.machines; m++)
        if (has(barrier, m) && leaves_behind_us(barrier, m) == passed)
            HR_TRY(post(barrier, m, &end, NULL, 0));
    return HR_OK;
}

/* "node-b (ranks 2 to 3)" of those that are not there yet. */
static enum hr_status name_missing(const struct hr_gather_barrier *barrier, bool come,
                                   uint32_t round, const char *what)
{
    const struct hr_gather_barrier_options *o = &barrier->options;
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

static enum hr_status gather(struct hr_gather_barrier *barrier, struct hr_waiter *waiter,
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

static enum hr_status check_stages(const struct hr_gather_barrier *barrier, unsigned stage,
                                   const char *what)
{
    const struct hr_gather_barrier_options *o = &barrier->options;
    for (size_t m = 0; m < o->hosts.machines; m++) {
        const uint32_t theirs = hr_atom32_load_relaxed(&barrier->other[m].stage); /* behind came */
        if (has(barrier, m) && theirs != stage)
            return hr_fail(HR_E_MISMATCH, "%s: this machine meets at stage %u, %s at stage %u",
                           what, stage, o->wire->host[m], theirs);
    }
    return HR_OK;
}

static enum hr_status exchange(struct hr_gather_barrier *barrier, struct hr_waiter *waiter,
                               uint32_t round, const struct round *how)
{
    const struct hr_gather_barrier_options *o = &barrier->options;
    const struct note come = {COME, round, how->stage, how->alone, 0};
    for (size_t to = 0; to < 2; to++)
        HR_TRY(fill_packet(barrier, how->stage, to));
    hr_atom32_store_release(&barrier->lands, round); /* partner: place */
    HR_TRY(post_all(barrier, &come));
    HR_TRY(gather(barrier, waiter, round, true, how->what));
    HR_TRY(check_stages(barrier, how->stage, how->what));
    for (size_t m = 0; m < o->hosts.machines; m++)
        if (has(barrier, m))
            HR_TRY(send_areas(barrier, m, round, how->stage));
    HR_TRY(send_ends(barrier, round, false));
    return gather(barrier, waiter, round, false, how->what);
}

static enum hr_status conduct(struct hr_gather_barrier *barrier, struct hr_waiter *waiter,
                              unsigned stage, bool alone, const char *what)
{
    const struct round how = {stage, alone, what};
    const struct hr_gather_barrier_options *o = &barrier->options;
    const uint32_t round = hr_atom32_load_relaxed(&barrier->words.passed) + 1; /* our own word */
    HR_TRY(exchange(barrier, waiter, round, &how));
    if (o->in_order)
        HR_TRY(agree(barrier, waiter, round));
    hr_atom32_store_release(&barrier->words.passed, round); /* partner: ranks of this machine */
    HR_TRY(send_ends(barrier, round, true));
    for (size_t r = 0; r < o->nranks; r++)
        if (hr_hosts_here(&o->hosts, r))
            hr_bell_ring(&o->control->rank[r].bell);
    return HR_OK;
}

/* --- ranks --- */

static bool has_passed(void *arg)
{
    const struct gathering *at = arg;
    return is_past(&at->barrier->words.passed, at->round); /* partner: conduct */
}

/* Of the ranks here: "1, 3". */
static enum hr_status name_missing_here(const struct hr_gather_barrier *barrier, uint32_t round,
                                        const char *what)
{
    const struct hr_gather_barrier_options *o = &barrier->options;
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

enum hr_status hr_gather_barrier_at(struct hr_gather_barrier *barrier, size_t rank,
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

enum hr_status hr_gather_barrier_alone(struct hr_gather_barrier *barrier, struct hr_waiter *waiter,
                                       unsigned stage, const char *what)
{
    return conduct(barrier, waiter, stage, true, what);
}

/* --- the launcher, where it conducts --- */

/* Have all ranks of this machine come, or of another, where none of this one does? */
static bool is_due(const struct hr_gather_barrier *barrier, uint32_t round, unsigned *stage)
{
    const struct hr_gather_barrier_options *o = &barrier->options;
    if (barrier->here &&
        is_past(&barrier->words.ready, round)) { /* partner: hr_gather_barrier_at */
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

enum hr_status hr_gather_barrier_conduct(struct hr_gather_barrier *barrier,
                                         struct hr_waiter *waiter, const char *what)
{
    unsigned stage;
    while (barrier->options.led &&
           is_due(barrier, hr_atom32_load_relaxed(&barrier->words.passed) + 1, &stage))
        HR_TRY(conduct(barrier, waiter, stage, false, what));
    return HR_OK;
}

/* --- terms --- */

void hr_gather_barrier_drop(struct hr_gather_barrier *barrier, size_t machine)
{
    barrier->other[machine].gone = true;
}

void hr_gather_barrier_end_term(struct hr_gather_barrier *barrier)
{
    struct hr_atom32 *passed = &barrier->words.passed; /* our own word; no rank waits for it */
    hr_atom32_store_release(passed, hr_atom32_load_relaxed(passed) + 1);
}

void hr_gather_barrier_begin_term(struct hr_gather_barrier *barrier, const struct hr_hosts *hosts)
{
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++) /* what was under way has been dropped */
        barrier->other[m].arriving = false;
    barrier->posted = hr_atom32_load_acquire(&barrier->done); /* partner: the bridge */
    barrier->options.hosts = *hosts;
    barrier->here = 0;
    for (size_t r = 0; r < barrier->options.nranks; r++)
        barrier->here += hr_hosts_here(hosts, r);
}

void hr_gather_barrier_share(struct hr_gather_barrier *barrier, const struct hr_area *area,
                             size_t nareas)
{
    barrier->options.area = area; /* published by lands */
    barrier->options.nareas = nareas;
}

bool hr_gather_barrier_is_called(const struct hr_gather_barrier *barrier, unsigned *stage)
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
