/* bench_layers.h - hogring bench layers and hogring bench train: what limits a network here. */
#ifndef HR_BENCH_LAYERS_H
#define HR_BENCH_LAYERS_H

#include "options/command_line.h"

/* Every layer's times beside the machine's roofs. */
HR_CHECKED enum hr_status hr_bench_layers(struct hr_cli *cli);

/* Training speed of models, beside the compute roof. */
HR_CHECKED enum hr_status hr_bench_train(struct hr_cli *cli);

#endif
