/* what_if.h - replay --what-if: a recorded run beside what it would have been. */
#ifndef HR_CLI_WHAT_IF_H
#define HR_CLI_WHAT_IF_H

#include "options/command_line.h"
#include "hogring/replay.h"

/* Replay, model and counterfactual, as a table and a sentence, and JSON where it was asked for. */
HR_CHECKED enum hr_status hr_cli_what_if(struct hr_cli *cli, const struct hr_replay *replay,
                                         const struct hr_dataset *dataset);

#endif
