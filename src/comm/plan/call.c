#include "plan/call.h"

#include <stdio.h>

/* Bits of a kind. */
enum { ALGORITHM_AT = 8, TYPE_AT = 16, REDOP_AT = 20, OWN_MEMORY_AT = 24, NIBBLE = 15, BYTE = 255 };

uint32_t hr_call_kind(enum hr_operation operation, const struct hr_algorithm *algorithm,
                      struct hr_kind kind, bool own_memory)
{
    const uint32_t number = algorithm ? (uint32_t)hr_algorithm_number(algorithm) : 0;
    return (uint32_t)operation | number << ALGORITHM_AT | (uint32_t)kind.type << TYPE_AT |
           (uint32_t)kind.redop << REDOP_AT | (uint32_t)own_memory << OWN_MEMORY_AT;
}

void hr_call_describe(char *text, size_t size, const struct hr_call *call)
{
    const enum hr_operation operation = (enum hr_operation)(call->kind & BYTE);
    const struct hr_operation_facts *facts = hr_operation_facts(operation);
    const struct hr_algorithm *algorithm = hr_algorithm_at(call->kind >> ALGORITHM_AT & BYTE);
    const char *type = hr_type_name((enum hr_type)(call->kind >> TYPE_AT & NIBBLE));
    const char *redop = hr_redop_name((enum hr_redop)(call->kind >> REDOP_AT & NIBBLE));
    char root[32] = "";
    if (facts->rooted)
        snprintf(root, sizeof root, ", root %u", call->root);
    if (operation == HR_OP_BARRIER) {
        snprintf(text, size, "barrier number %llu", (unsigned long long)call->sequence);
        return;
    }
    snprintf(text, size, "%s%s%s number %llu of %llu %s%s%s%s%s", facts->name,
             operation == HR_OP_ALL_REDUCE ? " " : "",
             operation == HR_OP_ALL_REDUCE && algorithm ? algorithm->name : "",
             (unsigned long long)call->sequence, (unsigned long long)call->count, type ? type : "?",
             facts->reduces ? " " : "", facts->reduces && redop ? redop : "", root,
             call->kind >> OWN_MEMORY_AT & 1 ? " in its own memory" : "");
}
