#include "report/banner_share.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* Of the lines "  key      what it says", and those that go on, which begin with more blanks. */
struct block {
    const char *text;
    size_t length;
};

static bool next_block(const char **at, struct block *block)
{
    const char *end = *at;
    if (!*end)
        return false;
    do {
        end += strcspn(end, "\n");
        end += *end == '\n';
    } while (!strncmp(end, "   ", 3));
    *block = (struct block){*at, (size_t)(end - *at)};
    *at = end;
    return true;
}

static bool has_key(const struct block *block, const char *const *keys)
{
    for (; *keys; keys++)
        if (!strncmp(block->text + 2, *keys, strlen(*keys)) &&
            block->text[2 + strlen(*keys)] == ' ')
            return true;
    return false;
}

/* A run's own, whether another's is the same or not. */
static bool is_own(const struct block *block)
{
    static const char *const keys[] = {"batch",  "manner", "compress", "reduce", "pipeline",
                                       "tensor", "course", "promise",  NULL};
    return has_key(block, keys);
}

/* Of one run, and the longest line of all. */
static bool is_left_out(const struct block *block)
{
    static const char *const keys[] = {"memory", NULL};
    return has_key(block, keys);
}

static bool was_said(const struct block *block, const char *common)
{
    struct block said;
    while (next_block(&common, &said))
        if (said.length == block->length && !memcmp(said.text, block->text, said.length))
            return true;
    return false;
}

static char *banner_of(const struct hr_run_info *info, const char *data)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return NULL;
    hr_banner_print(memory, info, data);
    fclose(memory);
    return text;
}

/* Behind its first line. */
static const char *blocks_of(const char *text)
{
    text += strcspn(text, "\n");
    return text + (*text == '\n');
}

static char *common_of(const char *text)
{
    char *common = calloc(strlen(text) + 1, 1);
    const char *at = blocks_of(text);
    struct block block;
    while (common && next_block(&at, &block))
        if (!is_own(&block) && !is_left_out(&block))
            strncat(common, block.text, block.length);
    return common;
}

static void print_shared(FILE *out, const char *text, struct hr_banner_share *share,
                         const char *name)
{
    static const char before[] = "hogring: ";
    const char *at = blocks_of(text);
    struct block block;
    if (!share->common) {
        share->common = common_of(text);
        if (!share->silent)
            fprintf(out, "%s%s\n%s", before, share->head, share->common ? share->common : "");
    }
    text += strncmp(text, before, strlen(before)) ? 0 : strlen(before);
    fprintf(out, "%s: %.*s\n", name, (int)strcspn(text, "\n"), text);
    while (next_block(&at, &block))
        if (is_own(&block) ||
            (!is_left_out(&block) && !(share->common && was_said(&block, share->common))))
            fwrite(block.text, 1, block.length, out);
}

/* Written in one call, since concurrent runs print at the same time. */
void hr_banner_print_shared(FILE *out, const struct hr_run_info *info, const char *data,
                            struct hr_banner_share *share, const char *name)
{
    char *text = banner_of(info, data), *all = NULL;
    size_t bytes = 0;
    FILE *memory = text ? open_memstream(&all, &bytes) : NULL;
    if (memory) {
        print_shared(memory, text, share, name);
        fclose(memory);
        fwrite(all, 1, bytes, out);
    }
    free(all);
    free(text);
}

void hr_banner_share_free(struct hr_banner_share *share)
{
    free(share->common);
    share->common = NULL;
}
