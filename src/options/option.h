/* option.h - one option, one row: all that is known of an option stands in its row, and what needs
 * to know it asks the row.
 *
 * From the rows follow: what the command line, configuration files and --strategies take; defaults;
 * --help; ranges; which options mean nothing beside others; JSON, traces and what checkpoints keep.
 * A new option is a row in train_rows.c (or the rows of the command that has it) and a field.
 *
 * Memory:  a row holds the offset of its field in a struct; `base` is where that struct begins.
 * Threads: constants, and pure functions on the caller's memory.
 * Test: tests/unit/options/test_option.c, tests/cli/refusals.bats
 */
#ifndef HR_OPTIONS_OPTION_H
#define HR_OPTIONS_OPTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "hogring/train.h"
#include "optim/optimizer.h"

enum hr_option_kind {
    HR_OPTION_FLAG,          /* bool */
    HR_OPTION_TEXT,          /* char[] */
    HR_OPTION_OPTIONAL_TEXT, /* char[]; the value may be left out */
    HR_OPTION_COUNT,         /* size_t */
    HR_OPTION_COUNT64,       /* uint64_t */
    HR_OPTION_NUMBER,        /* double; less than 0: not chosen */
    HR_OPTION_SECONDS,       /* double; without a unit it is seconds */
    HR_OPTION_DURATION,      /* double; with a unit */
    HR_OPTION_BYTES,         /* uint64_t */
    HR_OPTION_EVERY,         /* struct hr_every */
    HR_OPTION_CONFIG,        /* no field: a file of options */
    HR_OPTION_PARTS,         /* no field: its parts have some */
};

/* What a field has to do with the result. */
enum hr_option_use {
    HR_ONCE,    /* of one start alone: where it writes, how long it may take, what it shows */
    HR_DECIDES, /* the bits of the weights, or which weights they are */
    HR_BEGINS,  /* as this, of one start alone: what it begins with, how far it goes */
    HR_AROUND,  /* how: another value gives the same run, or one that is never recorded */
    HR_SPARSE,  /* the weights of sparse models, which are not recorded */
};

/* Commands; those that do several things have a bit for each. */
enum hr_command_bit {
    HR_TRAIN = 1,
    HR_COMPARE = 1 << 1,
    HR_EVAL = 1 << 2,
    HR_INSPECT = 1 << 3,
    HR_REPLAY = 1 << 4,
    HR_DATA_INFO = 1 << 5,
    HR_DATA_PACK = 1 << 6,
    HR_DATA_VERIFY = 1 << 7,
    HR_DATA_MAKE = 1 << 8,
    HR_DATA = HR_DATA_INFO | HR_DATA_PACK | HR_DATA_VERIFY | HR_DATA_MAKE,
    HR_BENCH_COLLECTIVES = 1 << 9, /* bench all_reduce, ...: what is none of the others */
    HR_BENCH_LINKS = 1 << 10,
    HR_BENCH_LAYERS = 1 << 11,
    HR_BENCH_TRAIN = 1 << 12,
    HR_BENCH_STORE = 1 << 13,
    HR_BENCH_PIPELINE = 1 << 16,
    HR_BENCH_NETS = HR_BENCH_LAYERS | HR_BENCH_TRAIN,
    HR_BENCH_MODELS = HR_BENCH_NETS | HR_BENCH_PIPELINE,
    HR_BENCH_PLANS = HR_BENCH_COLLECTIVES | HR_BENCH_LINKS,
    HR_BENCH = HR_BENCH_PLANS | HR_BENCH_MODELS | HR_BENCH_STORE,
    HR_DOCTOR = 1 << 15,
    HR_PREDICT = 1 << 20,
    HR_TOP = 1 << 17,
    HR_SAMPLE = 1 << 19,
    HR_REPORT = 1 << 18,
    HR_GATE = 1 << 21,
    HR_VERIFY = 1 << 24,
    HR_FORECAST = 1 << 29,
    HR_LIBRARY = 1 << 14, /* no command: callers of hr_train set the field */
};

/* Sections of --help, in its order. */
enum hr_option_section {
    HR_IN_DATA,
    HR_IN_SAMPLING,
    HR_IN_MAKING,
    HR_IN_WORKERS,
    HR_IN_TRAINING,
    HR_IN_GRADIENTS,
    HR_IN_PIPELINES,
    HR_IN_TIME,
    HR_IN_UPDATES,
    HR_IN_SPARSE,
    HR_IN_LIMITS,
    HR_IN_CHECKPOINTS,
    HR_IN_RESULTS,
    HR_IN_MEASUREMENT,
    HR_IN_PAPER,
    HR_IN_LOOKING,
    HR_IN_VERIFYING,
    HR_IN_SEARCHING,
    HR_IN_EXPERT,
    HR_SECTIONS
};

/* Which models have it. */
enum hr_option_models { HR_OF_NETWORKS, HR_OF_ALL_MODELS, HR_OF_SPARSE_MODELS };

/* least to most; all 0: any. */
struct hr_option_range {
    double least, most;
    bool above, below; /* more than least; less than most */
};

