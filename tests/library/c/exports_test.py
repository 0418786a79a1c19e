#!/usr/bin/env python3
"""Checks the exports of the shared library, and the system functions that it uses.

usage: exports_test.py LIBRARY HEADER [--static]
--static: the library of a wheel, which contains protobuf-lite, whose log may write to stderr, and
libstdc++, whose streams know stdout. It names libraries that are part of later C libraries.
"""
import re
import subprocess
import sys

# Functions that a library must not call: the environment, signals, the process and its console
# belong to the program.
FORBIDDEN = {"getenv", "secure_getenv", "setenv", "putenv", "signal", "sigaction", "exit", "_exit", "abort_handler",
             "printf", "puts", "system", "fork", "stdout", "stderr", "_ZSt4cout", "_ZSt4cerr"}
STATIC_MAY_TAKE = {"stderr", "stdout"}
# The libraries that it may need: no kernels, and no threads except its own.
NEEDED = re.compile(r"(lib(absl_\w+|protobuf-lite|z|stdc\+\+|gcc_s|m|mvec|c)|ld-linux-[\w-]+)\.so\.\S+")


def symbols(library, *options):
    text = subprocess.run(["nm", "-D", *options, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


def taken(library):
    """Reads the relocations: linkers also list symbols whose callers they have left out."""
    text = subprocess.run(["readelf", "-rW", library], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^[0-9a-f]+ +[0-9a-f]+ +R_\S+ +[0-9a-f]+ +([\w.]+)", text, re.M))


def main(library, header, *options):
    declared = set(re.findall(r"\b(ashlar_\w+)\(", re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)))
    exported = symbols(library, "--defined-only", "--extern-only") - {"ASHLAR_1"}
    static = options == ("--static",)
    forbidden = FORBIDDEN - STATIC_MAY_TAKE if static else FORBIDDEN
    wrong = [f"exported and not declared: {name}" for name in sorted(exported - declared)]
    wrong += [f"declared and not exported: {name}" for name in sorted(declared - exported)]
    wrong += [f"takes {name} from the system" for name in sorted(taken(library) & forbidden)]
    defined = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    wrong += [f"defines {name}" for name in ("malloc", "free", "realloc")
              if re.search(rf"^[0-9a-f]+ \w {name}$", defined, re.M)]
    dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    if "NODELETE" not in dynamic:
        wrong.append("may be unloaded under its own threads")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)) - ({"libpthread.so.0", "libdl.so.2"} if static else set())
    wrong += [f"needs {name}" for name in sorted(needed) if not NEEDED.fullmatch(name)]
    print("\n".join(wrong) or f"{len(exported)} functions exported, all declared")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
