/* What launchers tell the ranks that they start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/join.h"
#include "shm/process.h"

enum { MOST_PARTS = 4 };

static const struct family {
    const char *rank, *nranks, *local_rank, *local_nranks;
} FAMILIES[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
};
enum { NFAMILIES = sizeof FAMILIES / sizeof *FAMILIES };

/* Variables that name a run, the best first; a row is taken when its first is set. A run that
 * torchrun restarted counts as another. MPICH sets none. */
static const char *const NAMES[][MOST_PARTS] = {
    {"HOGRING_RUN"},
    {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"},
    {"MASTER_PORT", "MASTER_ADDR"},
    {"PMIX_NAMESPACE"},
    {"OMPI_MCA_ess_base_jobid"},
    {"SLURM_STEP_ID", "SLURM_JOB_ID"},
};
enum { NNAMES = sizeof NAMES / sizeof *NAMES };

static const char *value_of(const char *variable)
{
    const char *text = getenv(variable);
    return text && *text ? text : NULL;
}

static const struct family *find_family(void)
{
    for (size_t f = 0; f < NFAMILIES; f++)
        if (value_of(FAMILIES[f].rank))
            return &FAMILIES[f];
    return NULL;
}

bool hr_join_invited(void)
{
    return find_family() != NULL;
}

static enum hr_status read_number(const char *variable, size_t *value)
{
    const char *text = value_of(variable);
    if (!text)
        return hr_fail(HR_E_USAGE, "%s is not set", variable);
    if (strspn(text, "0123456789") != strlen(text) || strlen(text) > 9)
        return hr_fail(HR_E_USAGE, "%s=%s: expected a number", variable, text);
    *value = (size_t)strtoul(text, NULL, 10);
    return HR_OK;
}

static enum hr_status read_optional(const char *variable, size_t usual, size_t *value)
{
    *value = usual;
    return value_of(variable) ? read_number(variable, value) : HR_OK;
}

static void append(char *text, size_t size, const char *part)
{
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? " " : "", part);
}

/* Ranks that nobody gave a common name have a common parent. */
static void name_by_parent(struct hr_join_options *options)
{
    snprintf(options->name, sizeof options->name, "of parent %ld, started at %llu", (long)getppid(),
             hr_process_start_time(getppid()));
}

static void name_run(struct hr_join_options *options)
{
    options->name[0] = '\0';
    for (size_t n = 0; n < NNAMES && !options->name[0]; n++)
        for (size_t p = 0; p < MOST_PARTS && NAMES[n][p] && value_of(NAMES[n][0]); p++)
            append(options->name, sizeof options->name,
                   value_of(NAMES[n][p]) ? value_of(NAMES[n][p]) : "");
    if (!options->name[0])
        name_by_parent(options);
}

enum hr_status hr_join_environment(struct hr_join_options *options)
{
    const struct family *family = find_family();
    size_t local_nranks;
    if (!family)
        return hr_fail(HR_E_USAGE, "RANK is not set (nor %s, nor %s): not started as a rank",
                       FAMILIES[1].rank, FAMILIES[2].rank);
    HR_TRY(read_number(family->rank, &options->rank));
    HR_TRY(read_number(family->nranks, &options->nranks));
    HR_TRY(read_optional(family->local_rank, options->rank, &options->local_rank));
    HR_TRY(read_optional(family->local_nranks, options->nranks, &local_nranks));
    if (options->nranks < 1 || options->nranks > HR_MAX_RANKS)
        return hr_fail(HR_E_USAGE, "%s=%zu: expected 1 to %d", family->nranks, options->nranks,
                       HR_MAX_RANKS);
    if (options->rank >= options->nranks)
        return hr_fail(HR_E_USAGE, "%s=%zu: expected less than %s=%zu", family->rank, options->rank,
                       family->nranks, options->nranks);
    if (local_nranks != options->nranks)
        return hr_fail(HR_E_USAGE, "%s=%zu, but %s=%zu: all ranks have to be on one machine",
                       family->local_nranks, local_nranks, family->nranks, options->nranks);
    if (options->local_rank >= local_nranks)
        return hr_fail(HR_E_USAGE, "%s=%zu: expected less than %zu", family->local_rank,
                       options->local_rank, local_nranks);
    name_run(options);
    return HR_OK;
}
