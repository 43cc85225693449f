/* One run after another: each has the machine to itself, so that timings are fair. */
#include "base/clock.h"
#include "base/signals.h"
#include "compare/runs.h"
#include "watch/watch.h"

enum hr_status hr_compare_in_turn(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                  struct hr_compare_runs *runs)
{
    struct hr_timeline_watch lines = {.cli = cli};
    for (size_t i = 0; i < runs->n && !hr_signals_seen(NULL); i++) {
        if (runs->spared[i])
            continue;
        struct hr_watch watch;
        const struct hr_train_options *options = &runs->options[i];
        const struct hr_progress_subject subject = hr_compare_runs_subject(runs, i);
        const struct hr_metrics_wish wish = hr_watch_wish(cli, options, dataset, runs->name[i]);
        struct hr_observer observer =
            hr_watch_begin(&watch, options, cli->data, &subject, hr_watch_telling(cli));
        const int64_t began = hr_clock_ns();
        watch.first = i < runs->per_seed;
        watch.share = &runs->share;
        hr_watch_timeline(&watch, &lines, &observer);
        hr_watch_write(&watch, &wish, &observer);
        const enum hr_status status = hr_train(options, dataset, &observer, &runs->results[i]);
        runs->remaining.seconds[i] = status == HR_OK ? hr_seconds(hr_clock_ns() - began) : 0;
        hr_watch_end(&watch, status == HR_OK ? &runs->results[i] : NULL);
        hr_compare_runs_note(runs, i, status, hr_error_message());
        runs->unwritten |=
            hr_watch_close(&watch, status == HR_OK ? &runs->results[i] : NULL, status) != status;
    }
    return hr_timeline_end(&lines, HR_OK);
}
