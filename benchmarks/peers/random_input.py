"""Writes seeded images: random_input.py FILE.npy BATCH IMAGE"""
import sys

import numpy

if __name__ == "__main__":
    shape = (int(sys.argv[2]), 3, int(sys.argv[3]), int(sys.argv[3]))
    numpy.save(sys.argv[1], numpy.random.default_rng(0).standard_normal(shape, dtype="float32"))
