#include "options/budget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/printable.h"

static const double most = 0x1p50; /* samples or updates: exact, and times a batch no overflow */

/* "500Ksamples": a number, K, M, G or nothing, a word. */
static bool parse_counted(const char *text, struct hr_budget *out)
{
    static const char units[] = "KMG";
    char number[32];
    const size_t digits = strspn(text, "0123456789.");
    const char *word = text + digits, *unit = *word ? strchr(units, *word) : NULL;
    double amount;
    if (!digits || digits >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    word += unit != NULL;
    const bool samples = !strcmp(word, "samples") || !strcmp(word, "sample");
    const bool updates = !strcmp(word, "updates") || !strcmp(word, "update");
    if ((!samples && !updates) || !hr_parse_number(number, &amount))
        return false;
    amount = round(amount * (unit ? pow(1000, (double)(unit - units + 1)) : 1));
    *out = (struct hr_budget){samples ? HR_BUDGET_SAMPLES : HR_BUDGET_UPDATES, amount};
    return amount >= 1 && amount <= most;
}

bool hr_budget_parse(const char *text, struct hr_budget *out)
{
    *out = (struct hr_budget){HR_BUDGET_NONE, 0};
    if (!text[0] || parse_counted(text, out))
        return true;
    *out = (struct hr_budget){HR_BUDGET_SECONDS, 0};
    return hr_parse_duration(text, &out->amount) && out->amount > 0 && out->amount <= 1e9;
}

struct hr_budget_text hr_budget_text(const struct hr_budget *budget)
{
    static const char *const words[] = {"", "samples", "updates", "s"};
    static const char *const units[] = {"", "K", "M", "G"};
    struct hr_budget_text out = {""};
    double amount = budget->amount;
    size_t unit = 0;
    if (budget->unit == HR_BUDGET_NONE)
        return out;
    if (budget->unit == HR_BUDGET_SECONDS) {
        snprintf(out.text, sizeof out.text, "%.15gs", amount);
        return out;
    }
    for (; unit < 3 && amount >= 1000 && fmod(amount, 100) == 0; unit++)
        amount /= 1000; /* at most one digit behind the point is left, and stays */
    const bool one = unit == 0 && amount == 1;
    snprintf(out.text, sizeof out.text, "%.15g%s%.*s", amount, units[unit], one ? 6 : 7,
             words[budget->unit]);
    return out;
}

static struct hr_budget budget_of(const struct hr_train_options *options)
{
    struct hr_budget budget;
    if (!hr_budget_parse(options->budget, &budget))
        budget.unit = HR_BUDGET_NONE; /* it was refused */
    return budget;
}

struct hr_run_length hr_run_length(const struct hr_train_options *options, uint64_t samples,
                                   uint64_t batch)
{
    const struct hr_budget budget = budget_of(options);
    const uint64_t steps = (samples + batch - 1) / batch, amount = (uint64_t)budget.amount;
    struct hr_run_length length = {.end = options->epochs * steps,
                                   .epochs = (double)options->epochs,
                                   .begun = options->epochs};
    if (budget.unit == HR_BUDGET_NONE)
        return length;
    if (budget.unit == HR_BUDGET_SECONDS)
        return (struct hr_run_length){.end = HR_BUDGET_EPOCHS * steps, .begun = HR_BUDGET_EPOCHS};
    length.end = amount;
    if (budget.unit == HR_BUDGET_SAMPLES) /* the last step of an epoch has fewer */
        length.end = amount / samples * steps + (amount % samples + batch - 1) / batch;
    length.begun = (length.end + steps - 1) / steps;
    length.epochs =
        (double)(length.end / steps) + (double)(length.end % steps * batch) / (double)samples;
    return length;
}

double hr_run_seconds(const struct hr_train_options *options)
{
    const struct hr_budget budget = budget_of(options);
    const bool timed = budget.unit == HR_BUDGET_SECONDS;
    if (timed && !(options->max_seconds > 0 && options->max_seconds < budget.amount))
        return budget.amount;
    return options->max_seconds;
}

void hr_run_forget_seconds(struct hr_train_options *options)
{
    options->max_seconds = 0;
    if (budget_of(options).unit != HR_BUDGET_SECONDS)
        return;
    options->budget[0] = '\0';
    options->epochs = HR_BUDGET_EPOCHS;
}

enum hr_status hr_check_budget(const struct hr_train_options *options)
{
    struct hr_budget budget;
    if (hr_budget_parse(options->budget, &budget))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--budget %s: expected samples, updates or a time, as 500Ksamples, 20Kupdates, "
                   "60s",
                   hr_printable(options->budget).text);
}

enum hr_status hr_run_length_check(const struct hr_train_options *options,
                                   const struct hr_run_length *length)
{
    if (length->epochs > 0 && options->warmup_epochs > length->epochs)
        return hr_fail(HR_E_USAGE, "--warmup-epochs %.15g: expected 0 to %.4g",
                       options->warmup_epochs, length->epochs);
    return HR_OK;
}
