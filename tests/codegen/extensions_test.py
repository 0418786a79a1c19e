#!/usr/bin/env python3
"""Compares kernels of generated C that use a processor's extensions (Arm's DSP, MVE and dot products) with the same
source compiled as portable C, in an emulator.

usage: extensions_test.py     exit 77: no cross compiler or emulator is installed
"""
import pathlib
import shutil
import sys
import tempfile

import cross_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ["conv8", "conv8_sum", "depthwise8"]
# Instructions that the compiled kernels must have.
EXTENSIONS = {"Cortex-M4": ["smlad", "smlabb"], "Cortex-M7": ["smlad", "smlabb"],
              "Cortex-M55": ["vmladava", "vmullb", "smlad"], "64-bit Arm": ["sdot"]}
AARCH64 = cross_test.Target("64-bit Arm", "generic", "aarch64-linux-gnu-", "-march=armv8.2-a+dotprod", None,
                            "qemu-aarch64-static -cpu max", 0, 0, 0)


def check(target, folder):
    """Builds and runs the comparison; an error if results differ or an extension was not used."""
    gcc = target.tools + "gcc"
    objects, code = [], ""
    for kernel in KERNELS:
        for version, defines in [("own", []), ("portable", ["-DASHLAR_PORTABLE", f"-Dashlar_{kernel}=portable_{kernel}"])]:
            assembly = folder / f"{kernel}_{version}.s"
            objects.append(assembly.with_suffix(".o"))
            cross_test.run([gcc, *target.flags, *cross_test.STRICT, *defines, "-Os", f"-I{ROOT}", "-S",
                            ROOT / f"runtime/mcu/c99/{kernel}.c", "-o", assembly])
            cross_test.run([gcc, *target.flags, "-c", assembly, "-o", objects[-1]])
            listing = assembly.read_text()
            if version == "own":
                code += listing
            elif any(word in listing for word in EXTENSIONS[target.name]):
                raise RuntimeError(f"{kernel}: portable C became {EXTENSIONS[target.name]}")
    for word in EXTENSIONS[target.name]:
        if word not in code:
            raise RuntimeError(f"no {word} in the code")
    elf = folder / "program"
    main = ROOT / "tests/codegen/extensions.c"
    if target.source is None:
        cross_test.run([gcc, *target.flags, "-std=c99", "-O2", "-static", f"-I{ROOT}", main, *objects, "-o", elf])
        return cross_test.run([*target.emulator, elf])
    objects += cross_test.compile_firmware(target, folder)
    objects.append(folder / "main.o")
    cross_test.run([gcc, *target.flags, "-std=c99", "-O2", f"-I{ROOT}", "-c", main, "-o", objects[-1]])
    cross_test.link(target, folder, elf, objects)
    return cross_test.emulate(target, elf)


def main():
    done = 0
    for target in [*cross_test.TARGETS, AARCH64]:
        if target.name not in EXTENSIONS:
            continue
        if target.missing():
            print(f"{target.name}: left out, there is no {', '.join(target.missing())}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            print(f"{target.name}: {check(target, pathlib.Path(folder)).strip()}", flush=True)
        done += 1
    return 0 if done else 77


if __name__ == "__main__":
    sys.exit(main())
