#include "support/sample.h"

#include "support/check.h"
#include "support/scratch.h"

float sample_weight[6] = {0, 1, 2, 3, 4, 5};
static float bias[2] = {0.5f, -0.5f}, momentum[2] = {0.25f, 1};
static int64_t order[3] = {2, 0, 1};

struct hr_tensor sample_model_tensors[] = {
    {"0.bias", HR_F32, 1, {2}, sizeof bias, bias},
    {"0.weight", HR_F32, 2, {2, 3}, sizeof sample_weight, sample_weight},
};
struct hr_tensor sample_trainer_tensors[] = {
    {"0.bias.momentum_buffer", HR_F32, 1, {2}, sizeof momentum, momentum},
    {"order", HR_I64, 1, {3}, sizeof order, order},
};
static struct hr_metadata model_metadata[] = {{"format", "pt"}, {"hogring.arch", "dense 2"}};
static struct hr_metadata trainer_metadata[] = {{"epoch", "3"}};

/* Weights that tell the step: bias[0] = step. */
struct hr_checkpoint sample_checkpoint(uint64_t step)
{
    bias[0] = (float)step;
    return (struct hr_checkpoint){
        .step = step,
        .model = {2, sample_model_tensors, 2, model_metadata, NULL},
        .trainer = {2, sample_trainer_tensors, 1, trainer_metadata, NULL}};
}

void sample_save(uint64_t step, size_t keep)
{
    struct hr_checkpoint checkpoint = sample_checkpoint(step);
    CHECK_OK(hr_checkpoint_save(scratch("d"), &checkpoint, keep));
}

/* Loads, and the checkpoint is whole and of this step. */
void check_sample_loads(const char *path, uint64_t step)
{
    struct hr_checkpoint found;
    CHECK_OK(hr_checkpoint_load(path, &found));
    assert_int_equal(found.step, step);
    assert_int_equal(found.model.ntensors, 2);
    assert_int_equal(found.trainer.ntensors, 2);
    const struct hr_tensor *tensor = hr_tensor_get(&found.model, "0.bias");
    CHECK_NEAR(((const float *)tensor->data)[0], (double)step, 0, 0);
    tensor = hr_tensor_get(&found.model, "0.weight");
    CHECK_SAME_FLOATS((const float *)tensor->data, sample_weight, 6);
    assert_memory_equal(hr_tensor_get(&found.trainer, "order")->data, order, sizeof order);
    assert_string_equal(hr_metadata_get(&found.model, "hogring.arch"), "dense 2");
    assert_string_equal(hr_metadata_get(&found.trainer, "epoch"), "3");
    hr_checkpoint_free(&found);
}
