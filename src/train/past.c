/* What the runs did that this one goes on from. The curve goes on where it ended, and so do its
 * axes; the epoch in hand goes on in each worker's own sum, so that losses, too, are those of a run
 * that was never stopped. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hogring/checkpoint.h"
#include "train/run.h"
#include "train/saved.h"

static const char curve_name[] = "curve", shares_name[] = "epoch_shares";

enum { SHARE = sizeof(struct hr_epoch_share) / sizeof(double) };

/* --- saved --- */

static size_t points_of(const struct hr_run *run)
{
    return hr_atom64_load_acquire(&run->board->ncurve); /* partner: cut.c */
}

size_t hr_past_numbers(const struct hr_run *run)
{
    return HR_PAST_POINT * points_of(run);
}

/* numbers (rows, width); a tensor without rows is left out. */
static void add_table(struct hr_tensor_file *file, const char *name, size_t rows, size_t width,
                      void *numbers)
{
    if (rows == 0)
        return;
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){.dtype = HR_F64,
                                 .ndim = 2,
                                 .shape = {rows, width},
                                 .bytes = rows * width * sizeof(double),
                                 .data = numbers};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

void hr_past_put(const struct hr_run *run, double *curve, struct hr_tensor_file *file)
{
    const size_t points = points_of(run);
    for (size_t i = 0; i < points; i++) {
        const struct hr_curve_point *p = &run->curve[i];
        const double row[HR_PAST_POINT] = {(double)p->samples, p->seconds,   p->epoch,
                                           p->train_loss,      p->test_loss, p->test_accuracy};
        memcpy(curve + HR_PAST_POINT * i, row, sizeof row);
    }
    add_table(file, curve_name, points, HR_PAST_POINT, curve);
    add_table(file, shares_name, run->shared.workers, SHARE, run->shared.snapshot.shares);
}

/* --- read --- */

enum hr_status hr_saved_count(const struct hr_checkpoint *checkpoint, const char *key,
                              uint64_t *out)
{
    const char *text = hr_metadata_get(&checkpoint->trainer, key);
    char *end = NULL;
    *out = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end)
        return hr_fail(HR_E_FORMAT, "%s: trainer metadata \"%s\" is %s, expected a number",
                       checkpoint->path, key, text ? text : "missing");
    return HR_OK;
}

double hr_saved_number(const struct hr_checkpoint *checkpoint, const char *key)
{
    const char *loss = hr_metadata_get(&checkpoint->trainer, key);
    return loss ? strtod(loss, NULL) : 0;
}

/* The table of that name; *numbers = NULL when there is none. */
static enum hr_status find_table(const struct hr_checkpoint *checkpoint, const char *name,
                                 size_t width, size_t *rows, const double **numbers)
{
    const struct hr_tensor *tensor = hr_tensor_get(&checkpoint->trainer, name);
    *rows = 0;
    *numbers = NULL;
    if (!tensor)
        return HR_OK;
    if (tensor->dtype != HR_F64 || tensor->ndim != 2 || tensor->shape[1] != width)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s is not rows of %zu numbers of float64",
                       checkpoint->path, name, width);
    *rows = tensor->shape[0];
    *numbers = tensor->data;
    return HR_OK;
}

/* A count that was saved as a double. */
static enum hr_status take_samples(const struct hr_checkpoint *checkpoint, const char *name,
                                   double number, uint64_t *out)
{
    if (!(number >= 0 && number <= 0x1p53))
        return hr_fail(HR_E_FORMAT, "%s: tensor %s counts %g samples", checkpoint->path, name,
                       number);
    *out = (uint64_t)number;
    return HR_OK;
}

enum hr_status hr_past_take(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const double *curve;
    if (!hr_metadata_get(&checkpoint->trainer, "samples")) {
        hr_log(HR_LOG_INFO,
               "%s: is of an earlier version and does not say how many samples and seconds it "
               "took: curve and counts begin here",
               checkpoint->path);
        return HR_OK;
    }
    HR_TRY(hr_saved_count(checkpoint, "samples", &run->past.samples));
    HR_TRY(hr_saved_count(checkpoint, "updates", &run->past.updates));
    run->past.seconds = hr_saved_number(checkpoint, "seconds");
    HR_TRY(find_table(checkpoint, curve_name, HR_PAST_POINT, &run->past.points, &curve));
    run->curve_room += run->past.points;
    return HR_OK;
}

static enum hr_status restore_curve(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const double *curve;
    size_t points;
    HR_TRY(find_table(checkpoint, curve_name, HR_PAST_POINT, &points, &curve));
    for (size_t i = 0; i < run->past.points; i++) {
        const double *row = curve + HR_PAST_POINT * i;
        struct hr_curve_point *point = &run->curve[i];
        *point = (struct hr_curve_point){.seconds = row[1],
                                         .epoch = row[2],
                                         .train_loss = row[3],
                                         .test_loss = row[4],
                                         .test_accuracy = row[5]};
        HR_TRY(take_samples(checkpoint, curve_name, row[0], &point->samples));
    }
    hr_atom64_store_release(&run->board->ncurve, run->past.points); /* partner: the launcher */
    run->points_shown = run->past.points;
    return HR_OK;
}

/* What worker `worker` of the saved run had trained on goes to the worker of that number; where
 * there are other workers now, or the sum is all that is known, it is the first one's. */
static enum hr_status restore_shares(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const double *shares;
    size_t saved;
    HR_TRY(find_table(checkpoint, shares_name, SHARE, &saved, &shares));
    if (saved != run->shared.workers) {
        struct hr_worker_stats *first = &run->shared.stats[0];
        first->epoch_loss = hr_saved_number(checkpoint, "epoch_loss");
        return hr_saved_count(checkpoint, "epoch_samples", &first->epoch_samples);
    }
    for (size_t w = 0; w < saved; w++) {
        struct hr_worker_stats *stats = &run->shared.stats[w];
        stats->epoch_loss = shares[SHARE * w];
        HR_TRY(take_samples(checkpoint, shares_name, shares[SHARE * w + 1], &stats->epoch_samples));
    }
    return HR_OK;
}

enum hr_status hr_past_restore(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    HR_TRY(restore_curve(run, checkpoint));
    return run->in_epoch ? restore_shares(run, checkpoint) : HR_OK;
}
