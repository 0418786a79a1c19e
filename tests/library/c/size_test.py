#!/usr/bin/env python3
"""Checks the wheel's size limit without a wheel, on its largest part: the shared library, stripped
and compressed as in a wheel. scripts/test_wheel.sh measures the wheel itself.

usage: size_test.py LIBRARY
"""
import subprocess
import sys
import tempfile
import zlib

LARGEST = 4_160_000  # bytes, with shared windows of weights, states, counted sizes, random numbers, frames of luma and chroma, resized 8-bit images and costs of tilings by contents; the wheel, with static libraries and better compression, has about 40,000 more


def main(library):
    with tempfile.TemporaryDirectory() as folder:
        stripped = f"{folder}/library.so"
        subprocess.run(["strip", "-o", stripped, library], check=True)
        with open(stripped, "rb") as file:
            size = len(zlib.compress(file.read(), 9))
    print(f"{size} bytes, stripped and compressed; at most {LARGEST}")
    return 1 if size > LARGEST else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
