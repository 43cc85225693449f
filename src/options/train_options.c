#include "options/train_options.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "hogring/sparse.h"
#include "base/cpus.h"
#include "base/printable.h"
#include "base/size.h"
#include "base/text.h"
#include "compress/compress.h"
#include "options/budget.h"
#include "options/choices.h"
#include "options/nearest.h"
#include "shm/control.h"
#include "strategies/strategies.h"

/* --- what labels are --- */

void hr_task_resolve(struct hr_train_options *options, struct hr_data_options *data)
{
    const bool values = data->target[0] || hr_sparse_model_of(options->model) == HR_SPARSE_LINEAR;
    if (values && !strcmp(options->task, "auto"))
        snprintf(options->task, sizeof options->task, "regress");
    data->values = hr_task_is_regress(options);
}

void hr_task_complete(struct hr_train_options *options)
{
    if (!strcmp(options->loss, "auto"))
        snprintf(options->loss, sizeof options->loss, "%s",
                 hr_task_is_regress(options) ? "mse" : "cross-entropy");
}

void hr_train_loss_text(const struct hr_train_options *o, char text[HR_LOSS_TEXT_MAX])
{
    char parameter[24] = "";
    const bool unscaled = !strcmp(o->target_scale, "none") && hr_task_is_regress(o);
    if (!strcmp(o->loss, "huber"))
        snprintf(parameter, sizeof parameter, ":%.9g", o->huber_delta);
    else if (o->label_smoothing > 0)
        snprintf(parameter, sizeof parameter, ":%.9g", o->label_smoothing);
    snprintf(text, HR_LOSS_TEXT_MAX, "%s%s%s", o->loss, parameter,
             unscaled ? " of values as they are" : "");
}

/* --- what must hold of several options at a time --- */

bool hr_train_repeats(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    const struct hr_choices choice = hr_choices_of(o);
    if (choice.clock == HR_CLOCK_VIRTUAL || choice.explored || o->workers == 1)
        return true;
    return hr_strategy_find(o->strategy, o->staleness, &strategy) == HR_OK && strategy->synchronous;
}

bool hr_train_has_orders(const struct hr_train_options *o)
{
    struct hr_train_options real = *o;
    snprintf(real.clock, sizeof real.clock, "real");
    return !hr_train_repeats(&real);
}

const struct hr_option *hr_train_option_at(size_t i)
{
    return hr_option_list_at(hr_train_lists, hr_train_nlists, i);
}

const struct hr_option *hr_train_option_find(const char *name)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++)
        if (!strcmp(row->name, name))
            return row;
    return NULL;
}

const struct hr_option *hr_data_option_at(size_t i)
{
    return hr_option_list_at(hr_data_lists, hr_data_nlists, i);
}

static const struct hr_option *data_option_find(const char *name)
{
    size_t i = 0;
    while (hr_data_option_at(i) && strcmp(hr_data_option_at(i)->name, name) != 0)
        i++;
    return hr_data_option_at(i);
}

/* --- parameters --- */

/* Is the name, which ends at a colon, one of "sgd|adam"? */
static bool is_value_of(const char *value, const char *values)
{
    const size_t length = strcspn(value, ":");
    for (const char *word = values; word; word = strchr(word, '|')) {
        word += *word == '|';
        if (strcspn(word, "|") == length && !strncmp(word, value, length))
            return true;
    }
    return false;
}

const struct hr_option *hr_parameter_at(const struct hr_option *row, const char *value, size_t k)
{
    const struct hr_option *parameter;
    for (size_t i = 0; (parameter = hr_train_option_at(i)) != NULL; i++)
        if (parameter->parameter && !parameter->part &&
            !strcmp(parameter->with[0].option, row->name) &&
            (parameter->of_any || is_value_of(value, parameter->with[0].values)) && k-- == 0)
            return parameter;
    return NULL;
}

struct hr_option_name hr_option_said(const struct hr_option *row, const char *value)
{
    const bool is_switch = row->kind == HR_OPTION_FLAG;
    struct hr_option_name said;
    char name[64] = "";
    if (row->part) {
        snprintf(name, sizeof name, "%s%s", hr_option_is_keyed(row) ? row->metavar : "",
                 hr_option_is_keyed(row) && !is_switch ? "=" : "");
        value = is_switch ? "" : value;
    } else if (row->parameter) {
        const struct hr_option *of = hr_train_option_find(row->with[0].option);
        const char *values = row->with[0].values;
        snprintf(name, sizeof name, "%.*s:", (int)strcspn(values, "|"), values);
        for (size_t k = 0; hr_parameter_at(of, name, k) != row; k++)
            hr_append(name, sizeof name, ",");
        value = is_switch ? row->metavar : value;
    }
    snprintf(said.text, sizeof said.text, "--%s%s%s%s",
             row->typed       ? row->typed
             : row->parameter ? row->with[0].option
                              : row->name,
             row->typed ? "" : " ", name, hr_printable(value).text);
    return said;
}

