/* account.h - a run's exact accounts as JSON: parts of the object of a run (runs.c). */
#ifndef HR_JSON_ACCOUNT_H
#define HR_JSON_ACCOUNT_H

#include <jansson.h>

#include "hogring/train.h"

/* "staleness": {"mean", "p50", "p99", "max", "histogram", "exact_below", "workers", "keys"}
 *
 * p50, p99 and histogram count updates by staleness, 0, 1, 2, ...; the histogram ends at its last
 * number that is not 0. Below exact_below staleness is counted exactly; bucket exact_below holds
 * all updates at or above it, so a quantile of exact_below means "at least". max is always exact.
 * Without updates mean and quantiles are null. "workers" has the same figures for each rank's
 * updates, "keys" for each tensor of the model, by name. */
json_t *hr_json_staleness(const struct hr_run_result *run);

/* "dropped": {"gradients", "samples", "by_worker"}: those that came too late (backup-workers). */
json_t *hr_json_dropped(const struct hr_run_result *run);

/* "asynchrony": {"effective_lr", "explicit_momentum", "implicit_momentum", "total_momentum"}, as
 * struct hr_asynchrony has them: implicit momentum is predicted, not measured. */
json_t *hr_json_asynchrony(const struct hr_run_result *run);

/* "lost_updates": {"sampled_lines", "sampled_pairs", "lost_pairs", "fraction", "low", "high"}: a
 * sample, and a 95 % interval that counts lines; null but for hogwild. */
json_t *hr_json_lost_updates(const struct hr_run_result *run);

/* "losses": [{"rank", "server", "step", "seconds", "pause_s", "samples_lost", "samples_again",
 * "partial", "back", "how"}], as struct hr_loss has them; pause_s null: nothing came after it. */
json_t *hr_json_losses(const struct hr_run_result *run);

/* How the workers spent their time, summed and one by one; null when it was not measured. "absent":
 * how long a worker that was lost, or had no seat, was not there, so that the five always add up to
 * the run's seconds; 0 for all others. */
json_t *hr_json_time(const struct hr_run_result *run);

/* "node_step": {"workers", "load", "compute", "aggregate", "push", "update", "distribute", "rest"},
 * as struct hr_node_step has them; null where a machine's workers do not push as one. */
json_t *hr_json_node_step(const struct hr_run_result *run);

/* "waiting": {"for_others", "stalled", "otherwise", "by_rank": [{"rank", "cost_s", "share", "load",
 * "compute", "stalled", "preempted", "communicate", "wait", "stage", "dropped"}], "matrix"}
 *
 * Seconds that workers waited: time.wait is the sum of for_others, stalled (--inject stall) and
 * otherwise (for servers, processors). What they waited for others is given to the last to come:
 * by_rank's cost_s add up to for_others, and share to 1; the parts say what it did longer than
 * those who waited, and add up to cost_s. matrix[i][j]: that i waited and j cost; null for more
 * than 64 workers. stage: of a pipeline its slowest one. dropped: gradients of its that
 * came too late (backup-workers). All null where no
 * time is kept. */
json_t *hr_json_waiting(const struct hr_run_result *run);

/* "step_digests": [{"step", "parts": {"0.weight": "<16 hex digits>", ...}}], of --digest-every;
 * null without. */
json_t *hr_json_step_digests(const struct hr_run_result *run);

#endif
