/* A parameter server of one key: two workers fit a line, the third rank is the server. */
#include <hogring/hogring.h>
#include <stdio.h>

/* The rule: a step down the gradient that a worker has pushed. */
static void descend(void *rate, const struct hr_store_update *what, float *weights,
                    const float *pushed)
{
    for (size_t i = 0; i < what->count; i++)
        weights[i] -= *(const float *)rate * pushed[i];
}

/* Fit w[0] x + w[1] to points of 2 x + 1, each worker to its own. */
static enum hr_status learn(struct hr_store *store, size_t worker, float w[2])
{
    float gradient[2];
    uint64_t ticket;
    enum hr_status status = hr_store_pull(store, 0, w, &ticket);
    for (size_t step = 0; status == HR_OK && step < 500; step++) {
        status = hr_store_wait(store, ticket); /* w is there, and gradient is free again */
        const float x = (float)((3 * step + worker) % 5) - 2, error = w[0] * x + w[1] - (2 * x + 1);
        gradient[0] = error * x;
        gradient[1] = error;
        if (status == HR_OK)
            status = hr_store_push_pull(store, 0, gradient, w, &ticket);
    }
    return status == HR_OK ? hr_store_wait(store, ticket) : status;
}

static enum hr_status work(struct hr_group *world, void *rate)
{
    const struct hr_store_key key = {.name = "line", .count = 2};
    const struct hr_store_options options = {
        .keys = &key, .nkeys = 1, .update = descend, .arg = rate};
    struct hr_store *store;
    float w[2];
    enum hr_status status = hr_store_open(world, &options, &store);
    if (status != HR_OK)
        return status;
    status = hr_store_serves(store) ? hr_store_serve(store) : learn(store, hr_group_rank(world), w);
    if (status == HR_OK && hr_group_rank(world) == 0)
        printf("y = %.2f x + %.2f\n", w[0], w[1]);
    const enum hr_status closed = hr_store_close(store);
    return status == HR_OK ? closed : status;
}

int main(void)
{
    float rate = 0.05f;
    const struct hr_world_options options = {.nranks = 3, .launch = "process"};
    const enum hr_status status = hr_world_run(&options, work, &rate);
    if (status != HR_OK)
        fprintf(stderr, "%s\n", hr_error_message());
    return hr_status_exit_code(status);
}
