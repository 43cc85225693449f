#include "gate/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/printable.h"

enum { PARTS = 32 };

/* The label's one run: with fewer seeds labels are the same. */
static const json_t *find(const struct hr_gate_search *search,
                          const struct hr_gate_document *document)
{
    return hr_gate_run_find(document, search->label, search->seed);
}

static enum hr_status check_ran(const struct hr_gate_search *search,
                                const struct hr_gate_child *child,
                                const struct hr_gate_document *document)
{
    const char *message = hr_gate_failure(document, search->label, search->seed);
    if (find(search, document))
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: seed %s failed: %s", child->binary,
                   hr_printable(search->seed).text,
                   hr_printable(message ? message : "it is not among its runs").text);
}

static bool same_weights(const struct hr_gate_search *search, const struct hr_gate_document *older,
                         const struct hr_gate_document *newer)
{
    return !strcmp(hr_gate_text(find(search, older), "weights_digest"),
                   hr_gate_text(find(search, newer), "weights_digest"));
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
    HR_TRY_GOTO(check_ran(search, search->older, &older), status, out);
    HR_TRY_GOTO(check_ran(search, search->newer, &newer), status, out);
    *place = hr_gate_place_of(find(search, &older), find(search, &newer));
    if (place->compared == 0)
        status =
            hr_fail(HR_E_FORMAT, "%s: its runs have no digests of steps", search->older->binary);
    else if (!place->known && until == 0 && !same_weights(search, &older, &newer))
        status = hr_fail(HR_E_FORMAT, "equal at step %" PRIu64 ", different at the end",
                         place->equal_until);
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
