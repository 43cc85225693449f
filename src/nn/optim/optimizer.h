/* optimizer.h - update rules: from the sum of n samples' gradients to new weights.
 *
 * Below d is the mean gradient, d = scale * g, where scale = 1 / n (times the clipping factor): the
 * only division by the number of samples. lr is the rate of this update, t counts the updates of
 * this state from 1, c1 = 1 / (1 - beta1^t), c2 = 1 - beta2^t. State begins at 0.
 *
 *   sgd      d += weight_decay w;  m = momentum m + d;  w -= lr m
 *            nesterov:                                  w -= lr (d + momentum m)
 *   adagrad  d += weight_decay w;  s += d^2;  w -= lr d / (sqrt(s) + eps)
 *   adam     d += weight_decay w;  m = beta1 m + (1 - beta1) d;  v = beta2 v + (1 - beta2) d^2
 *            w -= lr u,  u = c1 m / (sqrt(v) / sqrt(c2) + eps)
 *   adamw    w *= 1 - lr weight_decay;  m, v, u as adam with the bare d;  w -= lr u
 *   lars     r = trust |w| / (|d| + weight_decay |w|), of each tensor
 *            m = momentum m + lr r (d + weight_decay w);  w -= m
 *   lamb     m, v, u as adam with the bare d;  z = u + weight_decay w
 *            r = |w| / |z|, of each tensor;  w -= lr r z
 * r = 1 where one of its norms is 0.
 *
 * sgd, adagrad, adam, adamw: torch.optim's rules and defaults (dampening 0, lr_decay 0, amsgrad
 * off), equal to rounding. lars: You, Gitman, Ginsburg, arXiv 1708.03888, Algorithm 1. lamb: You et
 * al., arXiv 1904.00962, Algorithm 2, phi the identity. Each expression stands once, in its file;
 * every strategy and every instruction set uses it, so that all give the same bits.
 *
 * The caller may have a rule of its own (hogring/update_rule.h), which is given d.
 *
 * Segments: the parameter array is a row of tensors. A STATISTIC (a running mean or variance) is
 * not trained: its g is minus the sum over samples of the batch's statistic, and whatever the rule
 * and the options, w -= 0.1 (g / n + w): PyTorch's running average with momentum 0.1. It needs no
 * state and is no part of any norm. A FROZEN tensor (--freeze) keeps its bits: no update touches
 * it, its state stays 0, and it is no part of any norm.
 *
 * Clipping: where the norm of the mean gradient over all trained tensors is more than clip_norm,
 * d is multiplied by clip_norm / (norm + 1e-6), as torch.nn.utils.clip_grad_norm_ does. The norm is
 * of a gradient as it was computed, before it is carried over.
 *
 * Delay compensation: a gradient g that was computed with weights `read`, for weights that have
 * become `now`: g + lambda (g g / n) (now - read), the mean gradient's form times n; of others than
 * trained tensors g. Zheng et al., "Asynchronous Stochastic Gradient Descent with Delay
 * Compensation", ICML 2017, equation 10.
 *
 * Norms are sums of squares in double over blocks of elements, cut by flat index and by tensor,
 * folded in order: their bits depend on the values alone.
 *
 * Threads: pure functions on the caller's memory. Arrays must not overlap.
 */
#ifndef HR_OPTIM_OPTIMIZER_H
#define HR_OPTIM_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "hogring/update_rule.h"

enum { HR_OPTIMIZER_MAX_STATES = HR_UPDATE_RULE_STATES };

enum hr_segment_role { HR_SEGMENT_TRAINED, HR_SEGMENT_STATISTIC, HR_SEGMENT_FROZEN };

struct hr_param_segment {
    size_t begin, count;
    enum hr_segment_role role;
};

struct hr_optimizer;
struct hr_step;

/* w, s0, s1 (count) in and out, g (count) in; s0, s1: the rule's state, NULL where it has none. */
typedef void (*hr_update_fn)(float *w, float *s0, float *s1, const float *g, size_t count,
                             const struct hr_step *step);

struct hr_rule {
    const char *name;
    size_t nstates;
    const char *state_names[HR_OPTIMIZER_MAX_STATES]; /* as in PyTorch's state_dict */
    double lr, weight_decay, eps;                     /* defaults */
    bool lr_is_step; /* it does not set the size of its steps by what gradients were before */
    /* Of them, the one that is the momentum, and its field of struct hr_optimizer; NULL: none. */
    const char *momentum_option;
    size_t momentum_at;
    const struct hr_rule *no_momentum; /* the same where that is 0, with less state; or NULL */
    hr_update_fn update;
    /* r of a tensor, whose state may move on the way; NULL: it needs no norms.
     *   w, g (params) in, state (nstates, params) in and out */
    double (*ratio)(const struct hr_step *step, const struct hr_param_segment *segment,
                    const float *w, float *state, const float *g);
    /* Its own numbers, as ", momentum 0.9"; NULL: it has none. */
    void (*describe)(const struct hr_optimizer *optimizer, char *text, size_t size);
    const struct hr_update_rule *own; /* the caller's; NULL: one of ours */
};

