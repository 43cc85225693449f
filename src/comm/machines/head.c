#include "machines/head.h"

#include <string.h>

#include "base/size.h"

struct hr_head_base *hr_head_begin(struct hr_head *head, enum hr_head_kind kind)
{
    struct hr_head_base *base = (struct hr_head_base *)(void *)head->at;
    *base = (struct hr_head_base){.kind = (uint8_t)kind, .last = 1};
    head->bytes = sizeof *base;
    return base;
}

void hr_head_add(struct hr_head *head, const void *what, size_t bytes)
{
    HR_ASSERT(bytes % 8 == 0 && bytes <= hr_head_room(head));
    memcpy(head->at + head->bytes, what, bytes);
    head->bytes += bytes;
}
