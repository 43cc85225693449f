/* options.h - one table of options for all commands: the same name means the same everywhere, is a
 * key of the configuration file, and appears in --help. */
#ifndef HR_CLI_OPTIONS_H
#define HR_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "hogring/sparse.h"
#include "hogring/train.h"

enum { HR_CLI_OPTIONS = 192 }; /* at most */

enum hr_command_bit {
    HR_TRAIN = 1,
    HR_COMPARE = 2,
    HR_EVAL = 4,
    HR_INSPECT = 8,
    HR_BENCH = 16,
    HR_DATA = 32,
    HR_REPLAY = 128,
};

/* What the command line says; defaults first. */
struct hr_cli {
    struct hr_train_options train;
    struct hr_data_options data_options;
    struct hr_sparse_shape shape; /* data make sparse */
    char out[1024];
    char what_if[256];    /* replay */
    char otherwise[4096]; /* --resume: lines on options given otherwise than before */
    char outputs[1024];   /* eval; "": none */
    char data[1024], json[1024], plot[1024], strategies[512];
    uint64_t max_memory; /* 0: what the kernel says there is */
    size_t seeds;
    bool concurrent, quiet, help, emulate;
    double expect_accuracy; /* 0: none */
    char expect_digest[64];
    size_t ranks, group_size;
    char sizes[64], transport[32], link[64], topology[1024], type[32], redop[32];
    char buffers[32], loop[32];
    char placement[32]; /* bench store */
    size_t keys;
    char bytes[32], root[64]; /* bench links */
    char input[32];           /* bench layers and train, inspect MODEL */
    size_t classes;
    bool find_rings, sweep;
    const char *positional[4];
    size_t npositional;
    bool given[HR_CLI_OPTIONS]; /* option i of the table stood on the command line or in the file */
};

void hr_cli_defaults(struct hr_cli *cli);

/* Parse argv[1..] of a command. HR_E_USAGE: unknown option (with the nearest), a value that does
 * not parse (with what is expected), an option of another command. */
HR_CHECKED enum hr_status hr_cli_parse(struct hr_cli *cli, enum hr_command_bit command, int argc,
                                       char **argv);

/* Set one option by name, as from a file or a strategy's own settings. `where` begins
 * the message. */
HR_CHECKED enum hr_status hr_cli_set(struct hr_cli *cli, enum hr_command_bit command,
                                     const char *name, const char *value, const char *where);

/* Was --name given? And: it counts as given. */
bool hr_cli_was_given(const struct hr_cli *cli, const char *name);
void hr_cli_mark_given(struct hr_cli *cli, const char *name);

/* The options of a command, for --help. */
void hr_cli_print_options(FILE *out, enum hr_command_bit command);

#endif
