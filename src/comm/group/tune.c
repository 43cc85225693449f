#include "group/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/file.h"
#include "base/log.h"
#include "group/world.h"

enum { LEAST = 256, SIZES = 5, ROUNDS = 5, CALLS = 100, LARGEST_FILE = 64 << 10 };
_Static_assert(LEAST << (SIZES - 1) == HR_POST_BYTES, "sizes double up to the largest notice");

/* --- measuring --- */

struct trial {
    int64_t best_ns[SIZES]; /* of CALLS calls; writer: rank 0 */
};

static enum hr_status time_calls(struct hr_group *world, float *buffer, size_t bytes, int64_t *took)
{
    const struct hr_job job = {.operation = HR_OP_ALL_REDUCE,
                               .kind = {HR_FLOAT32, HR_MAX},
                               .in = buffer,
                               .out = buffer,
                               .count = bytes / sizeof *buffer};
    HR_TRY(hr_member_barrier(&world->member));
    const int64_t began = hr_clock_ns();
    for (size_t call = 0; call < CALLS; call++) {
        hr_member_start(&world->member, &job);
        HR_TRY(hr_member_wait(&world->member));
    }
    *took = hr_clock_ns() - began;
    return HR_OK;
}

static enum hr_status rank_main(struct hr_group *world, void *arg)
{
    struct trial *trial = arg;
    void *buffer;
    HR_TRY(hr_group_alloc(world, HR_POST_BYTES, &buffer));
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t size = 0; size < SIZES; size++) {
            int64_t took;
            HR_TRY(time_calls(world, buffer, (size_t)LEAST << size, &took));
            if (hr_group_rank(world) == 0 && (round == 0 || took < trial->best_ns[size]))
                trial->best_ns[size] = took;
        }
    return HR_OK;
}

static enum hr_status try_algorithm(const char *algorithm, size_t nranks, struct trial *trial)
{
    const struct hr_world_options options = {.nranks = nranks,
                                             .algorithm = algorithm,
                                             .arena_bytes = HR_POST_BYTES,
                                             .max_groups = 1,
                                             .pin = 1};
    return hr_world_spawn(&options, NULL, rank_main, trial);
}

static size_t measure(size_t nranks)
{
    struct trial one_shot, direct;
    size_t bytes = 0;
    if (try_algorithm("one-shot", nranks, &one_shot) != HR_OK ||
        try_algorithm("direct", nranks, &direct) != HR_OK)
        return 0;
    for (size_t size = 0; size < SIZES && one_shot.best_ns[size] <= direct.best_ns[size]; size++)
        bytes = (size_t)LEAST << size;
    return bytes;
}

/* --- the file --- */

const char *hr_tune_file(void)
{
    static char path[HR_PATH_MAX];
    const char *asked = getenv("HOGRING_TUNE"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    path[0] = '\0';
    if (asked)
        snprintf(path, sizeof path, "%s", asked);
    else if (cache && cache[0] == '/')
        snprintf(path, sizeof path, "%s/hogring/tune", cache);
    else if (home && home[0] == '/')
        snprintf(path, sizeof path, "%s/.cache/hogring/tune", home);
    return path;
}

/* The two lines that a file of this machine begins with. */
static void write_head(char *head, size_t size)
{
    char line[512] = "", *model = NULL;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !model && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && (model = strchr(line, ':')))
            model[strcspn(model, "\n")] = '\0';
    if (file)
        fclose(file);
    snprintf(head, size,
             "# hogring: auto reduces buffers up to so many bytes in one shot, larger ones "
             "directly\n# %.200s, %zu processors\n",
             model ? model + 2 : "unknown processor", hr_cpus_allowed());
}

/* The line of `nranks` behind the head; false when there is none. */
static bool find_line(const char *text, const char *head, size_t nranks, size_t *bytes)
{
    if (strncmp(text, head, strlen(head)) != 0)
        return false;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        size_t ranks, found;
        line += *line == '\n';
        if (sscanf(line, "ranks %zu one-shot %zu", &ranks, &found) == 2 && ranks == nranks) {
            *bytes = found < HR_POST_BYTES ? found : HR_POST_BYTES;
            return true;
        }
    }
    return false;
}

static bool recall(const char *head, size_t nranks, size_t *bytes, char **text)
{
    size_t length;
    if (hr_file_read_own(hr_tune_file(), LARGEST_FILE, text, &length) != HR_OK)
        return false;
    return find_line(*text, head, nranks, bytes);
}

/* A file that is there and does not begin as we begin one (text; NULL: it cannot be read). */
static bool is_foreign(const char *text)
{
    static const char begin[] = "# hogring: ";
    return access(hr_tune_file(), F_OK) == 0 &&
           (!text || (text[0] && strncmp(text, begin, sizeof begin - 1) != 0));
}

/* Keep the lines that are there, if they are this machine's. If writing fails we measure again next
 * time. */
static enum hr_status remember(const char *head, const char *text, size_t nranks, size_t bytes)
{
    char folder[HR_PATH_MAX], whole[LARGEST_FILE];
    const bool ours = text && strncmp(text, head, strlen(head)) == 0;
    snprintf(whole, sizeof whole, "%sranks %zu one-shot %zu\n", ours ? text : head, nranks, bytes);
    if (!hr_tune_file()[0])
        return HR_OK;
    if (is_foreign(text)) {
        hr_log(HR_LOG_WARNING,
               "%s: is not what hogring keeps there, or cannot be read, and is left as it is "
               "(HOGRING_TUNE names another file)",
               hr_tune_file());
        return HR_OK;
    }
    HR_TRY(hr_path_parent(folder, hr_tune_file()));
    HR_TRY(hr_folder_make(folder));
    return hr_file_replace_durably(hr_tune_file(), whole, strlen(whole));
}

size_t hr_tune_one_shot_bytes(size_t nranks)
{
    char head[512], *text = NULL;
    size_t bytes = 0;
    if (nranks < 2 || nranks > hr_cpus_allowed())
        return 0;
    write_head(head, sizeof head);
    if (!recall(head, nranks, &bytes, &text)) {
        bytes = measure(nranks);
        const enum hr_status kept = remember(head, text, nranks, bytes);
        (void)kept; /* what is not kept is measured again */
    }
    free(text);
    return bytes;
}
