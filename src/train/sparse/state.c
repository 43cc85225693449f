#include "sparse/state.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "session/saved.h"
#include "session/model_input.h"
#include "session/save.h"

static const char alphas_name[] = "alphas", blocks_name[] = "epoch_blocks";
static const char best_prefix[] = "best.", last_prefix[] = "last.";

enum { TENSORS = 4, METADATA = 3 };

/* --- saved --- */

void hr_sparse_copy_weights(const struct hr_sparse_run *run, float *out)
{
    const struct hr_sparse_problem *p = &run->problem;
    for (size_t f = 0; p->model != HR_SPARSE_MF && f < p->features; f++)
        out[f] = hr_hogwild_load_float_relaxed(&run->weights[p->place[f]]);
    for (size_t k = 0; p->model == HR_SPARSE_MF && k < p->params / 2; k++) {
        const struct hr_float_pair pair = hr_hogwild_load_relaxed(&run->factors[k]);
        out[2 * k] = pair.first;
        out[2 * k + 1] = pair.second;
    }
}

static void set_factors(struct hr_atom64 *to, const float *from, size_t n)
{
    for (size_t k = 0; k < n / 2; k++)
        hr_hogwild_store_relaxed(&to[k], (struct hr_float_pair){from[2 * k], from[2 * k + 1]});
}

void hr_sparse_set_weights(const struct hr_sparse_run *run, const float *weights)
{
    const struct hr_sparse_problem *p = &run->problem;
    if (p->model == HR_SPARSE_MF)
        set_factors(run->factors, weights, p->params);
    for (size_t f = 0; p->model != HR_SPARSE_MF && f < p->features; f++)
        hr_hogwild_store_float_relaxed(&run->weights[p->place[f]], weights[f]);
}

static void put_matrix(struct hr_tensor_file *file, const char *prefix, const char *name,
                       size_t rows, size_t columns, float *data)
{
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){.dtype = HR_F32,
                                 .ndim = 2,
                                 .shape = {rows, columns},
                                 .bytes = rows * columns * sizeof *data,
                                 .data = data};
    snprintf(tensor->name, sizeof tensor->name, "%s%s", prefix, name);
}

/* weights (params) in the order of files */
static void put_weights(const struct hr_sparse_run *run, struct hr_tensor_file *file,
                        const char *prefix, float *weights)
{
    const struct hr_sparse_problem *p = &run->problem;
    if (p->model != HR_SPARSE_MF) {
        put_matrix(file, prefix, "weight", 1, p->features, weights);
        return;
    }
    put_matrix(file, prefix, "users.weight", p->users, p->factors, weights);
    put_matrix(file, prefix, "items.weight", p->features, p->factors,
               weights + p->users * p->factors);
}

static void describe_model(struct hr_sparse_run *run, float *weights, struct hr_tensor_file *file)
{
    struct hr_sparse_problem *p = &run->problem;
    hr_saved_put(file, "hogring.solver", "%s", run->options.solver);
    hr_saved_put(file, "hogring.cost", "%.15g", run->options.cost);
    hr_saved_put(file, "hogring.features", "%zu", p->features);
    put_weights(run, file, "", weights);
    if (p->model == HR_SPARSE_MF)
        file->tensors[file->ntensors++] = (struct hr_tensor){
            .name = "mean", .dtype = HR_F32, .bytes = sizeof p->mean, .data = &p->mean};
}

/* What is done of an epoch that was interrupted. */
static void describe_epoch(struct hr_sparse_run *run, struct hr_tensor_file *file)
{
    uint64_t newton = 0;
    for (size_t w = 0; w < run->options.workers; w++) {
        run->blocks[w] = (double)hr_atom64_load_relaxed(&run->tally[w].claim);
        newton += run->tally[w].newton;
    }
    hr_saved_put_table(file, blocks_name, run->options.workers, 1, run->blocks);
    hr_saved_put(file, "epoch_newton", "%" PRIu64, newton);
}

static void describe(void *arg, struct hr_tensor_file *model, struct hr_tensor_file *trainer)
{
    struct hr_sparse_run *run = arg;
    const struct hr_cut *cut = run->cuts.cut;
    float *best = hr_best_weights_last(&run->best);
    const bool ends = best && cut->halt && !cut->interrupted; /* with the best ones */
    hr_sparse_copy_weights(run, run->saved);
    describe_model(run, ends ? best : run->saved, model);
    if (best)
        put_weights(run, trainer, ends ? last_prefix : best_prefix, ends ? run->saved : best);
    if (!hr_batch_schedule_ends_epoch(&run->schedule, run->cuts.cut->index))
        describe_epoch(run, trainer);
    if (!run->dual)
        return;
    hr_saved_put_table(trainer, alphas_name, run->problem.train.count, 2, *run->alphas);
    hr_saved_put(trainer, "inner_eps", "%.17g", *run->inner_eps);
}

