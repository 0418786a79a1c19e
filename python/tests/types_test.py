#!/usr/bin/env python3
"""Checks the annotations of ashlar_runtime by mypy --strict; without Ray, of all but ashlar_runtime.ray. Exit 77 where mypy or numpy is missing."""
import importlib.util
import pathlib
import subprocess
import sys

import support

for name in ("mypy", "numpy"):
    if importlib.util.find_spec(name) is None:
        print(f"skipped: {name} is missing")
        sys.exit(support.SKIPPED)
folder = pathlib.Path(__file__).resolve().parent.parent
checked = ["ashlar_runtime"] if importlib.util.find_spec("ray") else [str(path) for path in sorted(folder.glob("ashlar_runtime/*.py"))]
sys.exit(subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", *checked], cwd=folder).returncode)
