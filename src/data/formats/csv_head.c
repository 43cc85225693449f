/* How wide a table is, from its first line alone. */
#include <stdbool.h>
#include <string.h>

#include "formats/csv_fields.h"
#include "data/gzip_stream.h"

static const char candidates[] = HR_CSV_SEPARATORS;

struct head {
    size_t found[sizeof candidates - 1]; /* of each candidate */
    bool quoted, begun, ended;
    bool comment; /* it may be no record */
};

static void look(struct head *head, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes && !head->ended; i++) {
        const char *candidate = text[i] ? strchr(candidates, text[i]) : NULL;
        const bool end = text[i] == '\n' && !head->quoted;
        head->comment = head->comment || (!head->begun && text[i] == '#');
        head->ended = end && head->begun;
        head->begun = head->begun || (!end && text[i] != '\r');
        head->quoted ^= text[i] == '"';
        if (candidate && !head->quoted)
            head->found[candidate - candidates]++;
    }
}

enum hr_status hr_csv_width(const char *path, size_t *columns)
{
    struct hr_gzip_stream stream;
    struct head head = {0};
    char buffer[16 << 10];
    size_t got = sizeof buffer;
    enum hr_status status = HR_OK;
    HR_TRY(hr_gzip_stream_open_file(path, &stream));
    while (status == HR_OK && got == sizeof buffer && !head.ended) {
        status = hr_gzip_stream_read(&stream, buffer, sizeof buffer, &got);
        if (status == HR_OK)
            look(&head, buffer, got);
    }
    hr_gzip_stream_close(&stream);
    *columns = 0;
    for (size_t i = 0; !head.comment && i < sizeof head.found / sizeof *head.found; i++)
        *columns = head.found[i] >= *columns ? head.found[i] + 1 : *columns;
    return status;
}