/* "adam:BETA1,BETA2,EPS" is all that may stand there. */
static enum hr_status refuse_more(const struct hr_option *row, const char *value, const char *where)
{
    const struct hr_option *parameter;
    char form[128];
    snprintf(form, sizeof form, "%.*s", (int)strcspn(value, ":"), value);
    for (size_t k = 0; (parameter = hr_parameter_at(row, value, k)) != NULL; k++)
        hr_append(form, sizeof form, "%c%s", k ? ',' : ':', parameter->metavar);
    return hr_fail(HR_E_USAGE, "%s--%s %s: expected at most %s", where, row->name,
                   hr_printable(value).text, form);
}

enum hr_status hr_parameters_cut(const struct hr_option *row, const char *value, const char *where,
                                 struct hr_parameters *out)
{
    out->value = value;
    out->n = 0;
    if (!strchr(value, ':') || row != hr_train_option_find(row->name) ||
        !hr_parameter_at(row, value, 0))
        return HR_OK;
    HR_TRY(hr_path(out->copy, "%s", value));
    char *rest = strchr(out->copy, ':'), *text;
    for (const struct hr_option *parameter; rest; out->n++) {
        *rest = '\0';
        text = rest + 1;
        rest = strchr(text, ',');
        if (rest)
            *rest = '\0';
        parameter = hr_parameter_at(row, value, out->n);
        if (!parameter)
            return refuse_more(row, value, where);
        const bool is_switch = parameter->kind == HR_OPTION_FLAG && text[0];
        if (is_switch && strcmp(text, parameter->metavar) != 0)
            return hr_fail(HR_E_USAGE, "%s--%s %s: expected %s", where, row->name,
                           hr_printable(value).text, hr_option_said(parameter, "").text);
        out->row[out->n] = parameter;
        out->text[out->n] = is_switch ? "on" : text;
    }
    if (!out->text[out->n - 1][0])
        return hr_fail(HR_E_USAGE, "%s--%s %s: expected %s behind the colon", where, row->name,
                       hr_printable(value).text, out->row[out->n - 1]->metavar);
    out->value = out->copy;
    return HR_OK;
}

/* --- sparse models --- */

enum hr_sparse_model hr_sparse_model_of(const char *model)
{
    static const char *const names[] = {[HR_SPARSE_LOGISTIC] = "logistic",
                                        [HR_SPARSE_SVM] = "svm",
                                        [HR_SPARSE_LINEAR] = "linear",
                                        [HR_SPARSE_MF] = "mf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], model))
            return (enum hr_sparse_model)i;
    return HR_SPARSE_NONE;
}

bool hr_sparse_is_model(const char *name)
{
    return hr_sparse_model_of(name) != HR_SPARSE_NONE;
}

double hr_sparse_usual_rate(const char *model)
{
    return hr_sparse_model_of(model) == HR_SPARSE_MF ? 0.05 : 0.5;
}

/* --- words as numbers --- */

struct hr_choices hr_choices_of(const struct hr_train_options *options)
{
    struct hr_choices choices;
    const struct hr_option *row;
    _Static_assert(sizeof choices.clock == sizeof(unsigned), "enums are numbers of words");
    memset(&choices, 0, sizeof choices);
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++)
        if (row->choice) {
            const unsigned word = hr_option_word(row, (const char *)options + row->offset);
            memcpy((char *)&choices + row->choice - 1, &word, sizeof word);
        }
    choices.explored = strcmp(options->schedule, "free") != 0;
    choices.resumes_if_any = !strcmp(options->resume, "auto");
    return choices;
}

bool hr_train_outlives(const struct hr_train_options *options)
{
    return hr_choices_of(options).on_loss != HR_ON_LOSS_STOP;
}

/* --- defaults --- */

static size_t default_workers(void)
{
    const size_t cores = hr_cpus_cores();
    return cores < 2 ? 2 : cores > HR_MAX_RANKS ? HR_MAX_RANKS : cores;
}

