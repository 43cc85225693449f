/* hogring simulate - train with a clock that is simulated and gradients that are not. */
#include <string.h>

#include "cli/commands.h"
#include "options/choices.h"
#include "terminal/output.h"

static int run(struct hr_cli *cli)
{
    const struct hr_choices choice = hr_choices_of(&cli->train);
    if (choice.explored || (hr_cli_was_given(cli, "clock") && choice.clock == HR_CLOCK_REAL))
        return hr_cli_failed(hr_fail(
            HR_E_USAGE, "--clock %s: simulate is train --clock virtual; expected train here",
            choice.explored ? cli->train.schedule : cli->train.clock));
    const enum hr_status status = hr_cli_set(cli, HR_TRAIN, "clock", "virtual", "");
    return status == HR_OK ? hr_cli_train(cli) : hr_cli_failed(status);
}

const struct hr_command hr_command_simulate = {
    .name = "simulate",
    .summary = "train up to 1024 workers in virtual time",
    .bit = HR_TRAIN,
    .usage = "[OPTIONS]",
    .story =
        "Every gradient is really computed, on all cores; only the clock is simulated.\n"
        "--compute-time says how long a gradient takes, --link or --topology how long messages\n"
        "take; --inject makes workers slow, or stops them. A run repeats bit for bit on any\n"
        "number of processors. Under synchronous strategies it has the bits of real workers.\n"
        "Times shown are virtual. simulate is train --clock virtual; compare --clock virtual\n"
        "compares strategies.\n",
    .examples = "  hogring simulate --strategy ps-async --workers 256 --batch-size 8 \\\n"
                "    --lr 0.002 --momentum 0 --epoch-size 28760\n"
                "  hogring simulate --strategy ssp --workers 8 --batch-size 8 \\\n"
                "    --lr 0.01 --inject slow:3x2 --compute-time 10ms\n"
                "  hogring simulate --workers 16 --batch-size 4 \\\n"
                "    --algorithm ring --link 1GB/s,5us\n"
                "  hogring simulate --workers 8 --batch-size 8 --lr 0.01 --inject slow:3x2 \\\n"
                "    --search \"strategy=allreduce,ssp,ps-async;staleness=1,4\" \\\n"
                "    --time-to accuracy=0.9\n"
                "  hogring compare --clock virtual --workers 8 --batch-size 8 \\\n"
                "    --lr 0.01 --inject slow:*x3@10% --plot curves.svg\n",
    .run = run,
};
