/* What a run tells who looks from outside: its command, and when it began; what its ranks do, and
 * did last. */
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

const char *hr_phase_str(enum hr_phase phase)
{
    switch (phase) {
#define HR_PHASE_TEXT(name, text)                                                                  \
    case name:                                                                                     \
        return text;
        HR_PHASE_LIST(HR_PHASE_TEXT)
#undef HR_PHASE_TEXT
    }
    return "?";
}

bool hr_flight_read(const struct hr_flight *flight, size_t back, struct hr_flight_entry *entry)
{
    const uint64_t begun = hr_atom64_load_acquire(&flight->begun); /* partner of all: begin, end */
    if (back >= begun || back >= HR_FLIGHT_ENTRIES)
        return false;
    const uint64_t number = begun - back;
    const struct hr_flight_slot *slot = &flight->slot[number % HR_FLIGHT_ENTRIES];
    if (hr_atom64_load_acquire(&slot->number) != number)
        return false;
    const uint64_t kind_group = hr_atom64_load_acquire(&slot->kind_group);
    *entry = (struct hr_flight_entry){
        .number = number,
        .sequence = hr_atom64_load_acquire(&slot->sequence),
        .kind = (uint32_t)kind_group,
        .group = (uint32_t)(kind_group >> 32),
        .count = hr_atom64_load_acquire(&slot->count),
        .start_ns = (int64_t)hr_atom64_load_acquire(&slot->start_ns),
        .end_ns = (int64_t)hr_atom64_load_acquire(&slot->end_ns),
    };
    return hr_atom64_load_relaxed(&slot->number) == number; /* relaxed: behind the acquires */
}
