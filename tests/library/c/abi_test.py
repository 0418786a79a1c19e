#!/usr/bin/env python3
"""Compares functions and types of the C header with the ABI recorded in ashlar.abi. Exit 77 without
abidiff.

usage: abi_test.py HEADER [--record]

The header is compiled as a library of its own, with functions that do nothing. The real library
includes it, and exports its functions (exports_test.py). The record changes only by a decision:
within a major version fields may be appended and functions added; --record then writes it anew.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RECORD = pathlib.Path(__file__).with_name("ashlar.abi")
# (text of the header, an incompatible one): each change must be detected.
BREAKS = [("int64_t id, lower, upper;", "int64_t id, upper, lower;"), ("int32_t proof, bottleneck_step;", "int64_t proof, bottleneck_step;"),
          ("ASHLAR_UNAVAILABLE = 5", "ASHLAR_UNAVAILABLE = 15"), ("ashlar_plan_load(const ashlar_plan* plan)", "ashlar_plan_load(int plan)"),
          ("ashlar_set_log", "ashlar_log")]


def write_abi(header, folder, path):
    stub = folder / "stub.c"
    stub.write_text(re.sub(r"(ASHLAR_API[^;{}]*\));", r"\1 { __builtin_trap(); }", header))
    library = folder / "libashlar.so"
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "-Wl,-soname,libashlar.so.1", stub.name, "-o", library.name], check=True,
                   cwd=folder)  # the record contains the source's path
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--out-file", path, library],
                   check=True)


def difference(before, after):
    result = subprocess.run(["abidiff", before, after], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def main(header, *options):
    if not shutil.which("abidiff") or not shutil.which("abidw"):
        print("skipped: abidiff is missing (package abigail-tools)")
        return 77
    text = pathlib.Path(header).read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options == ("--record",):
            write_abi(text, folder, RECORD)
            return 0
        now, broken = folder / "now.abi", folder / "broken.abi"
        write_abi(text, folder, now)
        code, report = difference(RECORD, now)
        if code != 0:
            print(report)
            return 1
        for before, after in BREAKS:
            assert before in text, before
            write_abi(text.replace(before, after), folder, broken)
            if difference(RECORD, broken)[0] == 0:
                print(f"'{after}' in place of '{before}' went unseen")
                return 1
    print("functions and types are those on record")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
