#include "drive/losses_apart.h"

#include <stdio.h>
#include <string.h>

#include "drive/driver.h"
#include "drive/rest.h"
#include "drive/terms.h"

static uint64_t bit(size_t n)
{
    return UINT64_C(1) << n;
}

_Static_assert(HR_MAX_RANKS <= 64 && HR_WIRE_MACHINES <= 64, "sets are words");

/* A report, or an order. */
struct letter {
    uint64_t machines, ranks;
    char how[HR_LOSS_TEXT];
};

_Static_assert(sizeof(struct letter) <= HR_LETTER_NOTE, "a letter is a note");

/* --- who polls --- */

static void add(struct hr_atom64 *set, uint64_t more)
{
    hr_atom64_store_release(set, hr_atom64_load_relaxed(set) | more); /* partner: take */
}

static void say_news(struct hr_losses_apart *apart)
{
    hr_atom32_store_release(&apart->news, hr_atom32_load_relaxed(&apart->news) + 1);
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
    add(&apart->seen, bit(machine));
    if (apart->homes.self == 0)
        say_news(apart);
    else
        hr_bell_ring(&apart->control->launcher_bell);
}

static bool place(void *arg, size_t from, const void *note, size_t note_bytes, size_t body_bytes,
                  void **where)
{
    (void)arg, (void)from, (void)note, (void)where;
    return note_bytes == sizeof(struct letter) && body_bytes == 0;
}

static void arrived(void *arg, size_t from, const void *note, size_t note_bytes)
{
    struct hr_losses_apart *apart = arg;
    struct letter letter;
    (void)from;
    memcpy(&letter, note, note_bytes);
    for (size_t m = 0; m < apart->homes.machines; m++)
        if (letter.machines & bit(m) && !apart->how[m][0])
            memcpy(apart->how[m], letter.how, HR_LOSS_TEXT);
    for (size_t r = 0; r < HR_MAX_RANKS; r++)
        if (letter.ranks & bit(r))
            memcpy(apart->rank_how[r], letter.how, HR_LOSS_TEXT);
    add(&apart->told_machines, letter.machines);
    add(&apart->told_ranks, letter.ranks);
    say_news(apart);
}

struct hr_wire_sink hr_losses_apart_sink(struct hr_losses_apart *apart)
{
    return (struct hr_wire_sink){apart, place, arrived};
}

/* --- reports --- */

static enum hr_status post(struct hr_losses_apart *apart, size_t to, const struct letter *letter)
{
    return hr_carrier_post(apart->carrier, to, apart->channel, letter, sizeof *letter, NULL, 0,
                           NULL, NULL);
}

static const char *how_of(const struct hr_losses_apart *apart, uint64_t machines, uint64_t ranks)
{
    return machines ? apart->how[__builtin_ctzll(machines)]
                    : apart->rank_how[__builtin_ctzll(ranks)];
}

/* One by one, since each has words of its own. */
static enum hr_status report(struct hr_losses_apart *apart)
{
    const uint64_t seen = hr_atom64_load_acquire(&apart->seen); /* partner: saw */
    uint64_t machines = seen & ~apart->reported_machines, ranks = apart->died;
    for (ranks &= ~apart->reported_ranks; machines | ranks;) {
        struct letter letter = {.machines = machines & -machines};
        letter.ranks = machines ? 0 : ranks & -ranks;
        memcpy(letter.how, how_of(apart, letter.machines, letter.ranks), HR_LOSS_TEXT);
        apart->reported_machines |= letter.machines;
        apart->reported_ranks |= letter.ranks;
        machines &= ~letter.machines;
        ranks &= ~letter.ranks;
        HR_TRY(post(apart, 0, &letter));
    }
    return HR_OK;
}

