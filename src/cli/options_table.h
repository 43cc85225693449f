/* options_table.h - the table behind options.h, for options.c (what an option does),
 * option_store.c (what its value is) and command_line.c (how it is found on the command line and
 * shown by --help). */
#ifndef HR_CLI_OPTIONS_TABLE_H
#define HR_CLI_OPTIONS_TABLE_H

#include "cli/options.h"

enum hr_option_kind {
    FLAG,
    TEXT,
    COUNT,
    COUNT64,
    NUMBER,
    SECONDS,
    DURATION,
    BYTES,
    OPTIONAL_TEXT,
    CONFIG
};

/* A row with an empty name begins a section of --help. */
struct hr_option_row {
    const char *name;
    enum hr_option_kind kind;
    size_t offset, size; /* of the field in struct hr_cli */
    unsigned commands;
    const char *metavar, *help;
};

/* Row i; NULL behind the last. */
const struct hr_option_row *hr_option_at(size_t i);

/* Put a value that reads as its kind does into the row's field; false when it does not. */
bool hr_option_store(struct hr_cli *cli, const struct hr_option_row *row, const char *value);
/* What does: "a whole number, not negative". */
const char *hr_option_expected(enum hr_option_kind kind);

/* HR_E_USAGE: there is no such option; with the nearest that there is. */
HR_CHECKED enum hr_status hr_option_unknown(const char *name, unsigned command, const char *where);

#endif
