#include "session/past.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "session/kept.h"

static const char curve_name[] = "curve";

/* --- saved --- */

static size_t points_of(const struct hr_cuts *cuts)
{
    return hr_atom64_load_acquire(&cuts->cut->ncurve); /* partner: hr_cut_add_point */
}

size_t hr_past_numbers(const struct hr_cuts *cuts)
{
    return HR_PAST_POINT * points_of(cuts);
}

void hr_past_put(const struct hr_cuts *cuts, double *curve, struct hr_tensor_file *file)
{
    const struct hr_cut *cut = cuts->cut;
    const size_t points = points_of(cuts);
    for (size_t i = 0; i < points; i++) {
        const struct hr_curve_point *p = &cuts->curve[i];
        const double row[HR_PAST_POINT] = {(double)p->samples, p->seconds,
                                           p->epoch,           p->train_loss,
                                           hr_curve_loss(p),   hr_curve_accuracy(p)};
        memcpy(curve + HR_PAST_POINT * i, row, sizeof row);
    }
    hr_saved_put_table(file, curve_name, points, HR_PAST_POINT, curve);
    hr_saved_put(file, "samples", "%" PRIu64, cuts->past.samples + cut->trained.samples);
    hr_saved_put(file, "updates", "%" PRIu64, cuts->past.updates + cut->trained.updates);
    hr_saved_put(file, "seconds", "%.17g", cuts->past.seconds + hr_seconds(cut->train_ns));
}

/* --- read --- */

enum hr_status hr_past_take(const struct hr_checkpoint *checkpoint, struct hr_cuts *cuts)
{
    struct hr_past *past = &cuts->past;
    const double *curve;
    if (!hr_metadata_get(&checkpoint->trainer, "samples")) {
        hr_log(HR_LOG_INFO,
               "%s: is of an earlier version and does not say how many samples and seconds it "
               "took: curve and counts begin here",
               checkpoint->path);
        return HR_OK;
    }
    HR_TRY(hr_saved_count(checkpoint, "samples", &past->samples));
    HR_TRY(hr_saved_count(checkpoint, "updates", &past->updates));
    HR_TRY(hr_saved_amount(checkpoint, "seconds", &past->seconds));
    HR_TRY(hr_saved_table(checkpoint, curve_name, HR_PAST_POINT, &past->points, &curve));
    cuts->curve_room += past->points;
    return HR_OK;
}

static struct hr_curve_point point_of(const struct hr_cuts *cuts, const double *row)
{
    return hr_cut_measured(cuts, (struct hr_curve_point){.seconds = row[1],
                                                         .epoch = row[2],
                                                         .train_loss = row[3],
                                                         .test_loss = row[4],
                                                         .test_accuracy = row[5]});
}

enum hr_status hr_past_restore(const struct hr_checkpoint *checkpoint, const struct hr_cuts *cuts)
{
    const double *curve;
    size_t points;
    HR_TRY(hr_saved_table(checkpoint, curve_name, HR_PAST_POINT, &points, &curve));
    for (size_t i = 0; i < cuts->past.points; i++) {
        const double *row = curve + HR_PAST_POINT * i;
        cuts->curve[i] = point_of(cuts, row);
        HR_TRY(hr_saved_samples(checkpoint, curve_name, row[0], &cuts->curve[i].samples));
    }
    hr_atom64_store_release(&cuts->cut->ncurve, cuts->past.points); /* partner: the launcher */
    cuts->cut->points = cuts->past.points;
    return HR_OK;
}

enum hr_status hr_past_best(const struct hr_checkpoint *checkpoint, const struct hr_cuts *cuts,
                            struct hr_best *out)
{
    const double *rows;
    size_t n;
    *out = (struct hr_best){.any = false};
    HR_TRY(hr_saved_table(checkpoint, curve_name, HR_PAST_POINT, &n, &rows));
    struct hr_curve_point *curve = calloc(n + 1, sizeof *curve);
    if (!curve)
        return hr_fail(HR_E_NOMEM, "no memory for a curve of %zu points", n);
    for (size_t i = 0; i < n; i++)
        curve[i] = point_of(cuts, rows + HR_PAST_POINT * i);
    *out = hr_best_of(&cuts->early_stop, curve, n);
    free(curve);
    return HR_OK;
}

static enum hr_status check_rule(const struct hr_checkpoint *checkpoint, const char *name,
                                 const struct hr_early_stop *was, const struct hr_early_stop *is)
{
    const bool same = was->by_accuracy == is->by_accuracy && !(was->min_delta < is->min_delta) &&
                      !(was->min_delta > is->min_delta);
    if (same || !was->asked || !is->asked)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--resume %s: it looked for the best by --%s %s%s; expected the same, but for "
                   "the patience",
                   checkpoint->path, name, hr_early_stop_metric(was),
                   was->by_accuracy == is->by_accuracy ? " and another MIN-DELTA" : "");
}

enum hr_status hr_past_check_best(const struct hr_checkpoint *checkpoint,
                                  const struct hr_cuts *cuts,
                                  const struct hr_train_options *options)
{
    const char *stop = hr_metadata_get(&checkpoint->trainer, HR_KEPT_OPTION "early-stop");
    const char *keep = hr_metadata_get(&checkpoint->trainer, HR_KEPT_OPTION "keep-best");
    struct hr_early_stop was;
    HR_TRY(hr_keep_best_parse(keep ? keep : "", &was));
    HR_TRY(check_rule(checkpoint, "keep-best", &was, &cuts->keep_best));
    HR_TRY(hr_early_stop_parse(stop ? stop : "", &was));
    HR_TRY(check_rule(checkpoint, "early-stop", &was, &cuts->early_stop));
    if (was.asked || !cuts->early_stop.asked || cuts->past.points == 0)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--early-stop %s: %s was trained without it, and has no weights but its last; "
                   "expected it from the beginning",
                   options->early_stop, checkpoint->path);
}
