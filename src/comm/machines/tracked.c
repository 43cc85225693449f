/* Words with one writer, and their versions.
 *
 *   Story    before a message is sent, its machine looks whether the words of its own ranks have
 *            changed, and gives them a new version; what the other machine is not known to have
 *            goes with the head. Who receives a newer version stores it, and hands it on.
 *   Order    the words are read after the message was seen in its ring (acquire), so they are as
 *            new as the message; they are stored before it is committed (release).
 */
#include <string.h>

#include "machines/inside.h"

void hr_carrier_track(struct hr_carrier *carrier, size_t writer, void *words, size_t bytes)
{
    HR_ASSERT(bytes % 8 == 0 && bytes <= HR_TRACKED_BYTES && (uintptr_t)words % 8 == 0);
    pthread_mutex_lock(&carrier->lock); /* others poll when a term begins */
    HR_ASSERT(carrier->ntracked < HR_TRACKED_REGIONS);
    struct hr_tracked *tracked = &carrier->tracked[carrier->ntracked++];
    *tracked = (struct hr_tracked){.words = words, .writer = writer, .bytes = bytes};
    for (size_t i = 0; i < bytes / 8; i++) /* all machines begin with the same words */
        tracked->copy[i] = hr_atom64_load_relaxed(&tracked->words[i]);
    pthread_mutex_unlock(&carrier->lock);
}

static bool is_ours(const struct hr_carrier *carrier, const struct hr_tracked *tracked)
{
    return hr_homes_here(&carrier->options.homes, tracked->writer);
}

void hr_tracked_look(struct hr_carrier *carrier)
{
    for (size_t t = 0; t < carrier->ntracked; t++) {
        struct hr_tracked *tracked = &carrier->tracked[t];
        bool changed = false;
        for (size_t i = 0; is_ours(carrier, tracked) && i < tracked->bytes / 8; i++) {
            /* Acquire: a word that was stored after another comes with it, or after it. */
            const uint64_t word = hr_atom64_load_acquire(&tracked->words[i]);
            changed |= word != tracked->copy[i];
            tracked->copy[i] = word;
        }
        tracked->version += changed;
    }
}

static size_t packed_bytes(const struct hr_tracked *tracked)
{
    return sizeof(struct hr_head_words) + tracked->bytes;
}

static bool is_due(const struct hr_carrier *carrier, size_t to, size_t t)
{
    return carrier->machine[to].knows[t] < carrier->tracked[t].version;
}

size_t hr_tracked_due_bytes(const struct hr_carrier *carrier, size_t to)
{
    size_t bytes = 0;
    for (size_t t = 0; t < carrier->ntracked; t++)
        bytes += is_due(carrier, to, t) ? packed_bytes(&carrier->tracked[t]) : 0;
    return bytes;
}

size_t hr_tracked_pack(struct hr_carrier *carrier, size_t to, struct hr_head *head)
{
    size_t n = 0;
    for (size_t t = 0; t < carrier->ntracked; t++) {
        const struct hr_tracked *tracked = &carrier->tracked[t];
        if (!is_due(carrier, to, t) || packed_bytes(tracked) > hr_head_room(head))
            continue;
        const struct hr_head_words words = {(uint32_t)t, (uint32_t)tracked->bytes,
                                            tracked->version};
        hr_head_add(head, &words, sizeof words);
        hr_head_add(head, tracked->copy, tracked->bytes);
        n++;
    }
    return n;
}

/* The wire loses nothing while its machine lives. */
void hr_tracked_packed(struct hr_carrier *carrier, size_t to, const void *at, size_t n)
{
    for (const unsigned char *next = at; n--;) {
        const struct hr_head_words *words = (const void *)next;
        carrier->machine[to].knows[words->region] = words->version;
        next += sizeof *words + words->bytes;
    }
}

/* Words that were stored later are stored here later, too: in their order. */
static void store(struct hr_tracked *tracked, uint64_t version, const void *from)
{
    memcpy(tracked->copy, from, tracked->bytes);
    tracked->version = version;
    for (size_t i = 0; i < tracked->bytes / 8; i++)
        hr_atom64_store_release(&tracked->words[i], tracked->copy[i]); /* partner: its readers */
}

bool hr_tracked_unpack(struct hr_carrier *carrier, size_t from, size_t n,
                       struct hr_head_reader *reader)
{
    while (n--) {
        const struct hr_head_words *words = hr_head_take(reader, sizeof *words);
        const void *data = words ? hr_head_take(reader, words->bytes) : NULL;
        if (!data || words->region >= carrier->ntracked ||
            words->bytes != carrier->tracked[words->region].bytes)
            return false;
        struct hr_tracked *tracked = &carrier->tracked[words->region];
        uint64_t *knows = &carrier->machine[from].knows[words->region];
        *knows = words->version > *knows ? words->version : *knows;
        if (words->version > tracked->version && !is_ours(carrier, tracked))
            store(tracked, words->version, data);
    }
    return true;
}