bool hr_losses_apart_lost(void *arg, size_t rank, const char *how)
{
    struct hr_losses *losses = arg;
    struct hr_losses_apart *apart = losses->apart;
    keep_words(apart->rank_how[rank], how);
    apart->died |= bit(rank);
    hr_bell_ring(&apart->control->launcher_bell); /* for take */
    return true;
}

/* --- orders --- */

static uint64_t ranks_of(const struct hr_losses_apart *apart, uint64_t machines)
{
    uint64_t ranks = 0;
    for (size_t r = 0; r < apart->control->nranks; r++)
        ranks |= machines & bit(apart->homes.machine[r]) ? bit(r) : 0;
    return ranks;
}

static void drop(struct hr_losses_apart *apart, uint64_t machines)
{
    for (size_t m = 0; m < apart->homes.machines; m++)
        if (machines & bit(m)) {
            hr_carrier_lose(apart->carrier, m);
            hr_meet_drop(apart->meet, m);
        }
    apart->gone_machines |= machines;
}

/* What befell a machine is said of the first of its ranks. */
static bool lose(struct hr_losses *losses, size_t rank, uint64_t *said)
{
    struct hr_losses_apart *apart = losses->apart;
    const size_t home = apart->homes.machine[rank];
    char with[sizeof apart->wire->host[home] + 32];
    if (!(apart->gone_machines & bit(home)))
        return hr_losses_lost(losses, rank, apart->rank_how[rank]);
    snprintf(with, sizeof with, "with machine %s", apart->wire->host[home]);
    const bool first = !(*said & bit(home));
    *said |= bit(home);
    return hr_losses_lost(losses, rank, first ? apart->how[home] : with);
}

/* All who live know of these, after so many orders. */
static void take(struct hr_losses *losses, uint64_t machines, uint64_t ranks, uint32_t orders)
{
    struct hr_losses_apart *apart = losses->apart;
    ranks = (ranks | ranks_of(apart, machines)) & ~apart->gone_ranks;
    drop(apart, machines);
    hr_meet_skip(apart->meet, orders);
    apart->gone_ranks |= ranks;
    uint64_t said = 0;
    for (size_t r = 0; r < apart->control->nranks; r++)
        if (ranks & bit(r) && !lose(losses, r, &said))
            return; /* the run has been aborted */
}

/* To who lives: machines first, each with its words. */
static enum hr_status order(struct hr_losses *losses, uint64_t machines, uint64_t ranks)
{
    struct hr_losses_apart *apart = losses->apart;
    struct letter letter = {.machines = machines, .ranks = ranks};
    memcpy(letter.how, how_of(apart, machines, ranks), HR_LOSS_TEXT);
    drop(apart, machines);
    for (size_t m = 1; m < apart->homes.machines; m++)
        if (!(apart->gone_machines & bit(m)))
            HR_TRY(post(apart, m, &letter));
    take(losses, machines, ranks, 1);
    return HR_OK;
}

static enum hr_status take_at_first(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    apart->taken = hr_atom32_load_acquire(&apart->news); /* partner: say_news */
    const uint64_t machines =
        (hr_atom64_load_acquire(&apart->seen) | hr_atom64_load_acquire(&apart->told_machines)) &
        ~apart->gone_machines;
    const uint64_t ranks = (hr_atom64_load_acquire(&apart->told_ranks) | apart->died) &
                           ~apart->gone_ranks & ~ranks_of(apart, machines);
    return machines | ranks ? order(losses, machines, ranks) : HR_OK;
}

static enum hr_status take_elsewhere(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    const uint32_t news = hr_atom32_load_acquire(&apart->news), more = news - apart->taken;
    apart->taken = news;
    HR_TRY(report(apart));
    if (!more)
        return HR_OK;
    const uint64_t machines = hr_atom64_load_acquire(&apart->told_machines); /* partner: arrived */
    const uint64_t ranks = hr_atom64_load_acquire(&apart->told_ranks);
    if (machines & bit(apart->homes.self))
        return hr_fail(HR_E_LOST, "%s has lost this machine, and goes on without it: %s",
                       apart->wire->host[0], apart->how[apart->homes.self]);
    take(losses, machines & ~apart->gone_machines, ranks, more);
    return HR_OK;
}

