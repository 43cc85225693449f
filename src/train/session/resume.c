#include "session/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "session/input_scale.h"
#include "session/past.h"

enum hr_status hr_resume_open(struct hr_train_options *options, const struct hr_dataset **dataset,
                              struct hr_resume *out)
{
    *out = (struct hr_resume){0};
    if (!options->resume[0])
        return HR_OK;
    out->checkpoint = calloc(1, sizeof *out->checkpoint);
    if (!out->checkpoint)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    HR_TRY(hr_checkpoint_load(options->resume, out->checkpoint));
    if (strlen(out->checkpoint->path) < sizeof options->resume)
        strcpy(options->resume, out->checkpoint->path);
    HR_TRY(hr_class_view_open(out->checkpoint, *dataset, false, &out->classes));
    hr_input_scale_compare(out->checkpoint, *dataset, &(*dataset)->train);
    *dataset = &out->classes.dataset;
    return HR_OK;
}

void hr_resume_close(struct hr_resume *resume)
{
    hr_class_view_close(&resume->classes);
    if (resume->checkpoint)
        hr_checkpoint_free(resume->checkpoint); /* zeroed when nothing was loaded */
    free(resume->checkpoint);
    *resume = (struct hr_resume){0};
}

enum hr_status hr_resume_finished(const struct hr_saver *saver,
                                  const struct hr_checkpoint *checkpoint,
                                  struct hr_run_result *result, bool *finished)
{
    const struct hr_batch_schedule *schedule = saver->schedule;
    struct hr_best best;
    HR_TRY(hr_past_best(checkpoint, saver->cuts, &best));
    const bool stopped = hr_best_is_over(&saver->cuts->early_stop, &best);
    *finished = schedule->first >= schedule->end || stopped;
    if (!*finished)
        return HR_OK;
    if (!saver->options->finished_ok && stopped)
        return hr_fail(
            HR_E_USAGE,
            "--resume %s: --early-stop %s has stopped it, %zu evaluations after the best; "
            "raise its patience to continue",
            checkpoint->path, saver->options->early_stop, best.since);
    if (!saver->options->finished_ok)
        return hr_fail(HR_E_USAGE,
                       "--resume %s: finished at step %llu of %llu; raise --%s to continue",
                       checkpoint->path, (unsigned long long)schedule->first,
                       (unsigned long long)schedule->end,
                       saver->options->budget[0]   ? "budget"
                       : saver->options->max_steps ? "epochs or --max-steps"
                                                   : "epochs");
    hr_log(HR_LOG_INFO, "%s: this run is finished, at step %llu", checkpoint->path,
           (unsigned long long)checkpoint->step);
    snprintf(result->checkpoint, sizeof result->checkpoint, "%.1099s", checkpoint->path);
    return HR_OK;
}
