/* What an option's value must look like, and the field that it goes to. */
#include <stdio.h>
#include <string.h>

#include "cli/options_table.h"
#include "cli/parse.h"

const char *hr_option_expected(enum hr_option_kind kind)
{
    switch (kind) {
    case FLAG:
        return "true or false (on or off)";
    case COUNT:
    case COUNT64:
        return "a whole number, not negative";
    case NUMBER:
        return "a number, not negative";
    case SECONDS:
        return "a time, as 30s, 500ms or 2m";
    case DURATION:
        return "a time with its unit, as 30s, 500ms or 2m";
    case BYTES:
        return "a size, as 512M or 16G";
    default:
        return "text";
    }
}

static bool store_text(char *field, size_t size, const char *value)
{
    return (size_t)snprintf(field, size, "%s", value) < size;
}

/* "" is what the command line says; files and lists of settings have words. */
static bool store_flag(bool *field, const char *value)
{
    const bool no = !strcmp(value, "false") || !strcmp(value, "off");
    const bool yes = !strcmp(value, "true") || !strcmp(value, "on") || !value[0];
    *field = yes;
    return yes || no;
}

bool hr_option_store(struct hr_cli *cli, const struct hr_option_row *row, const char *value)
{
    void *field = (char *)cli + row->offset;
    uint64_t count;
    switch (row->kind) {
    case FLAG:
        return store_flag(field, value);
    case TEXT:
    case OPTIONAL_TEXT:
        return store_text(field, row->size, value);
    case COUNT:
        if (!hr_parse_count(value, &count))
            return false;
        *(size_t *)field = count;
        return true;
    case COUNT64:
        return hr_parse_count(value, field);
    case NUMBER:
        return hr_parse_number(value, field);
    case SECONDS:
        return hr_parse_seconds(value, field);
    case DURATION:
        return hr_parse_duration(value, field);
    case BYTES:
        return hr_parse_size(value, field);
    case CONFIG:
        break;
    }
    return false;
}
