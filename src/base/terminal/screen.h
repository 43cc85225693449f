/* screen.h - a screen that is drawn again in place, and a curve in one line.
 *
 * Threads: none. Test: tests/unit/terminal/, tests/cli/top.bats */
#ifndef HR_TERMINAL_SCREEN_H
#define HR_TERMINAL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

/* --- spark --- */

/* A curve of a few characters: "▇▆▄▃▂▁", or "#*=-." where the locale is not UTF-8. */

enum { HR_SPARK_WIDTH = 16, HR_SPARK_MAX = 3 * HR_SPARK_WIDTH + 1 };

/* Values as they come; of more than there are characters, each stands for the mean of several. */
struct hr_spark {
    double mean[HR_SPARK_WIDTH];
    size_t count[HR_SPARK_WIDTH]; /* of those in a mean */
    size_t n, each;
};

/* Of a zeroed one; values that are not finite are left out. */
void hr_spark_add(struct hr_spark *spark, double value);
/* From the smallest, lowest, to the largest, by logarithms where all are above 0; "" of fewer than
 * two. */
char *hr_spark_draw(const struct hr_spark *spark, bool utf8, char text[HR_SPARK_MAX]);

/* --- screen --- */

/* A terminal's second screen, drawn again in place, and what is typed meanwhile.
 *
 *     hr_screen_open(&screen, STDIN_FILENO, STDOUT_FILENO)
 *     hr_screen_draw(&screen, text)       lines, with marks (output.h); what does not fit is cut
 *     hr_screen_key(&screen, 500)         a key, or the time is over
 *     hr_screen_close(&screen)            as it was before
 *
 * Keys come one by one and are not shown; Ctrl-C is a signal as ever, Ctrl-Z is none. What was on
 * the terminal comes back when it closes. */

struct hr_screen {
    int in, out;
    bool open, keys;
    struct termios before;
};

/* Can one be opened on this descriptor? */
bool hr_screen_can(int out);
void hr_screen_open(struct hr_screen *screen, int in, int out);
/* Harmless on a zeroed one. */
void hr_screen_close(struct hr_screen *screen);

struct hr_screen_size {
    size_t columns, lines;
};
/* As it is now; 80 x 24 where it does not say. */
struct hr_screen_size hr_screen_size(const struct hr_screen *screen);

void hr_screen_draw(const struct hr_screen *screen, const char *text);
/* What was typed within that time; 0: nothing was, or a signal came. */
char hr_screen_key(const struct hr_screen *screen, int milliseconds);

#endif
