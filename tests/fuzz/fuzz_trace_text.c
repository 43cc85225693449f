#include "fuzz/fuzz.h"
#include "drive/replay.h"

/* A trace's header and trailer: the input, cut in two at its first zero byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hr_replay replay = {.path = "trace"};
    struct hr_trace_texts texts;
    struct hr_loss loss = {0};
    char *text = malloc(size + 2);
    memcpy(text, data, size);
    text[size] = text[size + 1] = '\0';
    const char *trailer = text + strlen(text) + 1;
    if (hr_trace_text_read(text, trailer, &replay, &texts) == HR_OK) {
        const enum hr_status said = hr_trace_texts_loss(&texts, 0, &loss);
        (void)said;
        hr_trace_texts_free(&texts);
    }
    free(text);
    return 0;
}