struct hr_option {
    const char *name; /* of the flag, and the key everywhere else */
    enum hr_option_kind kind;
    size_t offset, size; /* of the field */
    enum hr_option_use use;
    const char *metavar; /* NULL: a switch */
    const char *usual;   /* the default as one would type it; NULL: 0, "" or off */
    const char *help;
    const char *said; /* the default as --help says it, where that is not `usual` */
    /* The same two to commands that have it too and mean something else by it. */
    struct {
        unsigned commands;
        const char *help, *said;
    } other[2];
    const char *words; /* the values that there are: "sum|repro" */
    const char *also;  /* said behind them: "explore:SEED", which a part reads */
    size_t choice;     /* 1 + where their number goes in struct hr_choices; 0: nowhere */
    /* The i-th of the names that there are, NULL past the end; they end the help. */
    const char *(*name_at)(size_t i);
    /* The default is the optimizer's, which this finds in its rule; NULL: it is not. */
    double (*by_optimizer)(const struct hr_rule *rule);
    unsigned commands; /* that have it; 0: train and compare */
    bool written;      /* names a file, or a folder, that is written; all others may name inputs */
    bool stdout_too;   /* of these: - is stdout; to all others it is no name */
    bool first;        /* people use it first: --help shows it */
    /* It is said behind a value of with[0], in the order of the rows, and the help of that option
     * says so: EPOCHS and FACTOR of --lr-schedule step:5,0.1. */
    bool parameter;
    const char *typed; /* of a part's value: what stands before that; else NULL */
    bool of_any;       /* behind any value, as with[0].values: --timeout 30s:10s */
    /* The parameter is part of that option: all of its value, which says whose by what it reads as
     * (--test 0.2) or begins with (--clock explore:7, values "explore"); or with values "=" behind
     * its metavar and after a comma or a semicolon (--expect accuracy=0.9,digest=D; --timeline
     * run.json,steps=5:7), a switch without it (--text lines,context=64). */
    bool part;
    struct hr_option_range range;

    enum hr_option_models models;
    const char *sparse_usual; /* of sparse models, where they have another */
    const char *sparse_said;  /* as --help says it */
    const char *gpt_usual;    /* of the built-in models gpt-*, where they have another */
    struct hr_option_range sparse_range;

    /* It means something only with: another option at one of these values. (Which strategies
     * obey it, these say themselves: their `options`.) */
    struct {
        const char *option, *values; /* "schedule", "free"; several: "linear|sqrt" */
    } with[3];
    const char *otherwise; /* with other strategies: why it means nothing; NULL: it is plain */
    bool zero_is_value;    /* a number: 0 is one like others, and -1 that it is not given */
    bool zero_is_off;      /* and 0, or off, asks for nothing, which is right with anything */
    bool between_ranks;    /* it is about messages, and one worker alone sends none, */
    bool or_stages;        /* but for those between stages of its pipeline, in virtual time */
    struct {
        const char *option, *question; /* --keep: where to? give --checkpoint-dir too */
    } needs;
    /* What else must hold where it is given; NULL: nothing. */
    enum hr_status (*check)(const struct hr_train_options *options);
};

/* Does it mean nothing without a value before it: micro-batches=M behind --pipeline K,? */
static inline bool hr_option_is_own_part(const struct hr_option *row)
{
    return row->part && row->needs.option && !strcmp(row->needs.option, row->with[0].option);
}

/* Is it said as KEY=X, or as KEY of a switch? Else it is all of the value. */
static inline bool hr_option_is_keyed(const struct hr_option *row)
{
    return row->part && row->with[0].values[0] == '=';
}

#define HR_PART_OF(option, equals) .parameter = true, .part = true, .with = {{option, equals}}

/* The rows of one section, of one struct. */
struct hr_option_list {
    enum hr_option_section section;
    const struct hr_option *rows;
    size_t count;
};

/* --- one value --- */

/* As a message has it: "--lr"; of a parameter "FACTOR of --lr-schedule step". */
struct hr_option_name {
    char text[320];
};
struct hr_option_name hr_option_name(const struct hr_option *row);
/* Put a value that reads as its kind does into the row's field; false when it does not. */
bool hr_option_store(const struct hr_option *row, void *base, const char *value);
/* The same, with a line that begins with `where`. HR_E_USAGE; also for a 0 that the field has where
 * nothing is given. */
HR_CHECKED enum hr_status hr_option_set(const struct hr_option *row, void *base, const char *value,
                                        const char *where);
/* The field, as one would type it. Numbers are the shortest that read back as the same: 0.05. */
void hr_option_text(const struct hr_option *row, const void *base, char *text, size_t size);
bool hr_option_equal(const struct hr_option *row, const void *base, const void *other);
/* Has a number 0 where it is not given, so that 0 itself says nothing? */
bool hr_option_zero_is_none(const struct hr_option *row);
/* Which of its words a text is; the first where it is none. */
unsigned hr_option_word(const struct hr_option *row, const char *text);
/* HR_E_USAGE: the field is outside of its range, or none of the words that there are. */
HR_CHECKED enum hr_status hr_option_check(const struct hr_option *row, const void *base,
                                          bool sparse);

/* --- lists --- */

/* Row i of several lists; NULL past the end. */
const struct hr_option *hr_option_list_at(const struct hr_option_list *lists, size_t nlists,
                                          size_t i);
/* A field becomes its default. */
void hr_option_default(const struct hr_option *row, void *base);
/* Every one. */
void hr_option_defaults(const struct hr_option_list *lists, size_t nlists, void *base);

/* A field as JSON, a new reference. Whole numbers beyond 2^63 - 1 are strings of digits. NULL: no
 * memory, or a text is not UTF-8. */
json_t *hr_option_json(const struct hr_option *row, const void *base);
/* false: no such value as the field holds. */
bool hr_option_from_json(const struct hr_option *row, void *base, const json_t *value);

#endif
