/* own_update_rule.c - training with update rules that are not the library's.
 *
 *     cc own_update_rule.c -ffp-contract=off -o own $(pkg-config --cflags --libs hogring)
 *     ./own [STRATEGY] [thread|process] [WORKERS]
 *
 * Heavy ball is what the library calls sgd with momentum. Written by hand it gives the same
 * weights, to the bit, wherever a run is a function of its options. Signs of the gradient alone
 * (signSGD, Bernstein et al., arXiv 1802.04434) train the digits as well.
 */
#include <hogring/hogring.h>
#include <stdio.h>
#include <stdlib.h>

/* state[0] is the velocity. */
static void heavy_ball(void *arg, const struct hr_update *what, float *weights, float *const *state,
                       const float *gradient)
{
    const float momentum = *(const float *)arg;
    for (size_t i = 0; i < what->count; i++) {
        state[0][i] = momentum * state[0][i] + gradient[i];
        weights[i] -= what->lr * state[0][i];
    }
}

/* It needs no state: each weight goes one step up or down. */
static void sign_sgd(void *arg, const struct hr_update *what, float *weights, float *const *state,
                     const float *gradient)
{
    (void)arg, (void)state;
    for (size_t i = 0; i < what->count; i++)
        weights[i] -= what->lr * (float)((gradient[i] > 0) - (gradient[i] < 0));
}

/* Train with a rule, or (NULL) with the library's sgd, and tell what came of it. */
static enum hr_status train(const struct hr_train_options *common,
                            const struct hr_update_rule *rule, const struct hr_dataset *digits,
                            char digest[33])
{
    struct hr_train_options options = *common;
    struct hr_run_result result;
    options.update_rule = rule;
    const enum hr_status status = hr_train(&options, digits, NULL, &result);
    if (status != HR_OK)
        return status;
    printf("%-14s test accuracy %.1f %%, weights %s\n", result.optimizer,
           100 * result.test_accuracy, result.weights_digest);
    snprintf(digest, 33, "%s", result.weights_digest);
    hr_run_result_free(&result);
    return HR_OK;
}

int main(int argc, char **argv)
{
    float momentum = 0.9f;
    const struct hr_update_rule ball = {"heavy-ball", heavy_ball, &momentum, 1, 0.05};
    const struct hr_update_rule sign = {"sign", sign_sgd, NULL, 0, 0.001};
    struct hr_train_options options;
    struct hr_dataset digits;
    char ours[33], yours[33], signs[33];
    hr_train_defaults(&options); /* sgd, lr 0.05, momentum 0.9 */
    snprintf(options.strategy, sizeof options.strategy, "%s", argc > 1 ? argv[1] : "allreduce");
    snprintf(options.launch, sizeof options.launch, "%s", argc > 2 ? argv[2] : "thread");
    options.workers = argc > 3 ? strtoul(argv[3], NULL, 10) : 2;
    options.epochs = 3;
    enum hr_status status = hr_dataset_open("digits", &digits);
    if (status == HR_OK) {
        status = train(&options, NULL, &digits, ours);
        if (status == HR_OK)
            status = train(&options, &ball, &digits, yours);
        if (status == HR_OK)
            status = train(&options, &sign, &digits, signs);
        hr_dataset_close(&digits);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s: %s\n", hr_status_str(status), hr_error_message());
        return hr_status_exit_code(status);
    }
    for (size_t i = 0; i < sizeof ours; i++)
        if (ours[i] != yours[i]) {
            puts("heavy-ball and sgd differ");
            return 1;
        }
    puts("heavy-ball and sgd agree to the bit");
    return 0;
}
