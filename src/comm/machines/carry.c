/* What goes between two machines: messages of rings, direct ones, what rides on their heads, words
 * and credits. Everything here is touched by who has the lock. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines/inside.h"

/* === words with one writer, and their versions ===
 *
 *   Story    before a message is sent, its machine looks whether the words of its own ranks have
 *            changed, and gives them a new version; what the other machine is not known to have
 *            goes with the head. Who receives a newer version stores it, and hands it on.
 *   Order    the words are read after the message was seen in its ring (acquire), so they are as
 *            new as the message; they are stored before it is committed (release). */

void hr_bridge_track(struct hr_bridge *bridge, size_t writer, void *words, size_t bytes)
{
    HR_ASSERT(bytes % 8 == 0 && bytes <= HR_TRACKED_BYTES && (uintptr_t)words % 8 == 0);
    pthread_mutex_lock(&bridge->lock); /* others poll when a term begins */
    HR_ASSERT(bridge->ntracked < HR_TRACKED_REGIONS);
    struct hr_tracked *tracked = &bridge->tracked[bridge->ntracked++];
    *tracked = (struct hr_tracked){.words = words, .writer = writer, .bytes = bytes};
    for (size_t i = 0; i < bytes / 8; i++) /* all machines begin with the same words */
        tracked->copy[i] = hr_atom64_load_relaxed(&tracked->words[i]);
    pthread_mutex_unlock(&bridge->lock);
}

static bool is_ours(const struct hr_bridge *bridge, const struct hr_tracked *tracked)
{
    return hr_hosts_here(&bridge->options.hosts, tracked->writer);
}

static void tracked_look(struct hr_bridge *bridge)
{
    for (size_t t = 0; t < bridge->ntracked; t++) {
        struct hr_tracked *tracked = &bridge->tracked[t];
        bool changed = false;
        for (size_t i = 0; is_ours(bridge, tracked) && i < tracked->bytes / 8; i++) {
            /* Acquire: a word that was stored after another comes with it, or after it. */
            const uint64_t word = hr_atom64_load_acquire(&tracked->words[i]);
            changed |= word != tracked->copy[i];
            tracked->copy[i] = word;
        }
        tracked->version += changed;
    }
}

static size_t words_bytes(const struct hr_tracked *tracked)
{
    return sizeof(struct hr_head_words) + tracked->bytes;
}

static bool is_newer(const struct hr_bridge *bridge, size_t to, size_t t)
{
    return bridge->machine[to].knows[t] < bridge->tracked[t].version;
}

static size_t tracked_due_bytes(const struct hr_bridge *bridge, size_t to)
{
    size_t bytes = 0;
    for (size_t t = 0; t < bridge->ntracked; t++)
        bytes += is_newer(bridge, to, t) ? words_bytes(&bridge->tracked[t]) : 0;
    return bytes;
}

/* Append what that machine does not have, as far as there is room: how many. */
static size_t tracked_pack(struct hr_bridge *bridge, size_t to, struct hr_head *head)
{
    size_t n = 0;
    for (size_t t = 0; t < bridge->ntracked; t++) {
        const struct hr_tracked *tracked = &bridge->tracked[t];
        if (!is_newer(bridge, to, t) || words_bytes(tracked) > hr_head_room(head))
            continue;
        const struct hr_head_words words = {(uint32_t)t, (uint32_t)tracked->bytes,
                                            tracked->version};
        hr_head_add(head, &words, sizeof words);
        hr_head_add(head, tracked->copy, tracked->bytes);
        n++;
    }
    return n;
}

/* That head went; its words, n of them, stand at `at`. The wire loses nothing while its machine
 * lives. */
static void tracked_packed(struct hr_bridge *bridge, size_t to, const void *at, size_t n)
{
    for (const unsigned char *next = at; n--;) {
        const struct hr_head_words *words = (const void *)next;
        bridge->machine[to].knows[words->region] = words->version;
        next += sizeof *words + words->bytes;
    }
}

