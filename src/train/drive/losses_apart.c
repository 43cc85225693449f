#include "drive/losses_apart.h"

#include <stdio.h>
#include <string.h>

#include "drive/rest.h"

static uint64_t bit(size_t n)
{
    return UINT64_C(1) << n;
}

_Static_assert(HR_MAX_RANKS <= 64 && HR_WIRE_MACHINES <= 64, "sets are words");
_Static_assert(sizeof(struct hr_loss_letter) <= HR_LETTER_NOTE, "a letter is a note");

static bool is_first(const struct hr_losses_apart *apart)
{
    return apart->hosts->self == 0;
}

/* --- who polls --- */

static struct hr_loss_letter letter_of(const struct hr_losses_apart *apart, size_t machine)
{
    struct hr_loss_letter letter = {.machines = bit(machine)};
    memcpy(letter.how, apart->how[machine], HR_LOSS_TEXT);
    return letter;
}

static void put_in_inbox(struct hr_losses_apart *apart, const struct hr_loss_letter *letter)
{
    const uint32_t came = hr_atom32_load_relaxed(&apart->came); /* our own */
    apart->inbox[came % (sizeof apart->inbox / sizeof *apart->inbox)] = *letter;
    hr_atom32_store_release(&apart->came, came + 1); /* partner: next_letter; and it recalls */
    hr_bell_ring(&apart->control->launcher_bell);
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

void hr_losses_apart_saw(void *arg, size_t machine, const char *how)
{
    struct hr_losses_apart *apart = arg;
    keep_words(apart->how[machine], how);
    if (machine == 0) {
        char text[HR_LOSS_TEXT + 80];
        snprintf(text, sizeof text, "%.*s; it leads, and the run ends without it", HR_LOSS_TEXT,
                 how);
        hr_control_abort(apart->control, HR_MAX_RANKS, HR_E_LOST, text);
        return;
    }
    if (is_first(apart) && !(apart->told & bit(machine))) {
        const struct hr_loss_letter letter = letter_of(apart, machine);
        apart->told |= bit(machine);
        apart->placed++;
        put_in_inbox(apart, &letter);
    } else { /* partner: report */
        hr_atom64_store_release(&apart->seen, hr_atom64_load_relaxed(&apart->seen) | bit(machine));
        hr_bell_ring(&apart->control->launcher_bell);
    }
}

static bool place(void *arg, size_t from, const void *note, size_t note_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_losses_apart *apart = arg;
    const uint32_t took = hr_atom32_load_acquire(&apart->took); /* partner: next_letter */
    (void)from, (void)note, (void)where;
    if (note_bytes != sizeof(struct hr_loss_letter) || body_bytes ||
        apart->placed - took == HR_LOSS_INBOX)
        return false;
    apart->placed++;
    return true;
}

/* Machine 0 may have seen for itself, or been told by another, what it is told. */
static void arrived(void *arg, size_t from, const void *note, size_t note_bytes)
{
    struct hr_losses_apart *apart = arg;
    struct hr_loss_letter letter;
    memcpy(&letter, note, note_bytes);
    if (is_first(apart) && (apart->told & (letter.machines | bit(from)))) {
        apart->placed--;
        return;
    }
    apart->told |= letter.machines;
    put_in_inbox(apart, &letter);
}

struct hr_wire_sink hr_losses_apart_sink(struct hr_losses_apart *apart)
{
    return (struct hr_wire_sink){apart, place, arrived};
}

/* --- reports --- */

static enum hr_status post(struct hr_losses_apart *apart, size_t to,
                           const struct hr_loss_letter *letter)
{
    return hr_bridge_post(apart->bridge, to, apart->channel, letter, sizeof *letter, NULL, 0, NULL,
                          NULL);
}

/* To machine 0: what this one has seen. */
static enum hr_status report(struct hr_losses_apart *apart)
{
    const uint64_t seen = hr_atom64_load_acquire(&apart->seen); /* partner: saw */
    for (size_t m = 1; m < apart->hosts->machines; m++) {
        if (!(seen & ~apart->reported & bit(m)))
            continue;
        const struct hr_loss_letter letter = letter_of(apart, m);
        apart->reported |= bit(m);
        HR_TRY(post(apart, 0, &letter));
    }
    return HR_OK;
}

/* --- orders --- */

/* Servers of machines that are gone live where workers do, one after the other. */
static void move_servers(const struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    const struct hr_train_job *job = losses->leader->job;
    uint8_t place[HR_WIRE_MACHINES];
    size_t n = 0;
    for (size_t w = 0; w < job->shared->workers; w++) {
        const uint8_t host = apart->hosts->machine[w];
        if (!hr_roster_is_gone(apart->control, w) && (!n || place[n - 1] != host))
            place[n++] = host;
    }
    for (size_t r = job->shared->workers; n && r < job->first_stage; r++) {
        const uint8_t host = apart->hosts->machine[r];
        if (!(apart->gone & bit(host)))
            continue;
        apart->hosts->machine[r] = place[(r - job->shared->workers) % n];
        hr_control_place(
            apart->control, r,
            hr_hosts_here(apart->hosts, r) ? "" : apart->wire->host[apart->hosts->machine[r]]);
    }
}

/* Ranks of that letter, which the new term may do without, or not. What befell a machine is said of
 * the first of its ranks. */
static void lose_ranks(struct hr_losses *losses, const struct hr_loss_letter *letter)
{
    struct hr_losses_apart *apart = losses->apart;
    const struct hr_train_job *job = losses->leader->job;
    const struct hr_hosts had = *apart->hosts;
    uint64_t said = 0;
    for (size_t turn = 0; turn < 2; turn++) { /* workers; then servers, which may move */
        const size_t begin = turn ? job->shared->workers : 0,
                     end = turn ? job->first_stage : job->shared->workers;
        if (turn)
            move_servers(losses);
        for (size_t r = begin; r < end; r++) {
            const size_t host = had.machine[r];
            const bool with = letter->machines & bit(host);
            char text[HR_WIRE_HOST + 32];
            if (!(letter->ranks & bit(r)) &&
                !(with && (turn || !hr_roster_is_gone(apart->control, r))))
                continue;
            snprintf(text, sizeof text, "with machine %s", apart->wire->host[host]);
            const char *how = with && said & bit(host) ? text : letter->how;
            said |= with ? bit(host) : 0;
            if (!hr_losses_lost(losses, r, how))
                return; /* the run has been aborted */
        }
    }
}

/* All who live know of these. */
static void take(struct hr_losses *losses, const struct hr_loss_letter *letter)
{
    struct hr_losses_apart *apart = losses->apart;
    for (size_t m = 0; m < apart->hosts->machines; m++)
        if (letter->machines & bit(m)) {
            hr_bridge_lose(apart->bridge, m);
            hr_meet_drop(apart->meet, m);
        }
    apart->gone |= letter->machines;
    if (letter->term) {
        apart->term = (uint32_t)letter->term;
        hr_bridge_end_term(apart->bridge, apart->term);
        hr_meet_end_term(apart->meet);
    }
    lose_ranks(losses, letter);
}

/* By machine 0: to who lives; then it is so here, too. */
static enum hr_status order(struct hr_losses *losses, struct hr_loss_letter letter)
{
    struct hr_losses_apart *apart = losses->apart;
    letter.term = losses->halted ? 0 : apart->term + 1;
    for (size_t m = 1; m < apart->hosts->machines; m++)
        if (!((apart->gone | letter.machines) & bit(m)))
            HR_TRY(post(apart, m, &letter));
    take(losses, &letter);
    return HR_OK;
}

static bool next_letter(struct hr_losses_apart *apart, struct hr_loss_letter *letter)
{
    const uint32_t took = hr_atom32_load_relaxed(&apart->took); /* our own */
    if (hr_atom32_load_acquire(&apart->came) == took)           /* partner: arrived */
        return false;
    *letter = apart->inbox[took % (sizeof apart->inbox / sizeof *apart->inbox)];
    hr_atom32_store_release(&apart->took, took + 1); /* partner: place */
    return true;
}

enum hr_status hr_losses_apart_take(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    const bool leads = is_first(apart);
    struct hr_loss_letter letter;
    if (!leads)
        HR_TRY(report(apart));
    while (next_letter(apart, &letter)) {
        if (!leads && letter.machines & bit(apart->hosts->self))
            return hr_fail(HR_E_LOST, "%s has lost this machine, and goes on without it: %s",
                           apart->wire->host[0], letter.how);
        if (leads)
            HR_TRY(order(losses, letter));
        else
            take(losses, &letter);
    }
    return HR_OK;
}

bool hr_losses_apart_lost(void *arg, size_t rank, const char *how)
{
    struct hr_losses *losses = arg;
    struct hr_loss_letter letter = {.ranks = bit(rank)};
    keep_words(letter.how, how);
    const enum hr_status status =
        is_first(losses->apart) ? order(losses, letter) : post(losses->apart, 0, &letter);
    if (status != HR_OK)
        hr_control_abort(losses->apart->control, rank, status, hr_error_message());
    return status == HR_OK;
}

/* --- meetings --- */

/* While its launcher waits a machine reports what it sees. */
static void poll(void *arg)
{
    struct hr_losses_apart *apart = arg;
    hr_bridge_poll(apart->bridge);
    if (is_first(apart))
        return;
    const enum hr_status ignored = report(apart); /* without memory the others will see it */
    (void)ignored;
}

static struct hr_waiter waiter_of(struct hr_losses_apart *apart)
{
    return (struct hr_waiter){.abort = &apart->control->abort,
                              .timeout_ns = apart->timeout_ns,
                              .recall = &apart->came,
                              .recall_seen = hr_atom32_load_relaxed(&apart->took), /* our own */
                              .poll = poll,
                              .poll_arg = apart};
}

static bool lives_here(const struct hr_losses_apart *apart, size_t rank)
{
    return hr_hosts_here(apart->hosts, rank) && !hr_roster_is_gone(apart->control, rank);
}

bool hr_losses_apart_rest(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    const struct hr_train_job *job = losses->leader->job;
    const size_t workers = job->shared->workers;
    const bool recalled = hr_losses_recalled(losses);
    const size_t n = recalled ? job->first_stage : workers; /* servers rest when recalled */
    bool rests = false;
    if (recalled && hr_losses_await(losses))
        return false;
    for (size_t r = 0; r < n; r++) {
        if (!lives_here(apart, r))
            continue;
        if (!hr_roster_rests(apart->control, r))
            return false;
        rests |= r < workers;
        if (r < workers) /* partner: rest */
            apart->stage = hr_atom32_load_acquire(&apart->control->rank[r].stage);
    }
    return rests || hr_losses_changed(losses) || hr_meet_is_called(apart->meet, &apart->stage);
}

static bool is_called(void *arg)
{
    const struct hr_losses_apart *apart = arg;
    unsigned stage;
    return hr_atom32_load_acquire(&apart->came) != /* partners: put_in_inbox, ourselves */
               hr_atom32_load_relaxed(&apart->took) ||
           hr_meet_is_called(apart->meet, &stage);
}

enum hr_status hr_losses_apart_wait(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    struct hr_waiter waiter = waiter_of(apart);
    waiter.timeout_ns = 0; /* a span is as long as it is; who waits for us has a deadline */
    waiter.recall = NULL;
    return hr_wait_until(&waiter, &apart->control->launcher_bell, is_called, apart, "the others");
}

enum hr_status hr_losses_apart_meet(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    struct hr_waiter waiter = waiter_of(apart);
    HR_TRY(hr_meet_alone(apart->meet, &waiter, apart->stage, "a cut"));
    apart->passed = apart->stage;
    return HR_OK;
}

/* Nobody goes back any more: a machine that is lost is no more waited for. */
static void poll_and_take(void *arg)
{
    struct hr_losses *losses = arg;
    hr_bridge_poll(losses->apart->bridge);
    const enum hr_status status = hr_losses_apart_take(losses);
    if (status != HR_OK)
        hr_control_abort(losses->apart->control, HR_MAX_RANKS, status, hr_error_message());
}

enum hr_status hr_losses_apart_end(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    HR_TRY(hr_losses_apart_take(losses));
    struct hr_waiter waiter = waiter_of(apart);
    waiter.recall = NULL;
    waiter.poll = poll_and_take;
    waiter.poll_arg = losses;
    return hr_meet_alone(apart->meet, &waiter, HR_STAGE_OVER, "the end of the run");
}

/* --- a term --- */

/* Servers that were started again, here or elsewhere, take part in it. */
static void welcome_servers(struct hr_losses *losses)
{
    const struct hr_train_job *job = losses->leader->job;
    for (size_t r = job->shared->workers; r < job->first_stage; r++)
        if (hr_roster_is_gone(losses->apart->control, r))
            hr_losses_welcome(losses, r);
}

enum hr_status hr_losses_apart_begin(struct hr_losses *losses, uint64_t *again)
{
    struct hr_losses_apart *apart = losses->apart;
    const struct hr_leader *leader = losses->leader;
    struct hr_waiter waiter = waiter_of(apart);
    HR_TRY(hr_wait_until(&waiter, &apart->control->launcher_bell, hr_bridge_is_still, apart->bridge,
                         "what is under way to other machines"));
    hr_meet_begin_term(apart->meet, apart->hosts);
    hr_bridge_begin_term(apart->bridge, apart->hosts);
    HR_TRY(hr_meet_alone(apart->meet, &waiter, HR_STAGE_SPAN, "ranks that rest behind a loss"));
    apart->again += is_first(apart) ? hr_term_go_back(leader) : 0;
    HR_TRY(hr_meet_spread(apart->meet, &waiter, HR_STAGE_SPAN, "the state of the last cut"));
    welcome_servers(losses);
    HR_TRY(hr_term_begin_at_cut(leader));
    HR_TRY(apart->carry(apart->arg));
    hr_bridge_run_term(apart->bridge);
    *again = apart->again;
    apart->again = 0;
    return HR_OK;
}
