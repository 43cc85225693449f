/* What a run says that it will take is what it takes: the sum against the peak of a process that
 * does nothing else. */
#include "train/shared_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/runs.h"

#define WIDE "flatten, dense 2048, relu, dense 1024, relu, dense 10"
#define CONVS "conv 64 3x3 pad 1, relu, conv 64 3x3 pad 1, relu, flatten, dense 10"

struct run_case {
    const char *strategy, *model, *optimizer, *algorithm, *transport, *clock;
    size_t workers, batch, prefetch;
    size_t servers;       /* 0: not of servers that outlive losses */
    const char *compress; /* "": nothing is */
};

static const struct run_case cases[] = {
    {"allreduce", WIDE, "sgd", "auto", "zero-copy", "real", 1, 32, 0, 0, ""},
    {"allreduce", WIDE, "adam", "auto", "zero-copy", "real", 4, 32, 0, 0, ""},
    {"allreduce", WIDE, "sgd", "ring", "zero-copy", "real", 3, 32, 0, 0, ""},
    {"allreduce", WIDE, "sgd", "tree", "copy", "real", 4, 32, 0, 0, ""},
    {"allreduce", WIDE, "lamb", "auto", "zero-copy", "real", 2, 32, 0, 0, ""},
    {"ps-sync", WIDE, "adam", "auto", "zero-copy", "real", 4, 32, 0, 0, ""},
    {"ps-async", WIDE, "sgd", "auto", "zero-copy", "real", 2, 32, 0, 0, ""},
    {"hogwild", WIDE, "adam", "auto", "zero-copy", "real", 4, 32, 0, 0, ""},
    {"local-sgd", WIDE, "adam", "auto", "zero-copy", "real", 4, 32, 0, 0, ""},
    {"diloco", WIDE, "adam", "auto", "zero-copy", "real", 4, 32, 0, 0, ""},
    {"elastic-averaging", WIDE, "sgd", "auto", "zero-copy", "real", 4, 32, 0, 0, ""},
    {"allreduce", CONVS, "sgd", "auto", "zero-copy", "real", 2, 32, 0, 0, ""},
    {"allreduce", CONVS, "sgd", "auto", "zero-copy", "real", 2, 600, 2, 0, ""},
    {"allreduce", WIDE, "sgd", "auto", "zero-copy", "virtual", 16, 32, 0, 0, ""},
    {"ps-async", WIDE, "adam", "auto", "zero-copy", "virtual", 16, 32, 0, 0, ""},
    {"ps-async", "softmax", "sgd", "auto", "zero-copy", "virtual", 300, 4, 0, 150, ""},
    {"allreduce", WIDE, "sgd", "auto", "zero-copy", "real", 4, 32, 0, 0, "bf16"},
    {"allreduce", WIDE, "sgd", "auto", "copy", "real", 3, 32, 0, 0, "int8"},
    {"allreduce", WIDE, "sgd", "auto", "zero-copy", "virtual", 16, 32, 0, 0, "topk:1%"},
    {"allreduce", WIDE, "sgd", "auto", "zero-copy", "real", 4, 32, 0, 0, "powersgd:2"},
    {"ps-async", WIDE, "sgd", "auto", "zero-copy", "real", 4, 32, 0, 0, "fp16"},
    {"gossip", WIDE, "sgd", "auto", "zero-copy", "real", 4, 32, 0, 0, "int8"},
};

static struct hr_train_options options_of(const struct run_case *c)
{
    struct hr_train_options options = run_options(c->strategy, c->workers);
    snprintf(options.model, sizeof options.model, "%s", c->model);
    snprintf(options.optimizer, sizeof options.optimizer, "%s", c->optimizer);
    snprintf(options.algorithm, sizeof options.algorithm, "%s", c->algorithm);
    snprintf(options.transport, sizeof options.transport, "%s", c->transport);
    snprintf(options.clock, sizeof options.clock, "%s", c->clock);
    options.lr = HR_BY_OPTIMIZER;
    options.batch_size = c->batch;
    options.prefetch = c->prefetch;
    /* Each worker makes two gradients: an update of allreduce is of all. */
    options.max_steps = strcmp(c->strategy, "allreduce") ? 2 * c->workers : 2;
    snprintf(options.compress, sizeof options.compress, "%s", c->compress);
    if (!c->servers)
        return options;
    options.servers = c->servers;
    snprintf(options.on_loss, sizeof options.on_loss, "continue");
    return options;
}

