/* atom.h - the names of src/comm/shm/atom.h, on Relacy: what `make model` compiles instead.
 *
 * This folder comes first on the include path, so the real text of ring.h, wait.c, control.c and
 * reduce_barrier.c is what is checked. Every call is a *site* with an order of its own; one site at
 * a time can be weakened (model.hpp). A word keeps its size and its place in memory: it holds the
 * number of a Relacy atomic, 0 being none. All are made before the threads start (hr_model_share),
 * with value 0, as shared memory is zeroed.
 */
#ifndef HR_SHM_ATOM_H
#define HR_SHM_ATOM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include <relacy/base.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/backoff.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/atomic.hpp>
#include <relacy/var.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/stdlib/event.hpp>

#define _Static_assert static_assert
#define _Noreturn [[noreturn]]
#define _Thread_local thread_local
#define HR_LINE 128

struct hr_atom32 {
    typedef uint32_t value;
    uint32_t word;
};

struct hr_atom64 {
    typedef uint64_t value;
    uint64_t word;
};

/* --- sites: every call of a wrapper that is compiled, in a section of its own --- */

/* Of a size that leaves no gaps in the section. */
struct alignas(64) hr_site {
    const char *file;
    const char *function;
    const char *operation;
    int line;
    rl::memory_order order;
    bool reached;
};

extern hr_site *hr_weakened; /* the site that is weakened, or NULL */
extern rl::memory_order hr_weakened_to;

#define HR_SITE(operation, order)                                                                  \
    ({                                                                                             \
        static hr_site site_ __attribute__((section("hr_sites"), used)) = {                        \
            __FILE__, __func__, operation, __LINE__, rl::mo_##order, false};                       \
        site_.reached = true;                                                                      \
        &site_;                                                                                    \
    })

inline rl::memory_order hr_order(const hr_site *site)
{
    return site == hr_weakened ? hr_weakened_to : site->order;
}

/* --- words --- */

enum { HR_MODEL_WORDS = 64 };

template <typename T> struct hr_words {
    static unsigned used;
    static typename std::aligned_storage<sizeof(rl::atomic<T>), 16>::type place[HR_MODEL_WORDS];

    static rl::atomic<T> &at(uint64_t number)
    {
        if (!number || number > used) {
            fprintf(stderr, "model: a word that hr_model_share was not told of\n");
            abort();
        }
        return *reinterpret_cast<rl::atomic<T> *>(&place[number - 1]);
    }

    static void clear() /* at the end of a schedule */
    {
        for (unsigned i = 0; i < used; i++)
            at(i + 1).~atomic<T>();
        used = 0;
    }
};

template <typename T> unsigned hr_words<T>::used;
template <typename T>
typename std::aligned_storage<sizeof(rl::atomic<T>), 16>::type hr_words<T>::place[HR_MODEL_WORDS];

/* Make these words; in `before`, their memory being zero. */
template <typename A> void hr_model_share(A &a)
{
    typedef typename A::value T;
    new (&hr_words<T>::place[hr_words<T>::used]) rl::atomic<T>(0);
    a.word = ++hr_words<T>::used;
}

template <typename A, typename... More> void hr_model_share(A &a, More &...more)
{
    hr_model_share(a);
    hr_model_share(more...);
}

template <typename A> rl::atomic<typename A::value> &hr_word(const A *a)
{
    return hr_words<typename A::value>::at(a->word);
}

template <typename A> typename A::value hr_load(const A *a, const hr_site *site)
{
    return hr_word(a).load(hr_order(site), $);
}

template <typename A> void hr_store(A *a, typename A::value value, const hr_site *site)
{
    hr_word(a).store(value, hr_order(site), $);
}

template <typename A>
typename A::value hr_fetch_add(A *a, typename A::value value, const hr_site *site)
{
    return hr_word(a).rmw(rl::rmw_type_t<rl::rmw_type_add>(), value, hr_order(site), $);
}

template <typename A>
typename A::value hr_fetch_or(A *a, typename A::value value, const hr_site *site)
{
    return hr_word(a).rmw(rl::rmw_type_t<rl::rmw_type_or>(), value, hr_order(site), $);
}

template <typename A>
typename A::value hr_fetch_and(A *a, typename A::value value, const hr_site *site)
{
    return hr_word(a).rmw(rl::rmw_type_t<rl::rmw_type_and>(), value, hr_order(site), $);
}

template <typename A>
int hr_replace(A *a, typename A::value expected, typename A::value desired, const hr_site *site)
{
    return hr_word(a).compare_exchange_strong(expected, desired, hr_order(site), $);
}

#define hr_atom32_load_acquire(a) hr_load((a), HR_SITE("load", acquire))
#define hr_atom32_load_relaxed(a) hr_load((a), HR_SITE("load", relaxed))
#define hr_atom32_store_release(a, v) hr_store((a), (v), HR_SITE("store", release))
#define hr_atom32_store_relaxed(a, v) hr_store((a), (v), HR_SITE("store", relaxed))
#define hr_atom32_fetch_add_release(a, v) hr_fetch_add((a), (v), HR_SITE("fetch_add", release))
#define hr_atom32_fetch_or_acquire(a, v) hr_fetch_or((a), (v), HR_SITE("fetch_or", acquire))
#define hr_atom32_fetch_and_relaxed(a, v) hr_fetch_and((a), (v), HR_SITE("fetch_and", relaxed))
#define hr_atom32_replace_relaxed(a, e, d) hr_replace((a), (e), (d), HR_SITE("replace", relaxed))
#define hr_atom64_load_acquire(a) hr_load((a), HR_SITE("load", acquire))
#define hr_atom64_load_relaxed(a) hr_load((a), HR_SITE("load", relaxed))
#define hr_atom64_store_release(a, v) hr_store((a), (v), HR_SITE("store", release))
#define hr_atom64_store_relaxed(a, v) hr_store((a), (v), HR_SITE("store", relaxed))
#define hr_atom64_fetch_add_acq_rel(a, v) hr_fetch_add((a), (v), HR_SITE("fetch_add", acq_rel))
#define hr_atom64_replace_acq_rel(a, e, d) hr_replace((a), (e), (d), HR_SITE("replace", acq_rel))
#define hr_atom64_fetch_add_relaxed(a, v) hr_fetch_add((a), (v), HR_SITE("fetch_add", relaxed))

#endif
