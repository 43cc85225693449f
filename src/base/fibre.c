#include "base/fibre.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/size.h"

/* gcc and clang say in different ways that they sanitize. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

enum { USUAL_STACK = 256 << 10 };

/* Where somebody stands who does not run: on whose stack, and what sanitizers know of it. */
struct place {
    void *sp; /* of the registers that a call keeps; or, slowly: */
    ucontext_t *context;
    void *fake_stack; /* ASan's, for locals whose address is used after they are gone */
    const void *bottom;
    size_t bytes;
    void *tsan;
};

struct fibre {
    struct hr_error error;     /* its own; first, so that hr_error_of says who runs */
    struct place self, caller; /* each, while it does not run */
    struct fibre *outer;       /* that runs it; NULL: the thread itself */
    hr_fibre_fn fn;
    void *arg;
    enum hr_status status;
    bool lives, runs;
};

struct hr_fibres {
    size_t n, page, bytes; /* bytes: of a stack, without its guard */
    unsigned char *stack;  /* (n) mapped, each behind its guard; at its top its struct fibre */
    ucontext_t *context;   /* (n, self and caller) owned; NULL: the fast way */
};

static struct fibre *current(void)
{
    return (struct fibre *)hr_error_of;
}

static void make_current(struct fibre *fibre)
{
    hr_error_of = fibre ? &fibre->error : NULL;
}

void *hr_fibre_stack(const struct hr_fibres *fibres, size_t i, size_t *bytes)
{
    HR_ASSERT(i < fibres->n);
    *bytes = fibres->bytes;
    return fibres->stack + i * (fibres->page + fibres->bytes) + fibres->page;
}

/* Where it begins, the stack ends. */
static struct fibre *fibre_at(const struct hr_fibres *fibres, size_t i)
{
    size_t bytes;
    unsigned char *stack = hr_fibre_stack(fibres, i, &bytes);
    return (void *)(stack + bytes - hr_round_up(sizeof(struct fibre), 64));
}

/* --- the switch --- */

/* Keep the registers that a call keeps on the stack, and where that ends in *from; take another
 * stack, and from there what was kept. Written out, as swapcontext asks the kernel twice for the
 * signal mask, which no fibre changes. A jump and not a return, as the processor's own list of
 * return addresses is that of the other stack. */
#if defined(__x86_64__) && defined(__linux__) && !defined(HR_FIBRE_UCONTEXT)
#define SWITCHES_FAST 1
enum { KEPT = 7 };
void hr_fibre_switch_(void **from, void *to);
__asm__(".text\n.balign 16\n.local hr_fibre_switch_\n.type hr_fibre_switch_,@function\n"
        "hr_fibre_switch_:\n"
        "  endbr64\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  popq %rcx\n"
        "  notrack jmp *%rcx\n"
        ".size hr_fibre_switch_,.-hr_fibre_switch_\n");

/* A shadow stack would have to be switched, too. */
static bool returns_are_guarded(void)
{
    uint64_t shadow = 0;
    __asm__ volatile("rdsspq %0" : "+r"(shadow));
    return shadow != 0;
}

/* As if it had called the switch. Above `begin` lies the address to return to, as where it had been
 * called: none. */
static void *first_frame(void *top, void (*begin)(void))
{
    uintptr_t *sp = top;
    *--sp = 0;
    *--sp = (uintptr_t)begin;
    return memset(sp - (KEPT - 1), 0, (KEPT - 1) * sizeof *sp);
}
#elif defined(__aarch64__) && defined(__linux__) && !defined(HR_FIBRE_UCONTEXT)
#define SWITCHES_FAST 1
enum { KEPT = 20 };
void hr_fibre_switch_(void **from, void *to);
__asm__(".text\n.balign 16\n.local hr_fibre_switch_\n.type hr_fibre_switch_,%function\n"
        "hr_fibre_switch_:\n"
        "  hint #34\n" /* bti c */
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x2, sp\n  str x2, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size hr_fibre_switch_,.-hr_fibre_switch_\n");

static bool returns_are_guarded(void)
{
    return false;
}

static void *first_frame(void *top, void (*begin)(void))
{
    uintptr_t *sp = (uintptr_t *)top - KEPT;
    memset(sp, 0, KEPT * sizeof *sp);
    sp[11] = (uintptr_t)begin; /* x30 */
    return sp;
}
#else
#define SWITCHES_FAST 0
#endif

static void jump(struct place *from, const struct place *to)
{
    if (to->context)
        swapcontext(from->context, to->context);
#if SWITCHES_FAST
    else
        hr_fibre_switch_(&from->sp, to->sp);
#endif
}

/* Whoever comes back comes from where this went. */
static void jump_and_notify(struct place *from, struct place *to, bool from_ends)
{
#ifdef WITH_TSAN
    from->tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(from_ends ? NULL : &from->fake_stack, to->bottom, to->bytes);
#endif
    (void)from_ends;
    jump(from, to);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, &to->bottom, &to->bytes);
#endif
}

/* --- within a fibre --- */

