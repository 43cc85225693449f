#include "options/metric.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/printable.h"

static const struct hr_metric_kind kinds[HR_METRICS] = {
    [HR_METRIC_LOSS] = {"loss", "Loss", 1, "", false, HR_OF_CLASSES | HR_OF_VALUES | HR_OF_TEXT, 0},
    [HR_METRIC_ACCURACY] = {"accuracy", "Accuracy", 100, " %", true, HR_OF_CLASSES, 0},
    [HR_METRIC_BALANCED_ACCURACY] = {"balanced", "Balanced accuracy", 100, " %", true,
                                     HR_OF_CLASSES, 0},
    [HR_METRIC_MACRO_F1] = {"macro_f1", "Macro F1", 100, " %", true, HR_OF_CLASSES, 0},
    [HR_METRIC_ROC_AUC] = {"roc_auc", "ROC AUC", 1, "", true, HR_OF_CLASSES, 2},
    [HR_METRIC_RMSE] = {"rmse", "RMSE", 1, "", false, HR_OF_VALUES, 0},
    [HR_METRIC_MAE] = {"mae", "MAE", 1, "", false, HR_OF_VALUES, 0},
    [HR_METRIC_R2] = {"r2", "R2", 1, "", true, HR_OF_VALUES, 0},
    [HR_METRIC_PERPLEXITY] = {"perplexity", "Perplexity", 1, "", false, HR_OF_TEXT, 0},
    [HR_METRIC_BITS_PER_BYTE] = {"bits_per_byte", "Bits a byte", 1, "", false, HR_OF_TEXT, 0},
};

const struct hr_metric_kind *hr_metric_kind(enum hr_metric metric)
{
    return &kinds[metric];
}

bool hr_metric_parse(const char *name, enum hr_metric *out)
{
    for (size_t m = 0; m < HR_METRICS; m++)
        if (!strcmp(name, kinds[m].name)) {
            *out = (enum hr_metric)m;
            return true;
        }
    return false;
}

bool hr_metric_better(enum hr_metric metric, double a, double b, double margin)
{
    const double gain = kinds[metric].higher ? a - b : b - a;
    return gain > margin;
}

static double pick(enum hr_metric metric, enum hr_predicted of, double loss, double accuracy,
                   const struct hr_fit *fit)
{
    if (!(kinds[metric].of & of))
        return (double)NAN;
    switch (metric) {
    case HR_METRIC_LOSS:
        return loss;
    case HR_METRIC_ACCURACY:
        return accuracy;
    case HR_METRIC_BALANCED_ACCURACY:
        return fit->balanced_accuracy;
    case HR_METRIC_MACRO_F1:
        return fit->macro_f1;
    case HR_METRIC_ROC_AUC:
        return fit->roc_auc;
    case HR_METRIC_RMSE:
        return fit->rmse;
    case HR_METRIC_MAE:
        return fit->mae;
    case HR_METRIC_R2:
        return fit->r2;
    case HR_METRIC_PERPLEXITY:
        return fit->perplexity;
    case HR_METRIC_BITS_PER_BYTE:
        return fit->bits_per_byte;
    case HR_METRICS:
        break;
    }
    return (double)NAN;
}

static enum hr_predicted predicted(bool text, bool values)
{
    return text ? HR_OF_TEXT : values ? HR_OF_VALUES : HR_OF_CLASSES;
}

enum hr_predicted hr_predicted_by(const struct hr_run_result *run)
{
    return predicted(run->tokens, run->targets);
}

enum hr_metric hr_metric_of_run(const struct hr_run_result *run)
{
    return hr_metric_of(hr_predicted_by(run));
}

double hr_metric_at(enum hr_metric metric, const struct hr_curve_point *point)
{
    return pick(metric, predicted(point->text, point->values), hr_curve_loss(point),
                hr_curve_accuracy(point), &point->fit);
}

double hr_metric_of_test(enum hr_metric metric, const struct hr_run_result *run)
{
    return pick(metric, hr_predicted_by(run), run->test_loss, run->test_accuracy, &run->test_fit);
}

double hr_metric_of_validation(enum hr_metric metric, const struct hr_run_result *run)
{
    if (!run->validation_samples)
        return (double)NAN;
    return pick(metric, hr_predicted_by(run), run->validation_loss, run->validation_accuracy,
                &run->validation_fit);
}

struct hr_target hr_target_asked(const struct hr_train_options *o)
{
    return o->target_rmse > 0   ? (struct hr_target){HR_METRIC_RMSE, o->target_rmse}
           : o->target_loss > 0 ? (struct hr_target){HR_METRIC_LOSS, o->target_loss}
                                : (struct hr_target){HR_METRIC_ACCURACY, o->target_accuracy};
}

