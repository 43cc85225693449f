/* hogwild_passage.h - recorded Hogwild (hogwild_recorded.c): what a worker does, block by block.
 *
 * Threads: the worker's, and in a pause whoever plays them all.
 */
#ifndef HR_STRATEGIES_HOGWILD_PASSAGE_H
#define HR_STRATEGIES_HOGWILD_PASSAGE_H

#include "strategy/pause.h"
#include "strategies/pushes.h"

/* What a worker does, or does next. */
enum hr_hogwild_stage { HR_DRAWING, HR_PULLING, HR_DECIDED, HR_PUSHING, HR_ASTRAY };

/* A worker's own. */
struct hr_passage {
    struct hr_replay_log replay;
    uint64_t pushes_seen; /* of others, when its copy was read */
    enum hr_hogwild_stage stage;
    struct hr_task task;   /* HR_DECIDED: what accept says */
    struct hr_push push;   /* HR_PUSHING */
    size_t left;           /* blocks of this pull or push */
    unsigned char *done;   /* (blocks) owned */
    uint64_t *ticket;      /* (blocks) owned: got, or to be waited for */
    int64_t blocked_since; /* 0: not */
    char complaint[160];   /* HR_ASTRAY */
};

/* strategy->pause: a push that has updated some blocks is finished on the copy. */
bool hr_passages_pause(const struct hr_standing *at, struct hr_pause *to);

#endif
