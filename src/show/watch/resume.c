#include "watch/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "checkpoint/claim.h"
#include "checkpoint/safetensors.h"
#include "options/choices.h"
#include "options/command_line.h"
#include "options/task.h"
#include "hogring/checkpoint.h"

static const char prefix[] = "option."; /* of keys: session/kept.c */

/* Where these differ, the run is refused, in words of their own. */
static bool is_refused_later(const char *name)
{
    static const char *const names[] = {
        "model",  "loss", "data",    "normalize",           "optimizer", "seed",
        "solver", "cost", "factors", "validation-fraction", "freeze"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* Before there was --precision. */
static const char earlier_precision[] = "float32";

/* One option of the checkpoint, which somebody else may have written. */
static void adopt(struct hr_cli *cli, const char *name, const char *value,
                  struct hr_passed_over *over)
{
    static struct hr_cli saved;
    const size_t number = hr_cli_option_find(name, HR_TRAIN);
    const struct hr_cli_option option = hr_cli_option_at(number);
    const struct hr_option *row = option.row;
    char *mine = (char *)cli + option.base, *theirs = (char *)&saved + option.base;
    if (!row && hr_cli_option_says_nothing(name, value))
        return;
    saved = *cli;
    const bool read = row && hr_option_store(row, theirs, value);
    if (!read || !hr_option_is_recipe(row, false)) {
        if (!read || (value[0] && !hr_option_equal(row, mine, theirs))) /* some once were kept */
            hr_passed_over_add(over, name);
        return;
    }
    if (!hr_cli_was_given(cli, name)) {
        memcpy(mine + row->offset, theirs + row->offset, row->size);
        cli->kept[number] = true;
    } else if (hr_option_equal(row, mine, theirs)) {
        cli->kept[number] = true;
    } else if (!is_refused_later(name)) {
        char text[256];
        hr_option_text(row, mine, text, sizeof text);
        const size_t used = strlen(cli->otherwise);
        snprintf(cli->otherwise + used, sizeof cli->otherwise - used, "--%s %s: previously %s\n",
                 name, hr_printable(text).text, value[0] ? hr_printable(value).text : "none");
    }
}

static void adopt_all(struct hr_cli *cli, const struct hr_checkpoint *checkpoint)
{
    const size_t length = sizeof prefix - 1;
    struct hr_passed_over over = {.of = checkpoint->path, .level = HR_LOG_WARNING};
    size_t found = 0;
    for (size_t i = 0; i < checkpoint->trainer.nmetadata; i++) {
        const struct hr_metadata *entry = &checkpoint->trainer.metadata[i];
        if (strncmp(entry->key, prefix, length) != 0)
            continue;
        adopt(cli, entry->key + length, entry->value, &over);
        found++;
    }
    if (!hr_metadata_get(&checkpoint->trainer, "option.precision"))
        adopt(cli, "precision", earlier_precision, &over);
    hr_passed_over_say(&over);
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
    if (!hr_choices_of(o).resumes_if_any)
        return HR_OK;
    if (!o->checkpoint_dir[0])
        return hr_fail(HR_E_USAGE, "--resume auto: from where? give --checkpoint-dir too");
    if (o->overwrite)
        return hr_fail(HR_E_USAGE,
                       "--overwrite: is not supported with --resume auto, which goes on "
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
        hr_task_settle(&cli->train, &cli->data_options);
        hr_checkpoint_free(checkpoint);
    }
    free(checkpoint);
    return status;
}
