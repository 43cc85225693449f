"""Student's t, and 95 % intervals of means over seeds."""
import math

LEVEL = 0.95


def t_density(x, freedom):
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return math.exp(scale - (freedom + 1) / 2 * math.log1p(x * x / freedom))


def t_within(x, freedom, pieces=400):
    """The probability of |t| <= x, by Simpson's rule."""
    step = x / pieces
    inner = sum((4 if i % 2 else 2) * t_density(i * step, freedom) for i in range(1, pieces))
    return 2 * step / 3 * (t_density(0, freedom) + inner + t_density(x, freedom))


def t_quantile(freedom, level=LEVEL):
    """x with P(|t| <= x) = level."""
    low, high = 0.0, 1.0
    while t_within(high, freedom) < level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_within(middle, freedom) < level else (low, middle)
    return high


def mean(values):
    return sum(values) / len(values)


def spread(values):
    """Standard deviation of the sample; 0 of a single value."""
    centre = mean(values)
    return math.sqrt(sum((v - centre) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0.0


def mean_interval(values):
    """(mean, low, high). One value says nothing about the others: its interval is everything. So is
    that of values of which one is infinite."""
    centre = mean(values)
    if len(values) < 2 or not math.isfinite(centre):
        return centre, -math.inf, math.inf
    half = t_quantile(len(values) - 1) * spread(values) / math.sqrt(len(values))
    return centre, centre - half, centre + half
