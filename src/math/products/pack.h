/* pack.h - operands of a product moved to where the register tile wants them, and its result
 * turned round.
 *
 * A block is b (K, columns) cut into panels `width` columns wide, each (K, width) without gaps,
 * one behind the other: as the tile reads it, whatever lies between the rows of b, so that neither
 * the cache's sets nor its pages are used unevenly. What is behind the last column of the last
 * panel is a number, but nobody's.
 *
 * Threads: pure functions on the caller's memory.    Test: tests/unit/products/test_product.c
 */
#ifndef HR_PRODUCTS_PACK_H
#define HR_PRODUCTS_PACK_H

#include <stdbool.h>
#include <stddef.h>

/* block out, of b[k][j] = b[k * stride + j] */
void hr_pack_rows(size_t K, size_t columns, const float *b, size_t stride, size_t width,
                  float *block);

/* block out, of b[k][j] = b[j * stride + k]; width is a multiple of 4 */
void hr_pack_columns(size_t K, size_t columns, const float *b, size_t stride, size_t width,
                     float *block);

/* A tile turned round: c[j * c_stride + i] = tile[i * stride + j], with bias[i] added and relu
 * taken on the way, in the order of tiles/micro.h and with its bits. */
struct hr_turn {
    size_t rows, columns; /* of the tile; rows <= 6 */
    const float *tile;
    size_t stride;
    float *c;
    size_t c_stride;
    const float *bias; /* (rows), or NULL */
    bool relu;
};

void hr_turn(const struct hr_turn *turn);

#endif
