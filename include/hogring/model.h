/* model.h - a network as functions: parameters and samples in, outputs, loss and gradients out.
 *
 *     struct hr_net_options options = {.layers = "flatten, dense 32, relu, dense 10",
 *                                      .input = {1, 8, 8}};
 *     struct hr_net *net;
 *     hr_net_open(&options, &net);                             once, for all ranks
 *     size_t n = hr_net_params(net), bytes;
 *     hr_net_space_bytes(net, 32, NULL, &bytes);               of batches of up to 32 samples
 *     params = malloc(n * sizeof(float)), memory = malloc(bytes), ...
 *     hr_net_space_open(net, 32, NULL, memory, bytes, &space); once in each thread that computes
 *     hr_net_init(net, 1, params, n);
 *     hr_net_gradient(space, params, n, &batch, grads, &result);
 *     hr_all_reduce(world, grads, grads, n, HR_FLOAT32, HR_SUM);
 *     hr_net_update(net, &rule, number, samples, params, grads, n, state, nstate);
 *
 * Words     net: the description, without numbers. params: its parameters, one array of n =
 *           hr_net_params floats; gradients have the same layout. space: the private memory of one
 *           thread. B: samples of a batch. A count is of elements, never of bytes.
 * Layout    params is the tensors end to end, without gaps, in the order, shapes and names of the
 *           state_dict of a torch.nn.Sequential of the same layers ("0.weight" (O,I), "0.bias";
 *           convolutions (O,I/groups,kH,kW); a batchnorm's running_mean and running_var among
 *           them). A sample is (channels, height, width), all of it one run of floats.
 * Memory    all of it is the caller's: any memory will do for params, gradients and space, that of
 *           hr_group_alloc too, so that hr_all_reduce copies nothing. Floats have to be aligned as
 *           floats are, a space's memory not at all. Arrays must not overlap. Every call is told
 *           how many floats an array has, so that one of another model is refused. After
 *           hr_net_space_open only load, save and the rules lars and lamb allocate.
 * Sums      gradients and losses are SUMS over the samples of a batch; they become means in
 *           hr_net_update, which is told how many samples there were (of all ranks). So ranks may
 *           have different numbers of samples, or none.
 * Order     the bits of a gradient depend on parameters, samples and B alone, not on the thread,
 *           nor on space.threads. Samples' losses are added as doubles, in order. Ranks that add
 *           gradients by hr_all_reduce, and make the same update, have the same bits, those of
 *           `hogring train --strategy allreduce` (tests/examples/train_together.c).
 * Numbers   float32. Denormals are flushed to zero inside of a call; the caller's mode is restored.
 * Threads   a net is immutable: any number of threads, and processes forked later, may use it at
 *           once. A space belongs to one thread at a time. hr_net_init, hr_net_update and
 *           hr_net_view work on the arrays that they are given, and on nothing else.
 *           hr_net_open comes before ranks are started (matrix products are tried once), a space
 *           is opened in the rank that uses it: a process that has opened one should not start
 *           ranks as processes any more.
 * Errors    every call returns HR_OK or a status, and hr_error_message() says what was found and
 *           expected. Then nothing was written, unless it says otherwise.
 *           HR_E_USAGE    an argument is NULL, too small, of another model, or does not parse
 *           HR_E_NOMEM    HR_E_KERNELS, HR_E_IO (OpenBLAS is missing or cannot be trusted)
 *           Numbers that are not finite are no errors: they spread, and the loss shows them.
 */
#ifndef HOGRING_MODEL_H
#define HOGRING_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "hogring/data.h"
#include "hogring/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_NET_CHECKED __attribute__((warn_unused_result))
struct hr_net;       /* a network: layers and loss */
struct hr_net_space; /* one thread's activations */
/* --- the network ------------------------------------------------------------------------- */

/* Zeros are defaults. */
struct hr_net_options {
    const char *layers;     /* "conv 32 3x3 pad 1, relu, maxpool 2, flatten, dense 10", or a name as
                              "mlp" (hogring help models); flatten stands before dense; needed */
    struct hr_shape input;  /* of one sample: (channels, height, width), each at least 1; of a table
                              (columns, 1, 1) */
    size_t classes;         /* labels are below it. 0: as many as there are outputs ("mlp" then has
                              2); a single one tells 2 apart with bce, and is near the label's
                              number with mse, any below 2^24 */
    const char *loss;       /* "cross-entropy", "bce" or "mse" [cross-entropy] */
    double label_smoothing; /* of cross-entropy, 0 to below 1 */
    size_t targets; /* values that it predicts, one an output, by mse or huber [mse]; 0: classes */
    double huber_delta; /* of huber [1] */
};

/* HR_E_USAGE with the place in the text when it does not parse, and when layers do not fit the
 * input, one another, the classes or the loss.
 *   out  close with hr_net_close, after all that use it; NULL on error. Strings are copied */
