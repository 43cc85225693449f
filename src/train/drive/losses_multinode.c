#include "drive/losses_multinode.h"

#include <stdio.h>
#include <string.h>

#include "drive/quiesce.h"

static uint64_t bit(size_t n)
{
    return UINT64_C(1) << n;
}

_Static_assert(HR_MAX_RANKS <= 64 && HR_WIRE_MACHINES <= 64, "sets are words");
_Static_assert(sizeof(struct hr_loss_message) <= HR_DIRECT_NOTE, "a message is a note");

static bool is_first(const struct hr_losses_multinode *it)
{
    return it->hosts->self == 0;
}

/* --- who polls --- */

static struct hr_loss_message message_of(const struct hr_losses_multinode *it, size_t machine)
{
    struct hr_loss_message message = {.machines = bit(machine)};
    memcpy(message.how, it->how[machine], HR_LOSS_TEXT);
    return message;
}

static void put_in_inbox(struct hr_losses_multinode *it, const struct hr_loss_message *message)
{
    const uint32_t came = hr_atom32_load_relaxed(&it->came); /* our own */
    it->inbox[came % (sizeof it->inbox / sizeof *it->inbox)] = *message;
    hr_atom32_store_release(&it->came, came + 1); /* partner: next_message; and it revokes */
    hr_bell_ring(&it->control->launcher_bell);
}

/* As many words as there is room for, and no bracket that stays open: MPI's texts are long. */
static void keep_words(char *kept, const char *how)
{
    size_t n = strlen(how);
    if (n >= HR_LOSS_TEXT)
        for (n = HR_LOSS_TEXT - 1; n > 0 && how[n] != ' ';)
            n--;
    snprintf(kept, HR_LOSS_TEXT, "%.*s", n ? (int)n : HR_LOSS_TEXT - 1, how);
    char *open = strrchr(kept, '(');
    if (open && !strchr(open, ')'))
        *open = '\0';
    for (n = strlen(kept); n > 0 && kept[n - 1] == ' ';)
        kept[--n] = '\0';
}

void hr_losses_multinode_saw(void *arg, size_t machine, const char *how)
{
    struct hr_losses_multinode *it = arg;
    keep_words(it->how[machine], how);
    if (machine == 0) {
        char text[HR_LOSS_TEXT + 80];
        snprintf(text, sizeof text, "%.*s; it leads, and the run ends without it", HR_LOSS_TEXT,
                 how);
        hr_control_abort(it->control, HR_MAX_RANKS, HR_E_LOST, text);
        return;
    }
    if (is_first(it) && !(it->known & bit(machine))) {
        const struct hr_loss_message message = message_of(it, machine);
        it->known |= bit(machine);
        it->placed++;
        put_in_inbox(it, &message);
    } else { /* partner: report */
        hr_atom64_store_release(&it->seen, hr_atom64_load_relaxed(&it->seen) | bit(machine));
        hr_bell_ring(&it->control->launcher_bell);
    }
}

static bool place(void *arg, size_t from, const void *note, size_t note_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_losses_multinode *it = arg;
    const uint32_t took = hr_atom32_load_acquire(&it->took); /* partner: next_message */
    (void)from, (void)note, (void)where;
    if (note_bytes != sizeof(struct hr_loss_message) || body_bytes ||
        it->placed - took == HR_LOSS_INBOX)
        return false;
    it->placed++;
    return true;
}

/* Machine 0 may have seen for itself, or been told by another, what it is told. */
static void arrived(void *arg, size_t from, const void *note, size_t note_bytes)
{
    struct hr_losses_multinode *it = arg;
    struct hr_loss_message message;
    memcpy(&message, note, note_bytes);
    if (is_first(it) && (it->known & (message.machines | bit(from)))) {
        it->placed--;
        return;
    }
    it->known |= message.machines;
    put_in_inbox(it, &message);
}

struct hr_wire_sink hr_losses_multinode_sink(struct hr_losses_multinode *it)
{
    return (struct hr_wire_sink){it, place, arrived};
}

/* --- reports --- */

static enum hr_status post(struct hr_losses_multinode *it, size_t to,
                           const struct hr_loss_message *message)
{
    return hr_bridge_post(it->bridge, to, it->channel, message, sizeof *message, NULL, 0, NULL,
                          NULL);
}

/* To machine 0: what this one has seen. */
static enum hr_status report(struct hr_losses_multinode *it)
{
    const uint64_t seen = hr_atom64_load_acquire(&it->seen); /* partner: saw */
    for (size_t m = 1; m < it->hosts->machines; m++) {
        if (!(seen & ~it->reported & bit(m)))
            continue;
        const struct hr_loss_message message = message_of(it, m);
        it->reported |= bit(m);
        HR_TRY(post(it, 0, &message));
    }
    return HR_OK;
}

/* --- orders --- */

