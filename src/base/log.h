/* log.h - diagnostics on stderr, one line each: "hogring: warning: ...".
 *
 * Threads: a line is one write(2), so lines of several threads or processes do not mix.
 */
#ifndef HR_BASE_LOG_H
#define HR_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum hr_log_level { HR_LOG_ERROR, HR_LOG_WARNING, HR_LOG_INFO };

/* Print one line (no newline in the format). Lines over 1 KiB are cut; control characters become
 * '?' (printable.h). On a terminal it takes the place of a line of progress. */
void hr_log(enum hr_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* From now on only errors are said: another process says the rest. Before any other thread. */
void hr_log_errors_only(bool only);

/* From now on a warning is not said that is, word for word, the one before: of runs that are
 * compared, in each of which the same may happen. Before any other thread. */
void hr_log_repeat_no_warning(void);

/* How lines look from now on: `columns`, called for each, says where they are folded (fold.h; 0:
 * nowhere; NULL: they are whole); colour: errors and warnings begin in red and yellow. Before any
 * other thread. */
void hr_log_look(size_t (*columns)(void), bool colour);

#endif
