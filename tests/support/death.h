/* death.h - what a rank leaves behind when it dies between two instructions.
 *
 *   An act is carried out by a child process, one instruction at a time. Whenever it has changed
 *   what it shares, the test looks at that, as if the child had died there; what the look changes
 *   is undone, and the child goes on. In the end shared memory is as it was before the act.
 */
#ifndef HR_TESTS_SUPPORT_DEATH_H
#define HR_TESTS_SUPPORT_DEATH_H

#include <stdbool.h>
#include <stddef.h>

struct death {
    void (*act)(void *arg);
    void (*look)(void *arg);
    void *arg;
    void *memory; /* shared with children */
    size_t bytes;
};

/* Can children be carried along by instructions? Not under sanitizers, nor on all machines. */
bool death_can_be_played(void);

/* Die everywhere in an act; returns how often the test looked. */
size_t death_everywhere(const struct death *death);

#endif
