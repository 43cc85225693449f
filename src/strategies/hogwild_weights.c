#include "strategies/hogwild_weights.h"

#include <string.h>

#include "base/size.h"
#include "shm/control.h"
#include "strategies/pushes.h"

/* Each part's bytes. */
struct sizes {
    size_t pushes, weights, words;
};

size_t hr_hogwild_blocks(const struct hr_shared_state *shared)
{
    const struct hr_hogwild_setup *setup = shared->setup;
    return (shared->params + setup->block - 1) / setup->block;
}

static struct sizes sizes_of(const struct hr_shared_state *shared)
{
    const struct hr_hogwild_setup *setup = shared->setup;
    const size_t pairs = (shared->params + 1) / 2;
    return (struct sizes){
        .pushes = hr_pushes_bytes(shared),
        .weights = hr_round_up(pairs * sizeof(struct hr_atom64), HR_LINE),
        .words = setup->by_ticket ? hr_hogwild_blocks(shared) * sizeof(struct hr_ticket_word) : 0,
    };
}

size_t hr_hogwild_bytes(const struct hr_shared_state *shared)
{
    const struct sizes sizes = sizes_of(shared);
    return sizes.pushes + sizes.weights + sizes.words;
}

struct hr_hogwild_weights hr_hogwild_weights_of(const struct hr_shared_state *shared)
{
    const struct hr_hogwild_setup *setup = shared->setup;
    const struct sizes sizes = sizes_of(shared);
    unsigned char *pairs = (unsigned char *)shared->own + sizes.pushes;
    unsigned char *words = pairs + sizes.weights;
    return (struct hr_hogwild_weights){
        .pairs = (void *)pairs,
        .block = setup->block,
        .blocks = hr_hogwild_blocks(shared),
        .words = setup->by_ticket ? (void *)words : NULL,
        .end = words + sizes.words,
    };
}

void hr_hogwild_init(const struct hr_shared_state *shared)
{
    const struct hr_hogwild_weights weights = hr_hogwild_weights_of(shared);
    if (!shared->snapshot.live)
        hr_hogwild_store(&weights, 0, shared->params, shared->snapshot.weights);
}

void hr_hogwild_give_back(const struct hr_shared_state *shared, size_t worker, size_t number)
{
    if (!hr_ticket_give_back(&hr_hogwild_weights_of(shared).words[number], worker))
        return;
    for (size_t w = 0; w < shared->workers; w++)
        if (w != worker)
            hr_bell_ring(&shared->control->rank[w].bell);
}

void hr_hogwild_lose(const struct hr_shared_state *shared, size_t worker)
{
    const struct hr_hogwild_weights weights = hr_hogwild_weights_of(shared);
    for (size_t i = 0; weights.words && i < weights.blocks; i++)
        if (hr_ticket_is_of(&weights.words[i], worker))
            hr_hogwild_give_back(shared, worker, i);
}