/* Servers of machines that are gone live where workers do, one after the other. */
static void move_servers(const struct hr_losses *losses)
{
    struct hr_losses_multinode *it = losses->multinode;
    const struct hr_train_job *job = losses->leader->job;
    uint8_t place[HR_WIRE_MACHINES];
    size_t n = 0;
    for (size_t w = 0; w < job->shared->workers; w++) {
        const uint8_t host = it->hosts->machine[w];
        if (!hr_roster_is_gone(it->control, w) && (!n || place[n - 1] != host))
            place[n++] = host;
    }
    for (size_t r = job->shared->workers; n && r < job->first_stage; r++) {
        const uint8_t host = it->hosts->machine[r];
        if (!(it->gone & bit(host)))
            continue;
        it->hosts->machine[r] = place[(r - job->shared->workers) % n];
        hr_control_place(it->control, r,
                         hr_hosts_here(it->hosts, r) ? "" : it->wire->host[it->hosts->machine[r]]);
    }
}

/* Ranks of that message, which the new term may do without, or not. What befell a machine is said
 * of the first of its ranks. */
static void lose_ranks(struct hr_losses *losses, const struct hr_loss_message *message)
{
    struct hr_losses_multinode *it = losses->multinode;
    const struct hr_train_job *job = losses->leader->job;
    const struct hr_hosts had = *it->hosts;
    uint64_t said = 0;
    for (size_t turn = 0; turn < 2; turn++) { /* workers; then servers, which may move */
        const size_t begin = turn ? job->shared->workers : 0,
                     end = turn ? job->first_stage : job->shared->workers;
        if (turn)
            move_servers(losses);
        for (size_t r = begin; r < end; r++) {
            const size_t host = had.machine[r];
            const bool with = message->machines & bit(host);
            char text[HR_WIRE_HOST + 32];
            if (!(message->ranks & bit(r)) &&
                !(with && (turn || !hr_roster_is_gone(it->control, r))))
                continue;
            snprintf(text, sizeof text, "with machine %s", it->wire->host[host]);
            const char *how = with && said & bit(host) ? text : message->how;
            said |= with ? bit(host) : 0;
            if (!hr_losses_lost(losses, r, how))
                return; /* the run has been aborted */
        }
    }
}

/* All who live know of these. */
static void take(struct hr_losses *losses, const struct hr_loss_message *message)
{
    struct hr_losses_multinode *it = losses->multinode;
    for (size_t m = 0; m < it->hosts->machines; m++)
        if (message->machines & bit(m)) {
            hr_bridge_lose(it->bridge, m);
            hr_gather_barrier_drop(it->barrier, m);
        }
    it->gone |= message->machines;
    if (message->term) {
        it->term = (uint32_t)message->term;
        hr_bridge_end_term(it->bridge, it->term);
        hr_gather_barrier_end_term(it->barrier);
    }
    lose_ranks(losses, message);
}

/* By machine 0: to who lives; then it is so here, too. */
static enum hr_status order(struct hr_losses *losses, struct hr_loss_message message)
{
    struct hr_losses_multinode *it = losses->multinode;
    message.term = losses->halted ? 0 : it->term + 1;
    for (size_t m = 1; m < it->hosts->machines; m++)
        if (!((it->gone | message.machines) & bit(m)))
            HR_TRY(post(it, m, &message));
    take(losses, &message);
    return HR_OK;
}

static bool next_message(struct hr_losses_multinode *it, struct hr_loss_message *message)
{
    const uint32_t took = hr_atom32_load_relaxed(&it->took); /* our own */
    if (hr_atom32_load_acquire(&it->came) == took)           /* partner: arrived */
        return false;
    *message = it->inbox[took % (sizeof it->inbox / sizeof *it->inbox)];
    hr_atom32_store_release(&it->took, took + 1); /* partner: place */
    return true;
}

enum hr_status hr_losses_multinode_take(struct hr_losses *losses)
{
    struct hr_losses_multinode *it = losses->multinode;
    const bool leads = is_first(it);
    struct hr_loss_message message;
    if (!leads)
        HR_TRY(report(it));
    while (next_message(it, &message)) {
        if (!leads && message.machines & bit(it->hosts->self))
            return hr_fail(HR_E_LOST, "%s has lost this machine, and goes on without it: %s",
                           it->wire->host[0], message.how);
        if (leads)
            HR_TRY(order(losses, message));
        else
            take(losses, &message);
    }
    return HR_OK;
}

bool hr_losses_multinode_lost(void *arg, size_t rank, const char *how)
{
    struct hr_losses *losses = arg;
    struct hr_loss_message message = {.ranks = bit(rank)};
    keep_words(message.how, how);
    const enum hr_status status =
        is_first(losses->multinode) ? order(losses, message) : post(losses->multinode, 0, &message);
    if (status != HR_OK)
        hr_control_abort(losses->multinode->control, rank, status, hr_error_message());
    return status == HR_OK;
}

/* --- barriers --- */

/* While its launcher waits a machine reports what it sees. */
static void poll(void *arg)
{
    struct hr_losses_multinode *it = arg;
    hr_bridge_poll(it->bridge);
    if (is_first(it))
        return;
    const enum hr_status ignored = report(it); /* without memory the others will see it */
    (void)ignored;
}

