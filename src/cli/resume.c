#include "cli/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "checkpoint/claim.h"
#include "checkpoint/safetensors.h"
#include "cli/options_table.h"
#include "hogring/checkpoint.h"

static const char prefix[] = "option."; /* of keys: train/kept.c */

/* Where these differ, the run is refused, in words of their own. */
static bool is_refused_later(const char *name)
{
    static const char *const names[] = {"model", "loss", "data", "normalize", "optimizer", "seed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static const struct hr_option_row *find_row(const char *name)
{
    const struct hr_option_row *row;
    for (size_t i = 0; (row = hr_option_at(i)) != NULL; i++)
        if (row->name[0] && !strcmp(row->name, name) && (row->commands & HR_TRAIN))
            return row;
    return NULL;
}

static bool same_value(const struct hr_option_row *row, const void *a, const void *b)
{
    return row->kind == TEXT ? !strcmp(a, b) : !memcmp(a, b, row->size);
}

/* "--lr 0.1", or what else the flag was given as. */
static void write_given(const struct hr_option_row *row, const void *field, char *text, size_t size)
{
    switch (row->kind) {
    case FLAG:
        snprintf(text, size, "--%s %s", row->name, *(const bool *)field ? "on" : "off");
        break;
    case COUNT:
        snprintf(text, size, "--%s %zu", row->name, *(const size_t *)field);
        break;
    case COUNT64:
        snprintf(text, size, "--%s %llu", row->name, (unsigned long long)*(const uint64_t *)field);
        break;
    case NUMBER:
        snprintf(text, size, "--%s %.15g", row->name, *(const double *)field);
        break;
    default:
        snprintf(text, size, "--%s %s", row->name, hr_printable(field).text);
    }
}

/* One option of the checkpoint. */
static void adopt(struct hr_cli *cli, const char *name, const char *value, const char *path)
{
    static struct hr_cli saved;
    const struct hr_option_row *row = find_row(name);
    saved = *cli;
    if (!row || hr_cli_set(&saved, HR_TRAIN, name, value, "") != HR_OK) {
        hr_log(HR_LOG_WARNING, "--resume %s: its --%s is not known here, and passed over", path,
               hr_printable(name).text);
        return;
    }
    char *mine = (char *)cli + row->offset;
    const char *theirs = (const char *)&saved + row->offset;
    if (!hr_cli_was_given(cli, name)) {
        memcpy(mine, theirs, row->size);
    } else if (!same_value(row, mine, theirs) && !is_refused_later(name)) {
        char text[256];
        write_given(row, mine, text, sizeof text);
        const size_t used = strlen(cli->otherwise);
        snprintf(cli->otherwise + used, sizeof cli->otherwise - used,
                 "%s: until here it was trained with %s\n", text,
                 value[0] ? hr_printable(value).text : "none");
    }
}

static void adopt_all(struct hr_cli *cli, const struct hr_checkpoint *checkpoint)
{
    const size_t length = sizeof prefix - 1;
    size_t found = 0;
    for (size_t i = 0; i < checkpoint->trainer.nmetadata; i++) {
        const struct hr_metadata *entry = &checkpoint->trainer.metadata[i];
        if (strncmp(entry->key, prefix, length) != 0)
            continue;
        adopt(cli, entry->key + length, entry->value, checkpoint->path);
        found++;
    }
    if (found == 0)
        hr_log(HR_LOG_WARNING,
               "--resume %s: is of an earlier version and does not say its options: what is not "
               "given is the default",
               checkpoint->path);
}

/* Sets cli->train.resume to a checkpoint, or to "". */
static enum hr_status choose_auto(struct hr_cli *cli)
{
    struct hr_train_options *o = &cli->train;
    if (strcmp(o->resume, "auto") != 0)
        return HR_OK;
    if (!o->checkpoint_dir[0])
        return hr_fail(HR_E_USAGE, "--resume auto: from where? give --checkpoint-dir too");
    if (o->overwrite)
        return hr_fail(HR_E_USAGE, "--overwrite: means nothing with --resume auto, which goes on "
                                   "with what is there");
    o->finished_ok = true;
    memcpy(o->resume, o->checkpoint_dir, sizeof o->resume);
    if (!hr_checkpoint_any(o->checkpoint_dir))
        o->resume[0] = '\0';
    return HR_OK;
}

void hr_cli_resume_say(const struct hr_cli *cli)
{
    const char *line = cli->otherwise;
    for (size_t length; (length = strcspn(line, "\n")) > 0; line += length + (line[length] != 0))
        hr_log(HR_LOG_INFO, "%.*s", (int)length, line);
}

enum hr_status hr_cli_resume(struct hr_cli *cli)
{
    HR_TRY(choose_auto(cli));
    if (!cli->train.resume[0])
        return HR_OK;
    if (cli->train.checkpoint_dir[0]) /* nor are its steps there to be read: they come and go */
        HR_TRY(hr_claim_check_free(cli->train.checkpoint_dir));
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    const enum hr_status status = hr_checkpoint_load(cli->train.resume, checkpoint);
    if (status == HR_OK) {
        if (strlen(checkpoint->path) < sizeof cli->train.resume)
            strcpy(cli->train.resume, checkpoint->path);
        adopt_all(cli, checkpoint);
        hr_checkpoint_free(checkpoint);
    }
    free(checkpoint);
    return status;
}
