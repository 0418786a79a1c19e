#!/usr/bin/env python3
"""Checks that check_layers finds errors planted in a copy of the sources, and names file and line.

usage: check_layers_test.py ROOT    exit 0: all planted errors are found, 1: not
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

PLANTS = [
    ({"memory/planted.cc": '#include "graph/graph.h"\n'},
     "memory/planted.cc:1: includes graph/graph.h; memory/ may not include graph/"),
    ({"runtime/cpu/planted.cc": '\n#include "runtime/plan/stages/weights.h"\n'},
     "runtime/cpu/planted.cc:2: includes runtime/plan/stages/weights.h; runtime/cpu/ may not include runtime/plan/stages/"),
    ({"graph/passes/planted.cc": "// Not cuda.\nint cuda = 0;\n"},
     "graph/passes/planted.cc:2: names the device cuda; graph/passes/ knows none"),
    ({"opr/planted.h": "bool OnGpu();\n"}, "opr/planted.h:1: names the device Gpu; opr/ knows none"),
    ({"memory/inner/planted.h": '#include "memory/planner.h"\n',
      "memory/planted.cc": '#include "memory/inner/planted.h"\n'},
     "folders in a circle: memory -> memory/inner -> memory"),
    ({"runtime/plan/planted.h": '#include "runtime/plan/other.h"\n',
      "runtime/plan/other.cc": '#include "runtime/plan/planted.h"\n'},
     "files in a circle: runtime/plan/other -> runtime/plan/planted -> runtime/plan/other"),
    ({"planted/planted.cc": ""}, "planted/planted.cc: no layer"),
    ({"docs/architecture.md": "     2  graph\n     1  opr\n"}, "docs/architecture.md: draws other layers"),
]


def check(root):
    done = subprocess.run([sys.executable, root / "scripts/check_layers.py", root], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main(root):
    failures = []
    code, output = check(root)
    if code != 0:
        failures.append(f"the sources themselves: {output}")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns("build", ".git", "results", "*.ash"))
        for files, expected in PLANTS:
            for name, text in files.items():
                (copy / name).parent.mkdir(exist_ok=True)
                (copy / name).write_text(text)
            code, output = check(copy)
            if code != 1 or expected not in output:
                failures.append(f"planted {', '.join(files)}: exit {code}, expected 1 and '{expected}': {output}")
            for name in files:
                (copy / name).unlink()
                if (root / name).exists():
                    shutil.copy(root / name, copy / name)
    print("\n".join(failures) or f"{len(PLANTS)} plants found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
