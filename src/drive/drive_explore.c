/* The driver in which a seed is a schedule: it lists all possible next events, draws one, and
 * completes it. So a strategy can run in many orders, and each run can be repeated bit for bit. */
#include <string.h>

#include "drive/play.h"

struct explorer {
    struct hr_play play;
    struct hr_picker picker;
    size_t idle; /* looks in a row that changed nothing */
};

/* A look either advances a collective by at least one row of its plan or does nothing. Plans have
 * fewer rows than this, so after as many idle looks a worker the run is stuck. */
enum { IDLE_LOOKS = 4 * HR_MAX_RANKS };

/* Events in a fixed list: one a worker, then one for each shard and worker. */
static size_t list_events(struct hr_play *play, unsigned char *enabled)
{
    const struct hr_shared_state *shared = play->shared;
    size_t n = 0;
    for (size_t r = 0; r < shared->workers; r++)
        enabled[n++] = hr_play_may_act(play, r);
    for (size_t s = 0; s < shared->servers; s++, n += shared->workers) {
        memset(enabled + n, 1, shared->workers);
        shared->strategy->enabled(&play->shard[s], enabled + n);
        if (!hr_play_may_take(play, s))
            memset(enabled + n, 0, shared->workers);
    }
    return n;
}

static enum hr_status one_event(struct explorer *explorer)
{
    struct hr_play *play = &explorer->play;
    unsigned char enabled[HR_MAX_RANKS + HR_MAX_RANKS * HR_MAX_RANKS];
    const struct hr_shared_state *shared = play->shared;
    const size_t n = list_events(play, enabled);
    const size_t event = hr_pick(&explorer->picker, enabled, n);
    if (event == n || explorer->idle > IDLE_LOOKS * shared->workers)
        return hr_fail(HR_E_FAILED, "nothing can happen any more, and the run is not over");
    if (event >= shared->workers) {
        const size_t input = event - shared->workers;
        hr_play_take(play, input / shared->workers, input % shared->workers);
        explorer->idle = 0;
        return HR_OK;
    }
    bool idle;
    HR_TRY(hr_play_act(play, event, &idle));
    explorer->idle = idle ? explorer->idle + 1 : 0;
    return HR_OK;
}

static enum hr_status play_all(struct explorer *explorer)
{
    struct hr_play *play = &explorer->play;
    for (;;) {
        if (hr_play_at_cut(play)) {
            HR_TRY(hr_play_cut(play));
            if (play->drive->leader->cuts.cut->halt)
                return HR_OK;
            continue;
        }
        HR_TRY(one_event(explorer));
        HR_TRY(hr_play_tick(play));
    }
}

enum hr_status hr_drive_explore(struct hr_drive *drive)
{
    struct explorer explorer = {
        .picker = {.kind = HR_PICK_EXPLORE, .seed = drive->explore_seed},
    };
    enum hr_status status = hr_play_start(&explorer.play, drive);
    if (status == HR_OK)
        status = play_all(&explorer);
    return hr_play_finish(&explorer.play, status);
}
