#include "session/cut.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

static bool ends_epoch(const struct hr_curve_point *point)
{
    return floor(point->epoch) == point->epoch;
}

/* Is this evaluation compared, and better than that value by more than `delta`? */
static bool is_better(const struct hr_early_stop *rule, const struct hr_best *best,
                      const struct hr_curve_point *point, double than, double delta)
{
    const double value = hr_metric_at(rule->metric, point);
    if (!isfinite(value) || !ends_epoch(point))
        return false;
    return !best->any || hr_metric_better(rule->metric, value, than, delta);
}

/* Would this evaluation be the next best? */
static bool best_is_beaten(const struct hr_early_stop *rule, const struct hr_best *best,
                           const struct hr_curve_point *point)
{
    return is_better(rule, best, point, best->value, 0);
}

struct hr_best hr_best_of(const struct hr_early_stop *rule, const struct hr_curve_point *curve,
                          size_t n)
{
    struct hr_best best = {.any = false};
    for (size_t i = 0; i < n; i++) {
        const double value = hr_metric_at(rule->metric, &curve[i]);
        const bool improves = is_better(rule, &best, &curve[i], best.mark, rule->min_delta);
        const bool beats = best_is_beaten(rule, &best, &curve[i]);
        if (improves) {
            best.mark = value;
            best.since = 0;
        } else if (ends_epoch(&curve[i])) {
            best.since++;
        }
        if (beats) {
            best.any = true;
            best.point = i;
            best.value = value;
        }
    }
    return best;
}

float *hr_best_weights_next(const struct hr_best_weights *best)
{
    return best->place[(hr_atom64_load_relaxed(best->kept) + 1) % 2]; /* our own word, at a cut */
}

void hr_best_weights_done(const struct hr_best_weights *best)
{
    /* Our own word; partner: last. */
    hr_atom64_store_release(best->kept, hr_atom64_load_relaxed(best->kept) + 1);
}

void hr_best_weights_keep(const struct hr_best_weights *best, const float *weights)
{
    if (!best->kept)
        return;
    memcpy(hr_best_weights_next(best), weights, best->params * sizeof *weights);
    hr_best_weights_done(best);
}

float *hr_best_weights_last(const struct hr_best_weights *best)
{
    const uint64_t kept = best->kept ? hr_atom64_load_acquire(best->kept) : 0; /* partner: keep */
    return kept ? best->place[kept % 2] : NULL;
}

bool hr_cut_may_arrive(void *arg)
{
    const struct hr_cut *cut = arg;
    /* Both partners: hr_launcher_tick and hr_cut_conclude. */
    return hr_atom64_load_acquire(&cut->saves_done) == hr_atom64_load_acquire(&cut->saves_asked);
}

/* What is asked for from now on is for a later cut. */
static bool look_for_requests(const struct hr_cuts *cuts)
{
    const struct hr_save_request *request = cuts->request;
    if (!request)
        return false;
    cuts->cut->copies = hr_atom32_load_acquire(&request->copies_asked);   /* partner: launcher */
    cuts->cut->serves = hr_atom32_load_acquire(&request->asked);          /* the same */
    return cuts->cut->serves != hr_atom32_load_relaxed(&request->served); /* our own word */
}

