#include "shm/flight.h"

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
