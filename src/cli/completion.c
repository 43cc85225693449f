#include "cli/help.h"

#include <string.h>

#include "cli/commands.h"
#include "manual/manual.h"

/* bash cuts words at "=", so --loss=mse is three of them. */
static const char begin[] =
    "# Completion of hogring for bash; hogring help --completion printed it.\n"
    "_hogring() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= files=\n"
    "  COMPREPLY=()\n"
    "  if [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then "
    "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "  case $prev in\n";

static const char middle[] = "  *) case ${COMP_WORDS[1]} in\n";

static const char end[] = "help --help --version'\n"
                          "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                          "  [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
                          "}\n"
                          "complete -o filenames -F _hogring hogring\n";

static bool takes_file(const struct hr_option *row)
{
    return strstr(row->metavar, "FILE") || strstr(row->metavar, "DIR");
}

/* What may stand behind an option: its words, its names, files, or nothing that is known. */
static void print_values(FILE *out, const struct hr_option *row)
{
    fprintf(out, "  --%s) words='", row->name);
    for (const char *c = row->words ? row->words : ""; *c; c++)
        fputc(*c == '|' ? ' ' : *c, out);
    for (size_t i = 0; row->name_at && row->name_at(i); i++)
        fprintf(out, "%s%s", i ? " " : "", row->name_at(i));
    fprintf(out, "'%s ;;\n", takes_file(row) ? " files=1" : "");
}

static void print_options(FILE *out, const struct hr_command *command)
{
    const struct hr_option *row;
    fprintf(out, "    %s) words='", command->name);
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (hr_option_is_of(row, command->bit))
            fprintf(out, "--%s ", row->name);
    /* these take no files */
    fprintf(out, "'%s ;;\n",
            command->bit & (HR_TRAIN | HR_COMPARE | HR_DOCTOR | HR_TOP) ? "" : " files=1");
}

static void print_names(FILE *out, bool pages)
{
    const struct hr_command *command;
    for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
        fprintf(out, "%s ", command->name);
    for (size_t i = 0; pages && hr_manual_page(i); i++)
        fprintf(out, "%s ", hr_manual_title(hr_manual_page(i)).name);
}

int hr_completion_print(FILE *out)
{
    const struct hr_option *row;
    const struct hr_command *command;
    fputs(begin, out);
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (row->metavar && hr_cli_option_find(row->name, ~(unsigned)HR_LIBRARY) == i)
            print_values(out, row);
    fputs(middle, out);
    for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
        print_options(out, command);
    fputs("    help) words='", out);
    print_names(out, true);
    fputs("' ;;\n", out);
    fputs("    esac ;;\n  esac\n  [ \"$COMP_CWORD\" = 1 ] && files= words='", out);
    print_names(out, false);
    fputs(end, out);
    return 0;
}
