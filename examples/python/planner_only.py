"""Packs the buffers of another program: a CSV file with the columns lower, upper, size
(MiniMalloc's format). A buffer is live in steps [lower, upper).

    python planner_only.py buffers.csv
"""
import csv
import sys

import numpy as np

import ashlar_runtime as ashlar


def first_fit(lower, upper, size):
    """Returns the arena of first fit: each buffer, the largest first, takes the lowest free offset.
    """
    placed = []
    arena = 0
    for i in np.argsort(-size, kind="stable"):
        beside = sorted((offset, offset + size[k]) for k, offset in placed if lower[k] < upper[i] and lower[i] < upper[k])
        offset = 0
        for begin, end in beside:
            if begin - offset >= size[i]:
                break
            offset = max(offset, end)
        placed.append((i, offset))
        arena = max(arena, offset + size[i])
    return int(arena)


def main(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    lower, upper, size = (np.array([int(row[column]) for row in rows], np.int64) for column in ("lower", "upper", "size"))
    solution = ashlar.plan_memory(lower, upper, size)
    for name, arena in (("side by side", int(size.sum())), ("first fit, by size", first_fit(lower, upper, size)),
                        ("planned", solution.arena), ("lower bound", solution.lower_bound)):
        print(f"{name:20} {arena:14,} bytes")
    print(f"{len(rows)} buffers, {solution.proof}")
    assert solution.lower_bound <= solution.arena <= first_fit(lower, upper, size)


if __name__ == "__main__":
    main(*sys.argv[1:])
