#include "drive/quiesce.h"

#include "drive/driver.h"
#include "drive/losses_multinode.h"
#include "drive/record.h"

/* --- a rank --- */

struct round {
    const struct hr_quiesce *quiesce;
    uint32_t number;
};

/* Rounds only grow. A worker is awaited in the next one, too; a server, which quiesces only when it
 * is revoked, is not: the workers may have gone through another before it looks. */
static bool has_passed(void *arg)
{
    const struct round *round = arg;
    const struct hr_roster *roster = &round->quiesce->control->roster;
    const uint32_t rounds = hr_atom32_load_acquire(&roster->rounds); /* partner: release */
    return (int32_t)(rounds - round->number) >= 0;
}

bool hr_quiesce_is_over(const struct hr_quiesce *quiesce)
{
    return hr_atom32_load_acquire(&quiesce->control->roster.over); /* partner: hr_roster_end */
}

static bool is_welcome(void *arg)
{
    const struct hr_quiesce *quiesce = arg;
    return !hr_roster_is_gone(quiesce->control, quiesce->rank) || hr_quiesce_is_over(quiesce);
}

void hr_quiesce_open(struct hr_quiesce *quiesce, struct hr_control *control,
                     struct hr_waiter *waiter, size_t rank)
{
    *quiesce = (struct hr_quiesce){
        .control = control,
        .waiter = waiter,
        .rank = rank,
        .term = hr_atom32_load_acquire(&control->roster.term),      /* partner: begin_term */
        .revokes = hr_atom32_load_acquire(&control->roster.called), /* partner: begin_term */
    };
    waiter->revoke = &control->roster.revoke;
    waiter->revoke_seen = quiesce->revokes;
}

static void say_stage(const struct hr_quiesce *quiesce, enum hr_quiesce_stage stage)
{
    /* Partner: the launcher, which reads it behind `quiescent`, or by itself of one that joins. */
    hr_atom32_store_release(&quiesce->control->rank[quiesce->rank].stage, stage);
}

/* Waiting for all is not waiting for a loss: no revocation ends it, for who quiesces is revoked. */
static enum hr_status wait_for(struct hr_quiesce *quiesce, hr_ready_fn ready, void *arg)
{
    const struct hr_atom32 *revoke = quiesce->waiter->revoke;
    quiesce->waiter->revoke = NULL;
    const enum hr_status status =
        hr_wait_until(quiesce->waiter, &quiesce->control->rank[quiesce->rank].bell, ready, arg,
                      "all others to quiesce");
    quiesce->waiter->revoke = revoke;
    return status;
}

enum hr_status hr_quiesce_at(struct hr_quiesce *quiesce, enum hr_quiesce_stage stage)
{
    const struct hr_roster *roster = &quiesce->control->roster;
    struct round round = {quiesce, hr_atom32_load_acquire(&roster->rounds) + 1};
    say_stage(quiesce, stage);
    /* Partner: the launcher. */
    hr_atom32_store_release(&quiesce->control->rank[quiesce->rank].quiescent, round.number);
    hr_bell_ring(&quiesce->control->launcher_bell);
    HR_TRY(wait_for(quiesce, has_passed, &round));
    const uint32_t term = hr_atom32_load_relaxed(&roster->term); /* published by rounds */
    const uint32_t revokes = hr_atom32_load_relaxed(&roster->called);
    quiesce->waiter->revoke_seen = revokes;
    if (term == quiesce->term)
        return HR_OK;
    quiesce->revoked = revokes != quiesce->revokes;
    quiesce->begins = hr_atom32_load_relaxed(&roster->begins);
    quiesce->revokes = revokes;
    quiesce->term = term;
    quiesce->new_term = true;
    return hr_fail(HR_E_REVOKED, "a new term has begun");
}

enum hr_status hr_quiesce_join(struct hr_quiesce *quiesce, bool *over)
{
    say_stage(quiesce, HR_STAGE_JOINS);
    hr_bell_ring(&quiesce->control->launcher_bell);
    HR_TRY(wait_for(quiesce, is_welcome, quiesce));
    *over = hr_roster_is_gone(quiesce->control, quiesce->rank);
    return HR_OK;
}

/* --- the launcher --- */

static const struct hr_train_job *job_of(const struct hr_losses *losses)
{
    return losses->leader->job;
}

static struct hr_control *control_of(const struct hr_losses *losses)
{
    return job_of(losses)->shared->control;
}

static uint32_t stage_of(const struct hr_losses *losses, size_t rank)
{
    return hr_atom32_load_acquire(&control_of(losses)->rank[rank].stage); /* partner: quiesce */
}

/* Are all who live quiescent, and a worker among them? Else all workers are being started again.
 * Servers quiesce only when they are revoked. */
static bool all_quiescent(struct hr_losses *losses)
{
    const struct hr_control *control = control_of(losses);
    const size_t workers = job_of(losses)->shared->workers;
    const bool revoked = hr_losses_are_revoked(losses);
    const size_t n = revoked ? job_of(losses)->first_stage : workers;
    size_t quiescent = 0;
    if (losses->multinode)
        return hr_losses_multinode_quiescent(losses);
    if (revoked ? hr_losses_await(losses) : !hr_losses_are_taken(losses))
        return false;
    for (size_t r = 0; r < n; r++) {
        if (hr_roster_is_gone(control, r))
            continue;
        if (!hr_roster_is_quiescent(control, r))
            return false;
        quiescent += r < workers;
    }
    return quiescent > 0;
}

