#!/usr/bin/env python3
"""Installs the wheel into a fresh environment of each interpreter, and runs the tests of the library there.

usage: wheel_test.py WHEEL|FOLDER COMMAND [PYTHON...]     without interpreters: this one. Exit 77 without a wheel, or
where pip finds no numpy.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

LARGEST = 3_000_000  # bytes
FOLDER = pathlib.Path(__file__).resolve().parent
TESTS = [FOLDER / f"{subject}_test.py" for subject in ("runtime", "protocol", "scaling")]


def test(python, wheel, command):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own = os.path.join(folder, "bin", "python")
        installed = subprocess.run([own, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel], env=environment)
        if installed.returncode != 0:
            return 77
        return max(subprocess.run([own, test, "installed", command], env=environment, cwd=folder).returncode for test in TESTS)


def main(place, command, *pythons):
    wheels = sorted(pathlib.Path(place).glob("*.whl")) if os.path.isdir(place) else [pathlib.Path(place)]
    if not wheels:
        print(f"skipped: no wheel in {place} (scripts/package.sh wheel)")
        return 77
    wheel = wheels[-1]
    size = os.path.getsize(wheel)
    print(os.path.basename(wheel), size, "bytes", flush=True)
    worst = 0 if size <= LARGEST else 1
    for python in pythons or [sys.executable]:
        print("==", python, flush=True)
        worst = worst or test(python, os.path.abspath(wheel), os.path.abspath(command))
    return worst


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
