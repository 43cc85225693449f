#include "support/cases.h"

#include <stdio.h>
#include <string.h>

/* Who draws: sequences of random numbers that never meet. */
enum { OF_WORLDS, OF_CASES, OF_RANKS };

uint32_t draw(struct draws *draws, size_t bound)
{
    const uint64_t index = draws->index << 16 | draws->used++;
    const struct hr_philox block =
        hr_random_block(draws->seed, HR_STREAM_TEST, index, draws->sequence);
    return (uint32_t)((uint64_t)block.v[0] * bound >> 32);
}

/* --- worlds --- */

/* A list of `n` of the world's ranks, in any order. */
static struct member_list some_ranks(struct draws *draws, size_t n, size_t nranks)
{
    struct member_list list = {.n = n};
    size_t all[MOST_CASE_RANKS];
    for (size_t r = 0; r < nranks; r++)
        all[r] = r;
    for (size_t i = 0; i < n; i++) {
        const size_t j = i + draw(draws, nranks - i);
        list.rank[i] = all[j];
        all[j] = all[i];
    }
    return list;
}

void random_world_draw(struct random_world *world, uint64_t seed, uint64_t number)
{
    struct draws draws = {.seed = seed, .index = number, .sequence = OF_WORLDS};
    size_t algorithms = 0;
    while (hr_algorithm_at(algorithms))
        algorithms++;
    *world = (struct random_world){.seed = seed, .number = number, .ngroups = 1};
    world->process = number % 2;
    world->transport = number / 2 % 2 ? "copy" : "zero-copy";
    world->algorithm = hr_algorithm_at(draw(&draws, 3) ? draw(&draws, algorithms) : 0)->name;
    world->nranks = 1 + draw(&draws, MOST_CASE_RANKS);
    world->group_size = draw(&draws, 5);
    world->group[0].n = world->nranks;
    for (size_t r = 0; r < world->nranks; r++)
        world->group[0].rank[r] = r;
    for (size_t more = draw(&draws, MOST_CASE_GROUPS); more > 0; more--)
        world->group[world->ngroups++] =
            some_ranks(&draws, 1 + draw(&draws, world->nranks), world->nranks);
}

/* --- calls --- */

static size_t draw_count(struct draws *draws, size_t n)
{
    static const size_t primes[] = {2, 3, 7, 31, 127, 257, 521, 1021};
    switch (draw(draws, 8)) {
    case 0:
        return draw(draws, 2);
    case 1:
        return draw(draws, n);
    case 2:
        return primes[draw(draws, 8)];
    case 3:
        return n * draw(draws, 60) + 1;
    case 4:
        return 32 * (1 + draw(draws, 40)) + 1 - draw(draws, 3);
    case 5: /* seldom so much that a ring of payload is full, or a block of the kernels is */
        return draw(draws, 12) ? 1500 : draw(draws, 4) ? 4099 : 40009;
    default:
        return draw(draws, 300);
    }
}

static void draw_messages(struct draws *draws, struct random_case *c)
{
    c->nmessages = 1 + draw(draws, MOST_MESSAGES);
    c->shuffled = draw(draws, 2);
    for (size_t m = 0; m < c->nmessages; m++) {
        struct random_message *message = &c->message[m];
        message->from = draw(draws, c->n);
        message->to = draw(draws, c->n);
        message->count = draw_count(draws, c->n);
        message->type = (enum hr_type)draw(draws, HR_TYPES);
    }
}

void random_case_draw(struct random_case *c, const struct random_world *world, uint64_t number)
{
    static const enum hr_operation operations[] = {
        HR_OP_BARRIER,    HR_OP_BROADCAST, HR_OP_ALL_REDUCE,     HR_OP_ALL_REDUCE,
        HR_OP_ALL_REDUCE, HR_OP_REDUCE,    HR_OP_REDUCE_SCATTER, HR_OP_ALL_GATHER,
        HR_OP_GATHER,     HR_OP_SCATTER,   HR_OP_ALL_TO_ALL,     HR_OP_SEND,
        HR_OP_SEND,
    };
    struct draws draws = {.seed = world->seed, .index = number, .sequence = OF_CASES};
    *c = (struct random_case){.world = world, .number = number};
    c->operation = operations[draw(&draws, sizeof operations / sizeof *operations)];
    c->group = draw(&draws, world->ngroups);
    c->n = world->group[c->group].n;
    c->kind.type = (enum hr_type)draw(&draws, HR_TYPES);
    c->kind.redop = (enum hr_redop)draw(&draws, HR_REDOPS);
    c->root = draw(&draws, c->n);
    c->count = c->operation == HR_OP_BARRIER ? 0 : draw_count(&draws, c->n);
    if (hr_operation_facts(c->operation)->blocks && c->count > 5000)
        c->count /= c->n;
    c->memory = (enum case_memory)draw(&draws, CASE_MEMORIES);
    if (c->operation == HR_OP_SEND)
        draw_messages(&draws, c);
    else if (c->memory == IN_ANY_MEMORY && c->operation == HR_OP_ALL_REDUCE && world->process)
        c->memory = IN_OWN_MEMORY; /* all of them or none lie in arenas */
}

