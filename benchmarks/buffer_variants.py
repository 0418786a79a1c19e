#!/usr/bin/env python3
"""Writes variants of buffers, to test whether a planner is good at a single instance or at its
kind.

Usage: buffer_variants.py FOLDER FILE.csv...

Variants: time reversed, rows shuffled, buffers left out, equal lifetimes merged, buffers split,
sizes or lifetimes shortened. Each variant fits every capacity that the original fits. Seeded: the
same files on every machine.
"""

import csv
import pathlib
import random
import sys

GRAIN = 1024  # bytes; sizes are split at multiples of it


def read(path):
    with open(path) as file:
        return [(row["id"], int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file)]


def write(path, rows):
    with open(path, "w") as file:
        file.write("id,lower,upper,size\n")
        for index, (_, lower, upper, size) in enumerate(rows):
            file.write(f"{index},{lower},{upper},{size}\n")


def reverse(rows):
    return [(name, -upper, -lower, size) for name, lower, upper, size in rows]


def shuffle(rows, seed):
    rows = list(rows)
    random.Random(seed).shuffle(rows)
    return rows


def drop(rows, share, seed):
    draw = random.Random(seed)
    return [row for row in rows if draw.random() >= share]


def merge(rows, seed):
    """Merges some pairs of buffers with equal lifetimes."""
    draw = random.Random(seed)
    result = {}
    for name, lower, upper, size in rows:
        key = (lower, upper) if draw.random() < 0.5 else (lower, upper, name)
        before = result.get(key, (name, lower, upper, 0))
        result[key] = (before[0], lower, upper, before[3] + size)
    return list(result.values())


def split(rows, seed):
    """Splits some buffers in two, by size or by time."""
    draw = random.Random(seed)
    result = []
    for name, lower, upper, size in rows:
        if size >= 2 * GRAIN and draw.random() < 0.1:
            below = GRAIN * draw.randint(1, size // GRAIN - 1)
            result += [(name, lower, upper, below), (name, lower, upper, size - below)]
        elif upper - lower >= 2 and draw.random() < 0.05:
            at = draw.randint(lower + 1, upper - 1)
            result += [(name, lower, at, size), (name, at, upper, size)]
        else:
            result.append((name, lower, upper, size))
    return result


def shrink(rows, seed):
    draw = random.Random(seed)
    return [(name, lower, upper, max(GRAIN, size - GRAIN * draw.randint(0, 1))) for name, lower, upper, size in rows]


def shorten(rows, seed):
    draw = random.Random(seed)
    return [(n, lower, max(lower + 1, upper - (draw.random() < 0.3)), size) for n, lower, upper, size in rows]


def main():
    folder = pathlib.Path(sys.argv[1])
    for path in map(pathlib.Path, sys.argv[2:]):
        rows = read(path)
        variants = {"reversed": reverse(rows), "shuffled": shuffle(rows, 1), "both": shuffle(reverse(rows), 2)}
        for percent in (2, 5, 10):
            for seed in (1, 2):
                variants[f"without-{percent}-{seed}"] = drop(rows, percent / 100, 100 * percent + seed)
        variants["merged"] = merge(rows, 3)
        variants["split"] = shuffle(split(rows, 4), 4)
        variants["smaller"] = shrink(rows, 5)
        variants["shorter"] = shorten(rows, 6)
        for name, variant in variants.items():
            write(folder / f"{path.stem}-{name}.csv", variant)


if __name__ == "__main__":
    main()
