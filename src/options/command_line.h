/* command_line.h - what a command was told: the options of training, those of reading data, and
 * those of commands, each table with a struct of its own. The same name means the same everywhere,
 * is a key of the configuration file, and appears in --help. */
#ifndef HR_OPTIONS_COMMAND_LINE_H
#define HR_OPTIONS_COMMAND_LINE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hogring/sparse.h"
#include "base/error.h"
#include "options/metric.h"
#include "options/train_options.h"

enum { HR_CLI_OPTIONS = 256, HR_CLI_CONFIGS = 8 }; /* at most */

/* An option that was given a list of values (sweep.h). */
enum { HR_AXES = 8, HR_AXIS_BYTES = 256 };
struct hr_axis {
    size_t option; /* of the table */
    size_t n;
    char values[HR_AXIS_BYTES]; /* (n) as they were given */
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
    size_t top_classes;   /* predict; 0: all */
    char prompt[4096];    /* sample; "": a newline */
    size_t tokens, top_k, count;
    double temperature;
    bool pytorch; /* inspect */
    size_t worst; /* eval; 0: none */
    char worst_sheet[1024];
    char export_to[1024]; /* train, inspect; "": none */
    char data[1024], json[1024], plot[1024], timeline[1024], report[1024];
    char strategies[4096];
    char timeline_steps[48]; /* "": all */
    uint64_t max_memory;     /* 0: what the kernel says there is */
    char log[1024], tensorboard[1024];
    uint64_t log_every;
    char tune[512], tune_budget[32]; /* compare; "": nothing */
    size_t seeds, orders, folds;
    double margin; /* 0: none */
    bool concurrent, quiet, details, wide, help, all, emulate;
    bool forecast;             /* train */
    size_t machines;           /* train: that the run is on; 0: one */
    double expect[HR_METRICS]; /* of the test set; -1: nothing */
    char expect_digest[64];
    char against[1024], slower[32], junit[1024], annotations[16]; /* gate; "": none */
    size_t pairs;
    size_t ranks, group_size;
    char sizes[64], transport[32], link[64], topology[1024], type[32], redop[32];
    char buffers[32], loop[32];
    char placement[32]; /* bench store */
    size_t keys;
    char bytes[32], root[64]; /* bench links */
    char input[32];           /* bench layers and train, inspect MODEL */
    size_t classes;
    char pipeline[64], micro_batches[64], pipeline_schedule[128], stages[256]; /* bench pipeline */
    size_t rounds;
    bool find_rings, sweep;
    double long_wait; /* doctor: seconds */
    bool clean;
    double interval; /* top: seconds */
    bool once;
    char search[512], confirm[16]; /* simulate; "": no search */
    char only[256];                /* verify; "": all checks */
    double seconds;
    bool list;
    char color[16];
    char *const *words; /* (nwords) of the command line, behind the command */
    size_t nwords;
    const char *config[HR_CLI_CONFIGS]; /* files that options were read from; borrowed */
    size_t nconfigs;
    const char *positional[256];
    size_t npositional;
    struct hr_axis axes[HR_AXES];
    size_t naxes;
    bool given[HR_CLI_OPTIONS]; /* option i of the table stood on the command line or in the file */
    bool kept[HR_CLI_OPTIONS];  /* --resume: it is as its checkpoint has it */
};

extern const struct hr_option_list hr_command_lists[]; /* of struct hr_cli itself */
extern const size_t hr_command_nlists;

/* An option of any table: its row, its section, and where in struct hr_cli its struct begins. */
struct hr_cli_option {
    const struct hr_option *row;
    enum hr_option_section section;
    size_t base;
};

/* The i-th; row NULL past the end. */
struct hr_cli_option hr_cli_option_at(size_t i);
/* That of a name, as the command knows it; hr_cli_option_at(it).row is NULL when it does not. */
size_t hr_cli_option_find(const char *name, unsigned command);
/* HR_E_USAGE: the command has no such option; with the nearest that it has. */
HR_CHECKED enum hr_status hr_cli_option_unknown(const char *name, unsigned command,
                                                const char *where);
