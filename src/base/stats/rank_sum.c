/* The number of orders in which U is u is the coefficient of q^u in
 *
 *     (1 - q^(n+1)) ... (1 - q^(n+k)) / (1 - q) ... (1 - q^k),
 *
 * which is multiplied out factor by factor; as shares of all orders, they stay near 1.
 */
#include "stats/rank_sum.h"

#include <math.h>

/* P(U <= u) where it is exact. */
static double cumulative(size_t n, size_t k, size_t u)
{
    double count[HR_RANK_SUM_EXACT + 1] = {1}, sum = 0;
    const size_t most = n * k;
    for (size_t i = 1; i <= k; i++) {
        for (size_t at = most; at >= n + i; at--)
            count[at] -= count[at - n - i];
        for (size_t at = i; at <= most; at++)
            count[at] += count[at - i];
        for (size_t at = 0; at <= most; at++) /* of C(n + i, i) orders */
            count[at] *= (double)i / (double)(n + i);
    }
    for (size_t at = 0; at <= u; at++)
        sum += count[at];
    return fmax(sum, 0); /* rounded: its size is right down to 1e-13 */
}

static double p_of(size_t n, size_t k, size_t u)
{
    const double pairs = (double)(n * k);
    if (n == 0 || k == 0)
        return 1;
    if (n * k <= HR_RANK_SUM_EXACT)
        return fmin(1, 2 * cumulative(n, k, u));
    const double sd = sqrt(pairs * (double)(n + k + 1) / 12);
    return fmin(1, erfc((pairs / 2 - (double)u - 0.5) / sd / sqrt(2)));
}

double hr_rank_sum_p(const double *a, size_t n, const double *b, size_t k)
{
    size_t twice = 0; /* U */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++)
            twice += b[j] > a[i] ? 2 : !(b[j] < a[i]);
    const size_t other = 2 * n * k - twice, less = twice < other ? twice : other;
    return p_of(n, k, (less + 1) / 2); /* half a pair counts towards the middle */
}

double hr_rank_sum_least(size_t n, size_t k)
{
    return p_of(n, k, 0);
}