void hr_sparse_describe(struct hr_sparse_run *run)
{
    const struct hr_sparse_problem *p = &run->problem;
    run->saver = (struct hr_saver){
        .options = &run->options,
        .dataset = run->dataset,
        .targets = &run->scale,
        .cuts = &run->cuts,
        .schedule = &run->schedule,
        .model = run->options.model,
        .optimizer = run->options.solver,
        .batch_size = 1,
        .tensors = TENSORS,
        .metadata = METADATA,
        .bytes = p->params * sizeof(float) * (run->cuts.early_stop.asked ? 2 : 1) +
                 (run->dual ? p->train.count * sizeof *run->alphas : 0) +
                 run->options.workers * sizeof *run->blocks + sizeof p->mean,
        .describe = describe,
        .engine = run,
    };
}

enum hr_status hr_sparse_digest(const struct hr_sparse_run *run, char out[33])
{
    float *weights = malloc(run->problem.params * sizeof *weights);
    if (!weights)
        return hr_fail(HR_E_NOMEM, "no memory to copy %zu weights", run->problem.params);
    hr_sparse_copy_weights(run, weights);
    hr_digest_floats(weights, run->problem.params, out);
    free(weights);
    return HR_OK;
}

/* --- read --- */

/* The shape that a matrix must have: rows and columns, exactly or at least. */
struct shape {
    size_t rows, columns;
    bool more_rows, more_columns;
};

static bool suits(size_t found, size_t wanted, bool more)
{
    return found == wanted || (more && found > wanted);
}

static enum hr_status find_matrix(const struct hr_checkpoint *checkpoint, const char *prefix,
                                  const char *base, struct shape shape,
                                  const struct hr_tensor **out)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, base);
    const struct hr_tensor *tensor =
        hr_tensor_get(prefix[0] ? &checkpoint->trainer : &checkpoint->model, name);
    *out = tensor;
    if (!tensor)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s is missing", checkpoint->path, name);
    if (tensor->dtype != HR_F32 || tensor->ndim != 2)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s is no matrix of float32", checkpoint->path,
                       name);
    if (suits(tensor->shape[0], shape.rows, shape.more_rows) &&
        suits(tensor->shape[1], shape.columns, shape.more_columns))
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: tensor %s is (%zu, %zu), expected (%zu%s, %zu%s) (another model, or "
                   "another --data?)",
                   checkpoint->path, name, tensor->shape[0], tensor->shape[1], shape.rows,
                   shape.more_rows ? " or more" : "", shape.columns,
                   shape.more_columns ? " or more" : "");
}

enum hr_status hr_sparse_load_weights(const struct hr_checkpoint *checkpoint, const char *prefix,
                                      struct hr_sparse_run *run)
{
    const struct hr_sparse_problem *p = &run->problem;
    const struct hr_tensor *weights, *users, *items;
    if (p->model == HR_SPARSE_MF) {
        HR_TRY(find_matrix(checkpoint, prefix, "users.weight",
                           (struct shape){.rows = p->users, .columns = p->factors}, &users));
        HR_TRY(find_matrix(
            checkpoint, prefix, "items.weight",
            (struct shape){.rows = p->features, .columns = p->factors, .more_rows = true}, &items));
        set_factors(run->factors, users->data, p->users * p->factors);
        set_factors(run->factors + p->users * p->factors / 2, items->data,
                    p->features * p->factors);
        return HR_OK;
    }
    HR_TRY(find_matrix(checkpoint, prefix, "weight",
                       (struct shape){.rows = 1, .columns = p->features, .more_columns = true},
                       &weights));
    hr_sparse_set_weights(run, weights->data);
    return HR_OK;
}

enum hr_status hr_sparse_init_weights(struct hr_sparse_run *run)
{
    struct hr_checkpoint checkpoint = {0};
    enum hr_status status = hr_saved_read(run->options.init_weights, &checkpoint);
    if (status == HR_OK)
        status = hr_sparse_load_weights(&checkpoint, "", run);
    if (status == HR_OK)
        status = hr_class_names_compare(&checkpoint, run->dataset);
    if (status == HR_OK)
        status = hr_model_input_compare(&checkpoint, run->dataset);
    hr_checkpoint_free(&checkpoint);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "--init-weights");
}