void hr_train_options_init(struct hr_train_options *options, size_t size)
{
    struct hr_train_options own;
    memset(&own, 0, sizeof own);
    hr_option_defaults(hr_train_lists, hr_train_nlists, &own);
    own.size = size;
    own.workers = default_workers();
    memset(options, 0, size);
    memcpy(options, &own, hr_min_size(size, sizeof own));
}

enum hr_status hr_train_options_take(const struct hr_train_options *given,
                                     struct hr_train_options *own)
{
    enum { MOST = 1 << 20 }; /* beyond it nobody filled them */
    const size_t size = given->size;
    if (size <= sizeof size || size > MOST)
        return hr_fail(HR_E_USAGE,
                       "struct hr_train_options: its size is %zu; expected it filled "
                       "by hr_train_defaults",
                       size);
    for (size_t i = sizeof *own; i < size; i++)
        if (((const char *)given)[i])
            return hr_fail(HR_E_USAGE,
                           "struct hr_train_options: byte %zu is set, of an option that this "
                           "library (%zu bytes) does not have; expected 0, or a later libhogring",
                           i, sizeof *own);
    hr_train_defaults(own);
    memcpy(own, given, hr_min_size(size, sizeof *own));
    own->size = sizeof *own;
    return HR_OK;
}

/* With a rule of the caller's, which is told lr and nothing else. */
static enum hr_status complete_own(struct hr_train_options *o, struct hr_rule *rule)
{
    const char *name = o->update_rule->name;
    HR_TRY(hr_rule_own(o->update_rule, o->optimizer, rule));
    if (o->weight_decay > 0 || o->eps > 0 || o->nesterov)
        return hr_fail(HR_E_USAGE,
                       "update rule %s: has no weight_decay, eps or nesterov but its own; expected "
                       "them as they are by default",
                       name);
    if (strcmp(o->optimizer, "sgd") != 0 &&
        (strncmp(o->optimizer, HR_RULE_OWN, 4) != 0 || strcmp(o->optimizer + 4, name) != 0))
        return hr_fail(HR_E_USAGE, "update rule %s: stands in place of --optimizer %s", name,
                       o->optimizer);
    snprintf(o->optimizer, sizeof o->optimizer, HR_RULE_OWN "%s", name);
    return HR_OK;
}

/* As many shards as the placement has by default. Colocated at most HR_MAX_RANKS: a step has a
 * message from every worker to every shard, and 1024 of each would be a million. */
static size_t default_servers(const struct hr_train_options *options)
{
    const struct hr_strategy *strategy;
    const bool one = hr_strategy_find(options->strategy, options->staleness, &strategy) != HR_OK ||
                     !hr_strategy_is_served(strategy) || strategy->one_shard;
    if (one || hr_choices_of(options).placement != HR_PLACEMENT_COLOCATED)
        return 1;
    return options->workers < HR_MAX_RANKS ? options->workers : HR_MAX_RANKS;
}

/* Emulated links lie in the rings of an all-reduce. */
static void complete_transport(struct hr_train_options *options)
{
    const struct hr_choices choice = hr_choices_of(options);
    const struct hr_strategy *strategy;
    const bool linked = options->link[0] && options->workers > 1 && !choice.explored &&
                        choice.clock == HR_CLOCK_REAL &&
                        !hr_strategy_find(options->strategy, options->staleness, &strategy) &&
                        hr_strategy_obeys(strategy, "algorithm");
    if (!strcmp(options->transport, "auto"))
        snprintf(options->transport, sizeof options->transport, linked ? "copy" : "zero-copy");
}

static enum hr_status complete(struct hr_train_options *options)
{
    struct hr_rule own;
    const struct hr_rule *rule = &own;
    const struct hr_option *row;
    hr_task_complete(options);
    complete_transport(options);
    if (hr_sparse_is_model(options->model))
        return HR_OK; /* no optimizer decides theirs */
    HR_TRY(options->update_rule ? complete_own(options, &own)
                                : hr_rule_find(options->optimizer, &rule));
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        double *number = (double *)(void *)((char *)options + row->offset);
        if (row->by_optimizer && *number < 0)
            *number = row->by_optimizer(rule);
    }
    /* What was 0 all along is divided by it, and what is denormal is 0 (base/fpenv.h). */
    if (rule->eps > 0 && !(options->eps >= FLT_MIN))
        return hr_fail(HR_E_USAGE,
                       "EPS of --optimizer %s %g: expected more than 0, at least 1.2e-38",
                       rule->name, options->eps);
    if (!options->servers)
        options->servers = default_servers(options);
    if (hr_choices_of(options).clock == HR_CLOCK_VIRTUAL && !options->compute_time[0])
        snprintf(options->compute_time, sizeof options->compute_time, "lognormal(10ms,0.3)");
    return HR_OK;
}

