/* Forward, loss and backward of a space's batch. */
#include <math.h>
#include <stdalign.h>
#include <string.h>

#include "base/fpenv.h"
#include "net/space.h"
#include "nn/loss.h"

/* --- arguments --- */

static enum hr_status check_space(const struct hr_net_space *space)
{
    return space ? HR_OK : hr_fail(HR_E_USAGE, "space: found NULL");
}

static enum hr_status check_passed(const struct hr_net_space *space)
{
    HR_TRY(check_space(space));
    return space->passed ? HR_OK : hr_fail(HR_E_USAGE, "the space has had no forward pass yet");
}

static enum hr_status check_labels(const struct hr_net *net, const struct hr_net_batch *batch)
{
    if ((uintptr_t)batch->labels % alignof(uint32_t))
        return hr_fail(HR_E_USAGE, "labels: found address %p, expected one aligned to %zu bytes",
                       (const void *)batch->labels, alignof(uint32_t));
    for (size_t b = 0; batch->labels && b < batch->count; b++)
        if (batch->labels[b] >= net->classes)
            return hr_fail(HR_E_USAGE, "label of sample %zu: found %lu, expected below %zu", b,
                           (unsigned long)batch->labels[b], net->classes);
    return HR_OK;
}

/* Labels where classes are told apart, targets where values are predicted. */
static enum hr_status check_wanted(const struct hr_net *net, const struct hr_net_batch *batch)
{
    const size_t floats = batch->count * net->targets;
    if (net->targets && batch->labels)
        return hr_fail(HR_E_USAGE, "labels: the net predicts values, expected targets");
    if (!net->targets && batch->targets)
        return hr_fail(HR_E_USAGE, "targets: the net tells classes apart, expected labels");
    if (batch->targets)
        HR_TRY(hr_net_check_floats("targets", batch->targets, floats, floats));
    return check_labels(net, batch);
}

static enum hr_status check_batch(const struct hr_net_space *space,
                                  const struct hr_net_batch *batch)
{
    if (!batch)
        return hr_fail(HR_E_USAGE, "batch: found NULL");
    if (batch->count > space->max_batch)
        return hr_fail(HR_E_USAGE, "batch: found %zu samples, the space is for up to %zu",
                       batch->count, space->max_batch);
    const size_t floats = batch->count * space->net->features;
    HR_TRY(hr_net_check_floats("x of the batch", batch->x, floats, floats));
    if ((uintptr_t)batch->samples % alignof(uint32_t))
        return hr_fail(HR_E_USAGE, "samples: found address %p, expected one aligned to %zu bytes",
                       (const void *)batch->samples, alignof(uint32_t));
    return check_wanted(space->net, batch);
}

/* --- passes, with arguments that are good --- */

static void forward(struct hr_net_space *space, const float *params,
                    const struct hr_net_batch *batch, enum hr_net_mode mode)
{
    struct hr_workspace *workspace = space->workspace;
    const size_t B = batch->count;
    if (B)
        memcpy(hr_workspace_input(workspace), batch->x,
               B * space->net->features * sizeof *batch->x);
    if (B && batch->labels)
        memcpy(hr_workspace_labels(workspace), batch->labels, B * sizeof *batch->labels);
    if (B && batch->targets)
        memcpy(space->targets, batch->targets, B * space->net->targets * sizeof *batch->targets);
    hr_workspace_draw(workspace, batch->epoch, batch->samples);
    hr_model_forward(space->net->model, workspace, params, B, mode == HR_NET_TRAIN);
    hr_workspace_draw(workspace, 0, NULL); /* which were borrowed */
    space->B = B;
    space->passed = true;
    space->labelled = batch->labels || batch->targets || !B;
    space->may_go_back = mode == HR_NET_TRAIN;
}

static void backward(struct hr_net_space *space, const float *params, float *grads)
{
    hr_model_backward(space->net->model, space->workspace, params, space->B, grads);
    space->may_go_back = false;
}

/* The batch's targets are a table, of which sample b has row b. */
static struct hr_batch_result loss_of_values(struct hr_net_space *space, bool wanted)
{
    const struct hr_net *net = space->net;
    struct hr_workspace *workspace = space->workspace;
    const struct hr_loss of = {.kind = net->loss,
                               .outputs = net->targets,
                               .classes = space->B,
                               .delta = (float)net->huber_delta,
                               .wanted = {net->targets, space->B, space->targets}};
    uint32_t *rows = hr_workspace_labels(workspace);
    for (size_t b = 0; b < space->B; b++)
        rows[b] = (uint32_t)b;
    return hr_loss(&of, space->B, hr_workspace_outputs(workspace), rows,
                   wanted ? hr_workspace_output_grads(workspace) : NULL);
}

static struct hr_net_result loss(struct hr_net_space *space, bool wanted)
{
    const struct hr_batch_result sums = space->net->targets
                                            ? loss_of_values(space, wanted)
                                            : hr_workspace_loss(space->workspace, space->B, wanted);
    return (struct hr_net_result){sums.loss_sum, sums.correct};
}

/* --- calls --- */

