/* record.h - --record: the trace of a run, written while it goes on (the file: trace/trace.h).
 *
 *     launcher   hr_record_begin       after the state is initialised, before ranks start
 *     owner      hr_shard_note after each input; of hogwild: hr_record_log
 *     launcher   hr_record_end, or hr_record_abandon
 *
 * Owners: a parameter server's shards, each with the inputs that it took (strategy.h, hr_taken), or
 * the workers of hogwild. Other runs have one owner that takes nothing: their configuration alone
 * decides the bits. When the run is not recorded, all calls do nothing.
 *
 * Of a run on several machines (record_carried.h) each has the logs of the owners that live there,
 * and machine 0 the file: what others have noted is brought to it when the run has ended.
 *
 * The launcher opens all logs, and closes them; their tails lie in the segment, so that what an
 * owner noted is there when it is not.
 */
#ifndef HR_DRIVE_RECORD_H
#define HR_DRIVE_RECORD_H

#include "server/server.h"
#include "trace/trace_log.h"
#include "drive/driver.h"

HR_CHECKED enum hr_status hr_record_begin(struct hr_drive *drive);
/* After hr_result_fill. */
HR_CHECKED enum hr_status hr_record_end(struct hr_drive *drive);
/* Drop a trace that was not ended; harmless without one. */
void hr_record_abandon(struct hr_drive *drive);

/* How many owners keep logs; the launcher (roll.h) is the last, where losses are outlived. */
size_t hr_record_owners(const struct hr_drive *drive);
/* Ranks in the log of that owner are below this. */
size_t hr_record_ranks(const struct hr_drive *drive, size_t owner);
/* Of the segment, for their tails; where they are. 0: nothing is recorded. */
size_t hr_record_bytes(const struct hr_drive *drive);
void hr_record_place(struct hr_drive *drive, void *memory);

/* The log of one owner; NULL: nothing is recorded. */
struct hr_trace_log *hr_record_log(const struct hr_drive *drive, size_t owner);
/* The launcher's; NULL: there is none. */
struct hr_trace_log *hr_record_roll(const struct hr_drive *drive);

#endif