/* Does the command have it? */
bool hr_option_is_of(const struct hr_option *row, unsigned command);

void hr_cli_defaults(struct hr_cli *cli);

/* Has stdout what people read? Not where it has --json -. */
static inline bool hr_cli_speaks(const struct hr_cli *cli)
{
    return strcmp(cli->json, "-") != 0;
}

/* Parse argv[1..] of a command. HR_E_USAGE: unknown option (with the nearest), a value that does
 * not parse (with what is expected), an option of another command, a list given twice. */
HR_CHECKED enum hr_status hr_cli_parse(struct hr_cli *cli, enum hr_command_bit command, int argc,
                                       char **argv);

/* HR_E_USAGE: the value is "", as of a variable of the shell that is not set; NULL, none at all, is
 * taken. */
HR_CHECKED enum hr_status hr_cli_refuse_empty(const struct hr_option *row, const char *value,
                                              const char *where);

/* Is the value "none", and may there be none (--augment none)? It takes back what a checkpoint, or
 * the command line around an entry of --strategies, has. */
bool hr_cli_is_none(const struct hr_option *row, const char *value);

/* Set one option by name, as from a file or a strategy's own settings: a single value; NULL: of a
 * switch, on; of one whose value may be left out, that it was. `where` begins the message. */
HR_CHECKED enum hr_status hr_cli_set(struct hr_cli *cli, enum hr_command_bit command,
                                     const char *name, const char *value, const char *where);

/* The last part of a value, cut: "--pipeline 2,micro-batches=4". row NULL: it has none. HR_E_USAGE:
 * too long, or nothing before its comma. */
struct hr_option_part {
    const struct hr_option *row;
    const char *value; /* of the part; of a switch "on" */
    char before[HR_PATH_MAX];
};
HR_CHECKED enum hr_status hr_option_part_cut(const struct hr_option *of, unsigned command,
                                             const char *value, struct hr_option_part *out);

/* Does the value begin with a part of the option, as micro-batches=4,8 of --pipeline? */
bool hr_option_has_part_first(const struct hr_option *of, unsigned command, const char *value);

/* Is the value of an option that the command has one of its words, and in its range? */
HR_CHECKED enum hr_status hr_cli_check(const struct hr_cli *cli, enum hr_command_bit command,
                                       const char *name);
/* Was --name given? Is it what the checkpoint has? And: it counts as given. */
bool hr_cli_was_given(const struct hr_cli *cli, const char *name);
bool hr_cli_was_saved(const struct hr_cli *cli, const char *name);
void hr_cli_mark_given(struct hr_cli *cli, const char *name);

/* The first option that was given and that this part of its command does not have; NULL: none. */
const struct hr_option *hr_cli_given_beyond(const struct hr_cli *cli, unsigned part);

/* The options of a command, as text of the manual (manual/manual.h): all, or those that people use
 * first. How many were left out. */
size_t hr_cli_write_options(FILE *out, enum hr_command_bit command, bool all);

/* One of them; false: the command has none of that name. */
bool hr_cli_write_option(FILE *out, enum hr_command_bit command, const char *name);

/* --- options from a file, one "name = value" a line --- */

/* Read the file's options into cli, as if they stood on the command line; but FILE of a value
 * trace:FILE is looked for beside the configuration, wherever the command runs. HR_E_IO,
 * HR_E_FORMAT and HR_E_USAGE name the file. */
HR_CHECKED enum hr_status hr_config_read(struct hr_cli *cli, enum hr_command_bit command,
                                         const char *path);
/* The same of a text in memory. */
HR_CHECKED enum hr_status hr_config_parse(struct hr_cli *cli, enum hr_command_bit command,
                                          const char *path, const char *text);

#endif
