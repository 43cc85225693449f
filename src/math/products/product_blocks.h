/* product_blocks.h - the part of a product (product.h) that is large in every direction, cut into
 * blocks that stay in the caches. Only product.c includes it.
 *
 *     rows of a, then k: a block of a, packed, stays in L2
 *       columns, a tile's width: a panel of b, packed, stays in L1 or L2
 *         rows of the block, a tile's at a time (tiles/block.h)
 *
 * While a panel is multiplied with, the rows of the next one are moved into a second buffer, by the
 * multiplying loop itself, which has loads and stores to spare. So rows far apart in memory, by a
 * power of two, cost no more than others. A b that is stored by columns is turned round a panel at
 * a time.
 *
 * Order: a block of k after the first starts from c (tiles/block.h), so blocks change no bit.
 *
 * Threads: pure function on the caller's memory.    Test: tests/unit/products/test_product.c
 */
#ifndef HR_PRODUCTS_PRODUCT_BLOCKS_H
#define HR_PRODUCTS_PRODUCT_BLOCKS_H

#include "products/product.h"

/* The rows and columns of one task. */
struct hr_product_part {
    size_t row, rows, column, columns;
};

/* What a block has at most, by the caches of the cores that this process may use (base/cpus.h);
 * turning: of a b that is stored by columns. Sizes change no bit. */
struct hr_product_block_sizes {
    size_t k, rows;
};
struct hr_product_block_sizes hr_product_block_sizes(bool turning);

/* For tests: blocks for caches of so many bytes, before any memory is measured for them. */
void hr_product_blocks_fit(size_t l1, size_t l2);

/* Floats that one task needs; grows with K up to 1024. */
size_t hr_product_blocks_floats(size_t K);

/* Does it hand c to the taker a few panels of a block at a time, out of the caches? Not where a
 * sum has several blocks of k. */
bool hr_product_blocks_takes(const struct hr_product *product);

/* c stored by rows. With a taker, c is memory for one piece after the other.
 *   scratch  hr_product_blocks_floats(product->K), 64-byte aligned, nobody else's */
void hr_product_blocks(const struct hr_product *product, const struct hr_product_part *part,
                       float *scratch);

#endif
