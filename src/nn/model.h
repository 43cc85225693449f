/* model.h - a network described by a list of layers, over one flat array of parameters.
 *
 *     text      "flatten, dense 256, relu, dense 128, relu, dense 10"
 *     layers    0 flatten | 1 dense | 2 relu | 3 dense | 4 relu | 5 dense
 *     tensors   1.weight (256,784) 1.bias (256) 3.weight (128,256) 3.bias (128) 5.weight ... 5.bias
 *     params    [ 1.weight | 1.bias | 3.weight | 3.bias | 5.weight | 5.bias ]   floats, no gaps
 *
 * Names, layouts and initial distribution are those of torch.nn.Sequential with the same layers, so
 * that a parameter array is a PyTorch state_dict laid end to end. Gradients and optimizer state
 * have the same layout.
 *
 * A model is immutable; a workspace is the private memory of one computing thread (activations,
 * nothing else). This module knows no ranks.
 *
 * Arithmetic: float32, or a model's precision (below); a sample's loss is rounded to float and
 * added to a double in sample order.
 * Gradients are SUMS over the samples of the batch, never means: the division by the number of
 * samples happens in the update (optim/optimizer.h) and nowhere else. The bits of a result
 * depend on (batch size, parameters, input) and on the GEMM in use, not on the thread.
 */
#ifndef HR_NN_MODEL_H
#define HR_NN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/data.h"
#include "base/error.h"

struct hr_model;
struct hr_workspace;

/* What an update does with a tensor. A statistic (running mean or variance) is not trained: its
 * "gradient" is minus the sum over samples of the batch's statistic, and the update moves it a
 * tenth of the way towards their mean. */
enum hr_tensor_role { HR_TENSOR_TRAINED, HR_TENSOR_STATISTIC };

struct hr_tensor_info {
    char name[96]; /* "<path of the layer>.weight", as "1.weight" or "3.body.0.weight" */
    size_t ndim;   /* 1..4 */
    size_t shape[4];
    size_t offset; /* in floats, from the start of the parameter array */
    size_t count;  /* product of shape */
    enum hr_tensor_role role;
};

enum hr_loss_kind { HR_LOSS_CROSS_ENTROPY, HR_LOSS_BCE, HR_LOSS_MSE, HR_LOSS_HUBER }; /* loss.h */

/* The values that a regression wants of its outputs: labels are rows of this table. */
struct hr_target_table {
    size_t count; /* of a sample; 0: labels are classes */
    size_t rows;
    const float *values; /* (rows, count) borrowed */
};

/* cross-entropy, bce, mse, huber; HR_E_USAGE lists them. */
HR_CHECKED enum hr_status hr_loss_parse(const char *name, enum hr_loss_kind *out);
const char *hr_loss_name(enum hr_loss_kind kind);

/* A text, whose tokens a language model predicts, each from those before it (hogring/data.h).
 * Samples are as many tokens as a sequence has places, given as floats; a label is the number of
 * the sample's first token, and what is to be predicted are the tokens behind each of its own. */
struct hr_tokens;

/* What a model computes with. bf16: products take bfloat16 values and sum in float32
 * (kernels/bf16.h); the output of every layer, and every gradient of one, is a bfloat16 value, kept
 * in a float: rounded once where it is computed, and again where gradients of several readers are
 * added. Inputs and weights are rounded where they enter a product. Statistics, the insides of
 * norms, the loss and the gradients of parameters are float32, as parameters are. */
enum hr_precision { HR_PRECISION_FLOAT32, HR_PRECISION_BF16 };

/* "float32", "bf16"; HR_E_USAGE lists them. */
HR_CHECKED enum hr_status hr_precision_parse(const char *name, enum hr_precision *out);
const char *hr_precision_name(enum hr_precision precision);

struct hr_model_options {
    const char *description; /* a built-in name (model_text.c lists them) or a layer list */
    struct hr_shape input;   /* of one sample */
    size_t classes;          /* the last layer must have this many outputs; for bce with 2 classes,
                                and for mse, also a single one. 0: not known yet, any number will
                                do, and a built-in model has 2 */
    enum hr_loss_kind loss;
    double label_smoothing;        /* 0 to below 1; cross-entropy only */
    const float *class_weights;    /* (classes) positive, copied; NULL: all 1 (nn/loss.h) */
    struct hr_target_table wanted; /* count > 0: as many outputs, mse or huber; classes is then 0 */
    double huber_delta;            /* above 0; huber only */
    const struct hr_tokens *text;  /* borrowed, as long as the model; NULL: none, or without
                                     tokens: no text. Else classes are the tokens there are */
    enum hr_precision precision;
};

/* Build the model. HR_E_USAGE with the place in the text when it does not parse, when the layers do
 * not fit one another, the classes or the loss (both numbers are said), when there is nothing to
 * learn, or more than 2^31 parameters.
 *   out  destroy with hr_model_destroy */
HR_CHECKED enum hr_status hr_model_build(const struct hr_model_options *options,
                                         struct hr_model **out);
