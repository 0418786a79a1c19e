#!/usr/bin/env python3
"""Runs the library in programs with other allocators: jemalloc, and the counting one. Exit 77
without jemalloc.

usage: allocators_test.py LIBRARY_TEST HEAP_COUNT
"""
import os
import re
import subprocess
import sys

TESTS = "SessionLibraryTest.*:FamilyLibraryTest.TenThousand*:TrainingTest.AStep*-*PageMore"  # limits count memory that an allocator has mapped


def run(program, preload, **environment):
    result = subprocess.run([program, f"--gtest_filter={TESTS}"], capture_output=True, text=True,
                            env=dict(os.environ, LD_PRELOAD=preload, **environment))
    if result.returncode != 0:
        sys.exit(f"with {preload}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def main(program, heap_count):
    run(program, heap_count)  # heap_calls is 0 there, not -1
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    jemalloc = re.search(r"libjemalloc\.so\.2.*=> (\S+)", known)
    if jemalloc is None:
        print("skipped: jemalloc is missing (package libjemalloc2)")
        return 77
    text = run(program, jemalloc.group(1), MALLOC_CONF="stats_print:true")
    calls = int(re.search(r"^total:\s+\d+\s+(\d+)", text, re.M).group(1))
    print(f"jemalloc served {calls} calls")
    return 0 if calls > 10000 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
