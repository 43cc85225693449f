/* acted.h - an action of a stage that is over, for who looks on (observe/spans.h): a span of a rank
 * of its own, a part of what the worker computes at rank 0; and what it took and handed over, as
 * messages.
 *
 * Threads: the stage's.
 */
#ifndef HR_STAGES_ACTED_H
#define HR_STAGES_ACTED_H

#include "stages/stage.h"

/* stage->place.spans is told, if there is one. */
void hr_stage_acted(const struct hr_stage *stage, const struct hr_stage_action *action,
                    int64_t began_ns, int64_t ended_ns);

#endif