/* The same with cross entropy. */
HR_CHECKED enum hr_status hr_model_create(const char *description, struct hr_shape input,
                                          size_t classes, struct hr_model **out);
/* The same for these data. */
HR_CHECKED enum hr_status hr_model_of_data(const char *description,
                                           const struct hr_dataset *dataset, struct hr_model **out);
void hr_model_destroy(struct hr_model *model);

/* The layer list in full (what a built-in name stands for), words one blank and layers ", " apart;
 * owned by the model. */
const char *hr_model_text(const struct hr_model *model);
enum hr_precision hr_model_precision(const struct hr_model *model);
size_t hr_model_outputs(const struct hr_model *model);
size_t hr_model_param_count(const struct hr_model *model);
size_t hr_model_tensor_count(const struct hr_model *model);
const struct hr_tensor_info *hr_model_tensor(const struct hr_model *model, size_t index);

/* A layer of the flat list, for people: what stands in blocks comes before the block's sum. */
struct hr_layer_info {
    const char *path;  /* "3.body.0", owned by the model */
    char text[64];     /* "conv 16 3x3 pad 1", cut to size */
    size_t ndim;       /* 1 to 3 */
    size_t shape[3];   /* of one sample's output, (C,H,W), of a sequence (places, width) */
    size_t params;     /* trained */
    size_t statistics; /* running means and variances */
    double madds;      /* multiply-adds of one sample's forward */
};
size_t hr_model_layer_count(const struct hr_model *model);
struct hr_layer_info hr_model_layer(const struct hr_model *model, size_t index);

/* params (param_count) out: PyTorch's default initialisation, U(-1/sqrt(fan_in), 1/sqrt(fan_in))
 * for weight and bias of a dense layer, ones and zeros for norms, N(0, 1) for an embedding, from
 * Philox keyed by (seed, tensor, element). A model whose output is tied to its embedding begins as
 * GPT-2 does: weights N(0, 0.02), those of the last layer inside a residual block divided by
 * sqrt(such blocks), biases 0. */
void hr_model_init(const struct hr_model *model, uint64_t seed, float *params);

struct hr_layer;
struct hr_pass;
/* Called instead of a layer's forward and backward (layer.h), which it calls itself: for profiles.
 */
typedef void (*hr_layer_watch)(void *arg, const struct hr_layer *layer, const struct hr_pass *pass,
                               bool backward);

/* The ranks that compute a split part together (part.h). */
struct hr_team_member {
    size_t rank, ranks; /* of them; 0, 0: one does it all */
    /* Wait for the others, who have come as far: what each wrote before, all see behind it. False:
     * give up, and what is computed means nothing. `sums`: it is for partial sums. */
    bool (*barrier)(void *arg, bool sums);
    void *arg;
};

/* How a workspace computes. Zeros are a fair default. */
struct hr_workspace_options {
    size_t threads; /* that share its work; 0: 1. They change no bit. */
    size_t batches; /* whose activations it keeps at once (part.h); 0: 1 */
    uint64_t seed;  /* of dropout */
    /* Called during hr_model_gradient, in the caller's thread, as soon as grads [offset, offset +
     * count) are final: ranges from the last to the first, without gaps. NULL: nobody. */
    void (*done)(void *arg, size_t offset, size_t count);
    hr_layer_watch watch; /* NULL: layers are asked directly */
    void *arg;            /* of both */
    struct hr_team_member team;
};

/* Memory for batches of up to max_batch samples; the model must outlive it. `options` is copied;
 * NULL: zeros. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_workspace_create(const struct hr_model *model, size_t max_batch,
                                              const struct hr_workspace_options *options,
                                              struct hr_workspace **out);
/* The same in memory of the caller's, HR_ARENA_ALIGN-aligned, that outlives it: it begins there,
 * all of it is in there, and it is not destroyed. Not of a team's. */
struct hr_workspace *hr_workspace_place(const struct hr_model *model, size_t max_batch,
                                        const struct hr_workspace_options *options, void *memory);
/* Bytes of that memory; 0: too many to address. */
size_t hr_workspace_place_bytes(const struct hr_model *model, size_t max_batch,
                                const struct hr_workspace_options *options);
/* Bytes that such a workspace takes; 0: too many to address. */
size_t hr_workspace_bytes(const struct hr_model *model, size_t max_batch,
                          const struct hr_workspace_options *options);
/* Of a team's, these are each rank's own; and these are the team's, 0 where one does it all. */
size_t hr_workspace_shared_bytes(const struct hr_model *model, size_t max_batch,
                                 const struct hr_workspace_options *options);
/* A team's, before anything is done with it: the memory that all of its ranks give, 64-byte
 * aligned. */
void hr_workspace_share(struct hr_workspace *workspace, void *memory);
/* Bytes that this rank has read of what others of its team wrote, so far. */
uint64_t hr_workspace_moved(const struct hr_workspace *workspace);
void hr_workspace_destroy(struct hr_workspace *workspace);

/* The workspace's input buffers, to gather into: x (max_batch, channels, height, width) and
 * y (max_batch). */
