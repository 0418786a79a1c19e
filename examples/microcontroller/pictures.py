#!/usr/bin/env python3
"""Writes pictures of digits as `ashlar quantize` reads them: arrays named images and labels.

usage: pictures.py DIGITS.npz OUT.npz
"""
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as digits, zipfile.ZipFile(sys.argv[2], "w") as out:
    for name in ["images", "labels"]:
        out.writestr(name + ".npy", digits.read(f"calibration_{name}.npy"))