/* Words that were stored later are stored here later, too: in their order. */
static void store_words(struct hr_tracked *tracked, uint64_t version, const void *from)
{
    memcpy(tracked->copy, from, tracked->bytes);
    tracked->version = version;
    for (size_t i = 0; i < tracked->bytes / 8; i++)
        hr_atom64_store_release(&tracked->words[i], tracked->copy[i]); /* partner: its readers */
}

bool hr_tracked_unpack(struct hr_bridge *bridge, size_t from, size_t n,
                       struct hr_head_reader *reader)
{
    while (n--) {
        const struct hr_head_words *words = hr_head_take(reader, sizeof *words);
        const void *data = words ? hr_head_take(reader, words->bytes) : NULL;
        if (!data || words->region >= bridge->ntracked ||
            words->bytes != bridge->tracked[words->region].bytes)
            return false;
        struct hr_tracked *tracked = &bridge->tracked[words->region];
        uint64_t *knows = &bridge->machine[from].knows[words->region];
        *knows = words->version > *knows ? words->version : *knows;
        if (words->version > tracked->version && !is_ours(bridge, tracked))
            store_words(tracked, words->version, data);
    }
    return true;
}

/* --- credits: how many messages of a ring its consumer has released --- */

/* How many messages the rank has released. */
static uint64_t released(const struct hr_landing *landing)
{
    return hr_atom64_load_acquire(&landing->ring->head); /* partner: the consumer's release */
}

static void note_credits(struct hr_bridge *bridge, size_t rank)
{
    for (struct hr_landing *l = bridge->landing_from[rank]; l; l = l->next) {
        struct hr_machine *machine = &bridge->machine[l->machine];
        if (l->due || released(l) == l->credited)
            continue;
        machine->due[machine->ndue++] = l;
        l->due = true;
    }
}

/* The same for credits that are due. */
static size_t landing_pack(struct hr_bridge *bridge, size_t to, struct hr_head *head)
{
    const struct hr_machine *machine = &bridge->machine[to];
    size_t n = 0;
    for (; n < machine->ndue && hr_head_room(head) >= sizeof(struct hr_head_credit); n++) {
        const struct hr_landing *l = machine->due[machine->ndue - 1 - n];
        const struct hr_head_credit credit = {l->number, (uint32_t)released(l)};
        hr_head_add(head, &credit, sizeof credit);
    }
    return n;
}

static void landing_packed(struct hr_bridge *bridge, size_t to, const struct hr_head_credit *credit,
                           size_t n)
{
    struct hr_machine *machine = &bridge->machine[to];
    for (; n--; credit++) {
        struct hr_landing *l = machine->due[--machine->ndue];
        l->due = false;
        l->credited += (uint32_t)(credit->released - (uint32_t)l->credited);
    }
}

/* === one head after the other, each with the words and credits that are due === */

/* Of words in one head that carries something else, too. */
enum { WORDS_BESIDE = 256 };

