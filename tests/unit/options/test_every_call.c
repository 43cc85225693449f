/* Texts that people write (a configuration, options, models, networks, delays, injections) are read
 * while each call for memory or on files fails in turn. */
#include <getopt.h>

#include "netsim/delay.h"
#include "netsim/inject.h"
#include "netsim/topology.h"
#include "nn/model.h"
#include "options/command_line.h"
#include "support/every_call.h"
#include "support/scratch.h"

static enum hr_status configuration(void)
{
    static struct hr_cli cli;
    hr_cli_defaults(&cli);
    HR_TRY(hr_config_read(&cli, HR_TRAIN, scratch("c.ini")));
    assert_int_equal(cli.train.workers, 3);
    return HR_OK;
}

static enum hr_status command_line(void)
{
    static struct hr_cli cli;
    static char *argv[] = {"train", "--workers", "3", "--model", "dense 10", "--seed=7"};
    hr_cli_defaults(&cli);
    optind = 0; /* getopt begins again */
    HR_TRY(hr_cli_parse(&cli, HR_TRAIN, sizeof argv / sizeof *argv, argv));
    assert_int_equal(cli.train.seed, 7);
    return HR_OK;
}

static enum hr_status topology(void)
{
    struct hr_topology topology;
    struct hr_link link;
    HR_TRY(hr_link_parse("", "1GB/s,10us", &link));
    HR_TRY(hr_topology_open(scratch("net"), &link, &topology));
    const size_t ranks = topology.nranks;
    hr_topology_fini(&topology);
    HR_TRY(hr_topology_open("ring:5", &link, &topology));
    assert_int_equal(ranks + topology.nranks, 7);
    hr_topology_fini(&topology);
    return HR_OK;
}

static enum hr_status delay(void)
{
    struct hr_delay delay;
    char text[600];
    snprintf(text, sizeof text, "trace:%s", scratch("delays"));
    HR_TRY(hr_delay_parse("", text, &delay));
    const size_t samples = delay.nsamples;
    hr_delay_fini(&delay);
    assert_int_equal(samples, 3);
    return HR_OK;
}

static enum hr_status injection(void)
{
    struct hr_inject inject;
    return hr_inject_parse("", "kill:1@step=7, slow:0x2", 3, 2, &inject);
}

static enum hr_status model(void)
{
    static const char *const texts[] = {"mlp", "cnn",
                                        "conv 4 3x3, relu, maxpool 2, flatten, dense 10"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hr_workspace *workspace;
        struct hr_model *made;
        HR_TRY(hr_model_create(texts[i], (struct hr_shape){1, 28, 28}, 10, &made));
        const enum hr_status status = hr_workspace_create(made, 4, NULL, &workspace);
        if (status == HR_OK)
            hr_workspace_destroy(workspace);
        hr_model_destroy(made);
        HR_TRY(status);
    }
    return HR_OK;
}

static const struct task tasks[] = {
    {"configuration", configuration, NULL}, {"command line", command_line, NULL},
    {"topology", topology, NULL},           {"delay", delay, NULL},
    {"injection", injection, NULL},         {"model", model, NULL},
};

static void put(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

static void write_texts(void)
{
    put("c.ini", "workers = 3\n[train]\nmodel = dense 10\n; note\nseed = 4\n");
    put("delays", "1ms\n2ms # slow\n3ms\n");
    put("net", "gpu a b # two\nnode s\nlink a s 1GB/s 1us x2\nlink s b 1GB/s shared m\n");
}

static void without_memory_a_status_says_so(void **state)
{
    (void)state;
    size_t calls = 0;
    write_texts();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        calls += fail_every_call(&tasks[i], OF_MEMORY, ENOMEM, 1);
    print_message("%zu allocations have failed\n", calls);
}

static void a_failed_call_on_a_file_is_said(void **state)
{
    (void)state;
    size_t calls = 0;
    write_texts();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        calls += fail_every_call(&tasks[i], OF_FILES, EIO, 1);
    print_message("%zu calls on files have failed\n", calls);
}

static void pieces_and_interruptions_change_nothing(void **state)
{
    (void)state;
    write_texts();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        do_in_pieces(&tasks[i]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_memory_a_status_says_so),
        TEST(a_failed_call_on_a_file_is_said),
        TEST(pieces_and_interruptions_change_nothing),
    };
    scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
