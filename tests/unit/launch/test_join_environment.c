/* What launchers tell their ranks is understood, and what is wrong with it is named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/join.h"
#include "support/check.h"

static void clear_environment(void)
{
    static const char *const names[] = {"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK",
                                        "LOCAL_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MPI_LOCALRANKID",
                                        "MPI_LOCALNRANKS",
                                        "HOGRING_RUN",
                                        "TORCHELASTIC_RUN_ID",
                                        "TORCHELASTIC_RESTART_COUNT",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "PMIX_NAMESPACE",
                                        "OMPI_MCA_ess_base_jobid",
                                        "SLURM_STEP_ID",
                                        "SLURM_JOB_ID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

/* "RANK=1 WORLD_SIZE=2" */
static enum hr_status read_environment(const char *settings, struct hr_join_options *options)
{
    char text[256], *rest = text;
    clear_environment();
    snprintf(text, sizeof text, "%s", settings);
    for (char *one; (one = strtok_r(rest, " ", &rest));) {
        char *value = strchr(one, '=');
        *value = '\0';
        setenv(one, value + 1, 1);
    }
    *options = (struct hr_join_options){0};
    return hr_join_environment(options);
}

static void mistakes_in_the_environment_are_named(void **state)
{
    static const char *const cases[][2] = {
        {"", "RANK is not set"},
        {"WORLD_SIZE=2", "RANK is not set"},
        {"RANK=0", "WORLD_SIZE is not set"},
        {"RANK=2 WORLD_SIZE=2", "RANK=2: expected less than WORLD_SIZE=2"},
        {"RANK=x WORLD_SIZE=2", "RANK=x: expected a number"},
        {"RANK=-1 WORLD_SIZE=2", "RANK=-1: expected a number"},
        {"RANK=0 WORLD_SIZE=99999999999999999999", "expected a number"},
        {"RANK=0 WORLD_SIZE=0", "WORLD_SIZE=0: expected 1 to 64"},
        {"RANK=0 WORLD_SIZE=65", "WORLD_SIZE=65: expected 1 to 64"},
        {"RANK=0 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2", "all ranks have to be on one machine"},
        {"RANK=0 WORLD_SIZE=4 LOCAL_RANK=4", "LOCAL_RANK=4: expected less than 4"},
        {"PMI_RANK=1", "PMI_SIZE is not set"},
        {"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_RANK=3: expected less"},
    };
    struct hr_join_options options;
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        CHECK_FAILS(read_environment(cases[c][0], &options), HR_E_USAGE);
        CHECK_MESSAGE(cases[c][1]);
    }
}

static void launchers_of_three_kinds_are_understood(void **state)
{
    static const struct {
        const char *settings, *name;
        size_t local_rank;
    } cases[] = {
        {"RANK=1 WORLD_SIZE=3 LOCAL_RANK=2 LOCAL_WORLD_SIZE=3 TORCHELASTIC_RUN_ID=none "
         "TORCHELASTIC_RESTART_COUNT=1 MASTER_ADDR=::1 MASTER_PORT=29500",
         "none 1 ::1 29500", 2},
        {"RANK=1 WORLD_SIZE=3 MASTER_PORT=7 PMI_RANK=0", "7", 1},
        {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_RANK=0 "
         "PMIX_NAMESPACE=77",
         "77", 0},
        {"PMI_RANK=1 PMI_SIZE=3 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=3", "of parent ", 1},
        {"PMI_RANK=1 PMI_SIZE=3 HOGRING_RUN=mine MASTER_PORT=7", "mine", 1},
    };
    struct hr_join_options options;
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        CHECK_OK(read_environment(cases[c].settings, &options));
        assert_int_equal(options.rank, 1);
        assert_int_equal(options.nranks, 3);
        assert_int_equal(options.local_rank, cases[c].local_rank);
        assert_memory_equal(options.name, cases[c].name, strlen(cases[c].name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_in_the_environment_are_named),
        cmocka_unit_test(launchers_of_three_kinds_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
