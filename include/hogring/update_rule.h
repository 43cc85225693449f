/* update_rule.h - an update rule of the caller's own, in the place of the optimizers there are.
 *
 *     static void step(void *arg, const struct hr_update *what, float *weights,
 *                      float *const *state, const float *gradient)
 *     {
 *         for (size_t i = 0; i < what->count; i++)
 *             weights[i] -= what->lr * gradient[i];
 *     }
 *     static const struct hr_update_rule rule = {.name = "mine", .update = step, .lr = 0.05};
 *     options.update = &rule;                                        (struct hr_train_options)
 *
 * Gradient  the mean over `samples` samples: the sum, added in the order that the strategy
 *           promises, times 1 / samples. Clipped (clip_norm) and carried over to newer weights
 *           (delay_compensation) before, where the run is told to.
 * Slices    an update comes in slices, whoever makes it: a server's shard has its own part, an
 *           all-reduce updates what each worker has summed, hogwild works through blocks. How it is
 *           cut, and in which order slices come, is not promised. So element i of weights and state
 *           may depend on element i, `arg` and `what` alone, but for first and count: then the bits
 *           are the same however it is cut.
 * State     `states` floats for each weight, all 0 at first, for the rule alone. They are where the
 *           strategy keeps an optimizer's state: one for all workers (allreduce, servers), or one a
 *           worker (hogwild, local-sgd, elastic-averaging). They are saved and resumed. What the
 *           rule keeps elsewhere is not, and is not shared by processes.
 * Runs      the rule is called wherever an update is made: in threads of hr_train, or in the
 *           processes it forks, also in several at once on other memory. It must not call hogring.
 *           Running means of batch normalisation are not its affair.
 * Names     a run calls the rule "own:" and its name, in results, traces and checkpoints. Whoever
 *           resumes or replays such a run gives a rule of that name; that it is the same rule is
 *           for the caller to see to.
 * Bits      a compiler that joins products and sums (-ffp-contract=fast) rounds as others do not.
 */
#ifndef HOGRING_UPDATE_RULE_H
#define HOGRING_UPDATE_RULE_H

#include <stddef.h>
#include <stdint.h>

enum { HR_UPDATE_RULE_STATES = 4, HR_UPDATE_RULE_NAME = 27 };

/* What an update is about: weights [first, first + count) of all, in the order of the model. */
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
    double lr;     /* what hr_train_options.lr is unless it is said */
};

#endif
