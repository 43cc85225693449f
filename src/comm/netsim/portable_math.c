#include "netsim/portable_math.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

/* ln 2 in two parts; the first has trailing zeros, so that its small multiples are exact. */
static const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

/* a[0] + a[1] x + ... + a[n - 1] x^(n - 1). */
static double polynomial(const double *a, size_t n, double x)
{
    double sum = a[n - 1];
    for (size_t i = n - 1; i-- > 0;)
        sum = sum * x + a[i];
    return sum;
}

/* x = 2^e (1 + f) with 1 + f around 1, and log(1 + f) = 2 artanh(f / (2 + f)), |f / (2 + f)| at
 * most 0.172. */
double hr_portable_log(double x)
{
    static const double series[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                    1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m = m * 2;
        e = e - 1;
    }
    const double f = m - 1, s = f / (2 + f);
    const double small = 2 * s * polynomial(series, sizeof series / sizeof *series, s * s);
    return e * ln2_high + (small + e * ln2_low);
}

/* x = k ln 2 + r, |r| at most ln 2 / 2, and Taylor's series of r. */
double hr_portable_exp(double x)
{
    static const double series[] = {1,
                                    1,
                                    1.0 / 2,
                                    1.0 / 6,
                                    1.0 / 24,
                                    1.0 / 120,
                                    1.0 / 720,
                                    1.0 / 5040,
                                    1.0 / 40320,
                                    1.0 / 362880,
                                    1.0 / 3628800,
                                    1.0 / 39916800,
                                    1.0 / 479001600,
                                    1.0 / 6227020800,
                                    1.0 / 87178291200};
    if (x < -700)
        return 0;
    if (x > 700)
        return DBL_MAX;
    const double k = floor(x * 1.4426950408889634 + 0.5);
    const double r = x - k * ln2_high - k * ln2_low;
    return ldexp(polynomial(series, sizeof series / sizeof *series, r), (int)k);
}

enum { TERMS = 8 };

static double ratio(const double over[TERMS], const double under[TERMS], double r)
{
    return polynomial(over, TERMS, r) / polynomial(under, TERMS, r);
}

static double quantile_centre(double q)
{
    static const double over[TERMS] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                       1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                       4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                       3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double under[TERMS] = {1,
                                        4.2313330701600911252e+1,
                                        6.8718700749205790830e+2,
                                        5.3941960214247511077e+3,
                                        2.1213794301586595867e+4,
                                        3.9307895800092710610e+4,
                                        2.8729085735721942674e+4,
                                        5.2264952788528545610e+3};
    return q * ratio(over, under, 0.180625 - q * q);
}

static double quantile_near(double r)
{
    static const double over[TERMS] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                       5.76949722146069140550e0,  3.64784832476320460504e0,
                                       1.27045825245236838258e0,  2.41780725177450611770e-1,
                                       2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double under[TERMS] = {1,
                                        2.05319162663775882187e0,
                                        1.67638483018380384940e0,
                                        6.89767334985100004550e-1,
                                        1.48103976427480074590e-1,
                                        1.51986665636164571966e-2,
                                        5.47593808499534494600e-4,
                                        1.05075007164441684324e-9};
    return ratio(over, under, r - 1.6);
}

static double quantile_far(double r)
{
    static const double over[TERMS] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                       1.78482653991729133580e0,  2.96560571828504891230e-1,
                                       2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                       2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double under[TERMS] = {1,
                                        5.99832206555887937690e-1,
                                        1.36929880922735805310e-1,
                                        1.48753612908506148525e-2,
                                        7.86869131145613259100e-4,
                                        1.84631831751005468180e-5,
                                        1.42151175831644588870e-7,
                                        2.04426310338993978564e-15};
    return ratio(over, under, r - 5);
}

double hr_portable_normal_quantile(double p)
{
    const double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425)
        return quantile_centre(q);
    const double r = sqrt(-hr_portable_log(q < 0 ? p : 1 - p));
    const double x = r <= 5 ? quantile_near(r) : quantile_far(r);
    return q < 0 ? -x : x;
}
