/* What a run tells who looks from outside: its command, and when it began. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shm/control.h"

/* Words stand apart by NULs in /proc. */
static void read_command(char *text, size_t size)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    const size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    for (size_t i = 0; i + 1 < length; i++)
        text[i] = text[i] ? text[i] : ' ';
    text[length] = '\0';
}

void hr_about_fill(struct hr_about *about)
{
    about->began = hr_clock_ns();
    about->began_s = (int64_t)time(NULL);
    read_command(about->command, sizeof about->command);
}

void hr_about_run(struct hr_about *about, const char *strategy, size_t segment_bytes)
{
    snprintf(about->strategy, sizeof about->strategy, "%s", strategy);
    about->segment_bytes = segment_bytes;
}
