/* backup_shard.h - the server's half of backup-workers (its story: backup_workers.c): who has a
 * share of the step in hand, when enough gradients are in, and what came too late.
 *
 * Threads: the shard's.
 * Test:    tests/unit/strategies/test_backup_workers.c
 */
#ifndef HR_STRATEGIES_BACKUP_SHARD_H
#define HR_STRATEGIES_BACKUP_SHARD_H

#include "server/server_losses.h"

/* What became of a push; the next reply tells its worker. LAST: it made the update. */
enum hr_push_fate { HR_FATE_SUMMED, HR_FATE_SUMMED_LAST, HR_FATE_DROPPED };

/* Functions of the table. */
void hr_backup_enabled(struct hr_shard *shard, unsigned char *enabled);
void hr_backup_take(struct hr_shard *shard, size_t worker);
bool hr_backup_pause(const struct hr_standing *at, struct hr_pause *to);

#endif
