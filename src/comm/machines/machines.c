#include "machines/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/size.h"

enum kind { WORD, ASK, TELL, ASKED };

static const char magic[8] = "MACHINES";

/* A head. */
struct head {
    char magic[8]; /* no other head begins so */
    uint32_t kind, gathering;
    int64_t time; /* of TELL: machine 0's own clock */
    unsigned char said[HR_MACHINES_BYTES];
};

_Static_assert(sizeof(struct head) == HR_WIRE_HEAD, "a word fills a head");

enum { SAID = offsetof(struct head, said), QUESTIONS = 64, WASTE_BYTES = 2 << 20 };

/* Between two looks, when nothing moves. */
static const int64_t SPIN_NS = 200 * 1000, NAP_NS = 50 * 1000;
/* Between two probes of who is waited for. */
static const int64_t PROBE_NS = HR_NS_PER_SECOND;

void hr_machines_init(struct hr_wire *wire, int64_t timeout_ns, struct hr_machines *out)
{
    *out = (struct hr_machines){.wire = wire, .timeout_ns = timeout_ns};
}

/* --- what arrives --- */

static bool is_ours(const void *bytes, size_t head_bytes)
{
    return head_bytes >= SAID && head_bytes <= sizeof(struct head) &&
           !memcmp(bytes, magic, sizeof magic);
}

/* Of the bridge: it waits for it, or comes too late. */
static bool place_waste(struct hr_machines *machines, size_t from, size_t bytes, void **where)
{
    if (!machines->ran)
        return false;
    if (bytes > WASTE_BYTES)
        return false;
    if (bytes && !machines->waste[from]) /* several bodies may be under way into it */
        machines->waste[from] = malloc(WASTE_BYTES);
    if (bytes && !machines->waste[from])
        return false;
    *where = machines->waste[from];
    return true;
}

static bool place(void *arg, size_t from, const void *bytes, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_machines *machines = arg;
    struct head head;
    if (hr_wire_is_probe(bytes, head_bytes))
        return true;
    if (!is_ours(bytes, head_bytes))
        return place_waste(machines, from, body_bytes, where);
    memcpy(&head, bytes, head_bytes);
    /* Of a later gathering: of one that we have not come to. */
    return head.kind != WORD || head.gathering == machines->gatherings;
}

static struct head head_of(enum kind kind)
{
    struct head head = {.kind = kind};
    memcpy(head.magic, magic, sizeof magic);
    return head;
}

/* Later, where there is no room now. */
static void send_time(struct hr_machines *machines, size_t to)
{
    struct head head = head_of(TELL);
    head.time = hr_clock_own_ns();
    machines->owes[to] = !hr_wire_send(machines->wire, to, &head, SAID, NULL, 0, NULL);
}

static void note_time(struct hr_machines *machines, int64_t time)
{
    struct hr_machine_clock *clock = &machines->clock[machines->wire->self];
    const int64_t now = hr_clock_own_ns(), round = now - machines->asked_ns;
    if (machines->asked_ns && (clock->error_ns < 0 || round / 2 + 1 < clock->error_ns))
        *clock = (struct hr_machine_clock){time - (machines->asked_ns + round / 2), round / 2 + 1};
    machines->asked_ns = 0;
    machines->here[0] = true;
}

static void arrived(void *arg, size_t from, const void *bytes, size_t head_bytes)
{
    struct hr_machines *machines = arg;
    struct head head = {0};
    if (!is_ours(bytes, head_bytes))
        return;
    memcpy(&head, bytes, head_bytes);
    switch ((enum kind)head.kind) {
    case WORD:
        if (head_bytes == SAID + machines->bytes)
            memcpy(machines->all + from * machines->bytes, head.said, machines->bytes);
        machines->here[from] = head_bytes == SAID + machines->bytes;
        return;
    case ASK:
        send_time(machines, from);
        return;
    case TELL:
        note_time(machines, head.time);
        return;
    case ASKED:
        machines->here[from] = true;
        return;
    }
}

/* --- waiting --- */

