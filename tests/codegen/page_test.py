#!/usr/bin/env python3
"""Runs the commands of docs/microcontrollers.md as the page has them, in an empty folder.

usage: page_test.py ASHLAR SOURCES [--torch]
--torch: a model of PyTorch, exported as the page says, takes the place of the first command's
exit 77: a cross compiler, emulator or C compiler is missing, or PyTorch
"""
import importlib.util
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
# A network like the one that the page copies; it is not trained, so any digit may come out.
NETWORK = """
import torch
torch.manual_seed(1)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(),
    torch.nn.Conv2d(16, 16, 3, padding=1, groups=16), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 1), torch.nn.ReLU(),
    torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32 * 4 * 4, 10))
"""


def read_commands(page):
    """Returns the lines of the section's first block of code."""
    section = page.split(HEADING + "\n", 1)[1].split("\n## ", 1)[0]
    block = re.search(r"(?:^    .*\n)+", section, re.MULTILINE).group(0)
    return [line.strip() for line in block.replace("\\\n", "").splitlines()]


def read_export(page):
    """Returns the line that exports a model of PyTorch."""
    return re.search(r"`(torch\.onnx\.export\([^`]*\))`", page).group(1)


def main(ashlar, sources, with_torch):
    page = (sources / "docs/microcontrollers.md").read_text()
    commands = read_commands(page)
    expected_of = dict(EXPECTED)
    if len(commands) != COMMANDS:
        sys.exit(f"the page has {len(commands)} commands, expected {COMMANDS}")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return 77
    if with_torch:
        if importlib.util.find_spec("torch") is None:
            print("skipped: there is no PyTorch")
            return 77
        commands[0] = f"{sys.executable} export.py"
        expected_of["qemu-system-arm"] = "digit "
    environment = dict(os.environ, PATH=f"{ashlar.parent}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "sources").symlink_to(sources)
        pathlib.Path(folder, "export.py").write_text(f"{NETWORK}{read_export(page)}\n")
        for command in commands:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
            print(f"$ {command}\n{done.stdout}", flush=True)
            if done.returncode != 0:
                sys.exit(f"exit {done.returncode}")
            expected = expected_of.get(command.split()[0], "")
            if expected not in done.stdout:
                sys.exit(f"expected '{expected}' in the output")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), "--torch" in sys.argv))
