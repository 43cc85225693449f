/* Where values come from: a configuration file, the command line. */
#include "options/command_line.h"

#include <getopt.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/inputs.h"
#include "base/pipe.h"
#include "base/printable.h"
#include "checkpoint/claim.h"
#include "options/meaning.h"
#include "options/nearest.h"
#include "options/sweep.h"
#include "options/train_options.h"

/* --- from a file --- */

enum { LARGEST_FILE = 1 << 20 };

struct config_reader {
    struct hr_cli *cli;
    enum hr_command_bit command;
    const char *path;
    enum hr_status status;
};

/* trace:FILE with FILE beside the configuration that names it; other values as they are. */
static enum hr_status find_beside(const struct config_reader *reader, const char *value,
                                  char out[HR_PATH_MAX])
{
    static const char prefix[] = "trace:";
    const size_t length = sizeof prefix - 1;
    const char *slash = strrchr(reader->path, '/');
    if (!slash || strncmp(value, prefix, length) != 0 || !value[length] || value[length] == '/')
        return hr_path(out, "%s", value);
    return hr_path(out, "%s%.*s/%s", prefix, (int)(slash - reader->path), reader->path,
                   value + length);
}

/* Sections are commands: [train] holds for train only; keys before any section hold for all. */
static int config_line(void *arg, const char *section, const char *name, const char *value)
{
    struct config_reader *reader = arg;
    static const struct {
        const char *name;
        enum hr_command_bit bit;
    } sections[] = {{"train", HR_TRAIN}, {"compare", HR_COMPARE}};
    char where[300];
    if (reader->status != HR_OK)
        return 1;
    const size_t n = sizeof sections / sizeof *sections;
    size_t i = 0;
    while (section[0] && i < n && strcmp(section, sections[i].name) != 0)
        i++;
    if (i == n)
        reader->status = hr_fail(HR_E_USAGE, "%.280s: [%.40s]: expected [train] or [compare]",
                                 reader->path, section);
    if (i == n || (section[0] && sections[i].bit != reader->command))
        return 1;
    char found[HR_PATH_MAX];
    snprintf(where, sizeof where, "%.280s: ", reader->path);
    reader->status = find_beside(reader, value, found);
    if (reader->status == HR_OK)
        reader->status = hr_sweep_set(reader->cli, reader->command, name, found, where);
    return 1;
}

enum hr_status hr_config_parse(struct hr_cli *cli, enum hr_command_bit command, const char *path,
                               const char *text)
{
    struct config_reader reader = {cli, command, path, HR_OK};
    const int result = ini_parse_string(text, config_line, &reader);
    HR_TRY(reader.status);
    if (result < 0)
        return hr_fail(HR_E_NOMEM, "--config %s: no memory to read it", path);
    if (result > 0)
        return hr_fail(HR_E_FORMAT, "--config %s: line %d is not \"name = value\"", path, result);
    return HR_OK;
}

/* Any kind of file: --config <(...) is a FIFO. */
enum hr_status hr_config_read(struct hr_cli *cli, enum hr_command_bit command, const char *path)
{
    char *text;
    size_t bytes;
    enum hr_status status = hr_pipe_read_all(path, LARGEST_FILE, &text, &bytes);
    if (status != HR_OK)
        return hr_fail(status, "--config %s", hr_error_message());
    if (strlen(text) == bytes)
        status = hr_config_parse(cli, command, path, text);
    else
        status = hr_fail(HR_E_FORMAT, "--config %s: is no text", path);
    free(text);
    return status;
}

/* --- the command line by way of getopt --- */

enum { FIRST_ROW = 256 }; /* getopt_long answers FIRST_ROW + row; letters answer themselves */

static void list_for_getopt(struct option *list, enum hr_command_bit command)
{
    size_t n = 0;
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        if (!hr_option_is_of(row, command))
            continue;
        list[n++] = (struct option){
            .name = row->name,
            .has_arg = row->kind == HR_OPTION_FLAG            ? no_argument
                       : row->kind == HR_OPTION_OPTIONAL_TEXT ? optional_argument
                                                              : required_argument,
            .val = FIRST_ROW + (int)i,
        };
    }
    list[n] = (struct option){0};
}

/* -lr, as other programs have it. getopt is behind the word when it has read all of its letters,
 * else still at it. */
static enum hr_status refuse_letter(char **argv, enum hr_command_bit command)
{
    char name[64];
    const char *word = argv[optind - 1], *at = argv[optind];
    if (at && at[0] == '-' && at[1] != '-' && strchr(at, optopt) &&
        !(word[0] == '-' && word[1] == optopt && !word[2]))
        word = at;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 1, "="), word + 1);
    if (hr_cli_option_at(hr_cli_option_find(name, command)).row)
        return hr_fail(HR_E_USAGE, "-%s: options begin with two dashes; did you mean --%s?", name,
                       name);
    return hr_fail(HR_E_USAGE, "-%s: options begin with two dashes (--help lists them)", name);
}

static enum hr_status refuse(int answer, char **argv, enum hr_command_bit command)
{
    char name[64];
    const char *text = argv[optind - 1];
    const struct hr_option *row =
        optopt >= FIRST_ROW ? hr_cli_option_at((size_t)(optopt - FIRST_ROW)).row : NULL;
    if (answer == ':')
        return hr_fail(HR_E_USAGE, "%s: a value is missing (%s %s)", text, text, row->metavar);
    if (row)
        return hr_fail(HR_E_USAGE, "--%s: takes no value", row->name);
    if (optopt > 0)
        return refuse_letter(argv, command);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text + 2, "="), text + 2);
    return hr_cli_option_unknown(name, command, "");
}

