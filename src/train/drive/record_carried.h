/* record_carried.h - recording on several machines: logs of owners that live elsewhere.
 *
 *   machine 0   hr_record_listen   before the carrier starts
 *   others      hr_record_bring    when their ranks have ended, before the last meeting: letters to
 *                                  a machine come in their order, so behind it all logs have come
 *
 * Each log has its own order, and none of them is of two machines: so nothing is merged.
 *
 * Threads: the launcher's; what comes is taken by who polls the carrier.
 * Test:    tests/unit/train/test_several_records.c
 */
#ifndef HR_DRIVE_RECORD_CARRIED_H
#define HR_DRIVE_RECORD_CARRIED_H

#include "drive/driver.h"
#include "machines/carrier.h"
#include "server/server.h"
#include "trace/trace_log.h"

/* The part of an owner, on its way from there to here. */
struct hr_record_part {
    void *memory; /* (bytes) mapped; NULL: none */
    size_t bytes;
};

/* What is open while a run is recorded (record.c). */
struct hr_recorder {
    struct hr_trace_recording file;           /* machine 0's; on others its lock is -1 */
    char *header;                             /* owned */
    struct hr_record_part part[HR_MAX_RANKS]; /* by owner: only those of servers are brought */
    size_t nowners;
    size_t nlogs;              /* below that are those that are open, if they have a tail */
    struct hr_trace_log log[]; /* (nowners) */
};

/* Does that owner live on this machine? */
static inline bool hr_record_is_here(const struct hr_shared_state *shared, size_t owner)
{
    return owner < shared->servers ? hr_homes_here(&shared->homes, hr_shard_rank(shared, owner))
                                   : shared->homes.self == 0;
}

/* Take the logs of other machines, which come on this channel. */
void hr_record_listen(struct hr_drive *drive, struct hr_carrier *carrier, size_t channel);
/* Send those of this one to machine 0; they stay until the carrier is closed. HR_E_IO: one could
 * not be written. */
HR_CHECKED enum hr_status hr_record_bring(struct hr_drive *drive, struct hr_carrier *carrier,
                                          size_t channel);
void hr_record_drop_parts(struct hr_recorder *recorder);

#endif
