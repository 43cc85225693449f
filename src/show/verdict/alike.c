/* Are strategies compared like for like? One rule for all that claims something: terminal, JSON,
 * page, picture, search.
 *
 * A training rate is right for updates of some size. Where strategies make updates of other sizes
 * at one rate (a synchronous one an update of all workers' samples, an asynchronous one an update
 * of each worker's), their scores are those of the rate as much as of the strategies. Counted is
 * what runs did: their updates, and samples an update. The size of an update as a share of the
 * global batch tells what the strategy did from what the user listed (batch sizes, workers). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/human.h"
#include "report/details.h"
#include "terminal/output.h"
#include "verdict/verdict.h"

static const double alike_within = 1.1; /* more than 10 % is another training */

struct made {
    double updates, size; /* means over its runs; size: samples an update, 0: it made none */
    double parts;         /* of a global batch: updates made of one */
    double dropped;       /* share of the samples, of backup-workers */
};

/* What backup-workers drop was handed out: that its updates are smaller is what it is. */
static struct made made_by(const struct hr_run_group *group)
{
    struct made made = {.updates = hr_run_group_spread(group, hr_measure_updates).mean};
    double updates = 0, samples = 0, dropped = 0;
    for (size_t i = 0; i < group->n; i++) {
        updates += (double)group->run[i]->updates;
        samples += (double)group->run[i]->samples;
        dropped += (double)group->run[i]->dropped_samples;
    }
    if (updates > 0 && samples + dropped > 0) {
        made.size = (samples + dropped) / updates;
        made.dropped = dropped / (samples + dropped);
        made.parts = fmax(1, round((double)group->run[0]->global_batch / made.size));
        made.parts = fmin(made.parts, fmax(1, (double)group->run[0]->workers));
    }
    return made;
}

static bool differ(double a, double b)
{
    return fmax(a, b) > alike_within * fmin(a, b);
}

enum hr_alike hr_alike_pair(const struct hr_run_group *a, const struct hr_run_group *b)
{
    const struct made x = made_by(a), y = made_by(b);
    const bool cut =
        a->interrupted || b->interrupted || hr_run_group_lost(a) != hr_run_group_lost(b);
    if (!(x.size > 0 && y.size > 0))
        return HR_ALIKE;
    if (!differ(x.size, y.size) && (cut || !differ(x.updates, y.updates)))
        return HR_ALIKE; /* who was cut short, or lost somebody, is named elsewhere */
    const struct hr_run_result *of_a = a->run[0], *of_b = b->run[0];
    const bool given_alike =
        of_a->global_batch == of_b->global_batch && of_a->workers == of_b->workers;
    const bool by_strategy = given_alike ? differ(x.size, y.size) : differ(x.parts, y.parts);
    return by_strategy && strcmp(of_a->strategy, of_b->strategy) != 0 ? HR_UNLIKE
                                                                      : HR_UNLIKE_AS_ASKED;
}

/* Of pairs that are as unlike, the one whose updates differ most in size is named. */
static double distance(const struct hr_groups *groups, size_t a, size_t b)
{
    const struct made x = made_by(&groups->group[a]), y = made_by(&groups->group[b]);
    return fabs(log(x.size / y.size)) + 1e-3 * fabs(log(x.updates / y.updates));
}

struct hr_alikeness hr_alikeness_of(const struct hr_groups *groups)
{
    struct hr_alikeness found = {.kind = HR_ALIKE};
    double most = -1;
    for (size_t a = 0; a < groups->n; a++)
        for (size_t b = a + 1; b < groups->n; b++) {
            const enum hr_alike kind = hr_alike_pair(&groups->group[a], &groups->group[b]);
            if (kind < found.kind || kind == HR_ALIKE)
                continue;
            most = kind > found.kind ? -1 : most;
            if (distance(groups, a, b) <= most)
                continue;
            const bool larger = made_by(&groups->group[a]).size >= made_by(&groups->group[b]).size;
            found = (struct hr_alikeness){kind, larger ? a : b, larger ? b : a};
            most = distance(groups, a, b);
        }
    return found;
}

/* An epoch's last batch may be smaller: said is the size of all others. */
static double whole_size(const struct hr_run_group *group)
{
    const struct made made = made_by(group);
    const double whole = (double)group->run[0]->global_batch / made.parts;
    return whole > made.size && !differ(whole, made.size) ? whole : made.size;
}

static void say_sizes(FILE *out, const struct hr_groups *groups, const struct hr_alikeness *found)
{
    const struct hr_run_group *large = &groups->group[found->large];
    const struct hr_run_group *small = &groups->group[found->small];
    fprintf(out, "%.0f updates of %.4g samples against %.0f of %.4g", made_by(large).updates,
            whole_size(large), made_by(small).updates, whole_size(small));
}

void hr_say_command(FILE *out, const char *command, size_t used, size_t width)
{
    size_t column = used + 1;
    const bool own_line = width && used + 1 + strlen(command) > width;
    fputs(own_line ? "\n  " : " ", out);
    column = own_line ? 2 : column;
    for (const char *word = command; *word;) {
        bool quoted = false, valued = false;
        size_t n = 0;
        const bool option = word[0] == '-'; /* its value stays with it */
        for (; word[n] && (quoted || word[n] != ' ' || (option && !valued && word[n + 1] != '-'));
             n++)
            if (!quoted && word[n] == ' ')
                valued = true;
            else if (word[n] == '\\' && !quoted && word[n + 1])
                n++;
            else
                quoted ^= word[n] == '\'';
        if (width && column + n + 3 > width && column > 4) {
            fputs("\\\n    ", out);
            column = 4;
        }
        fprintf(out, "%.*s%s", (int)n, word, word[n] ? " " : "");
        column += n + 1;
        word += n + (word[n] == ' ');
    }
}

static void say_fair(FILE *out, const struct hr_verdict_wish *wish, size_t width)
{
    char seconds[HR_HUMAN_MAX];
    if (!wish->fair || !wish->fair[0])
        return;
    fprintf(out, "%sFor a fair comparison (about %s):", width ? "\n" : " ",
            hr_human_about(seconds, wish->fair_s));
    hr_say_command(out, wish->fair, strlen("For a fair comparison (about ):") + strlen(seconds),
                   width);
}

static void say_dropped(FILE *out, const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n && groups->n > 1; g++) {
        const double dropped = made_by(&groups->group[g]).dropped;
        if (dropped > 0)
            fprintf(out, "%s drops its slowest gradients, as configured: %.3g %% of the samples.\n",
                    groups->group[g].label, 100 * dropped);
    }
}

void hr_alike_print(FILE *out, const struct hr_groups *groups, const struct hr_verdict_wish *wish,
                    size_t width)
{
    const struct hr_alikeness found = hr_alikeness_of(groups);
    const char *at = wish->at ? wish->at : "";
    if (found.kind != HR_ALIKE && !wish->tuned) {
        fprintf(out, "%s%s:%s ", hr_style(out, HR_BOLD),
                found.kind == HR_UNLIKE ? "Not a fair comparison" : "The experiment",
                hr_style(out, HR_PLAIN));
        say_sizes(out, groups, &found);
        if (found.kind == HR_UNLIKE_AS_ASKED)
            fprintf(out, ", as %s", wish->length ? wish->length : "listed");
        fprintf(out, "%s%s", at[0] ? ", at " : "", at);
        fputs(found.kind == HR_UNLIKE ? ": scores cannot be compared." : ".", out);
        if (found.kind == HR_UNLIKE)
            say_fair(out, wish, width);
        fputc('\n', out);
    }
    say_dropped(out, groups);
}
