/* machine_bits.h - what on this machine decides bits, besides the program and its options.
 *
 *     kernels   fast: the BLAS, its version and the core it chose; the level of our own tiles, and
 *               whether convolutions may be Winograd's
 *     isa       the level of all other vector kernels, which give the same bits at every level
 *     gemm      the longest sums that are our own tiles' (longer ones are BLAS's)
 *     bf16      in which order products of bfloat16 values are summed: pairs (kernels/bf16.h)
 *               or amx (tiles/micro_amx.h)
 *     libm      a digest of expf, logf and log1pf (the losses), cos (schedules) and pow (adam) over
 *               some 4,000 arguments: glibc has copies of them with and without fused
 *               multiply-adds, and versions differ
 *
 * The reference kernels need only libm to agree: they are compiled with -ffp-contract=off, add in
 * one order, and use, besides + - * /, only sqrt, which IEEE 754 rounds correctly.
 *
 * Models of bfloat16 values (--precision bf16) need libm and bf16 to agree: no product of theirs
 * is BLAS's, and within an order their tiles give the same bits at every level.
 *
 * Threads: pure, after the kernels were selected.
 * Test: tests/unit/train/test_replay.c, tests/unit/session/test_machine_bits.c
 */
#ifndef HR_TRAIN_MACHINE_BITS_H
#define HR_TRAIN_MACHINE_BITS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

/* {"kernels", "reference", "isa", "gemm", "bf16", "libm"}; NULL: no memory. */
json_t *hr_machine_bits_json(void);

/* Can this machine give the bits of that one? HR_E_USAGE names what differs; HR_E_FORMAT: not such
 * an object. `where` begins the message. */
HR_CHECKED enum hr_status hr_machine_bits_check(const json_t *recorded, bool bf16,
                                                const char *where);

/* The name of the first field whose difference changes bits, as "isa"; NULL: there is none. */
const char *hr_machine_bits_difference(const json_t *there, const json_t *here, bool bf16);
/* Its order of bf16's sums; pairs where it says none. */
const char *hr_machine_bits_order(const json_t *machine);
/* --kernels of a run on that machine, as they are named now: in versions before there was
 * Winograd's algorithm (products/winograd.h), fast was what direct is. */
const char *hr_machine_bits_kernels(const json_t *machine, const char *kernels);
/* The same for a model whose convolutions are all direct, whatever they may be. */
void hr_machine_bits_make_direct(json_t *machine);
/* Is this a network's --precision for which bf16 above holds? */
bool hr_machine_bits_are_bf16(const char *precision);

#endif
