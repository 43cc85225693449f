#include "options/config.h"

#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/pipe.h"
#include "options/sweep.h"

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
