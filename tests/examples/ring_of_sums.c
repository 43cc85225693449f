/* ring_of_sums.c - a first program with hogring: four ranks add numbers up, then pass a word round.
 *
 *     cc ring_of_sums.c -o ring_of_sums $(pkg-config --cflags --libs hogring)
 *     ./ring_of_sums            ranks are threads
 *     ./ring_of_sums process    ranks are processes
 */
#include <hogring/hogring.h>
#include <stdio.h>

/* What every rank does; `world` is the group of all ranks, as this one sees it. Each call returns
 * HR_OK or says what went wrong; a rank that returns an error ends the world for all others. */
static enum hr_status work(struct hr_group *world, void *arg)
{
    const size_t rank = hr_group_rank(world), n = hr_group_size(world);
    const size_t next = (rank + 1) % n, previous = (rank + n - 1) % n;
    float mine[2] = {1, (float)rank}, sum[2];
    double token = 0;
    enum hr_status status;
    (void)arg;

    /* Everybody gives two numbers, and gets the two sums over all ranks. */
    status = hr_all_reduce(world, mine, sum, 2, HR_FLOAT32, HR_SUM);
    if (status != HR_OK)
        return status;
    printf("rank %zu of %zu: sums %g and %g\n", rank, n, sum[0], sum[1]);

    /* A number goes once round the ring, and every rank adds its own to it. Rank 0 begins. */
    if (rank != 0 && (status = hr_recv(world, &token, 1, HR_FLOAT64, previous)) != HR_OK)
        return status;
    token += (double)rank;
    if ((status = hr_send(world, &token, 1, HR_FLOAT64, next)) != HR_OK)
        return status;
    if (rank == 0) {
        if ((status = hr_recv(world, &token, 1, HR_FLOAT64, previous)) != HR_OK)
            return status;
        printf("round the ring: %g\n", token);
    }
    return HR_OK;
}

int main(int argc, char **argv)
{
    const struct hr_world_options options = {.nranks = 4, .launch = argc > 1 ? argv[1] : "thread"};
    printf("four ranks, each a %s\n", options.launch);
    const enum hr_status status = hr_world_run(&options, work, NULL);
    if (status != HR_OK)
        fprintf(stderr, "%s: %s\n", hr_status_str(status), hr_error_message());
    return hr_status_exit_code(status);
}
