#!/usr/bin/env python3
"""Installs the wheel, and runs the tests of the library and the examples with the installed package
alone.

usage: wheel_test.py WHEEL|FOLDER COMMAND [PYTHON...]

Without interpreters: this one. Exit code 77 without a wheel, or if pip finds no numpy. An
interpreter with Ray installs the wheel beside it, and runs Ray's examples, too. Any other one gets
a fresh environment, with the wheel's requirements from PyPI.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

LARGEST = 9_750_000  # bytes; half of them are the command, and 0.6 million libstdc++; 9,611,669 in November 2026
OLDEST_GLIBC = (2, 28)  # of RHEL 8; Debian 11, Ubuntu 20.04, RHEL 9 and Amazon Linux 2023 have later ones
SKIPPED = 77
TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent.parent
EXAMPLES = ROOT / "examples/python"


class Installed:
    """An installation of ashlar_runtime, in `folder` or through `environment`. `status` is the
    worst status of its runs.
    """

    def __init__(self, python, folder, **environment):
        self.python, self.folder, self.status = python, folder, 0
        self.environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        self.environment.update(environment)

    def has(self, *modules):
        return subprocess.run([self.python, "-c", f"import {', '.join(modules)}"], capture_output=True, env=self.environment).returncode == 0

    def run(self, *arguments, **more):
        code = subprocess.run([self.python, *map(str, arguments)], env=dict(self.environment, **more), cwd=self.folder).returncode
        if code not in (0, SKIPPED):
            print(f"exit {code}:", *arguments, flush=True)
            self.status = 1

    def run_tests(self, command):
        for subject in ("runtime", "protocol", "scaling", "types"):
            self.run(TESTS / f"{subject}_test.py", "installed", command)

    def run_examples(self, command):
        """Runs the examples on a small model. The notebook becomes a page if nbconvert is installed;
        otherwise its cells run one after the other.
        """
        folder = pathlib.Path(self.folder)
        model, buffers, notebook = folder / "mobilenet.ash", folder / "buffers.csv", folder / "notebook.py"
        for arguments in (["zoo", "mobilenet_v2", "--image", "96", "-o", model], ["plan", model, "-o", buffers]):
            subprocess.run([command, *arguments, "-q"], check=True)
        cells = json.loads((EXAMPLES / "notebook.ipynb").read_text())["cells"]
        notebook.write_text("\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
        examples = [(EXAMPLES / "exact_limit.py", model), (EXAMPLES / "planner_only.py", buffers),
                    ("-m", "ashlar_runtime", model, "--budget", "512KiB")]
        if self.has("ray.data", "ray.serve"):
            examples += [(EXAMPLES / f"ray_{name}.py", model) for name in ("batch", "serve")]
        else:
            print("examples for Ray skipped: ray[data,serve] is missing")
        if self.has("nbconvert", "ipykernel"):
            examples.append(("-m", "nbconvert", "--execute", "--to", "html", "--output-dir", folder, EXAMPLES / "notebook.ipynb"))
        else:
            print("the notebook as a page skipped: nbconvert or ipykernel is missing")
            examples.append((notebook,))
        for example in examples:
            print("$", *(os.path.basename(part) for part in example), flush=True)
            self.run(*example, MODEL=str(model))


class InstalledWheel(Installed):
    """The wheel in a fresh environment, with `beside` if available, or next to Ray. `there` says
    whether that worked.
    """

    def __init__(self, python, folder, wheel, beside):
        super().__init__(python, folder)
        beside_ray = self.has("numpy", "ray.data", "ray.serve")
        if beside_ray:
            where = ["--no-deps", "--target", os.path.join(folder, "site")]
            self.environment["PYTHONPATH"] = where[-1]  # for Ray's workers, too
        else:
            subprocess.run([python, "-m", "venv", os.path.join(folder, "venv")], check=True)
            self.python, where = os.path.join(folder, "venv/bin/python"), []
        pip = [self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        self.there = subprocess.run(pip + [*where, wheel], env=self.environment).returncode == 0
        if self.there and not beside_ray:
            subprocess.run(pip + beside, env=self.environment)


def check_versions(binary, allowed):
    """Returns 1 if a binary needs symbols of a glibc later than `allowed`, or libstdc++ (RHEL 8's is
    GCC 8's)."""
    symbols = subprocess.run(["objdump", "-T", binary], check=True, capture_output=True, text=True).stdout
    late = [name for major, minor, name in re.findall(r"GLIBC_(\d+)\.(\d+)[\d.]*\)?\s+(\S+)$", symbols, re.M)
            if (int(major), int(minor)) > allowed]
    late += re.findall(r"(?:GLIBCXX|CXXABI)_[\d.]+\)?\s+(\S+)$", symbols, re.M)
    if late or not re.search(r"GLIBC_[\d.]+\)? ", symbols):
        print(f"{os.path.basename(binary)} needs symbols later than glibc {allowed}: {', '.join(late[:5])}")
        return 1
    return 0


def check_binaries(wheel):
    """Checks the exports and system libraries of the wheel's library, and the system that library and
    command need against the wheel's tag; returns 0 if all is well.
    """
    tag = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)_", os.path.basename(wheel)).groups()))
    wrong = tag > OLDEST_GLIBC
    if wrong:
        print(f"the wheel is for glibc {tag}, later than {OLDEST_GLIBC}")
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            binaries = [archive.extract(name, folder) for name in archive.namelist() if name.endswith((".so.1", "/ashlar"))]
        library, _ = sorted(binaries, key=lambda path: path.endswith("/ashlar"))
        wrong = subprocess.run([sys.executable, ROOT / "tests/library/c/exports_test.py", library,
                                ROOT / "library/include/ashlar/ashlar.h", "--static"]).returncode or wrong
        for binary in binaries:
            wrong = check_versions(binary, tag) or wrong
    return int(wrong)


def main(place, command, *pythons):
    wheels = sorted(pathlib.Path(place).glob("*.whl")) if os.path.isdir(place) else [pathlib.Path(place)]
    if not wheels:
        print(f"skipped: no wheel in {place} (scripts/package.sh wheel)")
        return SKIPPED
    wheel, command = os.path.abspath(wheels[-1]), os.path.abspath(command)
    size = os.path.getsize(wheel)
    print(os.path.basename(wheel), size, "bytes", flush=True)
    worst = check_binaries(wheel)
    if size > LARGEST:
        print(f"the wheel is larger than {LARGEST} bytes")
        worst = 1
    pythons = pythons or [sys.executable]
    for python in pythons:
        # Each interpreter checks annotations. At night the newest one converts the notebook to a
        # page, which takes minutes; otherwise its cells run alone.
        page = os.environ.get("ASHLAR_LONG_TESTS") and python == pythons[-1]
        beside = ["mypy"] + (["nbconvert", "ipykernel"] if page else [])
        print("==", subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip(), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            installed = InstalledWheel(python, folder, wheel, beside)
            if not installed.there:
                print("skipped: pip could not install the wheel and numpy")
                worst = worst or SKIPPED
                continue
            installed.run_tests(command)
            installed.run_examples(command)
            worst = installed.status or worst
    return worst


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
