#include "hogring/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/inputs.h"
#include "base/log.h"
#include "base/printable.h"
#include "checkpoint/claim.h"
#include "checkpoint/links.h"
#include "checkpoint/manifest.h"
#include "checkpoint/steps.h"

_Static_assert(sizeof((struct hr_checkpoint *)0)->path == HR_PATH_MAX, "paths are of one size");

static enum hr_status probe(const char *dir)
{
    static const char text[] = "can this folder be written to?\n";
    char path[HR_PATH_MAX];
    HR_TRY(hr_steps_temporary(dir, "probe", path));
    HR_TRY(hr_file_write_durably(path, text, sizeof text - 1));
    if (unlink(path) != 0 && errno != ENOENT)
        return hr_fail_errno(HR_E_IO, "%s: cannot be removed", path);
    return HR_OK;
}

enum hr_status hr_checkpoint_prepare(const char *dir, size_t bytes)
{
    uint64_t available;
    HR_TRY(hr_folder_make(dir));
    HR_TRY(hr_steps_remove_leftovers(dir));
    HR_TRY(probe(dir));
    HR_TRY(hr_folder_free_bytes(dir, &available));
    if (available < bytes)
        return hr_fail(HR_E_IO, "%s: no space for a checkpoint: %zu bytes needed, %llu free", dir,
                       bytes, (unsigned long long)available);
    return HR_OK;
}

