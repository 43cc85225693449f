#include "watch/apart.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

/* Where a file is, or would be: that of its folder and its last name. */
struct place {
    const char *flag, *path;
    dev_t device;
    ino_t inode;
    const char *name; /* "": the file is there, and inode is its own */
};

static struct place place_of(const char *flag, const char *path)
{
    struct place place = {.flag = flag, .path = path, .name = ""};
    struct stat info;
    char folder[HR_PATH_MAX];
    if (!path[0] || !strcmp(path, "-"))
        return (struct place){.path = ""};
    if (stat(path, &info) != 0) {
        const char *slash = strrchr(path, '/');
        place.name = slash ? slash + 1 : path;
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                 slash ? path : ".");
        if (stat(folder, &info) != 0)
            return (struct place){.path = ""};
    } else if (!S_ISREG(info.st_mode)) {
        return (struct place){.path = ""}; /* /dev/null takes anything */
    }
    place.device = info.st_dev;
    place.inode = info.st_ino;
    return place;
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->path[0] && b->path[0] && a->device == b->device && a->inode == b->inode &&
           !strcmp(a->name, b->name);
}

enum { MOST_FILES = 32 };

enum hr_status hr_apart_check(const struct hr_cli *cli)
{
    const struct place outputs[] = {place_of("--json", cli->json),
                                    place_of("--plot", cli->plot),
                                    place_of("--report", cli->report),
                                    place_of("--log", cli->log),
                                    place_of("--timeline", cli->timeline),
                                    place_of("--outputs", cli->outputs),
                                    place_of("--out", cli->out),
                                    place_of("--worst-sheet", cli->worst_sheet),
                                    place_of("--export", cli->export_to),
                                    place_of("--record", cli->train.record),
                                    place_of("--calibrate", cli->train.calibrate),
                                    place_of("--junit", cli->junit)};
    const size_t noutputs = sizeof outputs / sizeof *outputs;
    struct place inputs[MOST_FILES] = {
        place_of("--data", cli->data),
        place_of("--test-data", cli->data_options.test_data),
        place_of("--validation-data", cli->data_options.validation_data),
        place_of("--init-weights", cli->train.init_weights),
        place_of("--topology", cli->train.topology),
        place_of("--against", cli->against)};
    size_t ninputs = 6;
    for (size_t i = 0; i < cli->nconfigs; i++)
        inputs[ninputs++] = place_of("--config", cli->config[i]);
    for (size_t i = 0; i < cli->npositional && ninputs < MOST_FILES; i++)
        inputs[ninputs++] = place_of("the input", cli->positional[i]);
    for (size_t i = 0; i < noutputs; i++) {
        for (size_t k = 0; k < i; k++)
            if (same_place(&outputs[i], &outputs[k]))
                return hr_fail(HR_E_USAGE, "%s and %s are one file, %s; expected two",
                               outputs[k].flag, outputs[i].flag, outputs[i].path);
        for (size_t k = 0; k < ninputs; k++)
            if (same_place(&outputs[i], &inputs[k]))
                return hr_fail(HR_E_USAGE,
                               "%s %s: is what %s reads, and would be written over; expected "
                               "another file",
                               outputs[i].flag, outputs[i].path, inputs[k].flag);
    }
    return HR_OK;
}