void hr_cut_decide(const struct hr_cuts *cuts, uint64_t index, enum hr_stop stop)
{
    struct hr_cut *cut = cuts->cut;
    const bool over = index >= cuts->schedule->end;
    cut->rest_ns = cut->rested_ns + (cut->rests ? cut->span_began_ns - cut->ended_ns : 0);
    cut->train_ns = cut->before_ns + cut->span_ended_ns - cut->span_began_ns;
    cut->index = index;
    cut->interrupted = stop == HR_STOP_INTERRUPTED;
    cut->halt = !cut->again && (stop != HR_STOP_NOT || over);
    /* Evaluate an epoch's end even when the run stops here: a resumed run does not repeat it. But
     * not twice: it may stop before anything is trained on, or back at the last cut. */
    cut->evaluate = !cut->again && cut->measured != index + 1 &&
                    (hr_batch_schedule_ends_epoch(cuts->schedule, index) || over ||
                     (cut->halt && !cut->interrupted));
    cut->asked = look_for_requests(cuts);
    cut->save = cuts->saves && !cut->again &&
                (cut->halt || cut->asked || hr_batch_schedule_saves(cuts->schedule, index));
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

/* Of the first n points. */
static struct hr_best best_of(const struct hr_cuts *cuts, const struct hr_early_stop *rule,
                              size_t n)
{
    return rule->asked ? hr_best_of(rule, cuts->curve, n) : (struct hr_best){.any = false};
}

struct hr_best hr_cut_best(const struct hr_cuts *cuts, const struct hr_early_stop *rule)
{
    const size_t n = hr_atom64_load_acquire(&cuts->cut->ncurve); /* partner: hr_cut_add_point */
    return best_of(cuts, rule, n);
}

bool hr_cut_is_best(const struct hr_cuts *cuts, const struct hr_early_stop *rule)
{
    const struct hr_best best = hr_cut_best(cuts, rule);
    const size_t n = hr_atom64_load_acquire(&cuts->cut->ncurve); /* partner: hr_cut_add_point */
    return cuts->cut->evaluate && best.any && best.point + 1 == n;
}

bool hr_cut_improves(const struct hr_cuts *cuts, const struct hr_curve_point *point)
{
    const struct hr_early_stop *rule = &cuts->early_stop;
    const struct hr_best best = best_of(cuts, rule, cuts->cut->points);
    return rule->asked && best_is_beaten(rule, &best, point);
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
    HR_ASSERT(cut->points < cuts->curve_room);
    point.samples = cuts->history.samples + cut->trained.samples;
    point.seconds = cuts->history.seconds + hr_seconds(cut->train_ns);
    point.step = hr_cut_step(cuts);
    cuts->curve[cut->points] = hr_cut_measured(cuts, point);
    hr_atom64_store_release(&cut->ncurve, cut->points + 1); /* partner: hr_launcher_tick */
    cut->measured = cut->index + 1;
    look_back(cuts);
}

struct hr_cut_words hr_cut_pause(const struct hr_cuts *cuts, uint64_t index,
                                 const struct hr_trained *trained, int64_t now_ns)
{
    struct hr_cut *cut = cuts->cut;
    const struct hr_cut_words had = {cut->index, cut->train_ns, cut->trained, cut->evaluate};
    cut->index = index;
    cut->train_ns = cut->before_ns + now_ns - cut->span_began_ns;
    cut->trained = *trained;
    cut->evaluate = cut->asked = false;
    if (cuts->request) /* one thread */
        hr_atom32_store_release(&cuts->request->served,
                                hr_atom32_load_relaxed(&cuts->request->asked));
    /* Partner: hr_launcher_tick. No number of a cut, which is small. */
    hr_atom64_store_release(&cut->saves_asked, ++cut->pauses << 32);
    return had;
}

void hr_cut_end_pause(const struct hr_cuts *cuts, const struct hr_cut_words *had)
{
    struct hr_cut *cut = cuts->cut;
    cut->index = had->index;
    cut->train_ns = had->train_ns;
    cut->trained = had->trained;
    cut->evaluate = had->evaluate;
}

void hr_cut_conclude(const struct hr_cuts *cuts)
{
    struct hr_cut *cut = cuts->cut;
    if (!cut->again)
        cut->begins = cut->index;
    cut->before_ns = cut->train_ns;
    cut->rested_ns = cut->rest_ns;
    cut->rests = cut->save && !cut->evaluate;
    cut->ended_ns = cut->span_ended_ns;
    cut->points = hr_atom64_load_relaxed(&cut->ncurve); /* our own word */
    if (cuts->request && !cut->again)                   /* partner: hr_copy_is_asked */
        hr_atom32_store_release(&cuts->request->copies_served, cut->copies);
    if (cut->save && cuts->request) /* partner: hr_save_is_asked */
        hr_atom32_store_release(&cuts->request->served, cut->serves);
    if (cut->save) /* partner: hr_launcher_tick */
        hr_atom64_store_release(&cut->saves_asked, cut->concluded + 1);
    hr_fence_of_death();
    cut->concluded++;
    hr_bell_ring(&cuts->control->launcher_bell);
}

uint64_t hr_cut_step(const struct hr_cuts *cuts)
{
    return cuts->cut->index + cuts->history.steps;
}
