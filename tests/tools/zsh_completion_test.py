#!/usr/bin/env python3
"""Tests zsh's completion as a user sees it: lines typed into an interactive shell, and their
completed form.

usage: zsh_completion_test.py FROM_HELP COMMAND      exits 77 without zsh
"""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

# The text typed before the tab, and the line afterwards.
LINES = [
    ("ashlar ver", "ashlar verify "),
    ("ashlar plan --memory", "ashlar plan --memory-budget "),
    ("ashlar run model.ash --lab", "ashlar run model.ash --labels "),
    ("ashlar zoo --hea", "ashlar zoo --headless "),
    ("ashlar run mod", "ashlar run model.ash "),
    ("ashlar plan --plan mod", "ashlar plan --plan model.ash "),
    ("ashlar verify --thr", "ashlar verify --threads "),
    ("ashlar plan --prefer m", "ashlar plan --prefer memory "),
    ("ashlar verify --device c", "ashlar verify --device cpu0:0 "),
    ("ashlar zoo mobilenet", "ashlar zoo mobilenet_v2 "),
    ("ashlar none --x", "ashlar none --x"),
]
SECONDS = 60  # per line, on a busy machine

# Control-X prints the line and discards it.
SETUP = """fpath=({folder} $fpath)
autoload -Uz compinit
compinit -u -D
setopt no_beep
note() {{ print -r -- "$BUFFER|" >> {folder}/lines; zle send-break }}
zle -N note
bindkey '^X' note
PROMPT='READY> '
"""


class Shell:
    """Starts an interactive zsh in `folder`, without anyone's settings."""

    def __init__(self, folder):
        self.notes = folder / "lines"
        self.notes.touch()
        self.shown = b""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-d", "-i"], {**os.environ, "ZDOTDIR": str(folder), "TERM": "dumb"})
        self.wait(lambda: b"READY> " in self.shown, "no prompt")

    def wait(self, is_done, what):
        end = time.monotonic() + SECONDS
        while not is_done():
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: {self.shown[-500:]}")
            if select.select([self.terminal], [], [], 0.05)[0]:
                self.shown += os.read(self.terminal, 4096)

    def complete(self, line):
        done = len(self.notes.read_text().splitlines())
        os.write(self.terminal, f"{line}\t\x18".encode())
        self.wait(lambda: len(self.notes.read_text().splitlines()) > done, f"'{line}' was not completed")
        return self.notes.read_text().splitlines()[-1].rstrip("|")

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def main(from_help, command):
    if shutil.which("zsh") is None:
        print("needs zsh")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run([sys.executable, from_help, command, folder], check=True)
        (folder / ".zshrc").write_text(SETUP.format(folder=folder))
        (folder / "model.ash").touch()
        shell = Shell(folder)
        for line, expected in LINES:
            got = shell.complete(line)
            if got != expected:
                wrong.append(f"'{line}' becomes '{got}', expected '{expected}'")
        shell.close()
    print("\n".join(wrong) or f"zsh completes {len(LINES)} lines")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
