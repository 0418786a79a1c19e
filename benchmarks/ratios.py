"""The median of paired ratios, and how sure it is.

The interval is that of order statistics: the median of the population lies between the k-th smallest and the k-th
largest of n samples with the probability that a binomial variable of n trials at 1/2 lies from k to n - k (W. J.
Conover, Practical Nonparametric Statistics, 3.2). Nothing is supposed of the distribution.
"""
import math
import statistics


def median_interval(values, confidence=0.95):
    """(low, high, how sure): the narrowest such interval of at least this confidence; where there are too few
    values for it (fewer than six at 0.95), the least and the greatest."""
    ordered = sorted(values)
    n = len(ordered)
    best = 1
    for k in range(1, n // 2 + 1):
        if coverage(n, k) < confidence and k > 1:
            break
        best = k
    return ordered[best - 1], ordered[n - best], coverage(n, best)


def coverage(n, k):
    """The probability that the median lies between the k-th smallest and the k-th largest of n."""
    if n < 2:
        return 0.0
    return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2 ** n


def summary(ratios):
    """For a row of a table: {"ratio", "interval", "confidence"}."""
    low, high, sure = median_interval(ratios)
    return {"ratio": statistics.median(ratios), "interval": [low, high], "confidence": round(sure, 3)}


def percentile_90(values):
    """By the nearest rank: of one value that value."""
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]
