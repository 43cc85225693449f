#include "report/colours.h"

#include <string.h>

/* The first five, which compare has by default, are the furthest apart for all kinds of colour
 * vision. */
const struct hr_colour hr_colours[HR_COLOURS] = {
    {"allreduce", "#0a6ab0", "#5db0f0"},
    {"ps-sync", "#c04a00", "#ff8f52"},
    {"ps-async", "#00775a", "#3fc79c"},
    {"ssp", "#a03c8c", "#e08fce"},
    {"hogwild", "#8a6500", "#dcb13c"},
    {"local-sgd", "#4a56c8", "#a3abff"},
    {"elastic-averaging", "#b02348", "#ff7f95"},
    {"backup-workers", "#5a6068", "#b5bcc3"},
    {"gossip", "#4f7a1e", "#a8d05f"},
    {"diloco", "#007f9e", "#5fd0e8"},
    {"locked", "#7a4a2b", "#d3a07c"},
    {"other", "#1c1f23", "#e7e9ea"},
};

const struct hr_colour *hr_colour_of(const char *strategy)
{
    size_t i = 0;
    while (i + 1 < HR_COLOURS && strcmp(hr_colours[i].strategy, strategy) != 0)
        i++;
    return &hr_colours[i];
}