struct draws random_case_of_rank(const struct random_case *c, size_t rank)
{
    return (struct draws){
        .seed = c->world->seed, .index = c->number, .sequence = OF_RANKS + (uint32_t)rank};
}

static void append(char *text, size_t size, const char *word, size_t number)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%zu", word, number);
}

void random_case_describe(char *text, size_t size, const struct random_case *c)
{
    static const char *const memories[] = {"in arenas", "in own memory", "anywhere"};
    const struct random_world *world = c->world;
    const struct hr_operation_facts *facts = hr_operation_facts(c->operation);
    const bool messages = c->operation == HR_OP_SEND;
    snprintf(text, size, "HOGRING_SEED=%llu HOGRING_CASE=%llu %s %s, %s, %s, %zu ranks%s",
             (unsigned long long)world->seed, (unsigned long long)c->number,
             messages ? "messages" : facts->name, world->process ? "processes" : "threads",
             world->transport, world->algorithm, world->nranks, c->group ? ", group" : "");
    for (size_t i = 0; c->group && i < c->n; i++)
        append(text, size, " ", world->group[c->group].rank[i]);
    append(text, size, messages ? ", messages " : ", count ", messages ? c->nmessages : c->count);
    const size_t used = strlen(text);
    if (!messages)
        snprintf(text + used, size - used, " %s %s, root %zu, %s", hr_type_name(c->kind.type),
                 hr_redop_name(c->kind.redop), c->root, memories[c->memory]);
}

/* --- values --- */

static size_t elements(const struct random_case *c, enum hr_extent extent)
{
    return extent == HR_NOTHING ? 0 : extent == HR_ALL_BLOCKS ? c->n * c->count : c->count;
}

size_t random_case_in(const struct random_case *c, size_t rank)
{
    const bool needs_root = c->operation == HR_OP_SCATTER || c->operation == HR_OP_BROADCAST;
    if (needs_root && rank != c->root)
        return 0;
    return elements(c, hr_operation_facts(c->operation)->in);
}

size_t random_case_out(const struct random_case *c, size_t rank)
{
    const bool needs_root = c->operation == HR_OP_REDUCE || c->operation == HR_OP_GATHER;
    if (needs_root && rank != c->root)
        return 0;
    return elements(c, hr_operation_facts(c->operation)->out);
}

/* A whole number that its place tells, whichever rank asks. */
static int64_t value(const struct random_case *c, enum hr_type type, size_t rank, size_t i)
{
    static const int64_t factors[] = {-3, -2, 1, 2, 3};
    const bool multiplies = c->operation != HR_OP_SEND && c->kind.redop == HR_PRODUCT;
    uint64_t h = (c->world->seed * 31 + c->number * 8191 + rank) * 0x9e3779b97f4a7c15u + i;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    h ^= h >> 31;
    if (type == HR_INT32)
        return (int32_t)(uint32_t)h;
    if (type == HR_INT64)
        return (int64_t)h;
    return multiplies ? factors[h % 5] : (int64_t)(h % (1 << 21)) - (1 << 20);
}

/* As the type has it, wrapped and divided. */
static void store(enum hr_type type, int64_t whole, size_t divisor, void *element)
{
    const float f = (float)whole / (float)divisor;
    const double d = (double)whole / (double)divisor;
    const int32_t i = (int32_t)(uint32_t)(uint64_t)whole / (int32_t)divisor;
    const int64_t l = whole / (int64_t)divisor;
    const void *const as[] = {&f, &d, &i, &l};
    memcpy(element, as[type], hr_type_bytes(type));
}

void random_case_input(const struct random_case *c, enum hr_type type, size_t rank, size_t i,
                       void *element)
{
    store(type, value(c, type, rank, i), 1, element);
}

static int64_t combine(enum hr_redop redop, int64_t a, int64_t b)
{
    switch (redop) {
    case HR_PRODUCT:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case HR_MIN:
        return a < b ? a : b;
    case HR_MAX:
        return a > b ? a : b;
    default:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

static void reduced(const struct random_case *c, size_t i, void *element)
{
    int64_t all = value(c, c->kind.type, 0, i);
    for (size_t r = 1; r < c->n; r++)
        all = combine(c->kind.redop, all, value(c, c->kind.type, r, i));
    store(c->kind.type, all, c->kind.redop == HR_MEAN ? c->n : 1, element);
}

void random_case_output(const struct random_case *c, size_t rank, size_t i, void *element)
{
    const enum hr_type type = c->kind.type;
    switch (c->operation) {
    case HR_OP_ALL_REDUCE:
    case HR_OP_REDUCE:
        reduced(c, i, element);
        break;
    case HR_OP_REDUCE_SCATTER:
        reduced(c, rank * c->count + i, element);
        break;
    case HR_OP_ALL_GATHER:
    case HR_OP_GATHER:
        random_case_input(c, type, i / c->count, i % c->count, element);
        break;
    case HR_OP_SCATTER:
        random_case_input(c, type, c->root, rank * c->count + i, element);
        break;
    case HR_OP_ALL_TO_ALL:
        random_case_input(c, type, i / c->count, rank * c->count + i % c->count, element);
        break;
    default:
        random_case_input(c, type, c->root, i, element);
    }
}
