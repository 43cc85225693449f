/* sentences.h - the parts of a verdict in words, a subject a file; verdict_text.c has their order.
 *
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

/* scores.c */
void hr_say_scores(FILE *out, const struct hr_verdict *v);
/* That nothing is claimed of them, and who is the same all the same. */
void hr_say_unlike(FILE *out, const struct hr_verdict *v);
/* margin.c */
void hr_say_margin(FILE *out, const struct hr_verdict *v);
/* orders.c */
void hr_say_orders(FILE *out, const struct hr_verdict *v);
/* costs.c */
void hr_say_target(FILE *out, const struct hr_verdict *v);
/* speed.c */
void hr_say_speed(FILE *out, const struct hr_groups *groups);
void hr_say_lost(FILE *out, const struct hr_groups *groups);
void hr_say_rising(FILE *out, const struct hr_groups *groups);

#endif