static bool look(struct hr_machines *machines)
{
    const struct hr_wire_sink sink = {machines, place, arrived};
    for (size_t m = 0; m < machines->wire->machines; m++)
        if (machines->owes[m])
            send_time(machines, m);
    return hr_wire_poll(machines->wire, &sink);
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

/* Of those that we wait for. */
static enum hr_status look_for_losses(struct hr_machines *machines, const char *what)
{
    size_t machine;
    while (hr_wire_lost(machines->wire, &machine, machines->why, sizeof machines->why))
        machines->lost[machine] = true;
    for (size_t m = 0; m < machines->wire->machines; m++)
        if (machines->lost[m] && (machines->parts || machines->without[m]))
            machines->here[m] = true;
        else if (machines->lost[m] && !machines->here[m])
            return hr_fail(HR_E_LOST, "%s is lost: %s (waited for %s)", machines->wire->host[m],
                           machines->why, what);
    return HR_OK;
}

static bool all_here(const struct hr_machines *machines)
{
    for (size_t m = 0; m < machines->wire->machines; m++)
        if (!machines->here[m])
            return false;
    return true;
}

static enum hr_status name_missing(const struct hr_machines *machines, int64_t waited_ns,
                                   const char *what)
{
    char missing[300] = "";
    for (size_t m = 0; m < machines->wire->machines; m++) {
        const size_t used = strlen(missing);
        if (!machines->here[m])
            snprintf(missing + used, sizeof missing - used, "%s%s", used ? ", " : "",
                     machines->wire->host[m]);
    }
    return hr_fail(HR_E_TIMEOUT, "waited %.1f s for %s: not there: %s", hr_seconds(waited_ns), what,
                   missing);
}

/* Machines that compute before they come say nothing, nor do those that are gone. */
static void probe_missing(struct hr_machines *machines)
{
    for (size_t m = 0; m < machines->wire->machines; m++)
        if (m != machines->wire->self && !machines->here[m] && !machines->lost[m])
            hr_wire_probe(machines->wire, m);
}

/* Look until `ready`, or until it is clear that it will not be. */
static enum hr_status wait_for(struct hr_machines *machines,
                               bool (*ready)(const struct hr_machines *), const char *what)
{
    const int64_t began = hr_clock_own_ns();
    int64_t moved = began, probed = began;
    while (!ready(machines)) {
        const bool moves = look(machines);
        const int64_t now = hr_clock_own_ns();
        moved = moves ? now : moved;
        if (now - probed >= PROBE_NS) {
            probe_missing(machines);
            probed = now;
        }
        HR_TRY(look_for_losses(machines, what));
        if (machines->timeout_ns && now - began >= machines->timeout_ns)
            return name_missing(machines, now - began, what);
        if (now - moved > SPIN_NS)
            nap();
    }
    return HR_OK;
}

static enum hr_status send(struct hr_machines *machines, size_t to, const struct head *head,
                           size_t bytes)
{
    const int64_t began = hr_clock_own_ns();
    while (!hr_wire_send(machines->wire, to, head, bytes, NULL, 0, NULL)) {
        HR_TRY(look_for_losses(machines, "room to send"));
        if (machines->lost[to] && (machines->parts || machines->without[to]))
            return HR_OK;
        if (machines->lost[to])
            return hr_fail(HR_E_LOST, "%s is lost", machines->wire->host[to]);
        if (machines->timeout_ns && hr_clock_own_ns() - began >= machines->timeout_ns)
            return hr_fail(HR_E_TIMEOUT, "waited %.1f s to send to %s",
                           hr_seconds(hr_clock_own_ns() - began), machines->wire->host[to]);
        if (!look(machines))
            nap();
    }
    return HR_OK;
}

enum hr_status hr_machines_gather(struct hr_machines *machines, const void *mine, size_t bytes,
                                  void *all, const char *what)
{
    const struct hr_wire *wire = machines->wire;
    struct head head = head_of(WORD);
    HR_ASSERT(bytes <= HR_MACHINES_BYTES);
    head.gathering = ++machines->gatherings;
    memcpy(head.said, mine, bytes);
    machines->bytes = bytes;
    machines->all = all;
    memcpy(machines->here, machines->without, sizeof machines->here);
    memset(machines->all, 0, wire->machines * bytes);
    memcpy(machines->all + wire->self * bytes, mine, bytes);
    machines->here[wire->self] = true;
    for (size_t m = 0; m < wire->machines; m++)
        if (m != wire->self && !machines->without[m])
            HR_TRY(send(machines, m, &head, SAID + bytes));
    return wait_for(machines, all_here, what);
}

/* --- failures --- */

struct word {
    int32_t status;
    char message[HR_MACHINES_BYTES - sizeof(int32_t)];
};

enum hr_status hr_machines_fail(struct hr_machines *machines, enum hr_status status,
                                const char *what)
{
    const struct hr_wire *wire = machines->wire;
    struct word mine = {.status = (int32_t)status}, all[HR_WIRE_MACHINES];
    if (status != HR_OK)
        snprintf(mine.message, sizeof mine.message, "%s", hr_error_message());
    const enum hr_status gathered = hr_machines_gather(machines, &mine, sizeof mine, all, what);
    if (status != HR_OK && gathered != HR_OK) /* it may have been why */
        return hr_fail(status, "%s", mine.message);
    HR_TRY(gathered);
    for (size_t m = 0; m < wire->machines; m++)
        if (all[m].status != HR_OK && m == wire->self)
            return hr_fail(status, "%s", mine.message);
        else if (all[m].status != HR_OK)
            return hr_fail((enum hr_status)all[m].status, "%s: %.*s", wire->host[m],
                           (int)sizeof all[m].message - 1, all[m].message);
    return HR_OK;
}

/* --- clocks --- */

static bool is_answered(const struct hr_machines *machines)
{
    return !machines->asked_ns;
}

/* Machine 0 says nothing of its own until all have asked: its answers would be behind that. */
static enum hr_status answer_all(struct hr_machines *machines, const char *what)
{
    for (size_t m = 0; m < machines->wire->machines; m++)
        machines->here[m] = m == 0;
    return wait_for(machines, all_here, what);
}

static enum hr_status ask_often(struct hr_machines *machines, const char *what)
{
    const struct head ask = head_of(ASK), asked = head_of(ASKED);
    for (int i = 0; i < QUESTIONS; i++) {
        memset(machines->here, 1, sizeof machines->here);
        machines->here[0] = false; /* it alone is waited for */
        machines->asked_ns = hr_clock_own_ns();
        HR_TRY(send(machines, 0, &ask, SAID));
        HR_TRY(wait_for(machines, is_answered, what));
    }
    return send(machines, 0, &asked, SAID);
}

enum hr_status hr_machines_clock(struct hr_machines *machines)
{
    static const char what[] = "the clocks to be compared";
    const size_t self = machines->wire->self;
    machines->clock[self] = (struct hr_machine_clock){0, self ? -1 : 0};
    HR_TRY(self ? ask_often(machines, what) : answer_all(machines, what));
    const struct hr_machine_clock mine = machines->clock[self];
    HR_TRY(hr_machines_gather(machines, &mine, sizeof mine, machines->clock, what));
    hr_clock_set_offset(mine.offset_ns);
    return HR_OK;
}

enum hr_status hr_machines_part(struct hr_machines *machines)
{
    static const char what[] = "all others to end";
    const char mine = 0;
    char all[HR_WIRE_MACHINES];
    if (machines->wire->abandoned)
        return HR_OK; /* nobody would answer */
    HR_TRY(hr_machines_gather(machines, &mine, sizeof mine, all, what));
    machines->parts = true;
    return hr_machines_gather(machines, &mine, sizeof mine, all, what);
}

/* --- the beginning, and the end --- */

/* One may read a large data set before it comes to where another waits. */
static const int64_t BEGIN_NS = 600 * HR_NS_PER_SECOND, PART_NS = 5 * HR_NS_PER_SECOND;

/* The same bits on all: what one has not, none uses. */
static void resolve_isa(const struct hr_machines *machines)
{
    char(*const host)[HR_WIRE_HOST] = machines->wire->host;
    const struct hr_machine_traits *traits = machines->traits;
    const bool says = machines->wire->self == 0;
    size_t lowest = 0, highest = 0, with_amx = 0, without_amx = 0;
    for (size_t m = 0; m < machines->wire->machines; m++) {
        lowest = traits[m].level < traits[lowest].level ? m : lowest;
        highest = traits[m].level > traits[highest].level ? m : highest;
        *(traits[m].sums_as_amx ? &with_amx : &without_amx) = m;
    }
    const char *name = hr_isa_level_name(traits[lowest].level);
    const bool apart = traits[with_amx].sums_as_amx && !traits[without_amx].sums_as_amx;
    if (says && traits[lowest].level < traits[highest].level)
        hr_log(HR_LOG_INFO, "%s has the instruction set %s, and %s no more than %s: all use %s",
               host[highest], traits[highest].isa, host[lowest], name, name);
    else if (says && apart)
        hr_log(HR_LOG_INFO, "%s has AMX tiles, or their order, and %s has not: none uses it",
               host[with_amx], host[without_amx]);
    if (traits[lowest].level < hr_isa())
        hr_isa_lower(traits[lowest].level);
    if (!traits[without_amx].sums_as_amx)
        hr_isa_sum_as_amx(false);
}

enum hr_status hr_machines_open(struct hr_wire *wire, struct hr_machines *out)
{
    struct hr_machine_traits mine = {.processors = hr_cpus_allowed(),
                                     .cores = hr_cpus_cores(),
                                     .level = hr_isa(),
                                     .sums_as_amx = hr_isa_sums_as_amx()};
    snprintf(mine.isa, sizeof mine.isa, "%s", hr_isa_full_name());
    hr_machines_init(wire, BEGIN_NS, out);
    out->cores = (size_t)mine.cores;
    HR_TRY(hr_machines_clock(out));
    HR_TRY(hr_machines_gather(out, &mine, sizeof mine, out->traits, "all machines to begin"));
    for (size_t m = 0; m < wire->machines; m++)
        out->cores = hr_min_size(out->cores, (size_t)out->traits[m].cores);
    resolve_isa(out);
    return HR_OK;
}

void hr_machines_close(struct hr_machines *machines)
{
    machines->timeout_ns = PART_NS;
    /* Who is not there has ended in another way, and has said so, or been missed. */
    const enum hr_status ignored = hr_machines_part(machines);
    (void)ignored;
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++) {
        /* A farewell is taken of all: one that was silent, and has ended since, would have us wait
         * for it. */
        machines->wire->abandoned |= machines->without[m];
        free(machines->waste[m]);
    }
}
