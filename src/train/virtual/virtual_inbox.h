/* virtual_inbox.h - messages that have arrived at a shard in virtual time, in order.
 *
 * Only their senders are kept here; the messages themselves are in the shard's rings.
 *
 * Threads: none.
 */
#ifndef HR_VIRTUAL_VIRTUAL_INBOX_H
#define HR_VIRTUAL_VIRTUAL_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hr_virtual_inbox {
    uint32_t *sender; /* (room) borrowed */
    size_t n;
};

static inline void hr_virtual_inbox_add(struct hr_virtual_inbox *inbox, size_t sender)
{
    inbox->sender[inbox->n++] = (uint32_t)sender;
}

/* Remove the first message of a sender that is enabled; false when there is none. */
static inline bool hr_virtual_inbox_next(struct hr_virtual_inbox *inbox,
                                         const unsigned char *enabled, size_t *sender)
{
    for (size_t i = 0; i < inbox->n; i++) {
        if (!enabled[inbox->sender[i]])
            continue;
        *sender = inbox->sender[i];
        inbox->n--;
        memmove(inbox->sender + i, inbox->sender + i + 1, (inbox->n - i) * sizeof *inbox->sender);
        return true;
    }
    return false;
}

static inline bool hr_virtual_inbox_has(const struct hr_virtual_inbox *inbox, size_t sender)
{
    for (size_t i = 0; i < inbox->n; i++)
        if (inbox->sender[i] == sender)
            return true;
    return false;
}

/* Remove all messages of that sender. */
static inline void hr_virtual_inbox_drop(struct hr_virtual_inbox *inbox, size_t sender)
{
    size_t n = 0;
    for (size_t i = 0; i < inbox->n; i++)
        if (inbox->sender[i] != sender)
            inbox->sender[n++] = inbox->sender[i];
    inbox->n = n;
}

#endif
