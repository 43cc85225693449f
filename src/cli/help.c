#include "cli/help.h"

#include <string.h>

/* Text in lines of at most 66 letters, behind an indent of 28. */
static void print_wrapped(FILE *out, const char *text)
{
    enum { WIDTH = 66, INDENT = 28 };
    while (strlen(text) > WIDTH) {
        int cut = WIDTH;
        while (cut > 0 && text[cut] != ' ')
            cut--;
        fprintf(out, "%.*s\n%*s", cut, text, INDENT, "");
        text += cut + 1;
    }
    fprintf(out, "%s\n", text);
}

void hr_help_option(FILE *out, const char *name, const char *metavar, const char *text)
{
    char flag[64];
    snprintf(flag, sizeof flag, "--%s %s", name, metavar ? metavar : "");
    fprintf(out, "  %-25s ", flag);
    print_wrapped(out, text);
}
