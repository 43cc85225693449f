/* update_rule.h - an update rule of the caller's own, in place of a built-in optimizer.
 *
 *     static void step(void *arg, const struct hr_update *what, float *weights,
 *                      float *const *state, const float *gradient)
 *     {
 *         for (size_t i = 0; i < what->count; i++)
 *             weights[i] -= what->lr * gradient[i];
 *     }
 *     static const struct hr_update_rule rule = {.name = "mine", .update = step, .lr = 0.05};
 *     options.update_rule = &rule;                                   (struct hr_train_options)
 *
 * Gradient  the mean over `samples` samples: the sum, added in the order that the strategy
 *           promises, times 1 / samples. With clip_norm it is clipped before, with
 *           delay_compensation it is corrected for newer weights.
 * Slices    an update comes in slices: a server's shard has its own part, an all-reduce updates
 *           what each worker has summed, hogwild works through blocks. Sizes and order of slices
 *           are not promised. So element i of weights and state may depend only on element i, `arg`
 *           and `what` without first and count: then the bits are the same for all slicings.
 * State     `states` floats for each weight, all 0 at first, for the rule alone. They are where the
 *           strategy keeps an optimizer's state: one for all workers (allreduce, servers), or one a
 *           worker (hogwild, local-sgd, elastic-averaging). They are saved and resumed. What the
 *           rule keeps elsewhere is neither saved nor shared by processes.
 * Runs      the rule is called wherever an update is made: in threads of hr_train, or in the
 *           processes it forks, also in several at once on other memory. It must not call hogring.
 *           Running means of batch normalisation are not passed to it.
 * Names     results, traces and checkpoints call the rule "own:" and its name. A resumed or
 *           replayed run needs a rule of that name; only the caller can know that it is the same.
 * Bits      -ffp-contract=fast joins products and sums, which rounds differently.
 */
#ifndef HOGRING_UPDATE_RULE_H
#define HOGRING_UPDATE_RULE_H

#include <stddef.h>
#include <stdint.h>

enum { HR_UPDATE_RULE_STATES = 4, HR_UPDATE_RULE_NAME = 27 };

/* One slice of an update: weights [first, first + count) of all, in the order of the model. */
struct hr_update {
    size_t first, count;
    float lr;        /* of this update: schedule, warm-up, workers and staleness are in it */
    uint64_t number; /* of the updates of this state, from 1 */
    size_t samples;  /* that the gradient is the mean of */
};

struct hr_update_rule {
    const char *name; /* 1 to HR_UPDATE_RULE_NAME letters, digits, - and _ */
    /* weights (count) in and out; state[s] (count) in and out, s < states; gradient (count) in */
    void (*update)(void *arg, const struct hr_update *what, float *weights, float *const *state,
                   const float *gradient);
    void *arg;     /* must live, as the rule itself, until hr_train returns */
    size_t states; /* 0 to HR_UPDATE_RULE_STATES */
    double lr;     /* default of hr_train_options.lr */
};

#endif
