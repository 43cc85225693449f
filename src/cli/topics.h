/* topics.h - pages of the manual that belong to no command: hogring help TOPIC. */
#ifndef HR_CLI_TOPICS_H
#define HR_CLI_TOPICS_H

#include <stddef.h>

struct hr_topic {
    const char *name;
    const char *summary; /* one line */
    const char *text[8]; /* one behind the other, NULL past the end; 80 columns */
};

/* The i-th, NULL past the end. */
const struct hr_topic *hr_topic_at(size_t i);
/* NULL: there is none. */
const struct hr_topic *hr_topic_find(const char *name);

#endif
