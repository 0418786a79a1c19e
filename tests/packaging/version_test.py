#!/usr/bin/env python3
"""Checks that the command, the library, its header, the packages, the wheel and the documents state
one version: the version of project() in CMakeLists.txt.

usage: version_test.py VERSION BUILD_FOLDER SOURCE_FOLDER COMMAND LIBRARY
"""
import ctypes
import pathlib
import re
import subprocess
import sys


def number(version):
    """The version in the form of ASHLAR_VERSION: major * 10000 + minor * 100 + patch."""
    major, minor, patch = map(int, version.split("."))
    return str(major * 10000 + minor * 100 + patch)


def main(version, build, sources, command, library):
    build, sources = pathlib.Path(build), pathlib.Path(sources)

    def first(path, pattern):
        return re.search(pattern, path.read_text(), re.MULTILINE).group(1)

    said = {
        "CMakeLists.txt": (first(sources / "CMakeLists.txt", r"^project\(ashlar VERSION (\S+)"), version),
        "ashlar --version": (subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.split()[1], version),
        "ashlar_version()": (str(ctypes.CDLL(library).ashlar_version()), number(version)),
        "ashlar.h": (first(sources / "library/include/ashlar/ashlar.h", r"^#define ASHLAR_VERSION (\d+)"), number(version)),
        "ashlar.pc": (first(build / "packaging/ashlar.pc", r"^Version: (\S+)$"), version),
        "CPackConfig.cmake": (first(build / "CPackConfig.cmake", r'^set\(CPACK_PACKAGE_VERSION "([^"]+)"\)'), version),
        "pyproject.toml": (first(sources / "python/pyproject.toml", r'^version = "([^"]+)"'), version),
        "docs/c.md": (first(sources / "docs/c.md", r"find_package\(Ashlar (\S+) "), version.rpartition(".")[0]),
    }
    wrong = {place: one for place, (one, wanted) in said.items() if one != wanted}
    assert not wrong, f"the project is of version {version}, but: {wrong}"
    print(f"version {version} in {len(said)} places")


if __name__ == "__main__":
    main(*sys.argv[1:])
