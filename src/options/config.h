/* config.h - options from a file, one "name = value" a line. */
#ifndef HR_OPTIONS_CONFIG_H
#define HR_OPTIONS_CONFIG_H

#include "options/command_line.h"

/* Read the file's options into cli, as if they stood on the command line; but FILE of a value
 * trace:FILE is looked for beside the configuration, wherever the command runs. HR_E_IO,
 * HR_E_FORMAT and HR_E_USAGE name the file. */
HR_CHECKED enum hr_status hr_config_read(struct hr_cli *cli, enum hr_command_bit command,
                                         const char *path);
/* The same of a text in memory. */
HR_CHECKED enum hr_status hr_config_parse(struct hr_cli *cli, enum hr_command_bit command,
                                          const char *path, const char *text);

#endif
