#!/usr/bin/env python3
"""The check of prose accepts the sources, and finds each violation that is planted in a file, with its line.

usage: check_prose_test.py ROOT    exit 0: all is as expected, 1: not, 77: ROOT is not a clone
"""
import pathlib
import subprocess
import sys
import tempfile

PLANTS = [
    ("planted.h", "int x = 0;\n// Of a plan, the bytes.\nint y = 0;\n", "2: begins with 'Of'"),
    ("planted.cc", "int x = 0;  // those that live longest\n", "1: 'those that'"),
    ("planted.c", "/* Returns what is\n * left. */\n", "1: 'what is'"),
    ("planted.py", "x = 0\n# All arenas but for the first.\n", "2: 'but for'"),
    ("planted.sh", "true  # Whose tiles were made again.\n", "1: 'made again'"),
    ("planted.md", "# A page\n\nThe arena is\ngiven up.\n", "3: 'given up'"),
]
ACCEPTED = [
    ("strings.cc", 'const char kText[] = "// Of what is made again";\n'),
    ("code.md", "A page.\n\n    # Of what is made again\n\nIt says `what is` and ends.\n"),
]


def check(root, *paths):
    done = subprocess.run([sys.executable, root / "scripts/check_prose.py", *paths], capture_output=True, text=True, cwd=root)
    return done.returncode, done.stdout + done.stderr


def main(root):
    if not (root / ".git").exists():
        return 77
    failures = []
    code, output = check(root)
    if code != 0:
        failures.append(f"the sources themselves: {output}")
    with tempfile.TemporaryDirectory() as folder:
        for name, text, expected in [*PLANTS, *((*accepted, None) for accepted in ACCEPTED)]:
            path = pathlib.Path(folder) / name
            path.write_text(text)
            code, output = check(root, path)
            if code != (expected is not None) or f"{path}:{expected}" not in output and expected:
                failures.append(f"{name}: exit {code}, expected '{expected}': {output}")
    print("\n".join(failures) or f"{len(PLANTS)} plants found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
