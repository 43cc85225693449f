/* Configuration files: options, one "name = value" a line. */
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

struct config_reader {
    struct hr_cli *cli;
    enum hr_command_bit command;
    const char *path;
    enum hr_status status;
};

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
    for (size_t i = 0; section[0] && i < sizeof sections / sizeof *sections; i++)
        if (!strcmp(section, sections[i].name) && sections[i].bit != reader->command)
            return 1;
    snprintf(where, sizeof where, "%.280s: ", reader->path);
    reader->status = hr_cli_set(reader->cli, reader->command, name, value, where);
    return 1;
}

enum hr_status hr_cli_read_config(struct hr_cli *cli, enum hr_command_bit command, const char *path)
{
    struct config_reader reader = {cli, command, path, HR_OK};
    const int result = ini_parse(path, config_line, &reader);
    if (reader.status != HR_OK)
        return reader.status;
    if (result < 0)
        return hr_fail_errno(HR_E_IO, "--config %s: cannot be read", path);
    if (result > 0)
        return hr_fail(HR_E_FORMAT, "--config %s: line %d is not \"name = value\"", path, result);
    return HR_OK;
}
