#include "formats/token_file.h"
#include "fuzz/fuzz.h"

static void read_vocabulary(const char *text)
{
    struct hr_vocabulary vocabulary;
    if (hr_vocabulary_read(text, &vocabulary) == HR_OK)
        hr_vocabulary_free(&vocabulary);
}

/* What a text is made of, it is written in. */
static void read_chars(const uint8_t *data, size_t size)
{
    const struct hr_array text = {.data = (void *)(uintptr_t)data, .bytes = size};
    struct hr_vocabulary vocabulary;
    struct hr_array ids = {0};
    if (hr_vocabulary_of_text("text", &text, &vocabulary) != HR_OK)
        return;
    if (hr_vocabulary_encode(&vocabulary, "text", text.data, size, &ids) != HR_OK)
        abort();
    free(ids.data);
    hr_vocabulary_free(&vocabulary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hr_token_view view;
    const unsigned choice = fuzz_choice(&data, &size, 4);
    if (choice < 2) {
        if (hr_token_file_parse(choice ? "tokens.npy" : "tokens.bin", data, size, &view) == HR_OK &&
            (view.begin > size || view.count > (size - view.begin) / view.width))
            abort();
    } else if (choice == 2) {
        char *text = fuzz_text(data, size);
        read_vocabulary(text);
        free(text);
    } else {
        read_chars(data, size);
    }
    return 0;
}
