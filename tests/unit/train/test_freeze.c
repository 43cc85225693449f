/* --freeze: under every strategy the tensors it names end with the bits they began with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "strategies/strategies.h"
#include "support/runs.h"

static char folder[64]; /* of the weights they begin with */

static float *floats_of(const struct hr_checkpoint *checkpoint, const char *name)
{
    const struct hr_tensor *tensor = hr_tensor_get(&checkpoint->model, name);
    assert_non_null(tensor);
    return tensor->data;
}

static struct hr_train_options options_of(const char *strategy)
{
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.model, sizeof options.model, "flatten, dense 11, batchnorm, relu, dense 10");
    snprintf(options.optimizer, sizeof options.optimizer, "adamw");
    options.lr = 0.01;
    options.weight_decay = 0.1;
    options.sync_every = 2;
    options.epochs = 1;
    options.epoch_size = 200;
    return options;
}

static void load_trained(struct hr_train_options options, struct hr_checkpoint *out)
{
    struct hr_run_result result;
    char own[64];
    run_folder_make(own);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", own);
    result = run_train(&options);
    CHECK_OK(hr_checkpoint_load(own, out));
    hr_run_result_free(&result);
    run_folder_remove(own);
}

/* Weights with bits that arithmetic loses: the sign of -0, and denormals where they are flushed. */
static int make_weights(void **state)
{
    (void)state;
    struct hr_train_options options = options_of("allreduce");
    struct hr_checkpoint weights;
    options.max_steps = 3;
    load_trained(options, &weights);
    floats_of(&weights, "1.weight")[0] = 1e-41f;
    floats_of(&weights, "1.weight")[1] = -1e-41f;
    floats_of(&weights, "2.bias")[3] = -0.0f;
    run_folder_make(folder);
    CHECK_OK(hr_checkpoint_save(folder, &weights, 1));
    hr_checkpoint_free(&weights);
    return 0;
}

static int remove_weights(void **state)
{
    (void)state;
    run_folder_remove(folder);
    return 0;
}

static struct hr_train_options frozen_options(const char *strategy, const char *patterns)
{
    struct hr_train_options options = options_of(strategy);
    snprintf(options.init_weights, sizeof options.init_weights, "%s", folder);
    snprintf(options.freeze, sizeof options.freeze, "%s", patterns);
    return options;
}

static void check_kept(const struct hr_train_options *options, const char *const *kept,
                       const char *const *moved)
{
    struct hr_checkpoint before, after;
    CHECK_OK(hr_checkpoint_load(folder, &before));
    load_trained(*options, &after);
    for (size_t i = 0; i < before.model.ntensors; i++) {
        const struct hr_tensor *tensor = &before.model.tensors[i];
        const bool same = !memcmp(tensor->data, floats_of(&after, tensor->name), tensor->bytes);
        for (const char *const *name = kept; *name; name++)
            assert_true(strcmp(*name, tensor->name) != 0 || same);
        for (const char *const *name = moved; *name; name++)
            assert_true(strcmp(*name, tensor->name) != 0 || !same);
    }
    hr_checkpoint_free(&before);
    hr_checkpoint_free(&after);
}

static void frozen_tensors_keep_their_bits_under_every_strategy(void **state)
{
    (void)state;
    static const char *const kept[] = {"1.weight", "1.bias", "2.weight", "2.bias", NULL};
    static const char *const moved[] = {"2.running_mean", "2.running_var", "4.weight", "4.bias",
                                        NULL};
    size_t n = 0;
    for (; hr_strategy_at(n); n++) {
        const struct hr_train_options options =
            frozen_options(hr_strategy_at(n)->name, "1.*, [2-3].*");
        check_kept(&options, kept, moved);
    }
    assert_int_equal(n, 10);
}

static void several_servers_have_pieces_of_frozen_tensors(void **state)
{
    (void)state;
    static const char *const kept[] = {"1.weight", "2.bias", "4.weight", NULL};
    static const char *const moved[] = {"1.bias", "2.weight", "4.bias", NULL};
    static const char *const served[] = {"ps-async", "elastic-averaging"};
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options options = frozen_options(served[i], "[14].weight,2.bias");
        options.servers = 3;
        check_kept(&options, kept, moved);
    }
}

static void a_frozen_run_goes_on_as_if_it_had_not_stopped(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "gossip", "ps-sync"};
    for (size_t i = 0; i < 3; i++) {
        char want[33];
        const struct hr_train_options options = frozen_options(strategies[i], "1.*,2.bias");
        run_digest(&options, want);
        run_check_resume(options, 2, want);
    }
}

static void others_go_on_with_the_same_alone(void **state)
{
    (void)state;
    struct hr_train_options options = frozen_options("allreduce", "1.*");
    struct hr_run_result result;
    char own[64];
    run_folder_make(own);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", own);
    result = run_train(&options);
    hr_run_result_free(&result);
    snprintf(options.resume, sizeof options.resume, "%s", own);
    options.init_weights[0] = '\0';
    options.epochs = 2;
    snprintf(options.freeze, sizeof options.freeze, "2.*");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), "--freeze 1.*, this run has 2.*"));
    run_folder_remove(own);
}

static void check_refused(const char *patterns, const char *why)
{
    const struct hr_train_options options = frozen_options("allreduce", patterns);
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    if (!strstr(hr_error_message(), why))
        fail_msg("%s: %s", patterns, hr_error_message());
}

static void patterns_that_match_nothing_or_all_are_refused(void **state)
{
    (void)state;
    check_refused("1.*,7.*", "--freeze 7.*: matches no trained tensor of the model, which has "
                             "1.weight, 1.bias, 2.weight, 2.bias, 4.weight, 4.bias; expected");
    check_refused("*running*", "matches no trained tensor"); /* is not trained anyway */
    check_refused("*", "--freeze *: matches all trained tensors");
    check_refused("*.weight,*.bias", "nothing is left to train");
    check_refused("1.*,", "empty pattern");
    check_refused(" ", "empty pattern");
    check_refused("[1", "--freeze [1: matches no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frozen_tensors_keep_their_bits_under_every_strategy),
        cmocka_unit_test(several_servers_have_pieces_of_frozen_tensors),
        cmocka_unit_test(a_frozen_run_goes_on_as_if_it_had_not_stopped),
        cmocka_unit_test(others_go_on_with_the_same_alone),
        cmocka_unit_test(patterns_that_match_nothing_or_all_are_refused),
    };
    return cmocka_run_group_tests(tests, make_weights, remove_weights);
}