void hr_bridge_fail(struct hr_bridge *bridge, enum hr_status status, const char *format, ...)
{
    char text[sizeof bridge->failure.message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hr_control_abort(bridge->options.control, HR_MAX_RANKS, status, text);
}

bool hr_bridge_send(struct hr_bridge *bridge, size_t to, struct hr_head *head, const void *body,
                    size_t bytes, bool *done)
{
    struct hr_head_base *base = (struct hr_head_base *)(void *)head->at;
    const unsigned char *words = head->at + head->bytes;
    base->words = base->bare ? 0 : (uint8_t)tracked_pack(bridge, to, head);
    const void *credits = head->at + head->bytes;
    base->credits = base->bare ? 0 : (uint8_t)landing_pack(bridge, to, head);
    if (!hr_wire_send(bridge->options.wire, to, head->at, head->bytes, body, bytes, done))
        return false;
    tracked_packed(bridge, to, words, base->words);
    landing_packed(bridge, to, credits, base->credits);
    bridge->carried.messages_sent++;
    bridge->carried.bytes_sent += head->bytes + bytes;
    return true;
}

/* Words that a machine does not have go ahead, if they would not fit into one head. False: no
 * room. */
static bool tracked_ahead(struct hr_bridge *bridge, size_t to)
{
    while (tracked_due_bytes(bridge, to) > WORDS_BESIDE) {
        struct hr_head head;
        hr_head_begin(&head, HR_HEAD_NOTHING, bridge->term);
        if (!hr_bridge_send(bridge, to, &head, NULL, 0, NULL))
            return false;
    }
    return true;
}

/* A sender has half a ring left when it is told. */
void hr_credits_alone(struct hr_bridge *bridge)
{
    for (size_t m = 0; m < bridge->machines && bridge->stage == HR_TERM_RUNS; m++) {
        struct hr_machine *machine = &bridge->machine[m];
        bool now = false;
        for (size_t i = 0; i < machine->ndue && !now && hr_bridge_speaks_to(bridge, m); i++) {
            const struct hr_landing *l = machine->due[i];
            now = (released(l) - l->credited) * 2 > l->ring->mask;
        }
        if (now) {
            struct hr_head head;
            hr_head_begin(&head, HR_HEAD_NOTHING, bridge->term);
            hr_bridge_send(bridge, m, &head, NULL, 0, NULL); /* else later */
        }
    }
}

/* === rings whose consumer lives here: bytes land, messages are committed ===
 *
 *   Story    what has landed and is not released is remembered, machine by machine, in the order of
 *            its coming. Bytes that overlap with something remembered, or whose ring has something
 *            waiting, are put aside; they are copied to their place when nothing before them in
 *            the list overlaps any more. If they are what lies there they need not wait: the same
 *            memory was sent to several.
 *   Safety   whoever overwrites what it has sent would, on one machine, have waited until all had
 *            released it. So who waits for a release here, with other bytes, comes after it in
 *            every order of one machine, and nobody waits in a circle. Of the same bytes that is
 *            not true: a rank may keep its message until the others have theirs. */

/* --- what has landed --- */

static bool is_released(const struct hr_landed *landed)
{
    return !landed->waits && landed->whole && released(landed->landing) > landed->number;
}

static void forget_released(struct hr_machine *machine)
{
    size_t kept = 0;
    for (size_t i = 0; i < machine->nlanded; i++)
        if (!is_released(&machine->landed[i]))
            machine->landed[kept++] = machine->landed[i];
    machine->nlanded = kept;
}

static bool overlap(const struct hr_landed *landed, size_t begin, size_t bytes)
{
    return begin < landed->begin + landed->bytes && landed->begin < begin + bytes;
}

/* Does something that is remembered lie where these bytes go? */
static bool is_taken(const struct hr_machine *machine, size_t begin, size_t bytes)
{
    for (size_t i = 0; i < machine->nlanded; i++)
        if (overlap(&machine->landed[i], begin, bytes))
            return true;
    return false;
}

static struct hr_landed *append_landed(struct hr_machine *machine)
{
    if (machine->nlanded == machine->room) {
        const size_t room = machine->room ? 2 * machine->room : 16;
        struct hr_landed *larger = realloc(machine->landed, room * sizeof *larger);
        if (!larger)
            return NULL;
        machine->landed = larger;
        machine->room = room;
    }
    machine->landed[machine->nlanded] = (struct hr_landed){0};
    return &machine->landed[machine->nlanded++];
}

static void commit(struct hr_bridge *bridge, struct hr_landing *l, const struct hr_message *message)
{
    struct hr_message *slot = hr_ring_try_reserve_spsc(l->ring);
    HR_ASSERT(slot); /* the sender has seen to it */
    *slot = *message;
    hr_ring_commit_spsc(l->ring);
    hr_bell_ring(&bridge->options.control->rank[l->to].bell);
}

/* --- coming --- */

static struct hr_landing *find_landing(struct hr_bridge *bridge, size_t from,
                                       const struct hr_head_message *head)
{
    struct hr_landing *l = head->ring < bridge->nrings ? bridge->landing[head->ring] : NULL;
    const struct hr_bridge_options *o = &bridge->options;
    const bool fits = l && l->machine == from &&
                      head->ring_at == (uintptr_t)l->ring - (uintptr_t)o->segment &&
                      head->number == l->expected && head->offset <= o->segment_bytes &&
                      head->bytes <= o->segment_bytes - head->offset;
    if (!fits)
        hr_bridge_fail(bridge, HR_E_FAILED,
                       "%s sent message %llu of ring %u, which is not what this machine expects: "
                       "the runs there and here are not the same",
                       o->wire->host[from], (unsigned long long)head->number, head->ring);
    return fits ? l : NULL;
}

/* Where the bytes of a message go that begins. */
static bool choose_place(struct hr_bridge *bridge, struct hr_machine *machine, struct hr_landing *l,
                         const struct hr_head_message *head)
{
    l->where = (unsigned char *)bridge->options.segment + head->offset;
    const bool apart = head->slot || !head->bytes; /* nothing overlaps with it */
    if (apart && !l->aside)
        return true;
    forget_released(machine);
    const bool waits = l->aside || is_taken(machine, head->offset, head->bytes);
    unsigned char *aside = waits && !apart ? malloc(head->bytes) : NULL;
    struct hr_landed *landed = waits && !apart && !aside ? NULL : append_landed(machine);
    if (!landed) {
        free(aside);
        hr_bridge_fail(bridge, HR_E_NOMEM, "no memory for %llu bytes that have come from %s",
                       (unsigned long long)head->bytes, bridge->options.wire->host[l->machine]);
        return false;
    }
    *landed = (struct hr_landed){.landing = l,
                                 .number = head->number,
                                 .begin = apart ? 0 : head->offset,
                                 .bytes = apart ? 0 : head->bytes,
                                 .aside = aside,
                                 .waits = waits};
    l->aside += waits;
    bridge->carried.put_aside += aside != NULL;
    if (aside)
        l->where = aside;
    return true;
}

bool hr_landing_place(struct hr_bridge *bridge, size_t from, const struct hr_head_message *head,
                      bool last, void **where)
{
    struct hr_landing *l = find_landing(bridge, from, head);
    if (!l)
        return false;
    if (!l->receiving && !choose_place(bridge, &bridge->machine[from], l, head))
        return false;
    *where = l->where + head->part_at;
    l->receiving = !last;
    l->expected += last;
    return true;
}

static struct hr_landed *remembered(struct hr_machine *machine, const struct hr_landing *l,
                                    uint64_t number)
{
    for (size_t i = machine->nlanded; i-- > 0;)
        if (machine->landed[i].landing == l && machine->landed[i].number == number)
            return &machine->landed[i];
    return NULL;
}

void hr_landing_arrived(struct hr_bridge *bridge, size_t from, const struct hr_head_message *head,
                        bool last)
{
    struct hr_landing *l = bridge->landing[head->ring];
    if (!last)
        return;
    struct hr_landed *landed = remembered(&bridge->machine[from], l, head->number);
    if (landed)
        landed->whole = true;
    if (landed && landed->waits)
        landed->message = head->message;
    else
        commit(bridge, l, &head->message);
}

/* --- from aside to its place --- */

static bool is_next(const struct hr_landed *landed)
{
    return landed->waits && landed->whole &&
           hr_ring_committed_spsc(landed->landing->ring) == landed->number;
}

/* Do the bytes that wait lie there already? Asked again when something has landed since. */
static bool lies_there(const struct hr_bridge *bridge, const struct hr_machine *machine,
                       struct hr_landed *landed)
{
    const unsigned char *there = (const unsigned char *)bridge->options.segment + landed->begin;
    if (!landed->aside)
        return true;
    if (landed->compared == machine->landings)
        return false;
    landed->compared = machine->landings;
    return memcmp(there, landed->aside, landed->bytes) == 0;
}

/* What a message that waits meets in its place. */
enum meets { MEETS_NOTHING, MEETS_BYTES, MEETS_ONE_TO_COME };

static enum meets what_it_meets(const struct hr_machine *machine, size_t n)
{
    enum meets meets = MEETS_NOTHING;
    for (size_t i = 0; i < n; i++) {
        const struct hr_landed *other = &machine->landed[i];
        if (!overlap(other, machine->landed[n].begin, machine->landed[n].bytes))
            continue;
        if (other->waits || !other->whole)
            return MEETS_ONE_TO_COME;
        meets = MEETS_BYTES;
    }
    return meets;
}

static void land(struct hr_bridge *bridge, struct hr_machine *machine, struct hr_landed *landed,
                 bool copies)
{
    machine->landings++;
    if (landed->aside && copies)
        memcpy((unsigned char *)bridge->options.segment + landed->begin, landed->aside,
               landed->bytes);
    free(landed->aside);
    landed->aside = NULL;
    landed->waits = false;
    landed->landing->aside--;
    commit(bridge, landed->landing, &landed->message);
    bridge->moved = true;
}

void hr_landing_go(struct hr_bridge *bridge)
{
    for (size_t m = 0; m < bridge->machines; m++) {
        struct hr_machine *machine = &bridge->machine[m];
        bool waits = false;
        for (size_t i = 0; i < machine->nlanded && !waits; i++)
            waits = machine->landed[i].waits;
        if (!waits)
            continue;
        forget_released(machine);
        for (size_t i = 0; i < machine->nlanded; i++) {
            struct hr_landed *landed = &machine->landed[i];
            const enum meets meets =
                is_next(landed) ? what_it_meets(machine, i) : MEETS_ONE_TO_COME;
            if (meets == MEETS_NOTHING ||
                (meets == MEETS_BYTES && lies_there(bridge, machine, landed)))
                land(bridge, machine, landed, meets == MEETS_NOTHING);
        }
    }
}

/* === rings whose producer lives here: messages are sent, and released when that is done === */

static const unsigned char *body_of(const struct hr_bridge *bridge, const struct hr_cargo *cargo)
{
    return (const unsigned char *)bridge->options.segment + cargo->offset;
}

static void activate(struct hr_bridge *bridge, struct hr_sending *sending)
{
    if (!sending->active)
        bridge->active[bridge->nactive++] = sending;
    sending->active = true;
}

void hr_bridge_stir(struct hr_bridge *bridge, size_t rank)
{
    for (struct hr_sending *s = bridge->sending_to[rank]; s; s = s->next)
        activate(bridge, s);
    note_credits(bridge, rank);
}

void hr_credit_arrived(struct hr_bridge *bridge, const struct hr_head_credit *credit)
{
    struct hr_sending *sending =
        credit->ring < bridge->nrings ? bridge->sending[credit->ring] : NULL;
    if (!sending) {
        hr_bridge_fail(bridge, HR_E_FAILED, "a machine gives credit for ring %u, which is not ours",
                       credit->ring);
        return;
    }
    sending->released += (uint32_t)(credit->released - (uint32_t)sending->released);
    activate(bridge, sending);
}

/* Give back what has been sent; true when there was something. */
static bool retire_sent(struct hr_bridge *bridge, struct hr_sending *s)
{
    bool freed = false;
    for (; s->nparts && s->part[s->first].done; s->nparts--) {
        if (s->part[s->first].last) {
            hr_ring_release_spsc(s->ring);
            freed = true;
        }
        s->first = (s->first + 1) % HR_SENDING_PARTS;
    }
    if (freed) /* its producer may wait for room, or for all of it to be gone */
        hr_bell_ring(&bridge->options.control->rank[s->from].bell);
    return freed;
}

/* Send one part; false when there is none to send, or no room. */
static bool send_part(struct hr_bridge *bridge, struct hr_sending *s)
{
    const struct hr_message *message =
        s->taken - s->released <= s->ring->mask && s->nparts < HR_SENDING_PARTS
            ? hr_ring_peek_at_spsc(s->ring, s->taken)
            : NULL;
    if (!message)
        return false;
    tracked_look(bridge); /* after the message was seen */
    if (!s->begun) {
        s->now = s->cargo ? s->cargo(s->arg, s->ring, message) : (struct hr_cargo){0};
        s->begun = true;
        s->sent = 0;
        HR_ASSERT(s->now.offset <= bridge->options.segment_bytes &&
                  s->now.bytes <= bridge->options.segment_bytes - s->now.offset);
    }
    const size_t left = s->now.bytes - s->sent, most = bridge->options.part_bytes,
                 bytes = left < most ? left : most;
    struct hr_head head;
    struct hr_body_part *part = &s->part[(s->first + s->nparts) % HR_SENDING_PARTS];
    if (!tracked_ahead(bridge, s->machine))
        return false;
    hr_head_begin(&head, HR_HEAD_MESSAGE, bridge->term)->last = bytes == left;
    hr_head_add(&head,
                &(struct hr_head_message){s->number, s->now.slot,
                                          (uintptr_t)s->ring - (uintptr_t)bridge->options.segment,
                                          s->taken, s->now.offset, s->now.bytes, s->sent, *message},
                sizeof(struct hr_head_message));
    *part = (struct hr_body_part){.last = bytes == left};
    if (!hr_bridge_send(bridge, s->machine, &head, body_of(bridge, &s->now) + s->sent, bytes,
                        &part->done))
        return false;
    s->nparts++;
    s->sent += bytes;
    if (bytes == left) {
        s->taken++;
        s->begun = false;
    }
    return true;
}

/* A machine that is lost takes everything, and needs nothing. */
static void discard(struct hr_sending *s)
{
    for (; hr_ring_peek_at_spsc(s->ring, s->taken); s->taken++)
        hr_ring_release_spsc(s->ring);
}

static bool has_more(const struct hr_sending *s)
{
    return s->nparts ||
           (s->taken - s->released <= s->ring->mask && hr_ring_peek_at_spsc(s->ring, s->taken));
}

void hr_sending_go(struct hr_bridge *bridge)
{
    bool any = bridge->nactive != 0;
    while (any) { /* a part of each in turn */
        any = false;
        for (size_t i = 0; i < bridge->nactive; i++) {
            struct hr_sending *s = bridge->active[i];
            bridge->moved |= retire_sent(bridge, s);
            if (bridge->machine[s->machine].gone && !s->nparts)
                discard(s);
            else if (!bridge->machine[s->machine].gone && bridge->stage == HR_TERM_RUNS)
                any |= send_part(bridge, s);
            bridge->moved |= retire_sent(bridge, s); /* a small one is sent at once */
        }
        bridge->moved |= any;
    }
    for (size_t i = 0; i < bridge->nactive;) {
        struct hr_sending *s = bridge->active[i];
        s->active = has_more(s);
        if (s->active)
            i++;
        else
            bridge->active[i] = bridge->active[--bridge->nactive];
    }
}

/* === direct messages: bytes for who listens on a channel; to a machine one after the other === */

void hr_bridge_listen(struct hr_bridge *bridge, size_t channel, const struct hr_wire_sink *sink)
{
    HR_ASSERT(channel < HR_BRIDGE_CHANNELS);
    pthread_mutex_lock(&bridge->lock);
    bridge->sink[channel] = *sink;
    pthread_mutex_unlock(&bridge->lock);
}

enum hr_status hr_bridge_post(struct hr_bridge *bridge, size_t to, size_t channel, const void *note,
                              size_t note_bytes, const void *body, size_t bytes,
                              struct hr_atom32 *done, struct hr_bell *bell)
{
    struct hr_direct_message *message = calloc(1, sizeof *message);
    if (!message)
        return hr_fail(HR_E_NOMEM, "no memory for a message to another machine");
    HR_ASSERT(note_bytes <= HR_DIRECT_NOTE && note_bytes % 8 == 0 && to != bridge->self);
    message->head = (struct hr_head_direct){(uint32_t)channel, (uint32_t)note_bytes, bytes, 0};
    memcpy(message->note, note, note_bytes);
    message->body = body;
    message->done = done;
    message->bell = bell;
    pthread_mutex_lock(&bridge->lock);
    message->term = channel == HR_CHANNEL_OF_A_TERM ? bridge->term : 0;
    message->bare = !message->term || bridge->stage != HR_TERM_RUNS;
    struct hr_machine *machine = &bridge->machine[to];
    if (machine->first)
        machine->last->next = message;
    else
        machine->first = message;
    machine->last = message;
    pthread_mutex_unlock(&bridge->lock);
    return HR_OK;
}

/* --- sending --- */

static bool send_direct_part(struct hr_bridge *bridge, size_t to, struct hr_direct_message *message)
{
    const size_t left = message->head.bytes - message->head.part_at,
                 most = bridge->options.part_bytes, bytes = left < most ? left : most;
    struct hr_head head;
    struct hr_body_part *part =
        &message->part[(message->first + message->nparts) % HR_SENDING_PARTS];
    tracked_look(bridge);
    if (message->nparts == HR_SENDING_PARTS || (!message->bare && !tracked_ahead(bridge, to)))
        return false;
    struct hr_head_base *base = hr_head_begin(&head, HR_HEAD_DIRECT, message->term);
    base->last = bytes == left;
    base->bare = message->bare;
    hr_head_add(&head, &message->head, sizeof message->head);
    hr_head_add(&head, message->note, message->head.note_bytes);
    if (!hr_bridge_send(bridge, to, &head,
                        (const void *)((uintptr_t)message->body + message->head.part_at), bytes,
                        &part->done))
        return false;
    message->nparts++;
    message->head.part_at += bytes;
    message->all_sent = bytes == left;
    bridge->moved = true;
    return true;
}

static bool retire_direct(struct hr_direct_message *message)
{
    for (; message->nparts && message->part[message->first].done; message->nparts--)
        message->first = (message->first + 1) % HR_SENDING_PARTS;
    return message->all_sent && !message->nparts;
}

static void drop_first(struct hr_machine *machine)
{
    struct hr_direct_message *message = machine->first;
    machine->first = message->next;
    if (message->done)
        hr_atom32_fetch_add_release(message->done, 1); /* partner: who posted it */
    if (message->bell)
        hr_bell_ring(message->bell);
    if (!message->nparts) /* else the wire of a lost machine may still say that they are done */
        free(message);
}

void hr_direct_go(struct hr_bridge *bridge)
{
    for (size_t m = 0; m < bridge->machines; m++) {
        struct hr_machine *machine = &bridge->machine[m];
        for (struct hr_direct_message *l = machine->first; l && !machine->gone; l = l->next) {
            retire_direct(l);
            while (!l->all_sent && send_direct_part(bridge, m, l))
                retire_direct(l);
            if (!l->all_sent)
                break;
        }
        while (machine->first && (retire_direct(machine->first) || machine->gone))
            drop_first(machine);
    }
}

bool hr_direct_is_due(const struct hr_bridge *bridge)
{
    for (size_t m = 0; m < bridge->machines; m++)
        for (const struct hr_direct_message *l = bridge->machine[m].first; l; l = l->next)
            if (l->term && l->bare && !l->all_sent)
                return true;
    return false;
}

void hr_direct_drop(struct hr_bridge *bridge, size_t machine)
{
    while (bridge->machine[machine].first)
        drop_first(&bridge->machine[machine]);
}

/* --- coming --- */

bool hr_direct_place(struct hr_bridge *bridge, size_t from, const struct hr_head_direct *head,
                     const void *note, void **where)
{
    struct hr_machine *machine = &bridge->machine[from];
    const struct hr_wire_sink *sink =
        head->channel < HR_BRIDGE_CHANNELS ? &bridge->sink[head->channel] : NULL;
    struct hr_direct_coming *coming = &machine->direct[head->channel == HR_CHANNEL_OF_A_TERM];
    void *at = NULL;
    if (!sink || !sink->place || (coming->receiving && !head->part_at))
        return false; /* one at a time */
    if (!coming->receiving &&
        !sink->place(sink->arg, from, note, head->note_bytes, head->bytes, &at))
        return false;
    if (!coming->receiving)
        coming->where = at;
    coming->receiving = true;
    *where = (void *)((uintptr_t)coming->where + head->part_at);
    return true;
}

void hr_direct_arrived(struct hr_bridge *bridge, size_t from, const struct hr_head_direct *head,
                       const void *note, bool last)
{
    const struct hr_wire_sink *sink = &bridge->sink[head->channel];
    if (!last)
        return;
    bridge->machine[from].direct[head->channel == HR_CHANNEL_OF_A_TERM].receiving = false;
    sink->arrived(sink->arg, from, note, head->note_bytes);
}