/* The optimiser of a run; immutable. */
struct hr_optimizer {
    const struct hr_rule *rule;
    double momentum, weight_decay, beta1, beta2, eps, trust;
    double clip_norm; /* 0: no clipping */
    bool nesterov;
    /* (nsegments) in order, without gaps, together [0, params); borrowed */
    const struct hr_param_segment *segments;
    size_t nsegments, params;
    size_t frozen; /* of the params */
};

/* The constants of one update. */
struct hr_step {
    const struct hr_optimizer *optimizer;
    float inverse_count, scale; /* 1 / n, rounded once; and times the clipping factor */
    float lr, momentum, weight_decay, eps;
    float beta1, beta2, rest1, rest2; /* rest: 1 - beta */
    float correction1, root2;         /* c1, sqrt(c2) */
    size_t samples;                   /* n */
    uint64_t number;                  /* t */
    const float *ratio;               /* (nsegments) r; NULL: all 1 */
};

/* d += weight_decay w, of a g that is a sum. */
static inline float hr_decayed(float w, float g, const struct hr_step *step)
{
    return g * step->scale + step->weight_decay * w;
}

/* The rule of that name; HR_E_USAGE lists the names. */
HR_CHECKED enum hr_status hr_rule_find(const char *name, const struct hr_rule **out);
/* The i-th rule; NULL past the end. */
const struct hr_rule *hr_rule_at(size_t i);

/* A rule that is the caller's, under this name ("own:" and its own), which is borrowed. HR_E_USAGE:
 * it is none. */
HR_CHECKED enum hr_status hr_rule_own(const struct hr_update_rule *own, const char *name,
                                      struct hr_rule *out);
#define HR_RULE_OWN "own:"

/* The momentum that the rule has; 0: none. */
double hr_optimizer_momentum(const struct hr_optimizer *optimizer);

/* Floats of state: the rule's arrays, (nstates, params). */
size_t hr_optimizer_state_floats(const struct hr_optimizer *optimizer);

/* Must updates be measured before they are made? */
bool hr_optimizer_needs_norms(const struct hr_optimizer *optimizer);

/* Update number t (from 1) of a state, with gradients that are sums over n samples. */
struct hr_step hr_step_of(const struct hr_optimizer *optimizer, double lr, size_t n, uint64_t t);

/* The clipping factor of this step, where there is one, else nothing: of the sum T(n) of n
 * gradients (params), g. */
void hr_step_clip(struct hr_step *step, const float *const *g, size_t n);

/* The ratios, where they are needed, else nothing: of the tensors in [begin, begin + count), which
 * begins and ends where tensors do. Once, behind hr_step_clip, before any of them is updated.
 *   w (params) in, state (nstates, params) in and out (lamb's moments move here), g (params) in
 *   ratio (nsegments) out; borrowed by the step */
void hr_step_ratios(struct hr_step *step, size_t begin, size_t count, const float *w, float *state,
                    const float *g, float *ratio);

/* Both, of the whole of one gradient. */
void hr_step_measure(struct hr_step *step, const float *w, float *state, const float *g,
                     float *ratio);

/* Update elements [begin, begin + count).
 *   w (count) in and out, g (count) in: both begin at element `begin`
 *   state (nstates, params) in and out: the whole of it */
void hr_step_update(const struct hr_step *step, size_t begin, size_t count, float *w, float *state,
                    const float *g);

/* From which weights to which, and how strongly, a gradient is carried over. */
struct hr_drift {
    const float *read, *now; /* (count) */
    float lambda;
};

/* The compensated gradient of elements [begin, begin + count).
 *   out (count) out, g (count) in: they, read and now begin at element `begin` */
void hr_step_compensate(const struct hr_step *step, size_t begin, size_t count, float *out,
                        const float *g, const struct hr_drift *drift);

/* --- what is frozen: for whoever changes weights by other means than updates --- */

/* Parameters [begin, begin + count). */
struct hr_range {
    size_t begin, count;
};

/* The first range in [begin, end) that is frozen, or that is not; count 0: there is none. */
struct hr_range hr_range_next(const struct hr_optimizer *optimizer, bool frozen, size_t begin,
                              size_t end);

/* The frozen ones of elements [begin, begin + count) get the bits that they have in `from`, say
 * after an average, which rounds.
 *   to (count) in and out, from (count) in: they begin at element `begin`; disjoint */
void hr_keep_frozen(const struct hr_optimizer *optimizer, size_t begin, size_t count, float *to,
                    const float *from);

#endif