/* Are workers of the present term quiescent at that stage? All of them do, or none. */
static bool quiescent_at(const struct hr_losses *losses, enum hr_quiesce_stage stage)
{
    if (losses->multinode)
        return losses->multinode->stage == stage;
    for (size_t w = 0; w < job_of(losses)->shared->workers; w++)
        if (!hr_roster_is_gone(control_of(losses), w) && stage_of(losses, w) == stage)
            return true;
    return false;
}

/* Between a cut's conclusion and the span behind it, it waits for the span as all others do. */
static void welcome(struct hr_losses *losses, size_t rank)
{
    hr_atom32_store_relaxed(&control_of(losses)->rank[rank].presence.begins, !losses->in_span);
    hr_losses_welcome(losses, rank);
}

static void welcome_who_is_back(struct hr_losses *losses)
{
    for (size_t r = 0; losses->n && r < job_of(losses)->first_stage; r++)
        if (hr_losses_here(losses, r) && hr_roster_is_gone(control_of(losses), r) &&
            stage_of(losses, r) == HR_STAGE_JOINS && !losses->halted)
            welcome(losses, r);
}

/* Training goes on, or not, since `at`, as drive_threads.c has it: since the last worker came. */
static void run_clock(struct hr_losses *losses, bool runs, int64_t at)
{
    if (losses->span_ns)
        losses->trained_ns += at - losses->span_ns;
    losses->span_ns = runs ? at : 0;
}

static int64_t latest(const struct hr_losses *losses, const int64_t *of_first)
{
    const struct hr_shared_state *shared = job_of(losses)->shared;
    return hr_account_latest(of_first, shared->workers, sizeof *shared->stats);
}

/* All have ended the span; once more where one that came back in the cut has gone on with it since
 * its end before. A loss may have been noticed since then, when nobody trained. */
static void end_span(struct hr_losses *losses)
{
    struct hr_cut *cut = losses->leader->cuts.cut;
    if (!losses->span_ns)
        losses->span_ns = cut->span_ended_ns;
    cut->span_ended_ns = latest(losses, &job_of(losses)->shared->stats->came_ns);
    run_clock(losses, false, cut->span_ended_ns);
    for (size_t i = 0; i < losses->n; i++)
        if (losses->loss[i].seconds > hr_seconds(losses->trained_ns))
            losses->loss[i].seconds = hr_seconds(losses->trained_ns);
}

static void release(struct hr_losses *losses)
{
    struct hr_shared_state *shared = job_of(losses)->shared;
    if (quiescent_at(losses, HR_STAGE_ENDED)) {
        hr_losses_account(losses);
        end_span(losses);
        losses->rest_ns = losses->drive->driver->now_ns(losses->drive);
    }
    if (quiescent_at(losses, HR_STAGE_EVALUATED)) {
        hr_record_cut(losses->drive, losses->leader->cuts.cut->halt);
        losses->in_span = false;
        losses->concludes = losses->leader->cuts.cut->concluded + 1;
    }
    if (quiescent_at(losses, HR_STAGE_BEGINS)) {
        const int64_t began = latest(losses, &shared->stats->began_ns);
        losses->halted = losses->leader->cuts.cut->halt;
        if (losses->halted)
            hr_record_over(losses->drive);
        run_clock(losses, !losses->halted, began);
        losses->leader->cuts.cut->span_began_ns = began;
        losses->in_span = true;
    }
    if (losses->halted)
        hr_roster_end(shared->control);
    hr_roster_release(shared->control);
}

/* A leader that died before it had concluded the cut: all others have left it. */
static void conclude(const struct hr_losses *losses)
{
    if (losses->leader->cuts.cut->concluded < losses->concludes &&
        quiescent_at(losses, HR_STAGE_BEGINS))
        hr_leader_conclude(losses->leader);
}

/* Is the next span still to begin, and all go on behind the cut? On several machines they do,
 * wherever ranks here are. */
static bool is_behind_cut(const struct hr_losses *losses)
{
    const struct hr_losses_multinode *it = losses->multinode;
    return it ? !it->passed || it->passed == HR_STAGE_EVALUATED
              : quiescent_at(losses, HR_STAGE_BEGINS);
}

static enum hr_status go_on(struct hr_losses *losses)
{
    if (hr_losses_changed(losses)) {
        const bool begins = is_behind_cut(losses);
        if (hr_losses_are_revoked(losses) && !begins) /* all are back in the span */
            run_clock(losses, true, losses->drive->driver->now_ns(losses->drive));
        return hr_losses_begin_term(losses, begins);
    }
    if (losses->multinode)
        HR_TRY(hr_losses_multinode_barrier(losses));
    release(losses);
    return HR_OK;
}

enum hr_status hr_quiesce_release(struct hr_losses *losses)
{
    if (losses->multinode)
        HR_TRY(hr_losses_multinode_take(losses));
    welcome_who_is_back(losses);
    if (!all_quiescent(losses))
        return HR_OK;
    if (hr_losses_lead(losses))
        conclude(losses);
    if (quiescent_at(losses, HR_STAGE_BEGINS))
        hr_losses_keep_cut(losses);
    const enum hr_status status = go_on(losses);
    return status == HR_E_REVOKED ? HR_OK : status; /* its order is taken at the next ring */
}
