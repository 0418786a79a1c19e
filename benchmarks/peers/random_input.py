"""Writes seeded images: random_input.py FILE.npy BATCH"""
import sys

import numpy

if __name__ == "__main__":
    shape = (int(sys.argv[2]), 3, 224, 224)
    numpy.save(sys.argv[1], numpy.random.default_rng(0).standard_normal(shape, dtype="float32"))