/* Of /proc/self/status, in KiB. */
static size_t status_kib(const char *key)
{
    char line[200];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            kib = strtoull(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

/* What a process grows by at its peak when it trains so, in KiB; 0: it did not end well. */
static size_t peak_of(const struct run_case *c)
{
    int ends[2];
    size_t grown = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct hr_train_options options = options_of(c);
        struct hr_run_result result;
        const size_t before = status_kib("VmRSS:");
        const enum hr_status status = hr_train(&options, run_digits(), NULL, &result);
        grown = status == HR_OK ? status_kib("VmHWM:") - before : 0;
        _exit(write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &grown, sizeof grown), sizeof grown);
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return grown;
}

static void the_sum_is_what_runs_take(void **state)
{
    (void)state;
    enum { STACKS_AND_LIBRARIES = 6 << 10 }; /* KiB */
    if (CHECK_SANITIZED)
        SKIP("under a sanitizer: they take memory of their own");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct run_case *c = &cases[i];
        const struct hr_train_options options = options_of(c);
        struct hr_needs needs = {0};
        char text[HR_NEEDS_TEXT];
        CHECK_OK(hr_train_needs(&options, run_digits(), &needs));
        const size_t said = (needs.bytes - needs.taken) / 1024, took = peak_of(c);
        hr_needs_text(&needs, text);
        const bool true_enough =
            said <= took + took / 2 + 1024 && took <= said + said / 5 + STACKS_AND_LIBRARIES;
        if (!true_enough || getenv("HOGRING_VERBOSE"))
            print_error("%s, %s, %s, %s, %s clock, %s, %zu workers: said %zu, took %zu KiB (%s)\n",
                        c->strategy, c->optimizer, c->algorithm, c->transport, c->clock,
                        c->compress, c->workers, said, took, text);
        assert_true(true_enough);
    }
}

static void more_workers_need_more_and_fewer_are_advised(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 32);
    struct hr_needs many = {0}, one = {0};
    snprintf(options.model, sizeof options.model, "%s", WIDE);
    snprintf(options.launch, sizeof options.launch, "process"); /* each its own buffers */
    CHECK_OK(hr_train_needs(&options, run_digits(), &many));
    options.workers = 1;
    CHECK_OK(hr_train_needs(&options, run_digits(), &one));
    assert_true(many.bytes > 15 * one.bytes);
    options.workers = 32;
    hr_memory_limit_set(many.bytes / 3);
    CHECK_FAILS(hr_train_check(&options, run_digits()), HR_E_NOMEM);
    CHECK_MESSAGE("this run needs ");
    CHECK_MESSAGE("weights and gradients");
    CHECK_MESSAGE("(--max-memory); --workers 8 would fit");
    options.workers = 8;
    CHECK_OK(hr_train_check(&options, run_digits()));
    hr_memory_limit_set(0);
}

static void a_smaller_batch_is_advised_when_one_worker_is_too_many(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 1);
    snprintf(options.model, sizeof options.model, "%s", CONVS);
    options.batch_size = 1 << 20;
    hr_memory_limit_set((size_t)256 << 20);
    CHECK_FAILS(hr_train_check(&options, run_digits()), HR_E_NOMEM);
    CHECK_MESSAGE("; --batch-size ");
    CHECK_MESSAGE(" would fit");
    hr_memory_limit_set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_is_what_runs_take),
        cmocka_unit_test(more_workers_need_more_and_fewer_are_advised),
        cmocka_unit_test(a_smaller_batch_is_advised_when_one_worker_is_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
