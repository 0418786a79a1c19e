#!/usr/bin/env python3
"""Checks the annotations of ashlar_runtime by mypy --strict. Exit 77 where mypy, numpy or Ray is missing."""
import importlib.util
import pathlib
import subprocess
import sys

import support

for name in ("mypy", "numpy", "ray"):
    if importlib.util.find_spec(name) is None:
        print(f"skipped: {name} is missing")
        sys.exit(support.SKIPPED)
folder = pathlib.Path(__file__).resolve().parent.parent
sys.exit(subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "ashlar_runtime"], cwd=folder).returncode)
