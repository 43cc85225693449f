/* cases.h - random worlds, and random calls in them, as pure functions of a seed and a number:
 * every rank works out the same without a word being exchanged, and any can be had again.
 *
 * Values are integers that differ by case, rank and index: for floats small enough that no order of
 * addition rounds, for integers of all sizes, so that sums wrap.
 */
#ifndef HR_TESTS_SUPPORT_CASES_H
#define HR_TESTS_SUPPORT_CASES_H

#include <stdbool.h>

#include "base/philox.h"
#include "plan/layout.h"

enum { CASES_A_WORLD = 50, MOST_CASE_RANKS = 8, MOST_CASE_GROUPS = 4, MOST_MESSAGES = 12 };

/* --- drawing --- */

struct draws {
    uint64_t seed, index;
    uint32_t sequence, used;
};

/* A number below `bound`. */
uint32_t draw(struct draws *draws, size_t bound);

/* --- worlds --- */

struct member_list {
    size_t n, rank[MOST_CASE_RANKS];
};

struct random_world {
    uint64_t seed, number;
    size_t nranks, group_size;
    bool process;
    const char *transport, *algorithm;
    size_t ngroups;
    struct member_list group[MOST_CASE_GROUPS]; /* the first is the world */
};

void random_world_draw(struct random_world *world, uint64_t seed, uint64_t number);

/* --- calls --- */

enum case_memory { IN_ARENAS, IN_OWN_MEMORY, IN_ANY_MEMORY, CASE_MEMORIES };

struct random_message {
    size_t from, to, count;
    enum hr_type type;
};

struct random_case {
    const struct random_world *world;
    uint64_t number;
    enum hr_operation operation; /* HR_OP_SEND: several messages */
    size_t group, n;
    struct hr_kind kind;
    size_t count, root;
    enum case_memory memory;
    /* Of messages: all at once, in any order, or one after another, some of them waited for. */
    bool shuffled;
    size_t nmessages;
    struct random_message message[MOST_MESSAGES];
};

void random_case_draw(struct random_case *c, const struct random_world *world, uint64_t number);

/* What one rank of the group decides for itself. */
struct draws random_case_of_rank(const struct random_case *c, size_t rank);

/* One line: all that a reader needs to know of it. */
void random_case_describe(char *text, size_t size, const struct random_case *c);

/* How many elements this rank has as input, and gets as output. */
size_t random_case_in(const struct random_case *c, size_t rank);
size_t random_case_out(const struct random_case *c, size_t rank);

/* Element i of that input (of a message: `rank` is its number), and what has to become element i of
 * the output: up to 8 bytes. */
void random_case_input(const struct random_case *c, enum hr_type type, size_t rank, size_t i,
                       void *element);
void random_case_output(const struct random_case *c, size_t rank, size_t i, void *element);

#endif
