#!/usr/bin/env python3
"""Checks the annotations of ashlar_runtime, in the tree or installed, with mypy --strict. usage as
runtime_test.py's.

Without Ray, leaves out ashlar_runtime.ray. PyTorch's own annotations are not read. Exit code 77 if mypy or numpy is missing.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

import support

for name in ("mypy", "numpy"):
    if importlib.util.find_spec(name) is None:
        print(f"skipped: {name} is missing")
        sys.exit(support.SKIPPED)
if sys.argv[1] == "installed":
    folder = pathlib.Path(importlib.util.find_spec("ashlar_runtime").origin).parent
else:
    folder = pathlib.Path(__file__).resolve().parent.parent / "ashlar_runtime"
    os.chdir(folder.parent)
checked = ["-p", "ashlar_runtime"]
if importlib.util.find_spec("ray") is None:
    checked = ["-p", "ashlar_runtime.torch"]
    checked += [part for path in sorted(folder.glob("*.py")) for part in ("-m", f"ashlar_runtime.{path.stem}".replace(".__init__", ""))]
settings = pathlib.Path(__file__).resolve().parent.parent / "pyproject.toml"
sys.exit(subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", settings, "--cache-dir=/dev/null", *checked]).returncode)