HR_NET_CHECKED enum hr_status hr_net_open(const struct hr_net_options *options,
                                          struct hr_net **out);
/* The network that a checkpoint of `hogring train` or hr_net_save names, in the same way; its
 * weights are read by hr_net_load.
 *   path   as in hr_net_load. HR_E_FORMAT: it names no layers (PyTorch's do not: hr_net_open)
 *   input  of one sample; zeros: as the checkpoint says, which those of others do not */
HR_NET_CHECKED enum hr_status hr_net_open_saved(const char *path, struct hr_shape input,
                                                struct hr_net **out);
void hr_net_close(struct hr_net *net); /* NULL: nothing */

/* The layers in full, owned by the net. Of NULL the following give NULL or 0. */
const char *hr_net_layers(const struct hr_net *net);
size_t hr_net_features(const struct hr_net *net); /* floats of a sample */
size_t hr_net_outputs(const struct hr_net *net);  /* floats that the last layer gives for it */
size_t hr_net_classes(const struct hr_net *net);  /* labels are below it; 0: it predicts values */
size_t hr_net_targets(const struct hr_net *net);  /* values that it predicts; 0: classes */
size_t hr_net_params(const struct hr_net *net);   /* floats of all tensors */
size_t hr_net_tensors(const struct hr_net *net);

/* --- parameters -------------------------------------------------------------------------- */

/* A tensor in an array of parameters, or of gradients. */
struct hr_net_view {
    const char *name; /* "0.weight", owned by the net */
    size_t ndim;      /* 1 to 4 */
    size_t shape[4];
    size_t count;  /* product of shape */
    size_t offset; /* of its first float in the array */
    float *data;   /* params + offset, row-major; NULL where params is */
    int trained;   /* 0: a statistic (running mean or variance), which evaluation reads */
};

/* Tensor `index`, below hr_net_tensors, or the one of that name.
 *   params  (count) or NULL, where only sizes are asked for (count is not looked at) */
HR_NET_CHECKED enum hr_status hr_net_view(const struct hr_net *net, size_t index, float *params,
                                          size_t count, struct hr_net_view *out);
HR_NET_CHECKED enum hr_status hr_net_find(const struct hr_net *net, const char *name, float *params,
                                          size_t count, struct hr_net_view *out);

/* params (count) out: PyTorch's default distributions, a pure function of (net, seed); what
 * `hogring train --seed` begins with. */
HR_NET_CHECKED enum hr_status hr_net_init(const struct hr_net *net, uint64_t seed, float *params,
                                          size_t count);

/* params (count) out, from a checkpoint (its folder, or a folder of them: then the latest), or from
 * any .safetensors file with tensors of these names and shapes, as PyTorch's state_dict. Tensors
 * that the net has no place for cost a warning. A model that was trained with --normalize expects
 * inputs that are normalised ("normalize.mean", "normalize.std" of the checkpoint's trainer:
 * checkpoint.h). HR_E_IO, HR_E_FORMAT (names what is missing or unlike): params may be half new. */
HR_NET_CHECKED enum hr_status hr_net_load(const struct hr_net *net, const char *path, float *params,
                                          size_t count);
/* Save as checkpoint `step` in the folder dir (made where it is missing), durably, beside others
 * (checkpoint.h): `hogring eval`, `train --init-weights`, PyTorch and hr_net_load read it. There is
 * no optimizer state in it; targets are not standardised. One rank alone saves. HR_E_IO. */
HR_NET_CHECKED enum hr_status hr_net_save(const struct hr_net *net, const char *dir, uint64_t step,
                                          const float *params, size_t count);

/* --- a thread's space -------------------------------------------------------------------- */

/* Zeros are defaults. */
struct hr_net_space_options {
    uint64_t seed;  /* of dropout, as `hogring train --seed` */
    size_t threads; /* that share the work of a pass, 1 to 256 [1] */
    size_t at_once; /* threads of this process that will compute at once, at most 1024, for which
                       address space is set aside [the processors allowed] */
};

/* Bytes of memory for batches of up to max_batch samples, at least 1. options: NULL for zeros. */
HR_NET_CHECKED enum hr_status hr_net_space_bytes(const struct hr_net *net, size_t max_batch,
                                                 const struct hr_net_space_options *options,
                                                 size_t *bytes);
/* Lay a space out in memory of so many bytes or more. It is all in there: there is nothing to
 * close, and the memory may be freed, or used again, after the last call with the space. */
HR_NET_CHECKED enum hr_status hr_net_space_open(const struct hr_net *net, size_t max_batch,
                                                const struct hr_net_space_options *options,
                                                void *memory, size_t bytes,
                                                struct hr_net_space **out);

/* --- passes ------------------------------------------------------------------------------ */

enum hr_net_mode {
    HR_NET_EVALUATE, /* dropout does nothing, batchnorm uses its running statistics */
    HR_NET_TRAIN,    /* dropout draws, batchnorm uses the batch's statistics */
};

