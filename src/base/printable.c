#include "base/printable.h"

#include <stdbool.h>
#include <string.h>

/* Bytes of a character in UTF-8 behind this first one. */
static unsigned following(unsigned char lead)
{
    return lead < 0xc2 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : 0;
}

static bool is_obeyed(struct hr_printable_state *state, unsigned char byte)
{
    const bool continues = state->missing && (byte & 0xc0) == 0x80;
    if (continues) {
        state->missing--;
        return state->lead == 0xc2 && byte < 0xa0; /* C2 80 .. C2 9F are U+0080 .. U+009F */
    }
    *state = (struct hr_printable_state){byte, following(byte)};
    return byte < 0x20 || (byte >= 0x7f && byte < 0xa0);
}

void hr_make_printable(struct hr_printable_state *state, char *text, size_t n, const char *kept)
{
    for (size_t i = 0; i < n; i++)
        if (is_obeyed(state, (unsigned char)text[i]) && (!text[i] || !strchr(kept, text[i])))
            text[i] = '?';
}

struct hr_printable hr_printable(const char *text)
{
    struct hr_printable out = {""};
    struct hr_printable_state state = {0};
    const size_t n = strnlen(text, sizeof out.text - 1);
    memcpy(out.text, text, n);
    hr_make_printable(&state, out.text, n, "");
    return out;
}

void hr_put_printable(FILE *out, const char *text)
{
    struct hr_printable_state state = {0};
    for (; *text; text++) {
        char byte = *text;
        hr_make_printable(&state, &byte, 1, "");
        fputc(byte, out);
    }
}

char *hr_shell_word(const char *word, char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./-_";
    char *at = text;
    if (word[0] && strspn(word, plain) == strlen(word))
        return strcpy(text, word);
    *at++ = '\'';
    for (; *word; word++)
        if (*word == '\'')
            at = stpcpy(at, "'\\''");
        else
            *at++ = *word;
    strcpy(at, "'");
    return text;
}
