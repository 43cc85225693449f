#include "machines/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum kind { WORD, ASK, TELL, ASKED };

static const char magic[8] = "TOGETHER";

/* A head. */
struct head {
    char magic[8]; /* no other head begins so */
    uint32_t kind, gathering;
    int64_t time; /* of TELL: machine 0's own clock */
    unsigned char said[HR_TOGETHER_BYTES];
};

_Static_assert(sizeof(struct head) == HR_WIRE_HEAD, "a word fills a head");

enum { SAID = offsetof(struct head, said), QUESTIONS = 64, WASTE_BYTES = 2 << 20 };

/* Between two looks, when nothing moves. */
static const int64_t SPIN_NS = 200 * 1000, NAP_NS = 50 * 1000;
/* Between two probes of who is waited for. */
static const int64_t PROBE_NS = HR_NS_PER_SECOND;

void hr_together_open(struct hr_wire *wire, int64_t timeout_ns, struct hr_together *out)
{
    *out = (struct hr_together){.wire = wire, .timeout_ns = timeout_ns};
}

/* --- what arrives --- */

static bool is_ours(const void *bytes, size_t head_bytes)
{
    return head_bytes >= SAID && head_bytes <= sizeof(struct head) &&
           !memcmp(bytes, magic, sizeof magic);
}

/* Of the carrier: it waits for it, or comes too late. */
static bool place_waste(struct hr_together *together, size_t from, size_t bytes, void **where)
{
    if (!together->ran)
        return false;
    if (bytes > WASTE_BYTES)
        return false;
    if (bytes && !together->waste[from]) /* several bodies may be under way into it */
        together->waste[from] = malloc(WASTE_BYTES);
    if (bytes && !together->waste[from])
        return false;
    *where = together->waste[from];
    return true;
}

static bool place(void *arg, size_t from, const void *bytes, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_together *together = arg;
    struct head head;
    if (hr_wire_is_probe(bytes, head_bytes))
        return true;
    if (!is_ours(bytes, head_bytes))
        return place_waste(together, from, body_bytes, where);
    memcpy(&head, bytes, head_bytes);
    /* Of a later gathering: of one that we have not come to. */
    return head.kind != WORD || head.gathering == together->gatherings;
}

static struct head head_of(enum kind kind)
{
    struct head head = {.kind = kind};
    memcpy(head.magic, magic, sizeof magic);
    return head;
}

/* Later, where there is no room now. */
static void tell(struct hr_together *together, size_t to)
{
    struct head head = head_of(TELL);
    head.time = hr_clock_own_ns();
    together->owes[to] = !hr_wire_send(together->wire, to, &head, SAID, NULL, 0, NULL);
}

static void note_time(struct hr_together *together, int64_t time)
{
    struct hr_machine_clock *clock = &together->clock[together->wire->self];
    const int64_t now = hr_clock_own_ns(), round = now - together->asked_ns;
    if (together->asked_ns && (clock->error_ns < 0 || round / 2 + 1 < clock->error_ns))
        *clock = (struct hr_machine_clock){time - (together->asked_ns + round / 2), round / 2 + 1};
    together->asked_ns = 0;
    together->here[0] = true;
}

static void arrived(void *arg, size_t from, const void *bytes, size_t head_bytes)
{
    struct hr_together *together = arg;
    struct head head = {0};
    if (!is_ours(bytes, head_bytes))
        return;
    memcpy(&head, bytes, head_bytes);
    switch ((enum kind)head.kind) {
    case WORD:
        if (head_bytes == SAID + together->bytes)
            memcpy(together->all + from * together->bytes, head.said, together->bytes);
        together->here[from] = head_bytes == SAID + together->bytes;
        return;
    case ASK:
        tell(together, from);
        return;
    case TELL:
        note_time(together, head.time);
        return;
    case ASKED:
        together->here[from] = true;
        return;
    }
}

/* --- waiting --- */

