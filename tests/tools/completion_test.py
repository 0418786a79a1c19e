#!/usr/bin/env python3
"""Checks that the manual page and the completions made from --help contain all subcommands and
options.

usage: completion_test.py FROM_HELP COMMAND
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# Words of a command line, the last one unfinished, and bash's suggestions for it.
COMPLETIONS = [
    (["ashlar", "ver"], ["verify"]),
    (["ashlar", "plan", "--memory"], ["--memory-budget"]),
    (["ashlar", "run", "--lab"], ["--labels"]),
    (["ashlar", "zoo", "--hea"], ["--headless"]),
    (["ashlar", "plan", "--prefer", ""], ["speed", "memory"]),
    (["ashlar", "plan", "--prefer", "="], ["speed", "memory"]),
    (["ashlar", "plan", "--prefer", "=", "m"], ["memory"]),
    (["ashlar", "run", "--memory-budget", "m"], ["min"]),
    (["ashlar", "plan", "--format", "s"], ["svg"]),
    (["ashlar", "plan", "--planner", "best"], ["best_fit"]),
    (["ashlar", "train", "--optimizer", "adam"], ["adam", "adamw"]),
    (["ashlar", "zoo", "mobilenet"], ["mobilenet_v2"]),
    (["ashlar", "none", "--x"], []),
]


def main(from_help, command):
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run([sys.executable, from_help, command, folder], check=True)
        manual, zsh = (folder / "ashlar.1").read_text(), (folder / "_ashlar").read_text()
        top = subprocess.run([command, "--help"], check=True, capture_output=True, text=True).stdout
        for name in re.findall(r"^  ([a-z]+)  ", top, re.M):
            text = subprocess.run([command, name, "--help"], check=True, capture_output=True, text=True).stdout
            options = set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", text, re.M))
            section = manual[manual.index(f'.SH "ASHLAR {name.upper()}"'):].split('.SH "ASHLAR', 2)[1]
            offered = subprocess.run(["bash", "-c", f"source {folder}/ashlar; COMP_WORDS=(ashlar {name} -); COMP_CWORD=2; _ashlar; "
                                      'echo "${COMPREPLY[@]}"'], check=True, capture_output=True, text=True).stdout.split()
            for option in sorted(options):
                if option.replace("-", "\\-") not in section:
                    wrong.append(f"manual: {name} {option}")
                if option not in offered:
                    wrong.append(f"bash: {name} {option}")
                if f"'{option}[" not in zsh:
                    wrong.append(f"zsh: {name} {option}")
        for words, expected in COMPLETIONS:
            script = (f"source {folder}/ashlar; COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _ashlar; "
                      'echo "${COMPREPLY[@]}"')
            got = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout.split()
            if got != expected:
                wrong.append(f"{words}: {got}, expected {expected}")
        for shell, arguments in (("zsh", ["-n", folder / "_ashlar"]), ("groff", ["-man", "-ww", "-z", folder / "ashlar.1"])):
            if not shutil.which(shell):
                continue
            result = subprocess.run([shell, *arguments], capture_output=True, text=True)
            if result.returncode != 0 or result.stderr:
                wrong.append(f"{shell}: {result.stderr}")
    print("\n".join(wrong) or "manual page and completions have every option")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