/* Some samples, borrowed for the call, unchanged. */
struct hr_net_batch {
    size_t count;            /* B, 0 to max_batch */
    const float *x;          /* (B, features); NULL where B is 0 */
    const uint32_t *labels;  /* (B), each below hr_net_classes; NULL: there is no loss to compute */
    uint64_t epoch;          /* dropout is drawn by (space's seed, epoch, sample, unit), */
    const uint32_t *samples; /* (B) numbers of the samples, say in a data set; NULL: 0, 1, ... */
    const float *targets; /* (B, hr_net_targets) in place of labels, where values are predicted */
};

/* Sums over the samples of a batch. */
struct hr_net_result {
    double loss;    /* their mean is loss / B */
    size_t correct; /* samples whose answer is their label; 0 where values are predicted */
};

/* All that training needs of a batch: forward in HR_NET_TRAIN, loss, backward.
 *   params (count) in; grads (count) out, overwritten: d loss / d params, summed over the samples;
 *   of a statistic: minus the sum over the samples of the batch's, which hr_net_update understands.
 *   A batch of one sample, where a batchnorm's channel has one value in it, has no variance: the
 *   layer gives its bias, and minus its running statistics, which then stay as they are.
 *   B = 0: zeros. result out; NULL: not wanted */
HR_NET_CHECKED enum hr_status hr_net_gradient(struct hr_net_space *space, const float *params,
                                              size_t count, const struct hr_net_batch *batch,
                                              float *grads, struct hr_net_result *result);

/* The same in steps. First
 *   *outputs  out: (B, hr_net_outputs) what the last layer gave (logits), the space's, valid until
 *             its next forward or gradient; NULL: not wanted */
HR_NET_CHECKED enum hr_status hr_net_forward(struct hr_net_space *space, const float *params,
                                             size_t count, const struct hr_net_batch *batch,
                                             enum hr_net_mode mode, const float **outputs);
/* then what that forward's outputs mean: the loss (HR_E_USAGE: it had no labels, nor targets); */
HR_NET_CHECKED enum hr_status hr_net_loss(struct hr_net_space *space, struct hr_net_result *out);
/* probabilities (B, hr_net_outputs) out, `floats` in all: softmax with cross-entropy, sigmoids with
 * bce (HR_E_USAGE: mse has none); */
HR_NET_CHECKED enum hr_status hr_net_probabilities(struct hr_net_space *space, float *out,
                                                   size_t floats);
/* answers (B) out, `answers` of them: the first largest output (a single one: 1 where it is above 0
 * with bce, the nearest whole number with mse); UINT32_MAX where an output is not a number. */
HR_NET_CHECKED enum hr_status hr_net_answers(struct hr_net_space *space, uint32_t *out,
                                             size_t answers);
/* Last, and once, the way back, behind a forward in HR_NET_TRAIN with the same params.
 *   doutputs  (B, hr_net_outputs) in, `floats` in all: d loss / d outputs of a loss of the caller's
 *             own; NULL and 0: that of the net's, which needs labels or targets
 *   grads     (count) out, as above */
HR_NET_CHECKED enum hr_status hr_net_backward(struct hr_net_space *space, const float *params,
                                              size_t count, const float *doutputs, size_t floats,
                                              float *grads);

/* --- updates ----------------------------------------------------------------------------- */

/* An update rule and its numbers: call hr_net_rule_defaults, then change what is to be other. lr
 * may change from update to update. */
struct hr_net_rule {
    char name[16]; /* sgd, adagrad, adam, adamw, lars, lamb: formulas in hogring help train */
    double lr, weight_decay, eps;
    double momentum;     /* sgd, lars */
    int nesterov;        /* sgd: 1 */
    double beta1, beta2; /* adam, adamw, lamb */
    double trust;        /* lars */
    double clip_norm;    /* largest norm of the mean gradient; 0: any */
};

/* What `hogring train --optimizer name` has. HR_E_USAGE lists the names. */
HR_NET_CHECKED enum hr_status hr_net_rule_defaults(const char *name, struct hr_net_rule *out);
/* Floats of state that the rule keeps for the net, which are 0 before the first update: momentum of
 * sgd (n), moments of adam (2 n), ... */
HR_NET_CHECKED enum hr_status hr_net_rule_floats(const struct hr_net *net,
                                                 const struct hr_net_rule *rule, size_t *floats);
/* One update, of the gradient's mean over `samples` samples (of all ranks together; at least 1).
 *   number  of the updates of this state, from 1
 *   params  (count) in and out, grads (count) in, the sum over all samples
 *   state   (floats) in and out, as many as hr_net_rule_floats says; NULL where that is 0 */
HR_NET_CHECKED enum hr_status hr_net_update(const struct hr_net *net,
                                            const struct hr_net_rule *rule, uint64_t number,
                                            size_t samples, float *params, const float *grads,
                                            size_t count, float *state, size_t floats);

#ifdef __cplusplus
}
#endif
#endif