enum hr_status hr_losses_apart_take(struct hr_losses *losses)
{
    return hr_losses_lead(losses) ? take_at_first(losses) : take_elsewhere(losses);
}

/* --- meetings --- */

/* While its launcher waits a machine reports what it sees. */
static void poll(void *arg)
{
    struct hr_losses_apart *apart = arg;
    hr_carrier_poll(apart->carrier);
    if (apart->homes.self == 0)
        return;
    const enum hr_status ignored = report(apart); /* without memory the others will see it */
    (void)ignored;
}

static struct hr_waiter waiter_of(struct hr_losses_apart *apart)
{
    return (struct hr_waiter){.abort = &apart->control->abort,
                              .timeout_ns = apart->timeout_ns,
                              .recall = &apart->news,
                              .recall_seen = apart->taken,
                              .poll = poll,
                              .poll_arg = apart};
}

static bool lives_here(const struct hr_losses_apart *apart, size_t rank)
{
    return hr_homes_here(&apart->homes, rank) && !hr_roster_is_gone(apart->control, rank);
}

bool hr_losses_apart_rest(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    const struct hr_shared_state *shared = losses->leader->job->shared;
    size_t resting = 0;
    for (size_t w = 0; w < shared->workers; w++) {
        if (!lives_here(apart, w))
            continue;
        if (!hr_roster_rests(apart->control, w))
            return false;
        apart->stage = hr_atom32_load_acquire(&apart->control->rank[w].stage); /* partner: rest */
        resting++;
    }
    if (resting || hr_losses_changed(losses))
        return true;
    return hr_meet_is_called(apart->meet, &apart->stage);
}

static bool is_called(void *arg)
{
    const struct hr_losses_apart *apart = arg;
    unsigned stage;
    return hr_atom32_load_acquire(&apart->news) != apart->taken || /* partner: say_news */
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

enum hr_status hr_losses_apart_end(struct hr_losses *losses)
{
    struct hr_losses_apart *apart = losses->apart;
    bool rests = false;
    for (;;) {
        HR_TRY(hr_losses_apart_take(losses));
        struct hr_waiter waiter = waiter_of(apart);
        const enum hr_status status = (rests ? hr_meet_rest : hr_meet_alone)(
            apart->meet, &waiter, HR_STAGE_OVER, "the end of the run");
        if (status != HR_E_RECALLED)
            return status;
        rests = true;
    }
}

/* --- a term --- */

static bool has_halted(void *arg)
{
    struct hr_losses_apart *apart = arg;
    return hr_carrier_halt(apart->carrier, apart->first_ring);
}

enum hr_status hr_losses_apart_begin(struct hr_losses *losses, uint64_t *again)
{
    struct hr_losses_apart *apart = losses->apart;
    const struct hr_leader *leader = losses->leader;
    struct hr_waiter waiter = waiter_of(apart);
    HR_TRY(hr_wait_until(&waiter, &apart->control->launcher_bell, has_halted, apart,
                         "what is under way to other machines"));
    HR_TRY(hr_meet_rest(apart->meet, &waiter, HR_STAGE_SPAN, "ranks that rest behind a loss"));
    hr_carrier_forget(apart->carrier, apart->first_ring);
    HR_TRY(hr_term_take_seats(leader->job));
    HR_TRY(apart->carry(apart->arg));
    apart->again += hr_losses_lead(losses) ? hr_term_go_back(leader) : 0;
    HR_TRY(hr_meet_repair(apart->meet, &waiter, HR_STAGE_SPAN, 0, "the state of the last cut"));
    hr_term_begin_at_cut(leader);
    *again = apart->again;
    apart->again = 0;
    hr_meet_keep_repaired(apart->meet);
    return HR_OK;
}