float *hr_workspace_input(struct hr_workspace *workspace);
uint32_t *hr_workspace_labels(struct hr_workspace *workspace);

/* What the last layer gave in the last pass, (B, hr_model_outputs). */
const float *hr_workspace_outputs(const struct hr_workspace *workspace);
/* What it means: answers (B) out (loss.h). */
void hr_workspace_answers(const struct hr_workspace *workspace, size_t B, uint32_t *answers);

/* And the loss of each of its samples: losses (B) out. */
void hr_workspace_losses(const struct hr_workspace *workspace, size_t B, float *losses);
enum hr_loss_kind hr_model_loss(const struct hr_model *model);

/* Let the passes that follow read their batch from the caller's memory instead: x (B, features) and
 * labels (B), which the passes may overwrite; NULL, NULL: from the workspace's own again. */
void hr_workspace_lend(struct hr_workspace *workspace, float *x, uint32_t *labels);

/* Gradients of the passes that follow go to this taker (products/taker.h), once nothing of the
 * batch reads their parameters, which it may change; NULL: to grads. Borrowed. Not of a team's. */
struct hr_taker;
void hr_workspace_give(struct hr_workspace *workspace, const struct hr_taker *taker);

struct hr_batch_result {
    double loss_sum;    /* of the samples' losses; not finite when training diverged */
    size_t correct;     /* of classes: samples whose answer (loss.h) is the label; never one with an
                      * output that is not a number */
    int64_t forward_ns; /* of hr_model_gradient: its forward pass and the loss */
};

/* Which samples the next batches are made of, for what is drawn by sample (dropout).
 *   samples  (B) numbers in the data set; borrowed until the next call */
void hr_workspace_draw(struct hr_workspace *workspace, uint64_t epoch, const uint32_t *samples);

/* Forward and backward over the first B samples of the workspace's input.
 *   params  (param_count) in
 *   grads   (param_count) out, overwritten (never added to): d loss / d params, summed over samples
 * B = 0 writes zeros. No allocation. The input buffer may be overwritten. */
struct hr_batch_result hr_model_gradient(const struct hr_model *model,
                                         struct hr_workspace *workspace, const float *params,
                                         size_t B, float *grads);

/* The same in three steps, for losses of the caller's own. Outputs (B, hr_model_outputs), valid
 * until the next forward; then the loss, and between the two its gradient, of the same shape, which
 * the loss writes where `wanted`, or the caller; then the way back. A backward belongs to one
 * forward, that was training. */
const float *hr_model_forward(const struct hr_model *model, struct hr_workspace *workspace,
                              const float *params, size_t B, bool training);
struct hr_batch_result hr_workspace_loss(struct hr_workspace *workspace, size_t B, bool wanted);
/* Evaluation of a text that grows: tokens [first, end) of the input's first sample, behind others
 * that such calls had before, with the same parameters and nothing in between. What follows the
 * last of them: (tokens) outputs, with the bits that hr_model_forward has there. */
const float *hr_model_go_on(const struct hr_model *model, struct hr_workspace *workspace,
                            const float *params, size_t first, size_t end);
float *hr_workspace_output_grads(struct hr_workspace *workspace);
void hr_model_backward(const struct hr_model *model, struct hr_workspace *workspace,
                       const float *params, size_t B, float *grads);

/* Forward only: loss and correct answers. The input buffer may be overwritten. */
struct hr_batch_result hr_model_evaluate(const struct hr_model *model,
                                         struct hr_workspace *workspace, const float *params,
                                         size_t B);
/* The same, added to *sum sample by sample, so that a block may be evaluated in pieces. */
void hr_model_evaluate_more(const struct hr_model *model, struct hr_workspace *workspace,
                            const float *params, size_t B, struct hr_batch_result *sum);

/* --- multiply-adds of a model, and when in the time of a gradient what of it is there ---
 *
 * Threads: pure functions of a model. Test: tests/unit/nn/test_model.c */

/* Multiply-adds of one sample, forward and backward (no gradient for the first layer's input); each
 * is two floating-point operations. */
double hr_model_madds(const struct hr_model *model);
double hr_model_multiplied(const struct hr_model *model); /* done: some are spared (winograd.h) */
bool hr_model_is_direct(const struct hr_model *model);    /* none is spared */
/* Of them those forward, and those of both halves of backward (part.h): what a layer cannot do
 * apart is counted with the data. Layers that are split (part.h) are shared by so many ranks. */
struct hr_model_madds {
    double forward, data, weights;
};
struct hr_model_madds hr_model_madds_apart(const struct hr_model *model, size_t ranks);

/* When backward has finished a layer that has parameters, grads [offset, params) are final, as
 * hr_workspace_options.done says; `share` of the multiply-adds of a gradient are done then. The
 * number-th of these moments, from 0, in the order of backward; false: there are no more. */
struct hr_model_final {
    size_t offset;
    double share; /* 0 to 1 */
};
bool hr_model_final(const struct hr_model *model, size_t number, struct hr_model_final *out);

#endif
