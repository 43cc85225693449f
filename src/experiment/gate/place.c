#include "gate/place.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

static const char before[] = "worker.", loss[] = ".loss";

/* "worker.3.0.weight" is of rank 3. */
static bool rank_of(const char *part, size_t *rank, bool *is_loss)
{
    char *rest;
    if (strncmp(part, before, sizeof before - 1) != 0)
        return false;
    *rank = strtoul(part + sizeof before - 1, &rest, 10);
    *is_loss = !strcmp(rest, loss);
    return *rest == '.';
}

/* Ranks come in the order of their numbers, so a rank is new where it is none of those before. */
static void count_rank(size_t rank, bool differs, size_t *last, size_t *n, size_t *ndiffer,
                       size_t *first, size_t *last_differing)
{
    if (*last != rank + 1)
        ++*n;
    *last = rank + 1;
    if (!differs || *last_differing == rank + 1)
        return;
    *last_differing = rank + 1;
    if (*ndiffer == 0 || rank < *first)
        *first = rank;
    ++*ndiffer;
}

static void note(struct hr_gate_place *place, const char *part, bool differs, bool is_loss)
{
    place->parts++;
    place->differ += differs;
    if (differs && !place->first[0])
        snprintf(place->first, sizeof place->first, "%s", part);
    if (differs && !place->part[0] && !is_loss)
        snprintf(place->part, sizeof place->part, "%s", part);
}

/* How many parts of a step differ, and which. */
static void compare_step(const json_t *old_parts, const json_t *new_parts,
                         struct hr_gate_place *place)
{
    const char *part;
    json_t *value;
    size_t own[2] = {0}, of_loss[2] = {0};
    json_object_foreach((json_t *)old_parts, part, value)
    {
        const char *mine = json_string_value(value);
        const char *theirs = json_string_value(json_object_get(new_parts, part));
        size_t rank = 0;
        bool is_loss = false;
        if (!mine || !theirs)
            continue;
        const bool differs = strcmp(mine, theirs) != 0, has_rank = rank_of(part, &rank, &is_loss);
        note(place, part, differs, is_loss);
        if (has_rank && is_loss)
            count_rank(rank, differs, &of_loss[0], &place->loss_ranks, &place->loss_differ,
                       &place->loss_first, &of_loss[1]);
        else if (has_rank)
            count_rank(rank, differs, &own[0], &place->own_ranks, &place->own_differ,
                       &place->own_first, &own[1]);
    }
}

static const json_t *parts_at(const json_t *steps, json_int_t step, size_t *from)
{
    for (size_t i = *from; i < json_array_size(steps); i++) {
        const json_t *entry = json_array_get(steps, i);
        if (json_integer_value(json_object_get(entry, "step")) == step) {
            *from = i + 1;
            return json_object_get(entry, "parts");
        }
    }
    return NULL;
}

struct hr_gate_place hr_gate_place_of(const json_t *old_run, const json_t *new_run)
{
    struct hr_gate_place place = {0};
    const json_t *mine = json_object_get(old_run, "step_digests");
    const json_t *theirs = json_object_get(new_run, "step_digests");
    size_t from = 0;
    for (size_t i = 0; i < json_array_size(mine); i++) {
        const json_t *entry = json_array_get(mine, i);
        const json_int_t step = json_integer_value(json_object_get(entry, "step"));
        const json_t *parts = parts_at(theirs, step, &from);
        struct hr_gate_place here = {.compared = place.compared + 1,
                                     .equal_until = place.equal_until};
        if (!parts)
            continue;
        compare_step(json_object_get(entry, "parts"), parts, &here);
        place = here;
        place.step = (uint64_t)step;
        place.known = here.differ > 0;
        if (place.known)
            break;
        place.equal_until = (uint64_t)step;
    }
    return place;
}

/* What the ranks hold there. */
static void say_ranks(const struct hr_gate_place *p, char *text, size_t size)
{
    if (p->own_differ && p->own_differ < p->own_ranks)
        snprintf(text, size, "; rank %zu's part differs, %zu of %zu ranks' are equal", p->own_first,
                 p->own_ranks - p->own_differ, p->own_ranks);
    else if (p->own_differ)
        snprintf(text, size, "; the parts of all %zu ranks differ", p->own_ranks);
    else if (p->loss_differ && p->loss_differ < p->loss_ranks)
        snprintf(text, size, "; all ranks hold the same there, and rank %zu's loss differs",
                 p->loss_first);
    else if (p->loss_differ)
        snprintf(text, size, "; all ranks hold the same there, and the losses of all differ");
    else if (p->loss_ranks)
        snprintf(text, size,
                 "; all ranks hold the same there, and no rank's loss differs: it is in a backward "
                 "pass, a sum or an update");
}

const char *hr_gate_place_text(const struct hr_gate_place *place, char *text, size_t size)
{
    char ranks[256] = "", from[64];
    text[0] = '\0';
    if (!place->known)
        return text;
    snprintf(from, sizeof from, "equal at step %" PRIu64 ", ", place->equal_until);
    say_ranks(place, ranks, sizeof ranks);
    snprintf(text, size, "%sdifferent at step %" PRIu64 ": first in %s (%zu of %zu parts)%s",
             place->equal_until ? from : "", place->step,
             place->part[0] ? place->part : place->first, place->differ, place->parts, ranks);
    return text;
}

/* --- by running both programs --- */

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
    return !strcmp(hr_json_text_at(find(search, older), "weights_digest"),
                   hr_json_text_at(find(search, newer), "weights_digest"));
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
    const double steps = hr_json_number_at(find(search, search->baseline), "steps");
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
