#include <stdio.h>

#include "fuzz/fuzz.h"
#include "session/saved.h"

/* What a resumed run asks of a checkpoint before it trains. */
static void read_all(const struct hr_checkpoint *checkpoint)
{
    uint64_t count;
    for (size_t i = 0; i < checkpoint->trainer.nmetadata; i++) {
        const char *key = checkpoint->trainer.metadata[i].key;
        const double number = hr_saved_number(checkpoint, key);
        const enum hr_status counted = hr_saved_count(checkpoint, key, &count),
                             same = hr_saved_same(checkpoint, "it", key, "");
        (void)number, (void)counted, (void)same;
    }
    const enum hr_status kept = hr_saved_check(checkpoint, (struct hr_saved_run){.promised = true});
    (void)kept;
}

/* KEY=VALUE, one a line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct hr_checkpoint checkpoint = {.path = "checkpoint"};
    static struct hr_metadata entries[16];
    struct hr_metadata *entry = entries;
    char *rest = text;
    for (char *line; entry < entries + 16 && (line = strsep(&rest, "\n"));) {
        char *value = strchr(line, '=');
        if (!value)
            continue;
        *value++ = '\0';
        snprintf(entry->key, sizeof entry->key, "%s", line);
        snprintf(entry++->value, sizeof entry->value, "%s", value);
    }
    checkpoint.trainer.metadata = checkpoint.model.metadata = entries;
    checkpoint.trainer.nmetadata = checkpoint.model.nmetadata = (size_t)(entry - entries);
    read_all(&checkpoint);
    free(text);
    return 0;
}
