#include "gate/search.h"

#include <math.h>

#include "base/printable.h"

enum { PARTS = 32 };

/* The label's one run: with fewer seeds labels are the same. */
static const json_t *find(const struct hr_gate_search *search,
                          const struct hr_gate_document *document)
{
    return hr_gate_run_find(document, search->label, search->seed);
}

/* Both, as far as `until` (0: the end), with digests every so many steps. */
static enum hr_status compare_at(const struct hr_gate_search *search, uint64_t until,
                                 uint64_t every, struct hr_gate_place *place)
{
    struct hr_gate_document older = {0}, newer = {0};
    struct hr_gate_words words = {0};
    enum hr_status status;
    HR_TRY_GOTO(hr_gate_words_of(search->baseline, &words), status, out);
    HR_TRY_GOTO(hr_gate_words_cut(&words, search->seed, until, every), status, out);
    HR_TRY_GOTO(hr_gate_child_run(search->older, &words, "older.json", &older), status, out);
    HR_TRY_GOTO(hr_gate_child_run(search->newer, &words, "newer.json", &newer), status, out);
    *place = hr_gate_place_of(find(search, &older), find(search, &newer));
out:
    hr_gate_document_free(&older);
    hr_gate_document_free(&newer);
    hr_gate_words_free(&words);
    return status;
}

static uint64_t spacing(uint64_t steps)
{
    return steps < PARTS ? 1 : steps / PARTS;
}

enum hr_status hr_gate_search_run(const struct hr_gate_search *search, struct hr_gate_place *place)
{
    const double steps = hr_gate_number(find(search, search->baseline), "steps");
    uint64_t every = spacing(steps >= 1 ? (uint64_t)steps : 1);
    HR_TRY(compare_at(search, 0, every, place));
    while (place->known && every > 1) {
        struct hr_gate_place finer;
        const uint64_t until = place->step;
        every = spacing(until - place->equal_until);
        HR_TRY(compare_at(search, until, every, &finer));
        if (!finer.known ||
            (finer.step == until && every > 1 && finer.equal_until <= place->equal_until))
            break; /* they do not repeat themselves */
        *place = finer;
    }
    return HR_OK;
}
