/* sentences.h - the parts of a verdict in words, a subject a file; verdict_text.c has their order.
 *
 * What is said briefly ends a comparison; details are the pairs and methods behind it.
 * A sentence is a line: terminals break it at blanks (terminal/output.h), JSON has it whole.
 *
 * Threads: none. Test: tests/unit/verdict/test_verdict.c
 */
#ifndef HR_VERDICT_SENTENCES_H
#define HR_VERDICT_SENTENCES_H

#include "verdict/verdict.h"

/* A list of pairs below a head, a line each: who is set against `than`, by how much, from where to
 * where, and p. */
typedef bool (*hr_choose_fn)(const struct hr_verdict *v, size_t g, size_t than);
struct hr_pair_list {
    const char *head;
    hr_choose_fn choose;
    size_t than;
    const struct hr_family *family;
};
/* Returns how many there were; nothing is printed for none. */
size_t hr_say_pairs(FILE *out, const struct hr_verdict *v, const struct hr_pair_list *list);

/* Those that are chosen, one behind the other: "head a, b, c." */
void hr_say_names(FILE *out, const struct hr_verdict *v, const char *head, hr_choose_fn choose,
                  size_t than);

/* Their names, as "a, b and c"; cut at the end. How many there are. */
enum { HR_NAMES_MAX = 600 };
size_t hr_names_of(const struct hr_verdict *v, hr_choose_fn choose, size_t than,
                   char text[HR_NAMES_MAX]);

/* A command, on a line of its own where it does not fit behind `used` columns: each of its lines
 * but the last ends in a backslash, so that it can be copied as it stands. width 0: any. alike.c */
void hr_say_command(FILE *out, const char *command, size_t used, size_t width);

/* scores.c */
void hr_say_scores(FILE *out, const struct hr_verdict *v, bool details);
/* Who is the same, bit for bit. */
void hr_say_twins(FILE *out, const struct hr_verdict *v);
/* Nothing was tested: what was reached, and the command that would test it. */
void hr_say_untested(FILE *out, const struct hr_verdict *v, size_t width);
/* Of a single row. */
void hr_say_alone(FILE *out, const struct hr_verdict *v);
/* margin.c */
void hr_say_margin(FILE *out, const struct hr_verdict *v, bool details);
/* orders.c */
void hr_say_orders(FILE *out, const struct hr_verdict *v);
/* costs.c */
void hr_say_target(FILE *out, const struct hr_verdict *v, bool details);
/* speed.c */
void hr_say_speed(FILE *out, const struct hr_groups *groups, bool details);
void hr_say_lost(FILE *out, const struct hr_groups *groups);
void hr_say_rising(FILE *out, const struct hr_groups *groups);

#endif
