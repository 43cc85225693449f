#!/usr/bin/env python3
"""The gradient noise scale of six gradients by NumPy: the numbers that tests/unit/forecast/test_noise.c expects.

    noise_scale.py           wants numpy

|G|^2 and tr S from norms at two batch sizes (McCandlish et al., arXiv 1812.06162, A.1); variances by leaving gradients out one at a time;
the interval is all ratios r for which tr S - r |G|^2 is within t of 0, found on a grid.
"""
import numpy as np

G, b, T = np.array([[1, 2, -1, .5], [1.5, 1, 0, 1], [.5, 2.5, -1.5, 0], [2, 1.5, -.5, .5], [1, 3, -1, 1.5], [0, 1.5, .5, -.5]]), 8, 2.570582  # t, 5 df

def estimate(g):
    B = b * len(g)
    small, big = (g ** 2).sum(1).mean(), (g.mean(0) ** 2).sum()
    return np.array([(small - big) / (1 / b - 1 / B), (B * big - b * small) / (B - b)])

trace, gradient2 = estimate(G)
left = np.array([estimate(np.delete(G, k, 0)) for k in range(len(G))])
C = (len(G) - 1) ** 2 / len(G) * np.cov(left.T)
r = np.arange(0, 200, 1e-4)
inside = r[(trace - r * gradient2) ** 2 <= T ** 2 * (C[0, 0] - 2 * r * C[0, 1] + r ** 2 * C[1, 1])]
print(f"gradient2 {gradient2!r}  trace {trace!r}  scale {trace / gradient2!r}  from {inside.min():.4f} to {inside.max():.4f}")