struct hr_metric_text hr_metric_text(enum hr_metric metric, double value)
{
    struct hr_metric_text out;
    const struct hr_metric_kind *kind = &kinds[metric];
    const double shown = value * kind->scale;
    if (kind->scale > 1)
        snprintf(out.text, sizeof out.text, "%.2f%s", shown, kind->unit);
    else if (fabs(shown) < 1e4 && fabs(shown) >= 1e-2)
        snprintf(out.text, sizeof out.text, "%.4f%s", shown, kind->unit);
    else
        snprintf(out.text, sizeof out.text, "%.4g%s", shown, kind->unit);
    return out;
}

struct hr_metric_text hr_target_text(enum hr_metric metric, double target)
{
    struct hr_metric_text out;
    const struct hr_metric_kind *kind = &kinds[metric];
    const bool share = kind->scale > 1;
    snprintf(out.text, sizeof out.text, "%s%s%.4g%s", share ? "" : kind->name, share ? "" : " ",
             target * kind->scale, kind->unit);
    return out;
}

/* --- when it is enough --- */

#define OF_CLASSES "accuracy, balanced, macro_f1, roc_auc"
#define METRICS "loss, " OF_CLASSES " (for values rmse, mae or r2; for text perplexity)"

/* Cuts the next piece off *rest; NULL: there is none. */
static char *next(char **rest)
{
    char *piece = *rest, *comma = piece ? strchr(piece, ',') : NULL;
    *rest = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return piece;
}

static bool parse(char *text, struct hr_early_stop *out)
{
    const char *metric = next(&text), *patience = next(&text), *delta = next(&text);
    uint64_t count;
    if (text || !patience || !hr_metric_parse(metric, &out->metric) ||
        !hr_parse_count(patience, &count) || count < 1)
        return false;
    out->patience = count;
    if (delta && !hr_parse_number(delta, &out->min_delta))
        return false;
    return !(kinds[out->metric].scale > 1 && out->min_delta >= 1); /* a share never improves so */
}

enum hr_status hr_early_stop_parse(const char *text, struct hr_early_stop *out)
{
    char copy[sizeof((struct hr_train_options *)0)->early_stop];
    *out = (struct hr_early_stop){.asked = text[0]};
    snprintf(copy, sizeof copy, "%s", text);
    if (!out->asked || parse(copy, out))
        return HR_OK;
    return hr_fail(
        HR_E_USAGE,
        "--early-stop %s: expected METRIC,PATIENCE or METRIC,PATIENCE,MIN-DELTA, as loss,5 "
        "or accuracy,5,0.01; METRIC: " METRICS,
        hr_printable(text).text);
}

enum hr_status hr_keep_best_parse(const char *text, struct hr_early_stop *out)
{
    *out = (struct hr_early_stop){.asked = text[0], .patience = SIZE_MAX};
    if (!out->asked || hr_metric_parse(text, &out->metric))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--keep best=%s: expected " METRICS, hr_printable(text).text);
}

enum hr_status hr_check_early_stop(const struct hr_train_options *options)
{
    struct hr_early_stop rule;
    return hr_early_stop_parse(options->early_stop, &rule);
}

enum hr_status hr_check_keep_best(const struct hr_train_options *options)
{
    struct hr_early_stop rule;
    return hr_keep_best_parse(options->keep_best, &rule);
}

enum hr_status hr_early_stop_fits(const struct hr_early_stop *rule, const char *option,
                                  enum hr_predicted of, size_t classes)
{
    static const struct {
        const char *what, *expected;
    } by[] = {[HR_OF_CLASSES] = {"classes", OF_CLASSES " or loss"},
              [HR_OF_VALUES] = {"values", "rmse, mae, r2 or loss"},
              [HR_OF_TEXT] = {"tokens", "loss, perplexity or bits_per_byte"}};
    const struct hr_metric_kind *kind = hr_metric_kind(rule->metric);
    if (rule->asked && kind->classes && of == HR_OF_CLASSES && classes != kind->classes)
        return hr_fail(HR_E_USAGE,
                       "--%s %s: is of %zu classes, and here are %zu; expected loss, accuracy, "
                       "balanced or macro_f1",
                       option, kind->name, kind->classes, classes);
    if (!rule->asked || (kind->of & of))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s: there is no %s where %s are predicted; expected %s", option,
                   kind->name, by[of].what, by[of].expected);
}

enum hr_status hr_early_stop_fits_sparse(const struct hr_early_stop *rule, const char *option,
                                         bool values)
{
    enum { BINARY = 2 };
    HR_TRY(hr_early_stop_fits(rule, option, values ? HR_OF_VALUES : HR_OF_CLASSES, BINARY));
    if (!rule->asked || values || rule->metric <= HR_METRIC_ACCURACY)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--%s %s: is not measured of sparse models; expected accuracy or loss", option,
                   hr_metric_kind(rule->metric)->name);
}
