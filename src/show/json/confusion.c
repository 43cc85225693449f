/* The classes of an evaluation as JSON. */
#include <stdlib.h>

#include "json/documents.h"
#include "json/value.h"
#include "report/confusion.h"

/* {"dog": 3, ...} of the cells of a class from *at on, but for the right answers. */
static json_t *taken_for(const struct hr_evaluation *evaluation, const struct hr_cells *cells,
                         uint32_t label, size_t *at)
{
    char number[24];
    json_t *object = json_object();
    for (; *at < cells->n && cells->cell[*at].label == label; (*at)++) {
        const struct hr_cell *cell = &cells->cell[*at];
        if (cell->answer != label &&
            hr_json_set_new(object, hr_confusion_name(evaluation, cell->answer, number),
                            hr_json_count(cell->samples)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *class_json(const struct hr_evaluation *evaluation, uint32_t label,
                          const struct hr_class_score *score, json_t *wrong)
{
    char number[24];
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                     hr_json_text(hr_confusion_name(evaluation, label, number)), "samples",
                     hr_json_count(score->samples), "answers", hr_json_count(score->answers),
                     "recall", hr_json_number(score->recall), "precision",
                     hr_json_number(score->precision), "f1", hr_json_number(score->f1), "taken_for",
                     wrong);
}

json_t *hr_json_classes(const struct hr_evaluation *evaluation)
{
    struct hr_cells cells;
    struct hr_class_score *scores = calloc(evaluation->classes, sizeof *scores);
    json_t *array = NULL;
    size_t at = 0;
    bool good = hr_confusion_count(evaluation, &cells) == HR_OK && scores;
    if (good) {
        hr_confusion_score(evaluation, scores);
        array = json_array();
    }
    for (uint32_t c = 0; good && c < evaluation->classes; c++)
        good = json_array_append_new(array, class_json(evaluation, c, &scores[c],
                                                       taken_for(evaluation, &cells, c, &at))) == 0;
    if (!good) {
        json_decref(array);
        array = NULL;
    }
    free(cells.cell);
    free(scores);
    return array;
}