enum hr_status hr_sparse_check_saved(const struct hr_sparse_run *run,
                                     const struct hr_checkpoint *checkpoint)
{
    const char *scale = hr_saved_option(checkpoint, "target-scale");
    char ours[32];
    uint64_t rows;
    HR_TRY(hr_saved_count(checkpoint, "epoch_size", &rows));
    if (rows != run->schedule.samples)
        return hr_fail(HR_E_FORMAT,
                       "%s: an epoch of it has %" PRIu64 " rows, the data have %" PRIu64,
                       checkpoint->path, rows, run->schedule.samples);
    HR_TRY(hr_saved_same(checkpoint, "--solver",
                         hr_metadata_get(&checkpoint->model, "hogring.solver"),
                         run->options.solver));
    snprintf(ours, sizeof ours, "%.15g", run->options.cost);
    HR_TRY(hr_saved_same(checkpoint, "--cost", hr_metadata_get(&checkpoint->model, "hogring.cost"),
                         ours));
    if (run->scale.count && scale)
        HR_TRY(hr_saved_same(checkpoint, "--task regress", scale, run->options.target_scale));
    return hr_history_check_best(checkpoint, &run->cuts, &run->options);
}

/* Blocks belong to workers' shards: an interrupted epoch needs as many workers as began it. */
static enum hr_status restore_epoch(struct hr_sparse_run *run,
                                    const struct hr_checkpoint *checkpoint)
{
    const double *blocks;
    size_t workers;
    uint64_t done;
    HR_TRY(hr_saved_table(checkpoint, blocks_name, 1, &workers, &blocks));
    HR_TRY(hr_saved_count(checkpoint, "epoch_newton", &run->tally[0].newton));
    if (workers != run->options.workers)
        return hr_fail(HR_E_USAGE,
                       "--resume %s: it broke off in the middle of an epoch of %zu workers, this "
                       "run has %zu; expected as many",
                       checkpoint->path, workers, run->options.workers);
    uint64_t rows = 0;
    for (size_t w = 0; w < workers; w++) {
        const struct hr_sparse_shard shard = hr_sparse_shard_of(run, w);
        HR_TRY(hr_saved_samples(checkpoint, blocks_name, blocks[w], &done));
        hr_atom64_store_relaxed(&run->tally[w].claim, done);
        rows += hr_min_size(done * HR_SPARSE_BLOCK, shard.end - shard.first);
    }
    if (rows == run->schedule.first % run->schedule.samples)
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: tensor %s has %" PRIu64 " rows, its position is %" PRIu64,
                   checkpoint->path, blocks_name, rows,
                   run->schedule.first % run->schedule.samples);
}

static enum hr_status restore_alphas(struct hr_sparse_run *run,
                                     const struct hr_checkpoint *checkpoint)
{
    const bool bound = run->problem.model != HR_SPARSE_LINEAR;
    const double most = bound ? run->problem.cost : DBL_MAX, least = bound ? 0 : -most;
    const double *alphas;
    size_t rows;
    HR_TRY(hr_saved_table(checkpoint, alphas_name, 2, &rows, &alphas));
    if (rows != run->problem.train.count)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s has %zu rows, the data have %zu",
                       checkpoint->path, alphas_name, rows, run->problem.train.count);
    memcpy(run->alphas, alphas, rows * sizeof *run->alphas);
    for (size_t k = 0; k < 2 * rows; k++)
        if (!(alphas[k] >= least && alphas[k] <= most))
            return hr_fail(HR_E_FORMAT, "%s: tensor %s has %g, expected %g to %g", checkpoint->path,
                           alphas_name, alphas[k], least, most);
    return hr_saved_amount(checkpoint, "inner_eps", run->inner_eps);
}

static bool has(const struct hr_sparse_run *run, const struct hr_checkpoint *checkpoint,
                const char *prefix)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix,
             run->problem.model == HR_SPARSE_MF ? "users.weight" : "weight");
    return hr_tensor_get(&checkpoint->trainer, name);
}

/* The best ones into their place, then the current ones. */
static enum hr_status restore_weights(struct hr_sparse_run *run,
                                      const struct hr_checkpoint *checkpoint)
{
    const bool ended = has(run, checkpoint, last_prefix);
    if (run->best.kept && (ended || has(run, checkpoint, best_prefix))) {
        HR_TRY(hr_sparse_load_weights(checkpoint, ended ? "" : best_prefix, run));
        hr_sparse_copy_weights(run, hr_best_weights_next(&run->best));
        hr_best_weights_done(&run->best);
    }
    return hr_sparse_load_weights(checkpoint, ended ? last_prefix : "", run);
}

enum hr_status hr_sparse_restore(struct hr_sparse_run *run, const struct hr_checkpoint *checkpoint)
{
    HR_TRY(restore_weights(run, checkpoint));
    if (run->dual)
        HR_TRY(restore_alphas(run, checkpoint));
    if (run->cuts.history.in_epoch)
        HR_TRY(restore_epoch(run, checkpoint));
    return hr_history_restore(checkpoint, &run->cuts);
}