enum hr_status hr_net_gradient(struct hr_net_space *space, const float *params, size_t count,
                               const struct hr_net_batch *batch, float *grads,
                               struct hr_net_result *result)
{
    HR_TRY(check_space(space));
    HR_TRY(hr_net_check(space->net, "params", params, count));
    HR_TRY(hr_net_check(space->net, "grads", grads, count));
    HR_TRY(check_batch(space, batch));
    if (batch->count && !batch->labels && !batch->targets)
        return hr_fail(HR_E_USAGE, "%s: found NULL, expected %zu",
                       space->net->targets ? "targets" : "labels",
                       batch->count * (space->net->targets ? space->net->targets : 1));
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    forward(space, params, batch, HR_NET_TRAIN);
    const struct hr_net_result sums = loss(space, true);
    backward(space, params, grads);
    hr_fp_mode_set(mode);
    if (result)
        *result = sums;
    return HR_OK;
}

enum hr_status hr_net_forward(struct hr_net_space *space, const float *params, size_t count,
                              const struct hr_net_batch *batch, enum hr_net_mode mode,
                              const float **outputs)
{
    HR_TRY(check_space(space));
    HR_TRY(hr_net_check(space->net, "params", params, count));
    HR_TRY(check_batch(space, batch));
    if (mode != HR_NET_EVALUATE && mode != HR_NET_TRAIN)
        return hr_fail(HR_E_USAGE, "mode: found %d, expected HR_NET_EVALUATE or HR_NET_TRAIN",
                       (int)mode);
    const uint64_t fp = hr_fp_mode();
    hr_fp_flush_denormals();
    forward(space, params, batch, mode);
    hr_fp_mode_set(fp);
    if (outputs)
        *outputs = hr_workspace_outputs(space->workspace);
    return HR_OK;
}

enum hr_status hr_net_loss(struct hr_net_space *space, struct hr_net_result *out)
{
    HR_TRY(check_passed(space));
    if (!out)
        return hr_fail(HR_E_USAGE, "hr_net_loss: found NULL for the result");
    if (!space->labelled)
        return hr_fail(HR_E_USAGE, "the space's last forward pass had no labels, nor targets");
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    *out = loss(space, false);
    hr_fp_mode_set(mode);
    return HR_OK;
}

/* x (C) in, p (C) out */
static void softmax(size_t C, const float *x, float *p)
{
    float most = x[0], sum = 0;
    for (size_t c = 1; c < C; c++)
        most = x[c] > most ? x[c] : most;
    for (size_t c = 0; c < C; c++)
        sum += p[c] = expf(x[c] - most);
    for (size_t c = 0; c < C; c++)
        p[c] /= sum;
}

/* The exponent is never above 0, so that nothing overflows. */
static float sigmoid(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

enum hr_status hr_net_probabilities(struct hr_net_space *space, float *out, size_t floats)
{
    HR_TRY(check_passed(space));
    const struct hr_net *net = space->net;
    const size_t C = hr_net_outputs(net);
    HR_TRY(hr_net_check_floats("probabilities", out, floats, space->B * C));
    if (net->loss != HR_LOSS_CROSS_ENTROPY && net->loss != HR_LOSS_BCE)
        return hr_fail(HR_E_USAGE, "loss %s has no probabilities, its outputs are values",
                       hr_loss_name(net->loss));
    const float *x = hr_workspace_outputs(space->workspace);
    for (size_t b = 0; b < space->B && net->loss == HR_LOSS_CROSS_ENTROPY; b++)
        softmax(C, x + b * C, out + b * C);
    for (size_t i = 0; i < floats && net->loss == HR_LOSS_BCE; i++)
        out[i] = sigmoid(x[i]);
    return HR_OK;
}

enum hr_status hr_net_answers(struct hr_net_space *space, uint32_t *out, size_t answers)
{
    HR_TRY(check_passed(space));
    if (space->net->targets)
        return hr_fail(HR_E_USAGE,
                       "hr_net_answers: the net predicts values, which are its outputs");
    if (answers != space->B || (!out && answers) || (uintptr_t)out % alignof(uint32_t))
        return hr_fail(HR_E_USAGE, "answers: found %zu at %p, expected %zu", answers, (void *)out,
                       space->B);
    hr_workspace_answers(space->workspace, space->B, out);
    return HR_OK;
}

enum hr_status hr_net_backward(struct hr_net_space *space, const float *params, size_t count,
                               const float *doutputs, size_t floats, float *grads)
{
    HR_TRY(check_passed(space));
    HR_TRY(hr_net_check(space->net, "params", params, count));
    HR_TRY(hr_net_check(space->net, "grads", grads, count));
    const size_t wanted = space->B * hr_net_outputs(space->net);
    if (!space->may_go_back)
        return hr_fail(HR_E_USAGE, "hr_net_backward: expected a forward pass in HR_NET_TRAIN "
                                   "before it, one for each");
    if (doutputs || floats)
        HR_TRY(hr_net_check_floats("doutputs", doutputs, floats, wanted));
    else if (!space->labelled)
        return hr_fail(HR_E_USAGE,
                       "hr_net_backward: found neither labels or targets in the forward "
                       "pass, nor doutputs");
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    if (!doutputs)
        loss(space, true);
    else
        memcpy(hr_workspace_output_grads(space->workspace), doutputs, floats * sizeof *doutputs);
    backward(space, params, grads);
    hr_fp_mode_set(mode);
    return HR_OK;
}
