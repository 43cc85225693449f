#include "strategies/hogwild_blocks.h"

#include <string.h>

#include "base/size.h"
#include "shm/control.h"
#include "strategies/pushes.h"

size_t hr_blocks_count(const struct hr_shared_state *shared)
{
    return (shared->params + hr_hogwild_block(shared) - 1) / hr_hogwild_block(shared);
}

static size_t weights_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(shared->params * sizeof(float), HR_LINE);
}

size_t hr_blocks_bytes(const struct hr_shared_state *shared)
{
    return hr_pushes_bytes(shared) + hr_blocks_count(shared) * sizeof(struct hr_ticket_word) +
           weights_bytes(shared) + hr_ledger_bytes(shared);
}

struct hr_ticket_word *hr_blocks_words(const struct hr_shared_state *shared)
{
    return hr_pushes_end(shared);
}

float *hr_blocks_weights(const struct hr_shared_state *shared)
{
    return (float *)(void *)(hr_blocks_words(shared) + hr_blocks_count(shared));
}

struct hr_ledger *hr_blocks_ledger(const struct hr_shared_state *shared)
{
    return (void *)((unsigned char *)hr_blocks_weights(shared) + weights_bytes(shared));
}

void hr_blocks_init(struct hr_shared_state *shared)
{
    memcpy(hr_blocks_weights(shared), shared->snapshot.weights, shared->params * sizeof(float));
    hr_ledger_init(hr_blocks_ledger(shared), shared);
}

void hr_blocks_give_back(const struct hr_shared_state *shared, size_t worker, size_t number)
{
    if (!hr_ticket_give_back(&hr_blocks_words(shared)[number], worker))
        return;
    for (size_t w = 0; w < shared->workers; w++)
        if (w != worker)
            hr_bell_ring(&shared->control->rank[w].bell);
}

void hr_blocks_lose(const struct hr_shared_state *shared, size_t worker)
{
    for (size_t i = 0; i < hr_blocks_count(shared); i++)
        if (hr_ticket_is_of(&hr_blocks_words(shared)[i], worker))
            hr_blocks_give_back(shared, worker, i);
}
