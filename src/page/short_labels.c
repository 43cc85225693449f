/* Where labels are long, without what they share at both ends, and cut in the middle; where some
 * are alike even so, all of them whole but for the words that all have, if those are no longer than
 * LABEL_MOST; else such go by their row. */
#include "page/short_labels.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_SHOWN = 16, LABEL_BEGIN = 7, LABEL_MOST = 32 };

static const char *label_of(const struct hr_view *view, size_t s)
{
    return view->group[view->drawn[s]].label;
}

size_t hr_letters(const char *text)
{
    size_t letters = 0;
    for (; *text; text++)
        letters += (*text & 0xc0) != 0x80;
    return letters;
}

/* Where the n-th letter of a text begins. */
static size_t letter(const char *text, size_t n)
{
    size_t at = 0;
    while (text[at] && ((text[at] & 0xc0) == 0x80 || n-- > 0))
        at++;
    return at;
}

/* Bytes of the words that all labels begin with, but for the name of a number that differs. */
static size_t shared_head(const struct hr_view *view)
{
    const char *first = label_of(view, 0);
    size_t n = strlen(first);
    bool number = false;
    for (size_t s = 1; s < view->ndrawn; s++)
        while (strncmp(first, label_of(view, s), n) != 0)
            n--;
    while (n > 0 && first[n - 1] != ' ')
        n--;
    for (size_t s = 0; s < view->ndrawn; s++)
        number = number || isdigit((unsigned char)label_of(view, s)[n]);
    if (number && n > 0)
        for (n--; n > 0 && first[n - 1] != ' ';)
            n--;
    return n;
}

/* Does the word behind this blank belong to a number before it, as in "4 workers lr 0.1"? */
static bool is_unit(const char *label, size_t at)
{
    const char *next = strchr(label + at + 1, ' ');
    return at > 0 && isdigit((unsigned char)label[at - 1]) &&
           !(next && isdigit((unsigned char)next[1]));
}

/* Bytes of the words that all end with, where something is left between head and tail; a number
 * does not begin them. */
static size_t shared_tail(const struct hr_view *view, size_t head)
{
    const char *first = label_of(view, 0);
    size_t at = strlen(first), best = 0;
    while (at-- > head + 1) {
        const size_t n = strlen(first + at);
        for (size_t s = 1; s < view->ndrawn; s++) {
            const char *other = label_of(view, s);
            const size_t length = strlen(other);
            if (length <= head + n || strcmp(other + length - n, first + at) != 0)
                return best;
        }
        if (first[at] == ' ' && !isdigit((unsigned char)first[at + 1]) && !is_unit(first, at))
            best = n;
    }
    return best;
}

/* The word that begins there, with the blank behind it. */
static size_t word_at(const char *text)
{
    const size_t n = strcspn(text, " ");
    return n + (text[n] == ' ');
}

static bool has_word(const char *label, const char *word, size_t n)
{
    for (; *label; label += word_at(label))
        if (strcspn(label, " ") == n && !strncmp(label, word, n))
            return true;
    return false;
}

static bool is_in_all(const struct hr_view *view, const char *word)
{
    for (size_t s = 0; s < view->ndrawn; s++)
        if (!has_word(label_of(view, s), word, strcspn(word, " ")))
            return false;
    return true;
}

/* Words that not all labels have, and the names of numbers among them: "ssp lr 0.1 batch 16" of
 * "ssp s=3 lr 0.1 batch 16". */
static void only_what_differs(const struct hr_view *view, size_t s, char text[HR_SHORT_LABEL])
{
    const char *word = label_of(view, s);
    size_t used = 0;
    for (; *word; word += word_at(word)) {
        const char *next = word + word_at(word);
        const bool names = isdigit((unsigned char)*next) && !is_in_all(view, next);
        if (is_in_all(view, word) && !names)
            continue;
        memcpy(text + used, word, word_at(word));
        used += word_at(word);
    }
    while (used > 0 && text[used - 1] == ' ')
        used--;
    text[used] = '\0';
}

/* At most LABEL_SHOWN letters. */
static void cut(char text[HR_SHORT_LABEL], const char *label, size_t bytes)
{
    char rest[HR_LABEL_MAX];
    snprintf(rest, sizeof rest, "%.*s", (int)bytes, label);
    const size_t letters = hr_letters(rest);
    if (letters <= LABEL_SHOWN)
        memcpy(text, rest, sizeof rest);
    else
        snprintf(text, HR_SHORT_LABEL, "%.*s…%s", (int)letter(rest, LABEL_BEGIN), rest,
                 rest + letter(rest, letters - (LABEL_SHOWN - LABEL_BEGIN - 1)));
}

static bool find_alike(const struct hr_view *view, const struct hr_short_labels *labels,
                       bool alike[HR_DRAWN])
{
    bool any = false;
    memset(alike, 0, HR_DRAWN * sizeof *alike);
    for (size_t s = 0; s < view->ndrawn; s++)
        for (size_t o = 0; o < s; o++)
            if (!strcmp(labels->text[o], labels->text[s]))
                any = alike[o] = alike[s] = true;
    return any;
}

void hr_short_labels(const struct hr_view *view, struct hr_short_labels *labels)
{
    bool alike[HR_DRAWN], wide = false;
    struct hr_short_labels whole;
    for (size_t s = 0; s < view->ndrawn; s++)
        wide = wide || hr_letters(label_of(view, s)) > LABEL_SHOWN;
    const size_t head = wide && view->ndrawn > 1 ? shared_head(view) : 0;
    const size_t tail = wide && view->ndrawn > 1 ? shared_tail(view, head) : 0;
    for (size_t s = 0; s < view->ndrawn; s++) {
        const char *label = label_of(view, s);
        cut(labels->text[s], label + head, strlen(label) - head - tail);
    }
    if (!find_alike(view, labels, alike))
        return;
    wide = false;
    for (size_t s = 0; s < view->ndrawn; s++) {
        only_what_differs(view, s, whole.text[s]);
        wide = wide || hr_letters(whole.text[s]) > LABEL_MOST || !whole.text[s][0];
    }
    if (!wide && !find_alike(view, &whole, alike)) {
        *labels = whole;
        return;
    }
    find_alike(view, labels, alike);
    for (size_t s = 0; s < view->ndrawn; s++)
        if (alike[s])
            snprintf(labels->text[s], HR_SHORT_LABEL, "row %zu", view->drawn[s] + 1);
}
