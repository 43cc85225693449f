#include "session/cut.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"

bool hr_cut_may_arrive(void *arg)
{
    const struct hr_cut *cut = arg;
    /* Both partners: hr_launcher_tick and hr_cut_conclude. */
    return hr_atom64_load_acquire(&cut->saves_done) == hr_atom64_load_acquire(&cut->saves_asked);
}

void hr_cut_decide(const struct hr_cuts *cuts, uint64_t index, enum hr_stop stop, int64_t ended_ns)
{
    struct hr_cut *cut = cuts->cut;
    const bool over = index >= cuts->schedule->end;
    cut->train_ns = cut->before_ns + ended_ns - cut->span_began_ns;
    cut->index = index;
    cut->interrupted = stop == HR_STOP_INTERRUPTED;
    cut->halt = !cut->again && (stop != HR_STOP_NOT || over);
    /* Evaluate an epoch's end even when the run stops here: a resumed run does not repeat it. */
    cut->evaluate = !cut->again && (hr_batch_schedule_ends_epoch(cuts->schedule, index) || over ||
                                    (cut->halt && !cut->interrupted));
    cut->save =
        cuts->saves && !cut->again && (cut->halt || hr_batch_schedule_saves(cuts->schedule, index));
}

struct hr_curve_point hr_cut_measured(const struct hr_cuts *cuts, struct hr_curve_point point)
{
    if (!cuts->validates || point.validated)
        return point;
    point.validated = true;
    point.validation_loss = point.test_loss;
    point.validation_accuracy = point.test_accuracy;
    point.test_loss = point.test_accuracy = (double)NAN;
    return point;
}

struct hr_best hr_cut_best(const struct hr_cuts *cuts, const struct hr_early_stop *rule)
{
    const size_t n = hr_atom64_load_acquire(&cuts->cut->ncurve); /* partner: hr_cut_add_point */
    return rule->asked ? hr_best_of(rule, cuts->curve, n) : (struct hr_best){.any = false};
}

bool hr_cut_is_best(const struct hr_cuts *cuts, const struct hr_early_stop *rule)
{
    const struct hr_best best = hr_cut_best(cuts, rule);
    return cuts->cut->evaluate && best.any && best.since == 0;
}

bool hr_cut_improves(const struct hr_cuts *cuts, const struct hr_curve_point *point)
{
    const struct hr_best best = hr_cut_best(cuts, &cuts->early_stop);
    return cuts->early_stop.asked && hr_best_is_beaten(&cuts->early_stop, &best, point);
}

/* Behind a new point of the curve. A run that ends here was not interrupted, whoever asked. */
static void look_back(const struct hr_cuts *cuts)
{
    struct hr_cut *cut = cuts->cut;
    const struct hr_best best = hr_cut_best(cuts, &cuts->early_stop);
    if (hr_best_is_over(&cuts->early_stop, &best)) {
        cut->halt = true;
        cut->interrupted = false;
    }
    cut->save |= cuts->saves && (cut->halt || hr_cut_is_best(cuts, &cuts->keep_best));
}

void hr_cut_add_point(const struct hr_cuts *cuts, struct hr_curve_point point)
{
    struct hr_cut *cut = cuts->cut;
    const uint64_t number = hr_atom64_load_relaxed(&cut->ncurve); /* our own word */
    HR_ASSERT(number < cuts->curve_room);
    point.samples = cuts->past.samples + cut->trained.samples;
    point.seconds = cuts->past.seconds + hr_seconds(cut->train_ns);
    cuts->curve[number] = hr_cut_measured(cuts, point);
    hr_atom64_store_release(&cut->ncurve, number + 1); /* partner: hr_launcher_tick */
    look_back(cuts);
}

void hr_cut_conclude(const struct hr_cuts *cuts)
{
    struct hr_cut *cut = cuts->cut;
    cut->counted = false;
    cut->concluded++;
    if (!cut->again)
        cut->begins = cut->index;
    cut->before_ns = cut->train_ns;
    if (cut->save) /* partner: hr_launcher_tick */
        hr_atom64_store_release(&cut->saves_asked, hr_atom64_load_relaxed(&cut->saves_asked) + 1);
    hr_bell_ring(&cuts->control->launcher_bell);
}

uint64_t hr_cut_step(const struct hr_cuts *cuts)
{
    return cuts->cut->index + cuts->past.steps;
}
