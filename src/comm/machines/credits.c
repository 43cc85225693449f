/* Credits: how many messages of a ring its consumer has released, for the sender's window. */
#include "machines/inside.h"

void hr_landing_stir(struct hr_carrier *carrier, size_t rank)
{
    for (struct hr_landing *l = carrier->landing_from[rank]; l; l = l->next) {
        struct hr_machine *machine = &carrier->machine[l->machine];
        if (l->due || hr_landing_released(l) == l->told)
            continue;
        machine->due[machine->ndue++] = l;
        l->due = true;
    }
}

size_t hr_landing_pack(struct hr_carrier *carrier, size_t to, struct hr_head *head)
{
    const struct hr_machine *machine = &carrier->machine[to];
    size_t n = 0;
    for (; n < machine->ndue && hr_head_room(head) >= sizeof(struct hr_head_credit); n++) {
        const struct hr_landing *l = machine->due[machine->ndue - 1 - n];
        const struct hr_head_credit credit = {l->number, (uint32_t)hr_landing_released(l)};
        hr_head_add(head, &credit, sizeof credit);
    }
    return n;
}

void hr_landing_packed(struct hr_carrier *carrier, size_t to, const struct hr_head_credit *credit,
                       size_t n)
{
    struct hr_machine *machine = &carrier->machine[to];
    for (; n--; credit++) {
        struct hr_landing *l = machine->due[--machine->ndue];
        l->due = false;
        l->told += (uint32_t)(credit->released - (uint32_t)l->told);
    }
}