/* The last of several values counts, but a second list would drop the first one's entries. */
static enum hr_status check_once(const struct hr_option *row, enum hr_command_bit command,
                                 bool *seen)
{
    const bool list = row->metavar && !strcmp(row->metavar, "LIST") && optarg &&
                      !hr_option_has_part_first(row, command, optarg);
    if (list && *seen)
        return hr_fail(HR_E_USAGE,
                       "--%s: given twice; expected one list, with commas between its entries",
                       row->name);
    *seen |= list;
    return HR_OK;
}

static enum hr_status read_config(struct hr_cli *cli, enum hr_command_bit command, const char *path)
{
    if (cli->nconfigs == HR_CLI_CONFIGS)
        return hr_fail(HR_E_USAGE, "--config %s: expected at most %d files", path, HR_CLI_CONFIGS);
    cli->config[cli->nconfigs++] = path;
    return hr_config_read(cli, command, path);
}

/* What earlier versions had as an option of its own, and where it stands now. */
static enum hr_status refuse_parameter(const struct hr_option *row, const char *value)
{
    const struct hr_option_name said = hr_option_said(row, value);
    const struct hr_option *of = hr_train_option_find(row->with[0].option);
    const bool own = hr_option_is_own_part(row);
    const size_t flag = strlen("-- ") + strlen(row->with[0].option);
    return hr_fail(HR_E_USAGE, "--%s%s%s: is said %s: %.*s%s%s%s", row->name, value[0] ? " " : "",
                   hr_printable(value).text, row->part ? "in another way" : "behind a colon",
                   (int)flag, said.text, own ? of->metavar : "", own ? "," : "", said.text + flag);
}

/* A value that is typed takes the place of all that it could have been: --clock real that of
 * explore:7, --test 0.3 that of a file. */
static void drop_alternatives(struct hr_cli *cli, enum hr_command_bit command, size_t number)
{
    struct hr_cli_option option;
    const char *name = hr_cli_option_at(number).row->name;
    bool any = false;
    for (size_t i = 0; (option = hr_cli_option_at(i)).row != NULL; i++) {
        const struct hr_option *row = option.row;
        if (!row->part || hr_option_is_keyed(row) || strcmp(row->with[0].option, name) != 0 ||
            !hr_option_is_of(row, command))
            continue;
        hr_option_default(row, (char *)cli + option.base);
        cli->given[i] = false;
        any = true;
    }
    option = hr_cli_option_at(number);
    if (!any)
        return;
    hr_option_default(option.row, (char *)cli + option.base);
    cli->given[number] = false;
}

/* seen: options that stood on this line. */
static enum hr_status parse_option(struct hr_cli *cli, enum hr_command_bit command, int argc,
                                   char **argv, int answer, bool *seen)
{
    if (answer == 'h')
        return hr_cli_set(cli, command, "help", NULL, "");
    if (answer < FIRST_ROW)
        return refuse(answer, argv, command);
    const struct hr_option *row = hr_cli_option_at((size_t)(answer - FIRST_ROW)).row;
    HR_TRY(check_once(row, command, &seen[answer - FIRST_ROW]));
    /* getopt wants --resume=DIR; people write --resume DIR. */
    if (row->kind == HR_OPTION_OPTIONAL_TEXT && !optarg && optind < argc && argv[optind][0] != '-')
        optarg = argv[optind++];
    HR_TRY(hr_cli_refuse_empty(row, optarg, ""));
    if (row->parameter)
        return refuse_parameter(row, optarg ? optarg : "");
    if (optarg)
        drop_alternatives(cli, command, (size_t)(answer - FIRST_ROW));
    return row->kind == HR_OPTION_CONFIG ? read_config(cli, command, optarg)
                                         : hr_sweep_set(cli, command, row->name, optarg, "");
}

enum hr_status hr_cli_parse(struct hr_cli *cli, enum hr_command_bit command, int argc, char **argv)
{
    struct option list[HR_CLI_OPTIONS + 1];
    bool seen[HR_CLI_OPTIONS] = {false};
    list_for_getopt(list, command);
    cli->words = argv + 1;
    cli->nwords = argc > 0 ? (size_t)argc - 1 : 0;
    opterr = 0;
    for (int answer; (answer = getopt_long(argc, argv, ":h", list, NULL)) != -1;)
        HR_TRY(parse_option(cli, command, argc, argv, answer, seen));
    for (; optind < argc; optind++) {
        if (command & (HR_TRAIN | HR_COMPARE | HR_FORECAST))
            return hr_fail(HR_E_USAGE,
                           "\"%s\": found a word, expected options, which begin with --",
                           argv[optind]);
        if (!argv[optind][0])
            return hr_fail(HR_E_USAGE,
                           "\"\": found an empty word, as of a variable that is not set; "
                           "expected a name");
        if (cli->npositional == sizeof cli->positional / sizeof *cli->positional)
            return hr_fail(HR_E_USAGE, "%s: too many arguments", argv[optind]);
        HR_TRY(hr_input_named(argv[optind], false));
        cli->positional[cli->npositional++] = argv[optind];
    }
    if (hr_cli_was_given(cli, "resume") && !cli->train.resume[0])
        memcpy(cli->train.resume, cli->train.checkpoint_dir, sizeof cli->train.resume);
    if (hr_cli_was_given(cli, "resume") && !cli->train.resume[0])
        return hr_fail(HR_E_USAGE, "--resume: from where? name a folder, or give --checkpoint-dir");
    hr_cli_resolve_model(cli, command, cli->given);
    return HR_OK;
}
