/* train_together.c - data-parallel training by hand: share, gradients, all_reduce, update.
 *
 *     cc train_together.c -o train_together $(pkg-config --cflags --libs hogring)
 *     ./train_together [RANKS] [thread|process]
 *
 * It gives the weights, to the bit, of
 *     hogring train --data digits --model "flatten, dense 32, relu, dense 10" --epochs 5 \
 *       --strategy allreduce --workers RANKS --batch-size 32/RANKS
 */
#include <hogring/hogring.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const enum hr_status status_ = (call);                                                     \
        if (status_ != HR_OK)                                                                      \
            return status_;                                                                        \
    } while (0)

enum { EPOCHS = 5, BATCH = 32, SEED = 1, PIXELS = 64 }; /* BATCH: of all ranks */

struct job {
    struct hr_dataset digits;
    struct hr_net *net;
};

/* A rank's own, in memory that the others reach in place: all_reduce copies nothing. */
struct replica {
    float *params, *grads, *momentum, x[BATCH * PIXELS];
    uint32_t samples[BATCH], labels[BATCH];
    struct hr_net_space *space;
};

static enum hr_status set_up(struct hr_group *world, const struct job *job, struct replica *mine)
{
    const size_t n = hr_net_params(job->net);
    void *memory;
    size_t bytes;
    TRY(hr_group_alloc(world, n * sizeof(float), (void **)&mine->params));
    TRY(hr_group_alloc(world, n * sizeof(float), (void **)&mine->grads));
    TRY(hr_group_alloc(world, n * sizeof(float), (void **)&mine->momentum)); /* zeros */
    TRY(hr_net_space_bytes(job->net, BATCH, NULL, &bytes));
    TRY(hr_group_alloc(world, bytes, &memory));
    TRY(hr_net_space_open(job->net, BATCH, NULL, memory, bytes, &mine->space));
    return hr_net_init(job->net, SEED, mine->params, n); /* the same everywhere */
}

/* Samples first .. first + count of an epoch, as a batch. */
static enum hr_status gather(const struct job *job, const struct hr_split *split, size_t epoch,
                             size_t first, size_t count, struct replica *mine,
                             struct hr_net_batch *out)
{
    if (split == &job->digits.train)
        TRY(hr_dataset_order(SEED, epoch, split->count, first, count, mine->samples));
    else
        for (size_t i = 0; i < count; i++)
            mine->samples[i] = (uint32_t)(first + i);
    hr_dataset_gather(&job->digits, split, mine->samples, count, mine->x, mine->labels);
    *out = (struct hr_net_batch){count, mine->x, mine->labels, epoch, mine->samples, NULL};
    return HR_OK;
}

static enum hr_status train(struct hr_group *world, const struct job *job, struct replica *mine)
{
    const size_t rank = hr_group_rank(world), ranks = hr_group_size(world);
    const size_t n = hr_net_params(job->net), all = job->digits.train.count;
    struct hr_net_batch batch;
    struct hr_net_rule sgd;
    uint64_t update = 0;
    TRY(hr_net_rule_defaults("sgd", &sgd)); /* lr 0.05, momentum 0.9 */
    for (size_t epoch = 0; epoch < EPOCHS; epoch++)
        for (size_t first = 0; first < all; first += BATCH) {
            const size_t count =
                all - first < BATCH ? all - first : BATCH; /* the last is smaller */
            /* Ranks' shares differ by one at most; those of the first ranks are the larger ones. */
            const size_t each = count / ranks, more = count % ranks;
            const size_t begin = first + each * rank + (rank < more ? rank : more);
            TRY(gather(job, &job->digits.train, epoch, begin, each + (rank < more), mine, &batch));
            TRY(hr_net_gradient(mine->space, mine->params, n, &batch, mine->grads, NULL));
            TRY(hr_all_reduce(world, mine->grads, mine->grads, n, HR_FLOAT32, HR_SUM));
            TRY(hr_net_update(job->net, &sgd, ++update, count, mine->params, mine->grads, n,
                              mine->momentum, n));
        }
    return HR_OK;
}

static enum hr_status test(const struct job *job, struct replica *mine)
{
    size_t correct = 0, count;
    for (size_t first = 0; first < job->digits.test.count; first += count) {
        struct hr_net_batch batch;
        struct hr_net_result result;
        count = job->digits.test.count - first;
        count = count < BATCH ? count : BATCH;
        TRY(gather(job, &job->digits.test, 0, first, count, mine, &batch));
        TRY(hr_net_forward(mine->space, mine->params, hr_net_params(job->net), &batch,
                           HR_NET_EVALUATE, NULL));
        TRY(hr_net_loss(mine->space, &result));
        correct += result.correct;
    }
    char digest[33];
    hr_digest_floats(mine->params, hr_net_params(job->net), digest);
    printf("test accuracy %.2f %%, weights %s\n",
           100.0 * (double)correct / (double)job->digits.test.count, digest);
    return HR_OK;
}

static enum hr_status work(struct hr_group *world, void *arg)
{
    const struct job *job = arg;
    struct replica mine;
    TRY(set_up(world, job, &mine));
    TRY(train(world, job, &mine));
    return hr_group_rank(world) == 0 ? test(job, &mine) : HR_OK;
}

int main(int argc, char **argv)
{
    const struct hr_world_options world = {.nranks = argc > 1 ? strtoul(argv[1], NULL, 10) : 2,
                                           .launch = argc > 2 ? argv[2] : "thread"};
    struct job job;
    enum hr_status status = hr_dataset_open("digits", &job.digits);
    if (status == HR_OK) {
        const struct hr_net_options options = {.layers = "flatten, dense 32, relu, dense 10",
                                               .input = job.digits.shape};
        status = hr_net_open(&options, &job.net);
        if (status == HR_OK)
            status = hr_world_run(&world, work, &job);
        hr_net_close(job.net);
        hr_dataset_close(&job.digits);
    }
    if (status != HR_OK)
        fprintf(stderr, "%s: %s\n", hr_status_str(status), hr_error_message());
    return hr_status_exit_code(status);
}
