#include "support/losing_runs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct losing_kind losing_kinds[LOSING_STRATEGIES] = {
    [HOGWILD] = {"hogwild", TRAINED, true, 0, 0},
    [PS_ASYNC] = {"ps-async", TRAINED, true, 2, 0},
    [SSP] = {"ssp", TRAINED, true, 2, 0},
    [ELASTIC_AVERAGING] = {"elastic-averaging", TRAINED, false, 2, 0},
    [BACKUP_WORKERS] = {"backup-workers", LOST, false, 1, 0},
    [WITH_BACKUPS] = {"backup-workers", LOST, false, 1, 1},
    [ALLREDUCE] = {"allreduce", TRAINED, false, 0, 0},
    [PS_SYNC] = {"ps-sync", TRAINED, false, 2, 0},
    [LOCAL_SGD] = {"local-sgd", TRAINED, false, 0, 0},
    [GOSSIP] = {"gossip", TRAINED, false, 0, 0},
};

struct hr_train_options losing_options(enum losing_strategy strategy, size_t workers,
                                       const char *on_loss, const char *inject)
{
    const struct losing_kind *kind = &losing_kinds[strategy];
    struct hr_train_options options = run_options(kind->name, workers);
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    snprintf(options.on_loss, sizeof options.on_loss, "%s", on_loss);
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    options.epochs = LOSING_EPOCHS;
    options.epoch_size = LOSING_EPOCH;
    options.batch_size = LOSING_BATCH;
    options.max_restarts = 1000;
    if (kind->servers)
        options.servers = kind->servers;
    options.backups = kind->backups;
    return options;
}

struct hr_train_options losing_options_virtual(enum losing_strategy strategy, size_t workers,
                                               const char *on_loss, const char *inject)
{
    struct hr_train_options options = losing_options(strategy, workers, on_loss, inject);
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "10ms");
    return options;
}

struct hr_run_result losing_run(const struct hr_train_options *options)
{
    const int stderr_was = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    struct hr_run_result result;
    const enum hr_status status = hr_train(options, run_digits(), NULL, &result);
    dup2(stderr_was, STDERR_FILENO);
    close(stderr_was);
    close(nowhere);
    if (status != HR_OK)
        print_error("%s, %zu workers, %s, %s, %s, link '%s':\n", options->strategy,
                    options->workers, options->schedule, options->on_loss, options->inject,
                    options->link);
    CHECK_OK(status);
    return result;
}

void losing_in_silence(void)
{
    stderr = fdopen(dup(STDERR_FILENO), "w");
    const int nowhere = open("/dev/null", O_WRONLY);
    assert_true(stderr && nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
    close(nowhere);
}

static uint64_t lost_samples(const struct hr_run_result *result)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < result->nlosses; i++)
        sum += result->losses[i].lost_samples;
    return sum;
}

static bool adds_up(const struct hr_run_result *result, const struct hr_staleness *part)
{
    uint64_t n = 0;
    for (size_t i = 0; i < part->n; i++)
        n += result->stale_counts[part->first + i];
    return n == part->updates;
}

/* Each push that is in the weights is counted once: by its worker, and for each key. */
static void check_staleness(const struct hr_train_options *options,
                            const struct hr_run_result *result)
{
    uint64_t of_workers = 0;
    bool right = result->stale_updates == result->updates;
    for (size_t i = 0; i < result->nstale_workers + result->nstale_keys; i++) {
        const struct hr_staleness *part = &result->stale_parts[i];
        right = right && adds_up(result, part);
        if (i < result->nstale_workers)
            of_workers += part->updates;
        else
            right = right && part->updates == result->updates;
    }
    if (right && of_workers == result->stale_updates)
        return;
    print_error("%s, %s, %s, %s: %llu updates, staleness of %llu\n", options->strategy,
                options->schedule, options->on_loss, options->inject,
                (unsigned long long)result->updates, (unsigned long long)result->stale_updates);
    fail();
}

void losing_check(const struct hr_train_options *options, enum losing_strategy strategy,
                  const struct hr_run_result *result)
{
    const struct losing_kind *kind = &losing_kinds[strategy];
    const uint64_t lost = lost_samples(result), all = options->epochs * options->epoch_size;
    const uint64_t known = result->samples + result->dropped_samples + lost;
    const bool whole =
        kind->account == TRAINED ? result->samples == all && lost == 0 : known == all;
    const bool updated =
        !kind->a_push_is_an_update || options->batch_size * result->updates == result->samples;
    if (kind->a_push_is_an_update)
        check_staleness(options, result);
    if (whole && updated)
        return;
    print_error("%s, %s, %s, %s: %llu samples trained on, %llu dropped, %llu lost, %llu updates\n",
                options->strategy, options->schedule, options->on_loss, options->inject,
                (unsigned long long)result->samples, (unsigned long long)result->dropped_samples,
                (unsigned long long)lost, (unsigned long long)result->updates);
    fail();
}

void losing_check_times(const struct hr_train_options *options, const struct hr_run_result *result)
{
    assert_int_equal(result->nworker_times, result->workers);
    for (size_t w = 0; w < result->workers; w++) {
        const struct hr_worker_time *time = &result->worker_time[w];
        const double there = time->load_s + time->compute_s + time->communicate_s + time->wait_s;
        bool lost = options->reduce[0] == 'r';
        for (size_t i = 0; i < result->nlosses; i++)
            lost |= !result->losses[i].server && result->losses[i].rank == w;
        if (there <= result->seconds + 1e-8 && (lost || there >= result->seconds - 1e-8) &&
            time->load_s >= 0 && time->compute_s >= 0 && time->wait_s >= 0)
            continue;
        print_error("%s, %s, %s: worker %zu was there for %.9f of %.9f s\n", options->strategy,
                    options->on_loss, options->inject, w, there, result->seconds);
        fail();
    }
}

struct hr_run_result losing_run_checked(const struct hr_train_options *options,
                                        enum losing_strategy strategy)
{
    struct hr_run_result result = losing_run(options);
    losing_check(options, strategy, &result);
    losing_check_times(options, &result);
    assert_int_equal(result.ncurve, options->epochs);
    return result;
}
