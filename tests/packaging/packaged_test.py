#!/usr/bin/env python3
"""Checks that scripts/package.sh builds every file that is installed, so that it works in an empty build folder.

usage: packaged_test.py BUILD_FOLDER SOURCE_FOLDER      Exit 77 without ninja.

CMake's install script names the files; ninja lists the ones that it builds, and the ones that the target `packaged` needs.
"""
import pathlib
import re
import shutil
import subprocess
import sys

TARGET = "packaged"


def ninja(build, *arguments):
    return subprocess.run(["ninja", "-C", str(build), "-t", *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


def installed(script, build):
    """Files of the build folder that an install script copies, as ninja names them."""
    files = [pathlib.Path(name) for name in re.findall(r'"(/[^"]+)"', script)]
    return {str(file.relative_to(build)) for file in files if file.is_relative_to(build)}


def missing(build, files, target):
    """Returns files whose last command, the one that makes the file, does not run for a target."""
    commands = set(ninja(build, "commands", target))
    return sorted(file for file in files if ninja(build, "commands", file)[-1] not in commands)


def main(build, sources):
    if not shutil.which("ninja"):
        print("skipped: ninja is missing")
        return 77
    build, sources = pathlib.Path(build).resolve(), pathlib.Path(sources)
    built = {line.rpartition(": ")[0] for line in ninja(build, "targets", "all")}
    files = installed((build / "packaging" / "cmake_install.cmake").read_text(), build)
    made = files & built
    assert len(made) >= 4, f"the command, the library, the heap counter and the manual page are built; found {made}"
    absent = missing(build, made, TARGET)
    assert not absent, f"target {TARGET} does not build {absent}; install targets by ashlar_install_target()"
    assert missing(build, made, "ashlar"), "a target that lacks files must be seen"
    script = (sources / "scripts" / "package.sh").read_text()
    assert re.search(rf"--target {TARGET}$", script, re.MULTILINE), f"scripts/package.sh does not build {TARGET}"
    print(f"{TARGET} builds all of {len(made)} installed files")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
