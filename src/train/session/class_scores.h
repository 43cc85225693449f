/* class_scores.h - how well classes are told apart: counted class by class, and over all of them.
 *
 *     recall      of the samples of a class, those that were answered with it
 *     precision   of the answers with a class, those that were right; none: NaN
 *     f1          2 precision recall / (precision + recall)
 *
 * As scikit-learn's classification_report has them. A sample with an output that is not a number
 * has no answer: it counts against recall alone.
 *
 * Over all classes, as scikit-learn's balanced_accuracy_score, f1_score(average="macro") and
 * roc_auc_score: the mean recall of classes that have samples; the mean f1 of those that have
 * samples or answers; and of two classes how often a sample of the second has the larger output for
 * it, of all pairs of samples of both (equal ones count half). They do not forgive a model that
 * never answers with a rare class.
 *
 * Threads: pure functions. Test: tests/unit/session/test_class_scores.c
 */
#ifndef HR_SESSION_CLASS_SCORES_H
#define HR_SESSION_CLASS_SCORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/data.h"
#include "hogring/run_result.h"

/* What the samples of a split are, and what they were answered with. */
struct hr_answered {
    size_t count, classes, noutputs;
    const uint32_t *answers; /* (count) one that is no class: none */
    const float *outputs;    /* (count, noutputs) of two classes; else not read */
    const uint32_t *labels;  /* by row, */
    const uint32_t *rows;    /* (count) and which one is a sample's; NULL: they are in order */
};

struct hr_class_score {
    size_t samples, answers, right;
    double recall, precision, f1; /* 0 to 1, or NaN */
};

/* scores (classes) out */
void hr_class_scores(const struct hr_answered *answered, struct hr_class_score *scores);

/* Is the second of two classes told from the first by one number? */
bool hr_class_scores_rank(size_t classes, size_t noutputs);

/* Over all classes. NaN: it is not defined, or there was no memory to count. */
struct hr_fit hr_fit_of_classes(const struct hr_answered *answered);

/* Of a text's test split, whose loss is so many nats per token. */
struct hr_fit hr_fit_of_text(const struct hr_dataset *dataset, double loss);

#endif