static bool look(struct hr_together *together)
{
    const struct hr_wire_sink sink = {together, place, arrived};
    for (size_t m = 0; m < together->wire->machines; m++)
        if (together->owes[m])
            tell(together, m);
    return hr_wire_poll(together->wire, &sink);
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

/* Of those that we wait for. */
static enum hr_status look_for_losses(struct hr_together *together, const char *what)
{
    size_t machine;
    while (hr_wire_lost(together->wire, &machine, together->why, sizeof together->why))
        together->lost[machine] = true;
    for (size_t m = 0; m < together->wire->machines; m++)
        if (together->lost[m] && (together->parts || together->without[m]))
            together->here[m] = true;
        else if (together->lost[m] && !together->here[m])
            return hr_fail(HR_E_LOST, "%s is lost: %s (waited for %s)", together->wire->host[m],
                           together->why, what);
    return HR_OK;
}

static bool all_here(const struct hr_together *together)
{
    for (size_t m = 0; m < together->wire->machines; m++)
        if (!together->here[m])
            return false;
    return true;
}

static enum hr_status name_missing(const struct hr_together *together, int64_t waited_ns,
                                   const char *what)
{
    char missing[300] = "";
    for (size_t m = 0; m < together->wire->machines; m++) {
        const size_t used = strlen(missing);
        if (!together->here[m])
            snprintf(missing + used, sizeof missing - used, "%s%s", used ? ", " : "",
                     together->wire->host[m]);
    }
    return hr_fail(HR_E_TIMEOUT, "waited %.1f s for %s: not there: %s", hr_seconds(waited_ns), what,
                   missing);
}

/* Machines that compute before they come say nothing, nor do those that are gone. */
static void probe_missing(struct hr_together *together)
{
    for (size_t m = 0; m < together->wire->machines; m++)
        if (m != together->wire->self && !together->here[m] && !together->lost[m])
            hr_wire_probe(together->wire, m);
}

/* Look until `ready`, or until it is clear that it will not be. */
static enum hr_status wait_for(struct hr_together *together,
                               bool (*ready)(const struct hr_together *), const char *what)
{
    const int64_t began = hr_clock_own_ns();
    int64_t moved = began, probed = began;
    while (!ready(together)) {
        const bool moves = look(together);
        const int64_t now = hr_clock_own_ns();
        moved = moves ? now : moved;
        if (now - probed >= PROBE_NS) {
            probe_missing(together);
            probed = now;
        }
        HR_TRY(look_for_losses(together, what));
        if (together->timeout_ns && now - began >= together->timeout_ns)
            return name_missing(together, now - began, what);
        if (now - moved > SPIN_NS)
            nap();
    }
    return HR_OK;
}

static enum hr_status send(struct hr_together *together, size_t to, const struct head *head,
                           size_t bytes)
{
    const int64_t began = hr_clock_own_ns();
    while (!hr_wire_send(together->wire, to, head, bytes, NULL, 0, NULL)) {
        HR_TRY(look_for_losses(together, "room to send"));
        if (together->lost[to] && (together->parts || together->without[to]))
            return HR_OK;
        if (together->lost[to])
            return hr_fail(HR_E_LOST, "%s is lost", together->wire->host[to]);
        if (together->timeout_ns && hr_clock_own_ns() - began >= together->timeout_ns)
            return hr_fail(HR_E_TIMEOUT, "waited %.1f s to send to %s",
                           hr_seconds(hr_clock_own_ns() - began), together->wire->host[to]);
        if (!look(together))
            nap();
    }
    return HR_OK;
}

enum hr_status hr_together_gather(struct hr_together *together, const void *mine, size_t bytes,
                                  void *all, const char *what)
{
    const struct hr_wire *wire = together->wire;
    struct head head = head_of(WORD);
    HR_ASSERT(bytes <= HR_TOGETHER_BYTES);
    head.gathering = ++together->gatherings;
    memcpy(head.said, mine, bytes);
    together->bytes = bytes;
    together->all = all;
    memcpy(together->here, together->without, sizeof together->here);
    memset(together->all, 0, wire->machines * bytes);
    memcpy(together->all + wire->self * bytes, mine, bytes);
    together->here[wire->self] = true;
    for (size_t m = 0; m < wire->machines; m++)
        if (m != wire->self && !together->without[m])
            HR_TRY(send(together, m, &head, SAID + bytes));
    return wait_for(together, all_here, what);
}

/* --- failures --- */

struct word {
    int32_t status;
    char message[HR_TOGETHER_BYTES - sizeof(int32_t)];
};

enum hr_status hr_together_fail(struct hr_together *together, enum hr_status status,
                                const char *what)
{
    const struct hr_wire *wire = together->wire;
    struct word mine = {.status = (int32_t)status}, all[HR_WIRE_MACHINES];
    if (status != HR_OK)
        snprintf(mine.message, sizeof mine.message, "%s", hr_error_message());
    const enum hr_status gathered = hr_together_gather(together, &mine, sizeof mine, all, what);
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

static bool is_answered(const struct hr_together *together)
{
    return !together->asked_ns;
}

/* Machine 0 says nothing of its own until all have asked: its answers would be behind that. */
static enum hr_status answer_all(struct hr_together *together, const char *what)
{
    for (size_t m = 0; m < together->wire->machines; m++)
        together->here[m] = m == 0;
    return wait_for(together, all_here, what);
}

static enum hr_status ask_often(struct hr_together *together, const char *what)
{
    const struct head ask = head_of(ASK), asked = head_of(ASKED);
    for (int i = 0; i < QUESTIONS; i++) {
        memset(together->here, 1, sizeof together->here);
        together->here[0] = false; /* it alone is waited for */
        together->asked_ns = hr_clock_own_ns();
        HR_TRY(send(together, 0, &ask, SAID));
        HR_TRY(wait_for(together, is_answered, what));
    }
    return send(together, 0, &asked, SAID);
}

enum hr_status hr_together_clock(struct hr_together *together)
{
    static const char what[] = "the clocks to be compared";
    const size_t self = together->wire->self;
    together->clock[self] = (struct hr_machine_clock){0, self ? -1 : 0};
    HR_TRY(self ? ask_often(together, what) : answer_all(together, what));
    const struct hr_machine_clock mine = together->clock[self];
    HR_TRY(hr_together_gather(together, &mine, sizeof mine, together->clock, what));
    hr_clock_set_offset(mine.offset_ns);
    return HR_OK;
}

enum hr_status hr_together_part(struct hr_together *together)
{
    static const char what[] = "all others to end";
    const char mine = 0;
    char all[HR_WIRE_MACHINES];
    if (together->wire->abandoned)
        return HR_OK; /* nobody would answer */
    HR_TRY(hr_together_gather(together, &mine, sizeof mine, all, what));
    together->parts = true;
    return hr_together_gather(together, &mine, sizeof mine, all, what);
}

void hr_together_close(struct hr_together *together)
{
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++) {
        free(together->waste[m]);
        together->waste[m] = NULL;
    }
}
