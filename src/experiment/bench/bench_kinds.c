#include "bench/bench_kinds.h"

#include <stdio.h>
#include <string.h>

#include "base/needs.h"
#include "options/nearest.h"

static const struct {
    const char *name;
    enum hr_command_bit kind;
} kinds[] = {{"links", HR_BENCH_LINKS},
             {"layers", HR_BENCH_LAYERS},
             {"train", HR_BENCH_TRAIN},
             {"store", HR_BENCH_STORE},
             {"pipeline", HR_BENCH_PIPELINE}};

enum { NKINDS = sizeof kinds / sizeof *kinds };

enum hr_command_bit hr_bench_kind_of(const struct hr_cli *cli)
{
    for (size_t i = 0; cli->npositional && i < NKINDS; i++)
        if (!strcmp(cli->positional[0], kinds[i].name))
            return kinds[i].kind;
    return HR_BENCH_COLLECTIVES;
}

static const char *name_of(unsigned mask)
{
    for (size_t i = 0; i < NKINDS; i++)
        if (mask & kinds[i].kind)
            return kinds[i].name;
    return "all_reduce";
}

static enum hr_status needs_another(const struct hr_option *row)
{
    char kinds_text[160] = "";
    size_t length = 0;
    for (size_t i = 0; i < NKINDS; i++)
        if (row->commands & kinds[i].kind)
            length +=
                (size_t)snprintf(kinds_text + length, sizeof kinds_text - length,
                                 "%s\"hogring bench %s\"", length ? " or " : "", kinds[i].name);
    return hr_fail(HR_E_USAGE, "--%s: needs %s", row->name, kinds_text);
}

enum hr_status hr_bench_check_options(const struct hr_cli *cli, enum hr_command_bit kind)
{
    if (kind != HR_BENCH_COLLECTIVES && cli->npositional > 1)
        return hr_fail(HR_E_USAGE, "bench %s %s: expected nothing behind \"%s\" but options",
                       cli->positional[0], cli->positional[1], cli->positional[0]);
    const struct hr_option *row = hr_cli_given_beyond(cli, kind);
    if (!row && cli->naxes && kind != HR_BENCH_TRAIN)
        return hr_fail(HR_E_USAGE, "--%s %s: bench %s expects a single value",
                       hr_cli_option_at(cli->axes[0].option).row->name, cli->axes[0].values,
                       name_of(kind));
    if (!row)
        return HR_OK;
    if (kind == HR_BENCH_COLLECTIVES)
        return needs_another(row);
    return hr_fail(HR_E_USAGE, "--%s: is not supported with bench %s", row->name, name_of(kind));
}

enum hr_status hr_bench_parse_sizes(const char *text, uint64_t *low, uint64_t *high)
{
    char first[64];
    const char *colon = strchr(text, ':');
    snprintf(first, sizeof first, "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
    if (hr_parse_size(first, low) && hr_parse_size(colon ? colon + 1 : first, high) &&
        *low >= sizeof(float) && *low <= *high && *high <= (uint64_t)1 << 33)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--sizes %s: expected LO:HI in bytes, as 4:64M, from 4 to 8G", text);
}

enum hr_status hr_bench_parse_either(const char *option, const char *text, const char *no,
                                     const char *yes, bool *out)
{
    *out = !strcmp(text, yes);
    if (*out || !strcmp(text, no))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s %s: expected %s or %s", option, text, no, yes);
}

enum hr_status hr_bench_check_memory(size_t buffers, uint64_t low, uint64_t high, uint64_t step)
{
    uint64_t largest = low;
    struct hr_needs needs = {0};
    while (largest <= high / step)
        largest *= step;
    hr_needs_add(&needs, "buffers", buffers, largest);
    return hr_needs_check(&needs, "the largest size needs",
                          "smaller --sizes or fewer ranks would fit");
}
