#!/usr/bin/env python3
"""Runs the commands of docs/microcontrollers.md as the page has them, in an empty folder.

usage: page_test.py ASHLAR SOURCES     exit 77: a cross compiler, emulator or C compiler is missing
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADING = "## From a model to a running program"
COMMANDS = 10
TOOLS = ["arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm", "cc", "python3"]
EXPECTED = {"./net_test": "net: ok", "qemu-system-arm": "digit 4"}  # parts of outputs


def read_commands(page):
    """Returns the lines of the section's first block of code."""
    section = page.split(HEADING + "\n", 1)[1].split("\n## ", 1)[0]
    block = re.search(r"(?:^    .*\n)+", section, re.MULTILINE).group(0)
    return [line.strip() for line in block.replace("\\\n", "").splitlines()]


def main(ashlar, sources):
    commands = read_commands((sources / "docs/microcontrollers.md").read_text())
    if len(commands) != COMMANDS:
        sys.exit(f"the page has {len(commands)} commands, expected {COMMANDS}")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return 77
    environment = dict(os.environ, PATH=f"{ashlar.parent}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "sources").symlink_to(sources)
        for command in commands:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
            print(f"$ {command}\n{done.stdout}", flush=True)
            if done.returncode != 0:
                sys.exit(f"exit {done.returncode}")
            expected = EXPECTED.get(command.split()[0], "")
            if expected not in done.stdout:
                sys.exit(f"expected '{expected}' in the output")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
