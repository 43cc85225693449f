#include "machines/carried_group.h"

#include "group/stream.h"

static struct hr_cargo cargo_of(const void *arg, const struct hr_ring *ring,
                                const struct hr_message *message)
{
    const struct hr_carried_group *carried = arg;
    const struct hr_carries carries = hr_stream_carries(ring, carried->slot_bytes, message);
    if (!carries.bytes) /* and perhaps no address */
        return (struct hr_cargo){0};
    if (!carries.slot)
        return (struct hr_cargo){.offset = carries.offset, .bytes = carries.bytes};
    return (struct hr_cargo){.offset = (uintptr_t)carries.slot - (uintptr_t)carried->segment,
                             .bytes = carries.bytes,
                             .slot = true};
}

struct adding {
    struct hr_carrier *carrier;
    const struct hr_carried_group *carried;
    const struct hr_place *place;
};

static enum hr_status add(void *arg, size_t from, size_t to, struct hr_ring *ring)
{
    const struct adding *adding = arg;
    return hr_carrier_add_ring(adding->carrier, ring, hr_place_world_rank(adding->place, from),
                               hr_place_world_rank(adding->place, to), cargo_of, adding->carried);
}

enum hr_status hr_carrier_add_group(struct hr_carrier *carrier, struct hr_carried_group *carried,
                                    const struct hr_group_options *options,
                                    const struct hr_place *place)
{
    struct adding adding = {carrier, carried, place};
    *carried = (struct hr_carried_group){place->segment, options->slot_bytes};
    return hr_group_each_ring_apart(options, place->group, add, &adding);
}