enum hr_status hr_train_complete(struct hr_train_options *options)
{
    const size_t size = options->size;
    struct hr_train_options own;
    HR_TRY(hr_train_options_take(options, &own));
    HR_TRY(complete(&own));
    own.size = size;
    memcpy(options, &own, hr_min_size(size, sizeof own));
    return HR_OK;
}

/* --- ranges --- */

enum hr_status hr_train_options_check(const struct hr_train_options *options, bool sparse)
{
    const struct hr_option *row;
    const enum hr_option_models others = sparse ? HR_OF_NETWORKS : HR_OF_SPARSE_MODELS;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++)
        if (row->models != others)
            HR_TRY(hr_option_check(row, options, sparse));
    HR_TRY(hr_check_budget(options));
    const bool known = !options->budget[0]; /* else hr_run_length_check knows */
    if (options->warmup_epochs >= 0 &&
        (!known || options->warmup_epochs <= (double)options->epochs))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--warmup-epochs %.15g: expected 0 to %zu", options->warmup_epochs,
                   options->epochs);
}

/* --- written down and read back --- */

static bool decides(const struct hr_option *row)
{
    return row->use == HR_DECIDES || row->use == HR_BEGINS;
}

bool hr_option_is_recipe(const struct hr_option *row, bool begins)
{
    return row->use != HR_ONCE && (row->use != HR_BEGINS || begins);
}

void hr_passed_over_say(struct hr_passed_over *over)
{
    if (over->names[0])
        hr_log(over->level, "ignored: %s: only what is trained is taken from %s", over->names,
               hr_printable(over->of).text);
    over->names[0] = '\0';
}

void hr_passed_over_add(struct hr_passed_over *over, const char *name)
{
    char shown[sizeof hr_printable(name).text + 4];
    snprintf(shown, sizeof shown, "--%s", hr_printable(name).text);
    const char *before = strstr(over->names, shown);
    if (before && strchr(",", before[strlen(shown)]))
        return;
    if (strlen(over->names) + strlen(shown) + 3 > sizeof over->names)
        hr_passed_over_say(over);
    hr_append(over->names, sizeof over->names, "%s%s", over->names[0] ? ", " : "", shown);
}

bool hr_option_is_saved(const struct hr_option *row, bool sparse)
{
    return hr_option_is_recipe(row, false) &&
           row->models != (sparse ? HR_OF_NETWORKS : HR_OF_SPARSE_MODELS);
}

static json_t *add(json_t *object, const struct hr_option *row, const void *base)
{
    if (!object || json_object_set_new(object, row->name, hr_option_json(row, base)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *hr_train_options_json(const struct hr_train_options *options)
{
    json_t *object = json_object();
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++)
        if (decides(row))
            object = add(object, row, options);
    return object;
}

json_t *hr_data_options_json(const struct hr_data_options *options)
{
    json_t *object = json_object();
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        if (decides(row))
            object = add(object, row, options);
    return object;
}

enum hr_status hr_train_options_from_json(const json_t *object, struct hr_train_options *options)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return hr_fail(HR_E_FORMAT, "\"options\" is missing, or no object");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct hr_option *row = hr_train_option_find(name);
        if (!row || !decides(row))
            return hr_fail(HR_E_FORMAT, "option \"%s\" is not known", hr_printable(name).text);
        if (!hr_option_from_json(row, options, value))
            return hr_fail(HR_E_FORMAT, "option \"%s\" has no fitting value", name);
    }
    return HR_OK;
}

/* Earlier versions wrote limits, too. */
enum hr_status hr_data_options_from_json(const json_t *object, const char *of,
                                         struct hr_data_options *options)
{
    struct hr_passed_over over = {.of = of, .level = HR_LOG_WARNING};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct hr_option *row = data_option_find(name);
        struct hr_data_options read = *options;
        if (row && !hr_option_from_json(row, &read, value))
            return hr_fail(HR_E_FORMAT, "data option \"%s\" has no fitting value", name);
        if (row && decides(row))
            *options = read;
        else if (row ? !hr_option_equal(row, options, &read) : !hr_gone_says_nothing(name, ""))
            hr_passed_over_add(&over, name);
    }
    hr_passed_over_say(&over);
    return HR_OK;
}
