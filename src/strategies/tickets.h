/* tickets.h - a word that one worker at a time holds, and that counts how often it was held.
 *
 *     word = tickets | who has it | a worker wants it | a worker has it
 *            46 bits   16 bits      1 bit               1 bit
 *     take  replaces it (acquire)  <->  give back adds to it (release): what the word stands for
 *     want  replaces it            <->  give back: it is one word, so one of the two sees the other
 *
 * Threads: any number; nothing waits. A caller whose take failed parks on its own bell; the caller
 * whose give_back returns true rings the bells. Who has it is part of the word, so that it can be
 * taken from one who dies between any two instructions.
 */
#ifndef HR_STRATEGIES_TICKETS_H
#define HR_STRATEGIES_TICKETS_H

#include <stdbool.h>
#include <stddef.h>

#include "shm/atom.h"

struct hr_ticket_word {
    alignas(HR_LINE) struct hr_atom64 word; /* zeroed: free, never taken */
};

enum { HR_TICKET_BUSY = 1, HR_TICKET_WANTED = 2, HR_TICKET_OWNER = 4, HR_TICKET_ONE = 1 << 18 };

/* Worker `owner` takes it: *ticket says how often it was taken before. False: another has it, and
 * will see that it is wanted. */
static inline bool hr_ticket_try_take(struct hr_ticket_word *it, size_t owner, uint64_t *ticket)
{
    for (;;) {
        const uint64_t word = hr_atom64_load_acquire(&it->word); /* partner: give_back */
        if (!(word & HR_TICKET_BUSY)) {
            *ticket = word / HR_TICKET_ONE;
            if (hr_atom64_replace_acq_rel(&it->word, word,
                                          *ticket * HR_TICKET_ONE | owner * HR_TICKET_OWNER |
                                              HR_TICKET_BUSY))
                return true;
        } else if ((word & HR_TICKET_WANTED) ||
                   hr_atom64_replace_acq_rel(&it->word, word, word | HR_TICKET_WANTED)) {
            return false;
        }
    }
}

/* Its owner gives it back; did another worker want it? */
static inline bool hr_ticket_give_back(struct hr_ticket_word *it, size_t owner)
{
    return hr_atom64_fetch_add_acq_rel(&it->word,
                                       HR_TICKET_ONE - owner * HR_TICKET_OWNER - HR_TICKET_BUSY) &
           HR_TICKET_WANTED;
}

/* Has worker `owner` taken it, and not given it back? */
static inline bool hr_ticket_is_of(const struct hr_ticket_word *it, size_t owner)
{
    const uint64_t word = hr_atom64_load_acquire(&it->word); /* partner: try_take */
    return (word & HR_TICKET_BUSY) && word % HR_TICKET_ONE / HR_TICKET_OWNER == owner;
}

/* How often it was taken and given back. */
static inline uint64_t hr_ticket_count(const struct hr_ticket_word *it)
{
    return hr_atom64_load_relaxed(&it->word) / HR_TICKET_ONE;
}

#endif
