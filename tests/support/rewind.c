#include "support/rewind.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "support/check.h"

enum { PIECES = 16, MARKS = 512, PAGES = 1024, PAGE = 4096, HEAD = 16 };
static const size_t STACK = (size_t)1 << 20, HEAP = (size_t)64 << 20, KEPT = (size_t)1 << 30;

/* What is watched: whole pages, and how they were when that began. */
struct piece {
    unsigned char *base;
    size_t bytes;
    const unsigned char *first;
};

/* A page that is no more what it was. */
struct page {
    unsigned char *base;
    const unsigned char *first;
    XXH128_hash_t digest; /* of what it was */
};

/* Its pages are the first of all that have changed; then what was never watched: the heap behind
 * `heap`, and the stack from `frame` on. */
struct mark {
    ucontext_t context;
    size_t kept; /* where its copies begin */
    size_t pages, heap_used;
    unsigned char *frame;
};

static struct {
    unsigned char *stack, *heap, *kept; /* mapped; kept: by marks */
    unsigned char *stack_end;           /* of what is not watched */
    size_t heap_used, heap_first;       /* heap_first: it is watched so far */
    size_t kept_used;
    struct piece piece[PIECES];
    size_t pieces;
    struct page page[PAGES];
    size_t pages;
    bool inside, aside, watches, back; /* back: the mark returns once more */
    struct mark mark[MARKS];
    size_t marks;
    ucontext_t outside;
    void (*body)(void *arg);
    void *arg;
} now;

static unsigned char *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* --- which pages change --- */

static const struct piece *piece_of(const unsigned char *at)
{
    for (size_t i = 0; i < now.pieces; i++)
        if (at >= now.piece[i].base && at < now.piece[i].base + now.piece[i].bytes)
            return &now.piece[i];
    return NULL;
}

