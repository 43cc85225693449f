/* Sparse models: which options they have, and what those are when nobody says it. */
#include <string.h>

#include "hogring/sparse.h"
#include "options/meaning.h"
#include "options/task.h"

/* What costs a sparse step its time is the memory that workers share, and of that the simulated
 * network knows nothing: any number of workers would come out as so many times as fast. */
static enum hr_status check_clock(const struct hr_train_options *o)
{
    if (strcmp(o->clock, "virtual") != 0)
        return HR_OK;
    return hr_fail(
        HR_E_USAGE,
        "--clock virtual: is not supported with --model %s: its steps wait for the memory "
        "that workers share, and virtual time is of gradients and messages alone",
        o->model);
}

enum hr_status hr_sparse_meaning_check(const struct hr_cli *cli, const struct hr_train_options *o)
{
    HR_TRY(check_clock(o));
    if (!strcmp(o->model, "mf") &&
        (hr_cli_was_given(cli, "expect-accuracy") || hr_cli_was_given(cli, "target-accuracy")))
        return hr_fail(HR_E_USAGE, "--model mf: has no accuracy to expect, it predicts numbers");
    if (!strcmp(o->model, "linear") && !strcmp(o->task, "classify"))
        return hr_fail(HR_E_USAGE, "--task classify: --model linear predicts values (logistic and "
                                   "svm predict classes)");
    return HR_OK;
}

void hr_cli_settle_model(struct hr_cli *cli, unsigned command, const bool *given)
{
    const bool sparse = hr_sparse_is_model(cli->train.model);
    struct hr_cli_option option;
    for (size_t i = 0; (option = hr_cli_option_at(i)).row != NULL; i++) {
        const struct hr_option *row = option.row;
        if (row->sparse_usual && hr_option_is_of(row, command) && !cli->given[i] && !given[i])
            hr_option_store(row, (char *)cli + option.base,
                            sparse ? row->sparse_usual : row->usual);
    }
    hr_task_settle(&cli->train, &cli->data_options);
}
