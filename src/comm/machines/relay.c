#include "machines/relay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"

static const int64_t LEAVE_NS = 5 * HR_NS_PER_SECOND;

enum { HELD = 8, LEAST_NAP_NS = 20 * 1000, MOST_NAP_NS = 1000 * 1000, NAP_SHARE = 16 };

/* A message that is here. */
struct parcel {
    _Alignas(8) unsigned char head[HR_WIRE_HEAD];
    size_t head_bytes, bytes;
    unsigned char *body; /* owned */
    bool done;           /* the wire that it goes by has taken it */
};

/* Of one machine, in one direction: numbers of messages, which follow one another. */
struct lane {
    struct parcel parcel[HELD];
    size_t placed, arrived, sent, gone;
};

struct side {
    struct hr_wire *from, *to;
    struct lane *lane; /* (machines) owned */
    bool no_memory;
};

static struct parcel *parcel_of(struct lane *lane, size_t number)
{
    return &lane->parcel[number % HELD];
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    struct side *side = arg;
    struct lane *lane = &side->lane[from];
    struct parcel *parcel = parcel_of(lane, lane->placed);
    if (lane->placed - lane->gone == HELD)
        return false;
    unsigned char *body = malloc(body_bytes + 1);
    if (!body) {
        side->no_memory = true;
        return false;
    }
    memcpy(parcel->head, head, head_bytes);
    parcel->head_bytes = head_bytes;
    parcel->bytes = body_bytes;
    parcel->body = body;
    *where = body;
    lane->placed++;
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct side *side = arg;
    (void)head, (void)head_bytes; /* in their order: as they were placed */
    side->lane[from].arrived++;
}

/* Send what has come, and let go of what was sent. True: something moved. */
static bool go_on(struct side *side)
{
    bool moved = false;
    for (size_t m = 0; m < side->to->machines; m++) {
        struct lane *lane = &side->lane[m];
        for (; lane->sent < lane->arrived; lane->sent++) {
            struct parcel *parcel = parcel_of(lane, lane->sent);
            if (!hr_wire_send(side->to, m, parcel->head, parcel->head_bytes, parcel->body,
                              parcel->bytes, &parcel->done))
                break;
            moved = true;
        }
        for (; lane->gone < lane->sent && parcel_of(lane, lane->gone)->done; lane->gone++)
            free(parcel_of(lane, lane->gone)->body);
    }
    return moved;
}

/* Has all that has come gone on? */
static bool is_through(const struct side *side)
{
    for (size_t m = 0; m < side->to->machines; m++)
        if (side->lane[m].gone < side->lane[m].arrived)
            return false;
    return true;
}

/* What a wire still has, coming or going, stays: the process ends. */
static void drop(struct side *side)
{
    for (size_t m = 0; side->lane && m < side->to->machines; m++)
        for (struct lane *lane = &side->lane[m]; lane->sent < lane->arrived; lane->sent++)
            free(parcel_of(lane, lane->sent)->body);
    free(side->lane);
}

/* Both ways. */
struct relay {
    const struct hr_relay_options *options;
    struct side out, in; /* from near to far, from far to near */
    bool lost[HR_WIRE_MACHINES];
};

static bool move(struct relay *relay)
{
    const struct hr_wire_sink out = {&relay->out, place, arrived},
                              in = {&relay->in, place, arrived};
    bool moved = hr_wire_poll(relay->options->near, &out);
    moved |= go_on(&relay->out);
    moved |= hr_wire_poll(relay->options->far, &in);
    moved |= go_on(&relay->in);
    return moved;
}

/* Behind all that it had said. */
static void pass_losses_on(struct relay *relay)
{
    const struct hr_relay_options *o = relay->options;
    char text[120];
    size_t machine;
    while (hr_wire_lost(o->far, &machine, text, sizeof text))
        relay->lost[machine] = true;
    for (size_t m = 0; m < o->far->machines; m++) {
        const struct lane *lane = &relay->in.lane[m];
        if (!relay->lost[m] || lane->gone < lane->arrived)
            continue;
        relay->lost[m] = false;
        o->cut(o->arg, m);
    }
}

static void nap(int64_t since)
{
    const int64_t share = (hr_clock_own_ns() - since) / NAP_SHARE;
    nanosleep(&(struct timespec){.tv_nsec = share < LEAST_NAP_NS  ? LEAST_NAP_NS
                                            : share > MOST_NAP_NS ? MOST_NAP_NS
                                                                  : share},
              NULL);
}

static enum hr_status run(struct relay *relay)
{
    const struct hr_relay_options *o = relay->options;
    int64_t moved = hr_clock_own_ns();
    for (int64_t ended = 0;
         !ended || (!is_through(&relay->out) && hr_clock_own_ns() - ended < LEAVE_NS);) {
        if (!ended && !o->goes_on(o->arg)) /* what was said before is there */
            ended = hr_clock_own_ns();
        if (move(relay))
            moved = hr_clock_own_ns();
        else
            nap(moved);
        pass_losses_on(relay);
        if (relay->out.no_memory || relay->in.no_memory)
            return hr_fail(HR_E_NOMEM, "no memory for what goes between machines");
    }
    return HR_OK;
}

enum hr_status hr_relay(const struct hr_relay_options *options)
{
    const size_t machines = options->far->machines;
    struct relay relay = {.options = options,
                          .out = {.from = options->near, .to = options->far},
                          .in = {.from = options->far, .to = options->near}};
    relay.out.lane = calloc(machines, sizeof *relay.out.lane);
    relay.in.lane = calloc(machines, sizeof *relay.in.lane);
    enum hr_status status = HR_OK;
    prctl(PR_SET_TIMERSLACK, 1);
    if (relay.out.lane && relay.in.lane)
        status = run(&relay);
    else
        status = hr_fail(HR_E_NOMEM, "no memory for what goes between machines");
    drop(&relay.out);
    drop(&relay.in);
    return status;
}