static struct hr_waiter waiter_of(struct hr_losses_multinode *it)
{
    return (struct hr_waiter){.abort = &it->control->abort,
                              .timeout_ns = it->timeout_ns,
                              .revoke = &it->came,
                              .revoke_seen = hr_atom32_load_relaxed(&it->took), /* our own */
                              .poll = poll,
                              .poll_arg = it};
}

static bool lives_here(const struct hr_losses_multinode *it, size_t rank)
{
    return hr_hosts_here(it->hosts, rank) && !hr_roster_is_gone(it->control, rank);
}

bool hr_losses_multinode_quiescent(struct hr_losses *losses)
{
    struct hr_losses_multinode *it = losses->multinode;
    const struct hr_train_job *job = losses->leader->job;
    const size_t workers = job->shared->workers;
    const bool revoked = hr_losses_are_revoked(losses);
    const size_t n = revoked ? job->first_stage : workers; /* servers rest when revoked */
    bool quiescent = false;
    if (revoked && hr_losses_await(losses))
        return false;
    for (size_t r = 0; r < n; r++) {
        if (!lives_here(it, r))
            continue;
        if (!hr_roster_is_quiescent(it->control, r))
            return false;
        quiescent |= r < workers;
        if (r < workers) /* partner: quiesce */
            it->stage = hr_atom32_load_acquire(&it->control->rank[r].stage);
    }
    return quiescent || hr_losses_changed(losses) ||
           hr_gather_barrier_is_called(it->barrier, &it->stage);
}

static bool is_called(void *arg)
{
    const struct hr_losses_multinode *it = arg;
    unsigned stage;
    return hr_atom32_load_acquire(&it->came) != /* partners: put_in_inbox, ourselves */
               hr_atom32_load_relaxed(&it->took) ||
           hr_gather_barrier_is_called(it->barrier, &stage);
}

enum hr_status hr_losses_multinode_wait(struct hr_losses *losses)
{
    struct hr_losses_multinode *it = losses->multinode;
    struct hr_waiter waiter = waiter_of(it);
    waiter.timeout_ns = 0; /* a span is as long as it is; who waits for us has a deadline */
    waiter.revoke = NULL;
    return hr_wait_until(&waiter, &it->control->launcher_bell, is_called, it, "the others");
}

enum hr_status hr_losses_multinode_barrier(struct hr_losses *losses)
{
    struct hr_losses_multinode *it = losses->multinode;
    struct hr_waiter waiter = waiter_of(it);
    HR_TRY(hr_gather_barrier_alone(it->barrier, &waiter, it->stage, "a cut"));
    it->passed = it->stage;
    return HR_OK;
}

/* Nobody goes back any more: a machine that is lost is no more waited for. */
static void poll_and_take(void *arg)
{
    struct hr_losses *losses = arg;
    hr_bridge_poll(losses->multinode->bridge);
    const enum hr_status status = hr_losses_multinode_take(losses);
    if (status != HR_OK)
        hr_control_abort(losses->multinode->control, HR_MAX_RANKS, status, hr_error_message());
}

enum hr_status hr_losses_multinode_end(struct hr_losses *losses)
{
    struct hr_losses_multinode *it = losses->multinode;
    HR_TRY(hr_losses_multinode_take(losses));
    struct hr_waiter waiter = waiter_of(it);
    waiter.revoke = NULL;
    waiter.poll = poll_and_take;
    waiter.poll_arg = losses;
    return hr_gather_barrier_alone(it->barrier, &waiter, HR_STAGE_OVER, "the end of the run");
}

/* --- a term --- */

/* Servers that were started again, here or elsewhere, take part in it. */
static void welcome_servers(struct hr_losses *losses)
{
    const struct hr_train_job *job = losses->leader->job;
    for (size_t r = job->shared->workers; r < job->first_stage; r++)
        if (hr_roster_is_gone(losses->multinode->control, r))
            hr_losses_welcome(losses, r);
}

enum hr_status hr_losses_multinode_begin(struct hr_losses *losses, uint64_t *again)
{
    struct hr_losses_multinode *it = losses->multinode;
    const struct hr_leader *leader = losses->leader;
    struct hr_waiter waiter = waiter_of(it);
    HR_TRY(hr_wait_until(&waiter, &it->control->launcher_bell, hr_bridge_is_still, it->bridge,
                         "what is under way to other machines"));
    hr_gather_barrier_begin_term(it->barrier, it->hosts);
    hr_bridge_begin_term(it->bridge, it->hosts);
    HR_TRY(hr_gather_barrier_alone(it->barrier, &waiter, HR_STAGE_SPAN,
                                   "ranks that rest behind a loss"));
    it->again += is_first(it) ? hr_term_go_back(leader) : 0;
    HR_TRY(
        hr_gather_barrier_alone(it->barrier, &waiter, HR_STAGE_BACK, "the state of the last cut"));
    welcome_servers(losses);
    HR_TRY(hr_term_begin_at_cut(leader));
    HR_TRY(it->carry(it->arg));
    hr_bridge_run_term(it->bridge);
    *again = it->again;
    it->again = 0;
    return HR_OK;
}
