/* isa.h - one source, several instruction sets, chosen once at run time.
 *
 * A set of kernels is a struct of pointers to functions, described in its header and declared there
 * by HR_ISA_KERNELS. Its file *.isa.c is compiled once for each level below (the Makefile's
 * HR_ISA_SUFFIX names the copy), and each copy fills one struct, named through HR_ISA_NAME.
 * hr_vec()->add(...) calls the copy in use. On architectures that are not named there is only the
 * plain one. No copy contracts or reorders floating point, so all give the same bits, but for
 * tiles/block.isa.c, micro, narrow, lanes and attention, which have fused multiply-adds at every
 * level but plain, and are alike at these.
 *
 * The kernels of bfloat16 (kernels/bf16.h) have one copy more, v4bf16: v4 with AVX512_BF16. It
 * gives the same bits as the others, so it is no level of its own.
 *
 * AMX tiles multiply bfloat16 values many times faster still, but sum in an order of their own,
 * which all levels can follow (tiles/micro_amx.h): the copy v4amx has the instructions, the others
 * the same arithmetic. That order is the one in use where there are such tiles. Linux is asked for
 * them before main (arch_prctl), for the process and all that it forks; where it refuses it is as
 * if there were none.
 *
 * arm64 has one level above plain, neon, in v3's place. Every such processor has the instructions:
 * what sets it apart from plain is that it may fuse, and tiles for 32 registers.
 *
 * HOGRING_ISA=plain|v3|v4|v4bf16 in the environment asks for no more than that, in the order of
 * machines without AMX; what is more than the machine has is the machine's, and neon is another
 * word for v3. HOGRING_ISA=v4amx asks for AMX's order, with whatever level there is. Nothing else
 * is a level: the command refuses it, the library has the machine's.
 */
#ifndef HR_BASE_ISA_H
#define HR_BASE_ISA_H

#include <stdbool.h>

enum hr_isa {
    HR_ISA_PLAIN, /* whatever the compiler's default target is */
    HR_ISA_V3,    /* x86-64-v3: AVX2 and fused multiply-add (never by contraction) */
    HR_ISA_V4,    /* x86-64-v4: AVX-512 */
    HR_ISA_NEON = HR_ISA_V3,
};

/* What the level above plain is called here. */
#ifdef __aarch64__
#define HR_ISA_FUSED "neon"
#else
#define HR_ISA_FUSED "v3"
#endif

/* The level in use; constant for the life of the process (but for hr_isa_lower). Any thread. */
enum hr_isa hr_isa(void);
const char *hr_isa_name(void);
const char *hr_isa_level_name(enum hr_isa level);
/* The same with what there is more: "v4bf16", "v4amx". */
const char *hr_isa_full_name(void);
/* The level is v4, and there is AVX512_BF16, which may be used. */
bool hr_isa_has_bf16(void);
/* There are AMX tiles of bfloat16 values besides, which may be used. */
bool hr_isa_has_amx(void);
/* The processor has them, and Linux refuses them. */
bool hr_isa_was_refused_amx(void);
/* Products of bfloat16 values are summed in the order of AMX. */
bool hr_isa_sums_as_amx(void);
/* What HOGRING_ISA holds where that is no level; NULL: it is one, or not set. */
const char *hr_isa_unknown(void);
/* For verify and tests, in a process of its own, and where machines with less take part
 * (machines.h), while no other thread computes: from now on this level, which the machine has,
 * without AVX512_BF16 and AMX; or that order; or all as it was. */
void hr_isa_lower(enum hr_isa level);
void hr_isa_sum_as_amx(bool yes);
void hr_isa_restore(void);

#define HR_ISA_JOIN_(name, suffix) name##suffix
#define HR_ISA_JOIN(name, suffix) HR_ISA_JOIN_(name, suffix)
#define HR_ISA_NAME(name) HR_ISA_JOIN(name, HR_ISA_SUFFIX)

/* Of the copies of a set, HR_ISA_COPIES lists pointers to those of all levels, in their order. */
#ifdef __x86_64__
#define HR_ISA_DECLARE(type, name) extern const type name##_plain, name##_v3, name##_v4
#define HR_ISA_COPIES(name) &name##_plain, &name##_v3, &name##_v4
#define HR_ISA_DECLARE_BF16(type, name)                                                            \
    HR_ISA_DECLARE(type, name);                                                                    \
    extern const type name##_v4bf16
#define HR_ISA_PICK_BF16(name) (hr_isa_has_bf16() ? &name##_v4bf16 : HR_ISA_PICK(name))
#define HR_ISA_DECLARE_AMX(type, name)                                                             \
    HR_ISA_DECLARE(type, name);                                                                    \
    extern const type name##_v4amx
#define HR_ISA_PICK_AMX(name) (hr_isa_has_amx() ? &name##_v4amx : HR_ISA_PICK(name))
#define HR_ISA_PICK(name)                                                                          \
    (hr_isa() == HR_ISA_V4 ? &name##_v4 : hr_isa() == HR_ISA_V3 ? &name##_v3 : &name##_plain)
#else
#ifdef __aarch64__
#define HR_ISA_DECLARE(type, name) extern const type name##_plain, name##_neon
#define HR_ISA_COPIES(name) &name##_plain, &name##_neon
#define HR_ISA_PICK(name) (hr_isa() == HR_ISA_NEON ? &name##_neon : &name##_plain)
#else
#define HR_ISA_DECLARE(type, name) extern const type name##_plain
#define HR_ISA_COPIES(name) &name##_plain
#define HR_ISA_PICK(name) (&name##_plain)
#endif
#define HR_ISA_DECLARE_BF16(type, name) HR_ISA_DECLARE(type, name)
#define HR_ISA_PICK_BF16(name) HR_ISA_PICK(name)
#define HR_ISA_DECLARE_AMX(type, name) HR_ISA_DECLARE(type, name)
#define HR_ISA_PICK_AMX(name) HR_ISA_PICK(name)
#endif

/* The copies of `struct name`, and name() for the one in use. */
#define HR_ISA_KERNELS(name)                                                                       \
    HR_ISA_DECLARE(struct name, name);                                                             \
    static inline const struct name *name(void)                                                    \
    {                                                                                              \
        return HR_ISA_PICK(name);                                                                  \
    }

#endif
