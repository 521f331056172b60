#!/usr/bin/env python3
"""What NumPy and SciPy say of the samples of the statistics tests.

`statistics.rs` compares with what is stored in `expected.json`, and with what this prints now.

Usage: .venv/bin/python expect.py > expected.json
"""

import json
import sys

import numpy
from scipy import stats

SHARES = [0.99, 0.999]


def samples(name: str) -> numpy.ndarray:
    """The same numbers as `fn samples` of statistics.rs, by SplitMix64 in whole numbers."""
    state = {"smooth": 1, "spiky": 2, "shifted": 3, "coarse": 4}[name]
    values = []
    for index in range(5000):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        mixed = state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) % 2**64
        mixed ^= mixed >> 31
        value = 3000 + (mixed >> 50) + ((mixed >> 20) % 4096)
        if name == "spiky" and index % 97 == 0:
            value *= 40
        if name == "shifted":
            value += 700
        if name == "coarse":
            value = value // 1000 * 1000
        values.append(value)
    return numpy.sort(numpy.array(values))


def summary(name: str) -> dict:
    """Quartiles of type 7, whiskers of Tukey, mean with its interval."""
    values = samples(name)
    lower, median, upper = numpy.quantile(values, [0.25, 0.5, 0.75], method="linear")
    reach = 1.5 * (upper - lower)
    inside = values[(values >= lower - reach) & (values <= upper + reach)]
    deviation = numpy.std(values, ddof=1)
    interval = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    return {
        "lower_whisker": float(inside.min()),
        "lower_quartile": float(lower),
        "median": float(median),
        "mean": float(values.mean()),
        "mean_confidence": float((interval[1] - interval[0]) / 2),
        "deviation": float(deviation),
        "upper_quartile": float(upper),
        "upper_whisker": float(inside.max()),
        "percentiles": [percentile(values, share) for share in SHARES],
    }


def percentile(values: numpy.ndarray, share: float) -> dict:
    """With the order statistics that enclose it."""
    lower = int(stats.binom.ppf(0.025, len(values), share))
    upper = int(stats.binom.ppf(0.975, len(values), share))
    return {
        "value": float(numpy.quantile(values, share, method="linear")),
        "lower": float(values[lower - 1]),
        "upper": float(values[upper]) if upper < len(values) else None,
    }


def comparison(first: str, second: str) -> dict:
    """Ranks and distributions."""
    a, b = samples(first), samples(second)
    ranks = stats.mannwhitneyu(b, a, method="asymptotic")
    distance = stats.ks_2samp(a, b, method="asymp")
    return {
        "greater": float(ranks.statistic) / (len(a) * len(b)),
        "rank_p": float(ranks.pvalue),
        "distance": float(distance.statistic),
        "distance_p": float(distance.pvalue),
    }


def main() -> None:
    """Prints all of it as JSON."""
    pairs = [("smooth", "spiky"), ("smooth", "shifted"), ("smooth", "coarse"), ("coarse", "spiky")]
    found = {
        "summaries": {name: summary(name) for name in ["smooth", "spiky", "shifted", "coarse"]},
        "comparisons": {f"{a} {b}": comparison(a, b) for a, b in pairs},
    }
    json.dump(found, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
