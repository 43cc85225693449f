#include "session/past.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "session/kept.h"

static const char curve_name[] = "curve";

/* --- saved --- */

static size_t points_of(const struct hr_cuts *cuts)
{
    return hr_atom64_load_acquire(&cuts->cut->ncurve); /* partner: hr_cut_add_point */
}

static size_t width_of(const struct hr_cuts *cuts)
{
    return cuts->values ? HR_PAST_VALUES : HR_PAST_CLASSES;
}

size_t hr_past_numbers(const struct hr_cuts *cuts)
{
    return width_of(cuts) * points_of(cuts);
}

static void write_point(const struct hr_curve_point *p, bool values, double *row)
{
    row[0] = (double)p->samples;
    row[1] = p->seconds;
    row[2] = p->epoch;
    row[3] = p->train_loss;
    row[4] = hr_curve_loss(p);
    row[5] = values ? p->fit.rmse : hr_curve_accuracy(p);
    if (!values)
        return;
    row[6] = p->fit.mae;
    row[7] = p->fit.r2;
}

void hr_past_put(const struct hr_cuts *cuts, double *curve, struct hr_tensor_file *file)
{
    const struct hr_cut *cut = cuts->cut;
    const size_t points = points_of(cuts), width = width_of(cuts);
    for (size_t i = 0; i < points; i++)
        write_point(&cuts->curve[i], cuts->values, curve + width * i);
    hr_saved_put_table(file, curve_name, points, width, curve);
    hr_saved_put(file, "samples", "%" PRIu64, cuts->past.samples + cut->trained.samples);
    hr_saved_put(file, "updates", "%" PRIu64, cuts->past.updates + cut->trained.updates);
    hr_saved_put(file, "seconds", "%.17g", cuts->past.seconds + hr_seconds(cut->train_ns));
}

/* --- read --- */

/* The curve of a checkpoint. mf's was narrow before other models predicted values. */
struct saved_curve {
    const double *numbers;
    size_t points, width;
};

static enum hr_status find_curve(const struct hr_checkpoint *checkpoint, const struct hr_cuts *cuts,
                                 struct saved_curve *out)
{
    const struct hr_tensor *tensor = hr_tensor_get(&checkpoint->trainer, curve_name);
    const bool narrow = tensor && tensor->ndim == 2 && tensor->shape[1] == HR_PAST_CLASSES;
    out->width = narrow ? HR_PAST_CLASSES : width_of(cuts);
    return hr_saved_table(checkpoint, curve_name, out->width, &out->points, &out->numbers);
}

enum hr_status hr_past_take(const struct hr_checkpoint *checkpoint, struct hr_cuts *cuts)
{
    struct hr_past *past = &cuts->past;
    struct saved_curve curve;
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
    HR_TRY(find_curve(checkpoint, cuts, &curve));
    past->points = curve.points;
    cuts->curve_room += past->points;
    return HR_OK;
}

static struct hr_curve_point point_of(const struct hr_cuts *cuts, const struct saved_curve *curve,
                                      size_t i)
{
    const double *row = curve->numbers + curve->width * i;
    const bool values = curve->width == HR_PAST_VALUES;
    struct hr_curve_point point = {.seconds = row[1],
                                   .epoch = row[2],
                                   .train_loss = row[3],
                                   .test_loss = row[4],
                                   .test_accuracy = cuts->values ? (double)NAN : row[5],
                                   .values = cuts->values,
                                   .fit = {row[4], (double)NAN, (double)NAN}};
    if (values)
        point.fit = (struct hr_fit){row[5], row[6], row[7]};
    return hr_cut_measured(cuts, point);
}

enum hr_status hr_past_restore(const struct hr_checkpoint *checkpoint, const struct hr_cuts *cuts)
{
    struct saved_curve curve;
    HR_TRY(find_curve(checkpoint, cuts, &curve));
    for (size_t i = 0; i < cuts->past.points; i++) {
        cuts->curve[i] = point_of(cuts, &curve, i);
        HR_TRY(hr_saved_samples(checkpoint, curve_name, curve.numbers[curve.width * i],
                                &cuts->curve[i].samples));
    }
    hr_atom64_store_release(&cuts->cut->ncurve, cuts->past.points); /* partner: the launcher */
    cuts->cut->points = cuts->past.points;
    return HR_OK;
}

enum hr_status hr_past_best(const struct hr_checkpoint *checkpoint, const struct hr_cuts *cuts,
                            struct hr_best *out)
{
    struct saved_curve saved;
    *out = (struct hr_best){.any = false};
    HR_TRY(find_curve(checkpoint, cuts, &saved));
    struct hr_curve_point *curve = calloc(saved.points + 1, sizeof *curve);
    if (!curve)
        return hr_fail(HR_E_NOMEM, "no memory for a curve of %zu points", saved.points);
    for (size_t i = 0; i < saved.points; i++)
        curve[i] = point_of(cuts, &saved, i);
    *out = hr_best_of(&cuts->early_stop, curve, saved.points);
    free(curve);
    return HR_OK;
}

static enum hr_status check_rule(const struct hr_checkpoint *checkpoint, const char *name,
                                 const struct hr_early_stop *was, const struct hr_early_stop *is)
{
    const bool same = was->metric == is->metric && !(was->min_delta < is->min_delta) &&
                      !(was->min_delta > is->min_delta);
    if (same || !was->asked || !is->asked)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--resume %s: it looked for the best by --%s %s%s; expected the same, but for "
                   "the patience",
                   checkpoint->path, name, hr_metric_kind(was->metric)->name,
                   was->metric == is->metric ? " and another MIN-DELTA" : "");
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
