/* log.h - diagnostics on stderr, one line each: "hogring: warning: ...".
 *
 * Threads: a line is one write(2), so lines of several threads or processes do not mix.
 */
#ifndef HR_BASE_LOG_H
#define HR_BASE_LOG_H

enum hr_log_level { HR_LOG_ERROR, HR_LOG_WARNING, HR_LOG_INFO };

/* Print one line (no newline in the format). Lines over 1 KiB are cut; control characters become
 * '?' (printable.h). On a terminal it takes the place of a line of progress. */
void hr_log(enum hr_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
