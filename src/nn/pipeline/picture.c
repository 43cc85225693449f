/* A column is a tick of time and shows what a rank does in its middle. The mean forward has a whole
 * number of columns, so that equal parts look alike. */
#include "pipeline/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOMIEST = 4 }; /* columns of a mean forward */

static const char IDLE = '.', GOES_ON = '-';

struct picture {
    const struct hr_pipeline_walk *walk;
    size_t label;   /* columns of "rank 0  " */
    size_t digits;  /* of a micro-batch's number, the last ones */
    size_t band;    /* columns of time in a line */
    size_t columns; /* of time, in all */
    double tick;    /* time of a column */
};

static size_t digits_of(size_t largest)
{
    return (size_t)snprintf(NULL, 0, "%zu", largest);
}

/* --- the scale --- */

static double mean_forward(const struct hr_pipeline_walk *walk)
{
    double sum = 0, count = 0;
    for (size_t r = 0; r < walk->shape.stages; r++)
        for (size_t i = 0; i < walk->rank[r].count; i++) {
            const struct hr_pipeline_span *span = &walk->rank[r].span[i];
            const bool forward = span->action.work == HR_FORWARD;
            sum += forward ? (double)(span->end - span->start) : 0;
            count += forward;
        }
    return sum / count;
}

/* Columns of a mean forward: of those that let all fit into one band the most, up to ROOMIEST; else
 * a letter and a number, or fewer of its digits, where that keeps to the bands; 0: none does. */
static size_t choose_cell(const struct picture *picture, double forwards)
{
    const size_t in_one = (size_t)((double)picture->band / forwards);
    const size_t in_all = (size_t)((double)(HR_PICTURE_BANDS * picture->band) / forwards);
    const size_t wanted = 1 + digits_of(picture->walk->shape.micro_batches - 1);
    const size_t cell = in_one > ROOMIEST ? ROOMIEST : in_one > wanted ? in_one : wanted;
    return cell < in_all ? cell : in_all;
}

static struct picture choose_scale(const struct hr_pipeline_walk *walk, size_t width)
{
    const size_t label = strlen("rank   ") + digits_of(walk->shape.stages - 1);
    struct picture picture = {.walk = walk, .label = label, .band = width - label};
    const double makespan = walk->makespan > 0 ? (double)walk->makespan : 1;
    const double forward = mean_forward(walk);
    const size_t cell = forward > 0 ? choose_cell(&picture, makespan / forward) : 0;
    picture.digits = cell > 1 ? cell - 1 : 0;
    picture.tick = cell ? forward / (double)cell : makespan / (double)picture.band;
    picture.columns = (size_t)(makespan / picture.tick + 0.5);
    return picture;
}

/* --- spans --- */

static size_t column_of(const struct picture *picture, int64_t time)
{
    const double at = (double)time / picture->tick + 0.5; /* the first whose middle is behind it */
    const size_t column = at > 0 ? (size_t)at : 0;
    return column < picture->columns ? column : picture->columns;
}

/* "F0", "F0-", "d12----", "W": as much as there is room for. */
static void draw_span(const struct picture *picture, const struct hr_pipeline_span *span,
                      char *line)
{
    static const char letters[2][4] = {{'F', 'B', 'D', 'W'}, {'f', 'b', 'd', 'w'}};
    const size_t begin = column_of(picture, span->start), end = column_of(picture, span->end);
    char number[24];
    if (begin >= end)
        return;
    memset(line + begin, GOES_ON, end - begin);
    line[begin] = letters[span->action.chunk % 2][span->action.work];
    const size_t length = (size_t)snprintf(number, sizeof number, "%u", span->action.micro);
    const size_t room = end - begin - 1 < picture->digits ? end - begin - 1 : picture->digits;
    const size_t shown = length < room ? length : room;
    memcpy(line + begin + 1, number + length - shown, shown);
}

static void draw_rank(const struct picture *picture, size_t r, char *line)
{
    const struct hr_rank_walk *rank = &picture->walk->rank[r];
    memset(line, IDLE, picture->columns);
    for (size_t i = 0; i < rank->count; i++)
        draw_span(picture, &rank->span[i], line);
}

/* --- bands --- */

/* The lines of all ranks, cut into bands: rank by rank drawn, band by band written. */
static void write_bands(const struct picture *picture, const char *lines, FILE *out)
{
    const size_t K = picture->walk->shape.stages;
    for (size_t from = 0; from < picture->columns; from += picture->band) {
        const size_t left = picture->columns - from;
        const size_t columns = left < picture->band ? left : picture->band;
        if (from)
            fputs("\n", out);
        for (size_t r = 0; r < K; r++)
            fprintf(out, "rank %-*zu%.*s\n", (int)(picture->label - strlen("rank ")), r,
                    (int)columns, lines + r * picture->columns + from);
    }
}

enum hr_status hr_pipeline_picture(const struct hr_pipeline_walk *walk, size_t width, char **out)
{
    const struct picture picture = choose_scale(walk, width);
    char *lines = malloc(walk->shape.stages * picture.columns);
    size_t bytes = 0;
    *out = NULL;
    FILE *text = lines ? open_memstream(out, &bytes) : NULL;
    if (text) {
        for (size_t r = 0; r < walk->shape.stages; r++)
            draw_rank(&picture, r, lines + r * picture.columns);
        write_bands(&picture, lines, text);
    }
    free(lines);
    if (text && fclose(text) == 0)
        return HR_OK;
    free(*out);
    *out = NULL;
    return hr_fail(HR_E_NOMEM, "no memory for a picture of %zu ranks", walk->shape.stages);
}
