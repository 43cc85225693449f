/* Sparse models: which options they have, and what those are when nobody says it. */
#include <string.h>

#include "hogring/sparse.h"
#include "options/meaning.h"
#include "options/task.h"

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
