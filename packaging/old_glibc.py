#!/usr/bin/env python3
"""Makes stub libraries of an older glibc, to link wheels against.

usage: old_glibc.py COMPILER READELF MAJOR.MINOR FOLDER

A program needs the newest versions of the symbols that were there when it was linked. So a stub of
each library of the C library gets, for each symbol of this system's library, only its newest
version up to MAJOR.MINOR, and no code. A symbol that has no such version is undefined, and the
linker names it: packaging/old_glibc.c has those few that the wheel needs. FOLDER/libraries has the
linker's options.
"""
import pathlib
import re
import subprocess
import sys

# In the order of the search for symbols: before 2.34 the loader has a malloc of its own.
LIBRARIES = {"c": "libc.so.6", "m": "libm.so.6", "mvec": "libmvec.so.1", "loader": "ld-linux-x86-64.so.2",
             "arm_loader": "ld-linux-aarch64.so.1"}
SYMBOL = re.compile(r"\s*\d+: \w+\s+(\d+|0x\w+) (FUNC|OBJECT|IFUNC|NOTYPE|TLS)\s+(?:GLOBAL|WEAK)\s+DEFAULT\s+(?!UND)\w+ "
                    r"([\w.]+)@@?GLIBC_([\d.]+)$", re.M)


def newest_versions(listing, limit):
    """Returns {symbol: (version, kind, bytes)} of the newest versions up to `limit`."""
    newest = {}
    for size, kind, name, text in SYMBOL.findall(listing):
        version = tuple(map(int, text.split(".")))
        if version <= limit and version > newest.get(name, ((),))[0]:
            newest[name] = (version, kind, int(size, 0))
    return newest


def write_stub(folder, short, soname, symbols, compiler):
    """Links lib<short>.so, which has the symbols under their versions."""
    source, script, nodes = [".text"], [], {}
    for name, (version, kind, size) in sorted(symbols.items()):
        nodes.setdefault(version, []).append(name)
        if kind in ("OBJECT", "TLS"):
            section = '.section .tbss,"awT",@nobits' if kind == "TLS" else ".bss"
            source += [section, f".globl {name}", f".type {name}, @{'tls_object' if kind == 'TLS' else 'object'}", f"{name}: .zero {max(size, 1)}",
                       f".size {name}, {size}", ".text"]
        else:
            source += [f".globl {name}", f".type {name}, @function", f"{name}:"]
    for version, names in sorted(nodes.items()):
        script.append(f"GLIBC_{'.'.join(map(str, version))} {{ global: {' '.join(name + ';' for name in names)} }};")
    script.append("GLIBC_PRIVATE { local: *; };")
    (folder / f"{short}.s").write_text("\n".join(source + [".byte 0", '.section .note.GNU-stack,"",@progbits', ""]))
    (folder / f"{short}.map").write_text("\n".join(script) + "\n")
    subprocess.run([compiler, "-shared", "-nostdlib", "-fuse-ld=bfd", f"-Wl,-soname,{soname}", f"-Wl,--version-script={folder / short}.map", "-o",
                    folder / f"lib{short}.so", folder / f"{short}.s"], check=True)


def main(compiler, readelf, limit, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Threads and dlopen had libraries of their own before 2.34, which are empty now.
    options = [f"-L{folder} -Wl,--allow-shlib-undefined -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--as-needed"]
    for short, soname in LIBRARIES.items():
        path = subprocess.run([compiler, f"-print-file-name={soname}"], check=True, capture_output=True, text=True).stdout.strip()
        if path == soname:  # of another architecture; 64-bit Arm has no libmvec yet
            continue
        listing = subprocess.run([readelf, "--dyn-syms", "-W", path], check=True, capture_output=True, text=True).stdout
        symbols = newest_versions(listing, tuple(map(int, limit.split("."))))
        if not symbols:
            sys.exit(f"{path}: no symbols of glibc up to {limit}")
        write_stub(folder, short, soname, symbols, compiler)
        options.append(f"{folder}/lib{short}.so")  # no -lc, which g++ moves
    (folder / "libraries").write_text(" ".join(options) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
