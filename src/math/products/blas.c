#include "products/blas.h"

#ifndef HR_NO_BLAS

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/isa.h"

static struct {
    void *library;
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&openblas_get_num_threads) get_num_threads;
    __typeof__(&openblas_set_num_threads) set_num_threads;
    __typeof__(&openblas_get_config) get_config;
    __typeof__(&openblas_get_corename) get_corename;
    __typeof__(&openblas_get_parallel) get_parallel;
    /* In no header, but exported by every OpenBLAS, and by GotoBLAS before it. */
    void *(*memory_alloc)(int where);
    void (*memory_free)(void *memory);
    char name[80], failure[300];
} blas;

/* --- loading --- */

/* Look a function up: C does not let a void * be cast to a pointer to one. */
static bool find(const char *symbol, void *function)
{
    void *const address = dlsym(blas.library, symbol);
    memcpy(function, &address, sizeof address);
    if (!address && !blas.failure[0])
        snprintf(blas.failure, sizeof blas.failure, "OpenBLAS has no %s", symbol);
    return address != NULL;
}

static bool find_all(void)
{
    return find("cblas_sgemm", &blas.sgemm) &&
           find("openblas_get_num_threads", &blas.get_num_threads) &&
           find("openblas_set_num_threads", &blas.set_num_threads) &&
           find("openblas_get_config", &blas.get_config) &&
           find("openblas_get_corename", &blas.get_corename) &&
           find("openblas_get_parallel", &blas.get_parallel) &&
           find("blas_memory_alloc", &blas.memory_alloc) &&
           find("blas_memory_free", &blas.memory_free);
}

/* The configuration reads "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": two words of it. */
static void write_name(void)
{
    char library[32] = "OpenBLAS", version[32] = "";
    sscanf(blas.get_config(), "%31s %31s", library, version);
    snprintf(blas.name, sizeof blas.name, "%s %s %.15s", library, version, blas.get_corename());
}

/* OpenBLAS reads the environment while it is loaded. */
static void load(void)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    blas.library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!blas.library) {
        const char *why = dlerror();
        snprintf(blas.failure, sizeof blas.failure, "OpenBLAS cannot be loaded: %.200s",
                 why ? why : "nobody says why");
        return;
    }
    if (find_all())
        write_name();
}

/* The fastest that do without OpenBLAS. */
static const char *other_kernels(void)
{
    return hr_isa() == HR_ISA_PLAIN ? "reference" : "fast";
}

enum hr_status hr_blas_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!blas.failure[0])
        return HR_OK;
    return hr_fail(HR_E_IO, "%s; --kernels %s does without it", blas.failure, other_kernels());
}

/* --- room --- */

/* What OpenBLAS takes at a time on x86-64; elsewhere less. */
static const size_t ROOM = ((size_t)128 << 20) + (64 << 10);

static bool there_is_room(void)
{
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, ROOM) == 0;
}

/* Take as many buffers at once as there are threads, and give them back: OpenBLAS keeps them. Each
 * level of the recursion holds one. */
static bool take(size_t threads)
{
    if (threads == 0)
        return true;
    if (!there_is_room())
        return false;
    void *mine = blas.memory_alloc(0);
    const bool good = take(threads - 1);
    blas.memory_free(mine);
    return good;
}

enum hr_status hr_blas_prepare(size_t threads)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static size_t taken;
    HR_TRY(hr_blas_open());
    pthread_mutex_lock(&lock);
    if (blas.get_num_threads() != 1) /* an OpenMP build ignores that environment */
        blas.set_num_threads(1);
    const bool good = threads <= taken || take(threads);
    if (good && threads > taken)
        taken = threads;
    pthread_mutex_unlock(&lock);
    if (good)
        return HR_OK;
    return hr_fail(HR_E_NOMEM,
                   "no room for OpenBLAS, which takes %zu MiB of addresses for each of %zu "
                   "thread%s (ulimit -v); --kernels %s takes none",
                   ROOM >> 20, threads, threads == 1 ? "" : "s", other_kernels());
}

/* --- the calls --- */

void hr_blas_multiply(const struct hr_gemm *g)
{
    const bool a_turned = g->form == HR_GEMM_TN, b_turned = g->form == HR_GEMM_NT;
    const enum hr_status opened = hr_blas_open();
    HR_ASSERT(opened == HR_OK);
    blas.sgemm(CblasRowMajor, a_turned ? CblasTrans : CblasNoTrans,
               b_turned ? CblasTrans : CblasNoTrans, (blasint)g->M, (blasint)g->N, (blasint)g->K,
               1.0f, g->a, (blasint)hr_gemm_a_row(g), g->b, (blasint)hr_gemm_b_row(g), 0.0f, g->c,
               (blasint)hr_gemm_c_row(g));
}

const char *hr_blas_name(void)
{
    return hr_blas_open() == HR_OK ? blas.name : "no OpenBLAS";
}

const char *hr_blas_config(void)
{
    return blas.get_config();
}

const char *hr_blas_threading(void)
{
    static const char *const threading[] = {"sequential", "pthreads", "OpenMP"};
    return threading[blas.get_parallel() % 3];
}

#endif