static enum hr_status write_files(const char *folder, const struct hr_checkpoint *checkpoint)
{
    struct hr_manifest manifest = {.step = checkpoint->step};
    enum hr_status status;
    char path[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/" HR_TRAINER_NAME, folder)); /* the longest of the names */
    HR_TRY_GOTO(hr_safetensors_write(path, &checkpoint->trainer, &manifest.trainer), status, out);
    HR_TRY_GOTO(hr_path(path, "%s/" HR_MODEL_NAME, folder), status, out);
    HR_TRY_GOTO(hr_safetensors_write(path, &checkpoint->model, &manifest.model), status, out);
    HR_TRY_GOTO(hr_path(path, "%s/" HR_MANIFEST_NAME, folder), status, out);
    HR_TRY_GOTO(hr_manifest_write(path, &manifest), status, out);
    status = hr_folder_sync(folder);
out:
    hr_manifest_free(&manifest);
    return status;
}

/* Remove what a failed save has written; keep the error message. */
static void clear_away(const char *temporary, enum hr_status status)
{
    char cause[512];
    snprintf(cause, sizeof cause, "%s", hr_error_message());
    if (hr_steps_remove(temporary) != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    status = hr_fail(status, "%s", cause);
    (void)status;
}

static bool is_ours(const char *dir, const struct hr_saved_step *step)
{
    char path[HR_PATH_MAX];
    return hr_path(path, "%s/%s", dir, step->name.text) == HR_OK &&
           hr_steps_check_ours(path, step->step) == HR_OK;
}

/* Remove all steps but the newest `keep` (0: keep all); `saved` always stays, and so does the one
 * that dir/best points at, which is not counted. Neither is what is no checkpoint, or holds other
 * files, too (hr_steps_check_ours): that stays, with a warning. Failure is only a warning. */
static void prune(const char *dir, uint64_t saved, size_t keep)
{
    struct hr_saved_step *steps;
    size_t count, gone = 0, kept = 1; /* `saved`, whatever its place in the order */
    if (keep == 0)
        return;
    if (hr_steps_list(dir, &steps, &count) != HR_OK) {
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const bool stays = !steps[i].old &&
                           (steps[i].step == saved || hr_link_points(dir, HR_BEST, steps[i].step));
        if (stays)
            continue;
        if (!is_ours(dir, &steps[i])) {
            if (kept >= keep && !gone) /* it is behind those that are kept for the first time */
                hr_log(HR_LOG_WARNING, "%s (--keep passes over it)", hr_error_message());
            continue;
        }
        if (kept++ < keep)
            continue;
        gone++;
        if (hr_steps_discard(dir, &steps[i]) != HR_OK)
            hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    }
    free(steps);
}

enum hr_status hr_checkpoint_save(const char *dir, struct hr_checkpoint *checkpoint, size_t keep)
{
    char temporary[HR_PATH_MAX], path[HR_PATH_MAX];
    bool published = false;
    enum hr_status status;
    if (checkpoint->step > INT64_MAX)
        return hr_fail(HR_E_USAGE, "%s: step %llu is too large", dir,
                       (unsigned long long)checkpoint->step);
    const struct hr_step_name name = hr_step_name(checkpoint->step);
    HR_TRY(hr_path(path, "%s/%s", dir, name.text));
    HR_TRY(hr_steps_temporary(dir, name.text, temporary));
    HR_TRY(hr_folder_make(dir));
    if (mkdir(temporary, 0755) != 0)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be made", temporary);
    HR_TRY_GOTO(write_files(temporary, checkpoint), status, out);
    const struct hr_publish publish = {dir, temporary, checkpoint->step, true};
    HR_TRY_GOTO(hr_steps_publish(&publish, &published), status, out);
    memcpy(checkpoint->path, path, sizeof path);
    hr_link_point(dir, HR_LATEST, checkpoint->step);
    prune(dir, checkpoint->step, keep);
out:
    if (!published)
        clear_away(temporary, status);
    return status;
}

void hr_checkpoint_mark_best(const char *dir, uint64_t step, size_t keep)
{
    hr_link_point(dir, HR_BEST, step);
    prune(dir, step, keep);
}

static enum hr_status load_files(const char *folder, const struct hr_manifest *manifest,
                                 struct hr_checkpoint *found)
{
    char path[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/" HR_MODEL_NAME, folder));
    HR_TRY(hr_safetensors_read_verified(path, &manifest->model, &found->model));
    HR_TRY(hr_path(path, "%s/" HR_TRAINER_NAME, folder));
    return hr_safetensors_read_verified(path, &manifest->trainer, &found->trainer);
}

static enum hr_status load_folder(const char *folder, struct hr_checkpoint *out)
{
    struct hr_manifest manifest;
    struct hr_checkpoint found = {0};
    HR_TRY(hr_path(found.path, "%s/" HR_MANIFEST_NAME, folder));
    HR_TRY(hr_manifest_read(found.path, &manifest));
    found.step = manifest.step;
    const enum hr_status status = load_files(folder, &manifest, &found);
    hr_manifest_free(&manifest);
    if (status != HR_OK) {
        hr_checkpoint_free(&found);
        return status;
    }
    HR_TRY(hr_path(found.path, "%s", folder));
    *out = found;
    return HR_OK;
}

/* Refuse a folder renamed by hand: it would resume at another step than its name says. */
static enum hr_status load_step(const char *dir, const struct hr_saved_step *step,
                                struct hr_checkpoint *out)
{
    char folder[HR_PATH_MAX];
    HR_TRY(hr_path(folder, "%s/%s", dir, step->name.text));
    HR_TRY(load_folder(folder, out));
    if (out->step == step->step)
        return HR_OK;
    const uint64_t found = out->step;
    hr_checkpoint_free(out);
    return hr_fail(HR_E_FORMAT, "%s/" HR_MANIFEST_NAME ": is of step %llu, its folder of %llu",
                   folder, (unsigned long long)found, (unsigned long long)step->step);
}

bool hr_checkpoint_any(const char *dir)
{
    struct hr_saved_step *steps;
    size_t count;
    if (hr_steps_list(dir, &steps, &count) != HR_OK)
        return false;
    free(steps);
    return count > 0;
}

static enum hr_status load_newest(const char *dir, struct hr_checkpoint *out)
{
    struct hr_saved_step *steps;
    size_t count;
    HR_TRY(hr_steps_list(dir, &steps, &count));
    enum hr_status status = hr_fail(
        HR_E_IO, "%s: holds neither " HR_MANIFEST_NAME " nor step-* folders: no checkpoint", dir);
    for (size_t i = 0; i < count; i++) {
        struct hr_checkpoint found;
        status = load_step(dir, &steps[i], &found);
        if (status == HR_OK)
            *out = found;
        if (status == HR_OK || status == HR_E_NOMEM ||
            (status == HR_E_IO && hr_file_was_unreadable()))
            break;
        hr_log(HR_LOG_WARNING, "%s is passed over: %s", steps[i].name.text, hr_error_message());
        status = hr_fail(HR_E_FORMAT, "%s: no checkpoint of %zu verifies", dir, count);
    }
    free(steps);
    return status;
}

/* The folder of path: for "DIR/model.safetensors" DIR. */
static enum hr_status find_folder(const char *path, char folder[HR_PATH_MAX])
{
    const size_t length = strlen(path), name = strlen(HR_MODEL_NAME);
    struct stat info;
    if (stat(path, &info) != 0)
        return hr_fail_errno(HR_E_IO, "%s: no checkpoint", path);
    if (S_ISDIR(info.st_mode))
        return hr_path(folder, "%s", path);
    if (length >= name && !strcmp(path + length - name, HR_MODEL_NAME))
        return hr_path_parent(folder, path);
    if ((length > 3 && !strcmp(path + length - 3, ".pt")) ||
        (length > 4 && !strcmp(path + length - 4, ".pth")))
        return hr_fail(HR_E_FORMAT,
                       "%s: is a pickle of PyTorch, expected safetensors: in Python "
                       "safetensors.torch.save_file(torch.load(\"%s\"), \"w.safetensors\")",
                       path, hr_printable(path).text);
    return hr_fail(HR_E_IO, "%s: no checkpoint: neither a folder nor a " HR_MODEL_NAME, path);
}

static void note(const char *folder, const char *name)
{
    struct stat info;
    char path[HR_PATH_MAX];
    if (hr_path(path, "%s/%s", folder, name) == HR_OK && stat(path, &info) == 0 &&
        hr_input_add(path, &info) != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
}

static void note_files(const char *folder)
{
    note(folder, HR_MODEL_NAME);
    note(folder, HR_TRAINER_NAME);
    note(folder, HR_MANIFEST_NAME);
    note(folder, HR_RUN_FILE);
}

static void note_steps(const char *dir)
{
    struct hr_saved_step *steps = NULL;
    size_t count = 0;
    char folder[HR_PATH_MAX];
    note_files(dir);
    if (hr_steps_list(dir, &steps, &count) != HR_OK)
        return;
    for (size_t i = 0; i < count; i++)
        if (hr_path(folder, "%s/%s", dir, steps[i].name.text) == HR_OK)
            note_files(folder);
    free(steps);
}

void hr_checkpoint_note(const char *path)
{
    char dir[HR_PATH_MAX];
    note_steps(path);
    if (hr_path_parent(dir, path) == HR_OK)
        note_steps(dir);
}

enum hr_status hr_checkpoint_load(const char *path, struct hr_checkpoint *out)
{
    char folder[HR_PATH_MAX], manifest[HR_PATH_MAX];
    HR_TRY(find_folder(path, folder));
    HR_TRY(hr_path(manifest, "%s/" HR_MANIFEST_NAME, folder));
    HR_TRY(access(manifest, F_OK) == 0 ? load_folder(folder, out) : load_newest(folder, out));
    hr_checkpoint_note(out->path);
    return HR_OK;
}

void hr_checkpoint_free(struct hr_checkpoint *checkpoint)
{
    hr_tensor_file_free(&checkpoint->model);
    hr_tensor_file_free(&checkpoint->trainer);
}