/* Back to who runs it. */
static void leave(struct fibre *fibre)
{
    fibre->runs = false;
    make_current(fibre->outer);
    jump_and_notify(&fibre->self, &fibre->caller, !fibre->lives);
}

static void begin(void)
{
    struct fibre *fibre = current();
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &fibre->caller.bottom, &fibre->caller.bytes);
#endif
    fibre->status = fibre->fn(fibre->arg);
    fibre->lives = false;
    leave(fibre);
    abort();
}

void hr_fibre_wait(void)
{
    HR_ASSERT(current());
    leave(current());
}

/* --- outside --- */

bool hr_fibre_lives(const struct hr_fibres *fibres, size_t i)
{
    return fibre_at(fibres, i)->lives;
}

static void forget(struct fibre *fibre)
{
    HR_ASSERT(!fibre->runs);
    if (!fibre->fn) /* never started; or it would be touched */
        return;
#ifdef WITH_TSAN
    if (fibre->self.tsan)
        __tsan_destroy_fiber(fibre->self.tsan);
#endif
#ifdef WITH_ASAN /* frames in which it was dropped: others may get this memory */
    __asan_unpoison_memory_region(fibre->self.bottom, fibre->self.bytes);
#endif
    fibre->self.tsan = NULL;
    fibre->lives = false;
}

void hr_fibre_drop(struct hr_fibres *fibres, size_t i)
{
    forget(fibre_at(fibres, i));
}

void hr_fibre_start(struct hr_fibres *fibres, size_t i, hr_fibre_fn fn, void *arg)
{
    struct fibre *fibre = fibre_at(fibres, i);
    size_t bytes;
    unsigned char *stack = hr_fibre_stack(fibres, i, &bytes);
    bytes = (size_t)((unsigned char *)fibre - stack);
    forget(fibre);
    fibre->error.message[0] = '\0';
    fibre->fn = fn;
    fibre->arg = arg;
    fibre->lives = true;
    fibre->self = fibre->caller = (struct place){0};
    fibre->self.bottom = stack;
    fibre->self.bytes = bytes;
#ifdef WITH_TSAN
    fibre->self.tsan = __tsan_create_fiber(0);
#endif
    if (fibres->context) {
        ucontext_t *context = fibre->self.context = &fibres->context[2 * i];
        fibre->caller.context = context + 1;
        getcontext(context);
        context->uc_link = NULL;
        context->uc_stack.ss_sp = stack;
        context->uc_stack.ss_size = bytes;
        makecontext(context, begin, 0);
    }
#if SWITCHES_FAST
    else
        fibre->self.sp = first_frame(stack + bytes, begin);
#endif
}

bool hr_fibre_run(struct hr_fibres *fibres, size_t i, enum hr_status *status)
{
    struct fibre *fibre = fibre_at(fibres, i);
    HR_ASSERT(fibre->lives && !fibre->runs);
    fibre->outer = current();
    fibre->runs = true;
    make_current(fibre);
    jump_and_notify(&fibre->caller, &fibre->self, false);
    if (fibre->lives)
        return true;
    *status = fibre->status;
    if (*status != HR_OK)
        *status = hr_fail(*status, "%s", fibre->error.message);
    return false;
}

/* --- memory --- */

size_t hr_fibres_bytes(size_t n)
{
    enum { TOUCHED = 8 << 10 };
    return n * TOUCHED;
}

static bool guard_stacks(const struct hr_fibres *fibres)
{
    for (size_t i = 0; i < fibres->n; i++)
        if (mprotect(fibres->stack + i * (fibres->page + fibres->bytes), fibres->page, PROT_NONE))
            return false;
    return true;
}

enum hr_status hr_fibres_open(size_t n, size_t bytes, struct hr_fibres **out)
{
    struct hr_fibres *fibres = calloc(1, sizeof *fibres);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!fibres)
        return hr_fail(HR_E_NOMEM, "no memory for %zu stacks", n);
    *fibres = (struct hr_fibres){
        .n = n, .page = page, .bytes = hr_round_up(bytes ? bytes : (size_t)USUAL_STACK, page)};
    fibres->stack = mmap(NULL, n * (page + fibres->bytes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fibres->stack == MAP_FAILED)
        fibres->stack = NULL;
#if SWITCHES_FAST
    const bool slowly = returns_are_guarded();
#else
    const bool slowly = true;
#endif
    if (slowly)
        fibres->context = calloc(n, 2 * sizeof *fibres->context);
    if (!fibres->stack || (slowly && !fibres->context) || !guard_stacks(fibres)) {
        hr_fibres_close(fibres);
        return hr_fail(HR_E_NOMEM, "no memory for %zu stacks of %zu KiB", n, fibres->bytes >> 10);
    }
    *out = fibres;
    return HR_OK;
}

void hr_fibres_close(struct hr_fibres *fibres)
{
    if (!fibres)
        return;
    for (size_t i = 0; fibres->stack && i < fibres->n; i++)
        forget(fibre_at(fibres, i));
    if (fibres->stack)
        munmap(fibres->stack, fibres->n * (fibres->page + fibres->bytes));
    free(fibres->context);
    free(fibres);
}