static void written(int number, siginfo_t *info, void *context)
{
    (void)context;
    unsigned char *base = (unsigned char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    const struct piece *piece = piece_of(base);
    if (!piece || !now.watches || now.pages == PAGES ||
        mprotect(base, PAGE, PROT_READ | PROT_WRITE) != 0) {
        signal(number, SIG_DFL); /* a fault of the call's own: once more */
        return;
    }
    const unsigned char *first = piece->first + (base - piece->base);
    now.page[now.pages++] = (struct page){base, first, XXH3_128bits(first, PAGE)};
}

static void listen(void)
{
    static unsigned char stack[1 << 16];
    const stack_t apart = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = written, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaltstack(&apart, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0)
        abort();
}

static void add_piece(unsigned char *base, size_t bytes)
{
    if (now.pieces == PIECES)
        abort();
    now.piece[now.pieces++] = (struct piece){.base = base, .bytes = bytes};
}

/* The stack above this frame is in use. */
void rewind_watch(void)
{
    unsigned char *frame = __builtin_frame_address(0);
    now.heap_first = now.heap_used = whole_pages(now.heap_used);
    now.stack_end = now.stack + whole_pages((size_t)(frame - now.stack));
    add_piece(now.heap, now.heap_first);
    add_piece(now.stack_end, (size_t)(now.stack + STACK - now.stack_end));
    for (size_t i = 0; i < now.pieces; i++) {
        unsigned char *copy = map(now.piece[i].bytes);
        memcpy(copy, now.piece[i].base, now.piece[i].bytes);
        now.piece[i].first = copy;
    }
    listen();
    now.watches = true;
    for (size_t i = 0; i < now.pieces; i++)
        if (mprotect(now.piece[i].base, now.piece[i].bytes, PROT_READ) != 0)
            abort();
}

static void watch_no_more(void)
{
    for (size_t i = 0; i < now.pieces && now.watches; i++) {
        mprotect(now.piece[i].base, now.piece[i].bytes, PROT_READ | PROT_WRITE);
        munmap((void *)(uintptr_t)now.piece[i].first, now.piece[i].bytes);
    }
    signal(SIGSEGV, SIG_DFL);
    now.watches = false;
}

XXH128_hash_t rewind_digest(const void *base, size_t bytes)
{
    XXH128_hash_t sum = {0, 0};
    const unsigned char *begin = base;
    for (size_t i = 0; i < now.pages; i++) {
        const struct page *page = &now.page[i];
        if (page->base < begin || page->base >= begin + bytes)
            continue;
        const uint64_t factor = 2 * (uint64_t)(page->base - begin) / PAGE + 1;
        const XXH128_hash_t digest = XXH3_128bits(page->base, PAGE);
        sum.low64 += factor * (digest.low64 - page->digest.low64);
        sum.high64 += factor * (digest.high64 - page->digest.high64);
    }
    return sum;
}

XXH128_hash_t rewind_heap_digest(void)
{
    XXH128_hash_t sum = rewind_digest(now.heap, now.heap_first);
    const XXH128_hash_t rest =
        XXH3_128bits(now.heap + now.heap_first, now.heap_used - now.heap_first);
    sum.low64 += rest.low64;
    sum.high64 += rest.high64;
    return sum;
}

/* --- there and back --- */

static void run(void)
{
    now.body(now.arg);
}

static unsigned char *move(unsigned char *kept, unsigned char *base, size_t bytes, bool back)
{
    memcpy(back ? base : kept, back ? kept : base, bytes);
    return kept + bytes;
}

/* Copies of a mark, there or back; returns where they end. */
static unsigned char *move_all(const struct mark *mark, bool back)
{
    unsigned char *kept = now.kept + mark->kept;
    for (size_t i = 0; i < mark->pages; i++)
        kept = move(kept, now.page[i].base, PAGE, back);
    kept = move(kept, now.heap + now.heap_first, mark->heap_used - now.heap_first, back);
    if (mark->frame < now.stack_end)
        kept = move(kept, mark->frame, (size_t)(now.stack_end - mark->frame), back);
    return kept;
}

static void restore(const struct mark *mark)
{
    move_all(mark, true);
    for (size_t i = mark->pages; i < now.pages; i++)
        memcpy(now.page[i].base, now.page[i].first, PAGE);
    now.heap_used = mark->heap_used;
}

/* The stack below the caller's frame is not needed. */
static __attribute__((noinline)) void keep(struct mark *mark)
{
    mark->frame = __builtin_frame_address(0);
    mark->pages = now.pages;
    mark->heap_used = now.heap_used;
    mark->kept = now.kept_used;
    now.kept_used = (size_t)(move_all(mark, false) - now.kept);
    if (now.kept_used > KEPT / 2)
        abort();
}

void rewind_mark(void)
{
    if (!now.watches || now.marks == MARKS)
        abort();
    struct mark *mark = &now.mark[now.marks++];
    getcontext(&mark->context); /* returns here once more */
    if (now.back)
        now.back = false;
    else
        keep(mark);
}

void rewind_forget(void)
{
    now.kept_used = now.mark[--now.marks].kept;
}

size_t rewind_marks(void)
{
    return now.marks;
}

_Noreturn void rewind_back(void)
{
    if (!now.inside)
        abort();
    now.back = now.marks > 0;
    setcontext(&now.outside);
    abort();
}

static void begin(void)
{
    if (!now.stack) {
        now.stack = map(STACK);
        now.heap = map(HEAP);
        now.kept = map(KEPT);
    }
    now.heap_used = now.kept_used = now.pieces = now.pages = now.marks = 0;
    now.aside = now.back = false;
    now.inside = true;
}

static void end(void)
{
    watch_no_more();
    now.inside = false;
    for (size_t i = 0; i < now.pieces; i++)
        if (now.piece[i].base < now.stack || now.piece[i].base >= now.stack + STACK)
            if (!rewind_owns(now.piece[i].base))
                munmap(now.piece[i].base, now.piece[i].bytes);
}

void rewind_call(void (*body)(void *arg), void *arg)
{
    static ucontext_t inside;
    begin();
    now.body = body;
    now.arg = arg;
    getcontext(&inside);
    inside.uc_stack.ss_sp = now.stack;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &now.outside;
    makecontext(&inside, run, 0);
    swapcontext(&now.outside, &inside);
    while (now.back) {
        const struct mark *mark = &now.mark[now.marks - 1];
        restore(mark);
        swapcontext(&now.outside, &mark->context);
    }
    end();
}

void rewind_shares(void *base, size_t bytes)
{
    if (!now.inside || now.watches)
        abort();
    add_piece(base, whole_pages(bytes));
}

bool rewind_keeps(const void *base, size_t bytes)
{
    const unsigned char *begin = base;
    for (size_t i = 0; now.inside && i < now.pieces; i++)
        if (now.piece[i].base < begin + bytes && begin < now.piece[i].base + now.piece[i].bytes)
            return true;
    return false;
}

/* --- the heap: what is taken has its size before it --- */

bool rewind_aside(bool aside)
{
    const bool was = now.aside;
    now.aside = aside;
    return was;
}

void *rewind_take(size_t align, size_t bytes)
{
    if (!now.inside || now.aside)
        return NULL;
    align = align < HEAD ? HEAD : align;
    const size_t at = (now.heap_used + HEAD + align - 1) & ~(align - 1);
    if (bytes > HEAP - at)
        abort();
    memset(now.heap + now.heap_used, 0, at + bytes - now.heap_used); /* whatever way led here */
    memcpy(now.heap + at - sizeof bytes, &bytes, sizeof bytes);
    now.heap_used = at + bytes;
    return now.heap + at;
}

bool rewind_owns(const void *memory)
{
    const unsigned char *at = memory;
    return now.heap && at >= now.heap && at < now.heap + HEAP;
}

size_t rewind_bytes(const void *memory)
{
    size_t bytes;
    memcpy(&bytes, (const unsigned char *)memory - sizeof bytes, sizeof bytes);
    return bytes;
}
