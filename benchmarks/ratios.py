"""The median of paired ratios, with its confidence interval.

The interval comes from order statistics. The median of the population lies between the k-th
smallest and the k-th largest of n samples with a known probability: that a binomial variable of n
trials at 1/2 lies from k to n - k (W. J. Conover, Practical Nonparametric Statistics, 3.2). No
distribution is assumed.
"""
import math
import statistics


def median_interval(values, confidence=0.95):
    """Returns (low, high, confidence): the narrowest such interval of at least the given
    confidence.

    With too few values (fewer than six at 0.95) it is the smallest and the largest value.
    """
    ordered = sorted(values)
    n = len(ordered)
    best = 1
    for k in range(1, n // 2 + 1):
        if coverage(n, k) < confidence and k > 1:
            break
        best = k
    return ordered[best - 1], ordered[n - best], coverage(n, best)


def coverage(n, k):
    """Returns the probability that the median lies between the k-th smallest and the k-th largest
    of n.
    """
    if n < 2:
        return 0.0
    return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2 ** n


def summary(ratios):
    """Returns a row of a table: {"ratio", "interval", "confidence"}."""
    low, high, sure = median_interval(ratios)
    return {"ratio": statistics.median(ratios), "interval": [low, high], "confidence": round(sure, 3)}


def percentile_90(values):
    """Returns the 90th percentile by the nearest rank; of a single value that value."""
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]
