#include "session/class_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/tokens.h"

static uint32_t label_of(const struct hr_answered *answered, size_t i)
{
    return answered->labels[answered->rows ? answered->rows[i] : i];
}

void hr_class_scores(const struct hr_answered *answered, struct hr_class_score *scores)
{
    memset(scores, 0, answered->classes * sizeof *scores);
    for (size_t i = 0; i < answered->count; i++) {
        const uint32_t label = label_of(answered, i), answer = answered->answers[i];
        scores[label].samples++;
        if (answer < answered->classes)
            scores[answer].answers++;
        scores[label].right += answer == label;
    }
    for (size_t c = 0; c < answered->classes; c++) {
        struct hr_class_score *score = &scores[c];
        score->recall = (double)score->right / (double)score->samples;
        score->precision = (double)score->right / (double)score->answers;
        score->f1 = 2 * (double)score->right / (double)(score->samples + score->answers);
    }
}

/* --- the area under the ROC curve --- */

struct ranked {
    double score;
    bool second; /* its class is the second of two */
};

static int by_score(const void *a, const void *b)
{
    const double x = ((const struct ranked *)a)->score, y = ((const struct ranked *)b)->score;
    return (x > y) - (x < y);
}

/* By ranks (Mann and Whitney): equal scores share the mean of theirs. */
static double area_under_curve(struct ranked *samples, size_t n)
{
    double ranks = 0;
    size_t second = 0;
    qsort(samples, n, sizeof *samples, by_score);
    for (size_t first = 0, end; first < n; first = end) {
        size_t of_second = 0;
        for (end = first; end < n && !by_score(&samples[first], &samples[end]); end++)
            of_second += samples[end].second;
        ranks += (double)of_second * ((double)(first + 1 + end) / 2);
        second += of_second;
    }
    const double ones = (double)second, zeros = (double)(n - second);
    return (ranks - ones * (ones + 1) / 2) / (ones * zeros);
}

bool hr_class_scores_rank(size_t classes, size_t noutputs)
{
    return classes == 2 && noutputs <= 2;
}

static double find_area(const struct hr_answered *answered)
{
    const size_t n = answered->count, outputs = answered->noutputs;
    bool numbers = hr_class_scores_rank(answered->classes, outputs);
    struct ranked *samples = numbers ? calloc(n + 1, sizeof *samples) : NULL;
    numbers = samples;
    for (size_t i = 0; i < n && numbers; i++) {
        const float *x = answered->outputs + i * outputs;
        samples[i].score = (double)x[outputs - 1] - (outputs == 2 ? (double)x[0] : 0);
        samples[i].second = label_of(answered, i) == 1;
        numbers = !isnan(samples[i].score);
    }
    const double area = numbers ? area_under_curve(samples, n) : (double)NAN;
    free(samples);
    return area;
}

/* --- over all classes --- */

struct hr_fit hr_fit_of_classes(const struct hr_answered *answered)
{
    struct hr_class_score *scores = calloc(answered->classes + 1, sizeof *scores);
    double recalls = scores ? 0 : (double)NAN, f1s = recalls;
    size_t with_samples = 0, met = 0;
    if (scores)
        hr_class_scores(answered, scores);
    for (size_t c = 0; scores && c < answered->classes; c++) {
        const bool samples = scores[c].samples, any = samples || scores[c].answers;
        recalls += samples ? scores[c].recall : 0;
        f1s += any ? scores[c].f1 : 0;
        with_samples += samples;
        met += any;
    }
    free(scores);
    return (struct hr_fit){.balanced_accuracy = recalls / (double)with_samples,
                           .macro_f1 = f1s / (double)met,
                           .roc_auc = find_area(answered)};
}

struct hr_fit hr_fit_of_text(const struct hr_dataset *dataset, double loss)
{
    const double tokens = (double)(dataset->test.count * dataset->tokens.context);
    const double bytes = (double)hr_tokens_bytes(&dataset->tokens, &dataset->test);
    return (struct hr_fit){.perplexity = exp(loss),
                           .bits_per_byte =
                               bytes > 0 ? loss / log(2) * tokens / bytes : (double)NAN,
                           .r2 = (double)NAN};
}
