/* play_losses.h - losses where one process plays all ranks (play.h): of workers, numbered first,
 * and of servers.
 *
 *   hr_play_die         nothing of the rank happens any more; what it has sent stays under way
 *   hr_play_notice      now the launcher knows, and with it all others
 *   hr_play_come_back   it was started again, and takes part as soon as those do who come back
 *
 *   An input (strategy->losses_are_inputs): shards take the loss in turn, like a message; seats
 *   change when all who live are at a cut.
 *   Else nothing happens any more until all who are lost are known to be, and those who come back
 *   are there (hr_play_term_is_over): then a new term begins from the last cut.
 *
 * Threads: a play's.
 * Test:    tests/unit/play/test_explored_losses.c
 */
#ifndef HR_PLAY_PLAY_LOSSES_H
#define HR_PLAY_PLAY_LOSSES_H

#include "play/play.h"

/* Does the rank live: is it neither dead nor lost? */
static inline bool hr_play_lives(const struct hr_play *play, size_t rank)
{
    return play->state[rank] != HR_DEAD && play->state[rank] != HR_LOST;
}

/* Does --inject kill worker `rank` before the gradient that it is about to compute, or while it
 * does? Shard `shard` before its next input? */
bool hr_play_is_killed(const struct hr_play *play, size_t rank);
bool hr_play_server_is_killed(const struct hr_play *play, size_t shard);

/* A rank that lives dies. HR_E_LOST: the run outlives no losses. */
HR_CHECKED enum hr_status hr_play_die(struct hr_play *play, size_t rank);
/* A dead rank is known to be. HR_E_LOST: the run cannot go on without it. */
HR_CHECKED enum hr_status hr_play_notice(struct hr_play *play, size_t rank);
/* May a lost rank be started again, and would it be ready? Where nothing takes time: at once, else
 * from again_ns of losses.h on. */
bool hr_play_may_come_back(struct hr_play *play, size_t rank);
HR_CHECKED enum hr_status hr_play_come_back(struct hr_play *play, size_t rank);

/* Has a loss ended the term, and may a new one begin? Then, and also at a cut, when the roster has
 * changed, it does. */
bool hr_play_term_is_over(const struct hr_play *play);
HR_CHECKED enum hr_status hr_play_begin_term(struct hr_play *play);

#endif
