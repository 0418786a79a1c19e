#!/usr/bin/env python3
"""What the shared library exports, and what it takes from the system.

usage: exports_test.py LIBRARY HEADER
"""
import re
import subprocess
import sys

# Nothing of these may be called by a library: the environment, signals and the process are the program's.
FORBIDDEN = {"getenv", "secure_getenv", "setenv", "putenv", "signal", "sigaction", "exit", "_exit", "abort_handler",
             "printf", "puts", "system", "fork"}


def symbols(library, *options):
    text = subprocess.run(["nm", "-D", *options, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


def main(library, header):
    declared = set(re.findall(r"\b(ashlar_\w+)\(", re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)))
    exported = symbols(library, "--defined-only") - {"ASHLAR_1"}
    wrong = [f"exported and not declared: {name}" for name in sorted(exported - declared)]
    wrong += [f"declared and not exported: {name}" for name in sorted(declared - exported)]
    wrong += [f"takes {name} from the system" for name in sorted(symbols(library, "--undefined-only") & FORBIDDEN)]
    defined = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    wrong += [f"defines {name}" for name in ("malloc", "free", "realloc")
              if re.search(rf"^[0-9a-f]+ \w {name}$", defined, re.M)]
    if "NODELETE" not in subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout:
        wrong.append("may be unloaded under its own threads")
    print("\n".join(wrong) or f"{len(exported)} functions exported, all declared")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
