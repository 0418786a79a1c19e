#!/usr/bin/env python3
"""Checks that no folder includes a folder above it, that no folders and no files include one another in a circle, that
graph/ and opr/ name no device, and that docs/architecture.md draws these layers.

usage: check_layers.py [ROOT]
       check_layers.py --draw    prints the drawing for the page

Exit code 0: the layers are right; 1: each wrong include is printed, as FILE:LINE: ...
"""
import pathlib
import re
import sys

# Each layer (a folder) and the layers directly below it. A layer may include itself, these, and every layer that these may
# include. A row names only layers of rows above it, so there is no circle. A folder without a row belongs to the layer of its
# parent folder.
LAYERS = {
    "graph": "",
    "graph/passes": "graph",
    "graph/tiling": "graph",
    "opr/base": "graph",
    "opr": "opr/base",
    "opr/rewrites": "opr",
    "opr/gradients": "opr/rewrites",
    "memory/problem": "",
    "memory/heuristics": "memory/problem",
    "memory/exact": "memory/heuristics",
    "memory/megengine": "memory/heuristics",
    "memory": "memory/exact memory/megengine",
    "runtime/device": "opr",
    "runtime/cpu": "runtime/device",
    "runtime/mcu/c99": "",
    "runtime/mcu": "runtime/device runtime/mcu/c99",
    "runtime/cuda": "runtime/device",
    "runtime/cuda/toolkit": "runtime/cuda",
    "runtime/schedule": "memory graph",
    "runtime/plan/request": "runtime/schedule runtime/device graph/passes graph/tiling",
    "runtime/plan/stages": "runtime/plan/request graph/passes graph/tiling",
    "runtime/plan/tiling": "runtime/plan/stages",
    "runtime/plan/record": "runtime/plan/tiling",
    "runtime/plan": "runtime/plan/record",
    "runtime/session": "runtime/plan",
    "runtime/measure/heap": "runtime/device",
    "runtime/measure": "runtime/session runtime/measure/heap",
    "serialization": "runtime/session",
    "serialization/native": "serialization",
    "serialization/onnx": "serialization",
    "serialization/tflite": "serialization",
    "serialization/megengine": "serialization runtime/measure",
    "viewer": "serialization",
    "training": "serialization/native",
    "quantization": "runtime/session",
    "codegen": "runtime/session runtime/mcu",
    "library": "viewer serialization/native serialization/onnx serialization/tflite serialization/megengine",
    "library/include": "",
    "library/c": "library library/include training codegen runtime/cpu",
    "library/triton": "library/include",
    "tools/zoo": "opr",
    "tools": "tools/zoo library training quantization codegen runtime/cpu runtime/measure",
    "packaging": "",
    "examples": "",
    "tests/support": "opr memory runtime/device graph/tiling",
    "benchmarks": "runtime/cpu serialization/native tests/support",
    "tests/support/model": "runtime/session runtime/cpu tests/support",
    "tests/support/command": "tests/support tools/zoo serialization/native",
    "tests/cases": "runtime/measure/heap graph/passes tests/support",
    "tests/graph": "graph/passes graph/tiling tests/cases",
    "tests/opr": "opr/gradients tests/cases",
    "tests/memory": "memory tests/support",
    "tests/runtime": "runtime/session tests/cases",
    "tests/runtime/session": "runtime/cpu runtime/measure quantization tests/runtime",
    "tests/runtime/plan": "quantization runtime/cpu tests/runtime",
    "tests/runtime/cpu": "runtime/cpu tests/runtime",
    "tests/runtime/mcu": "runtime/mcu tests/runtime",
    "tests/runtime/measure": "runtime/measure tests/runtime",
    "tests/runtime/cuda": "runtime/cuda/toolkit runtime/measure tests/runtime",
    "tests/serialization": "serialization tests/cases",
    "tests/serialization/native": "serialization/native tests/serialization",
    "tests/serialization/onnx": "serialization/onnx runtime/measure tools/zoo tests/support/model tests/serialization",
    "tests/serialization/tflite": "serialization/tflite tests/support/model tests/serialization",
    "tests/serialization/megengine":
        "serialization/megengine serialization/native runtime/cpu tests/serialization",
    "tests/cross": "runtime/cpu runtime/measure tools/zoo tests/memory",
    "tests/viewer": "viewer tests/support",
    "tests/training":
        "training serialization/onnx runtime/cpu runtime/measure tests/runtime tests/support/command",
    "tests/codegen": "codegen serialization/onnx tools/zoo tests/support",
    "tests/quantization": "opr/rewrites quantization serialization/native serialization/onnx runtime/cpu tests/serialization",
    "tests/library": "library/include serialization/native tests/support/command",
    "tests/library/opened": "tests/library",
    "tests/library/triton": "library/triton tests/library",
    "tests/fuzz":
        "tests/serialization/native tests/serialization/onnx tests/serialization/tflite tests/serialization/megengine memory",
    "tests/emulated_gpu": "training runtime/cpu tests/runtime/cuda tests/support/command",
    "tests/library/device": "tests/emulated_gpu tests/library",
    "tests/tools": "tools tests/runtime tests/support/model tests/support/command",
}
DEVICE = re.compile(r"\b(cpu|gpu|cuda|cudnn|cublas|onednn|avx2|avx512)\b|Cpu|Gpu|Cuda|Cudnn|Onednn")
NAMES_DEVICES = {"graph/comp_node.h", "graph/comp_node.cc"}  # devices are their subject


def layer_of(path):
    folder = path.parent
    while str(folder) != "." and str(folder) not in LAYERS:
        folder = folder.parent
    return str(folder) if str(folder) in LAYERS else None


def visible():
    """Returns for each layer all layers that it may include."""
    sees = {}
    for layer, below in LAYERS.items():
        sees[layer] = {layer}.union(*(sees[other] for other in below.split()))
    return sees


def drawing():
    """Returns the layers of the product, one line a floor, the highest first: a layer stands above all that it includes."""
    floors = {}
    for layer, below in LAYERS.items():
        if layer.split("/")[0] not in {"tests", "benchmarks", "examples", "packaging"}:
            floors[layer] = 1 + max((floors[other] for other in below.split()), default=0)
    return "".join(f"    {floor:2}  {'  '.join(sorted(layer for layer in floors if floors[layer] == floor))}\n"
                   for floor in range(max(floors.values()), 0, -1))


def code_of(line):
    """Returns the line without strings and without a comment at its end."""
    return re.sub(r"//.*", "", re.sub(r'"(\\.|[^"\\])*"', '""', line))


def circle(arrows):
    """Returns a circle of folders that include one another, as a path; empty if there is none."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return []
        path.append(folder)
        for other in sorted(arrows.get(folder, {})):
            if found := visit(other):
                return found
        path.pop()
        done.add(folder)
        return []

    return next(filter(None, map(visit, sorted(arrows))), [])


def main(root):
    errors, arrows, sees, neighbours = [], {}, visible(), {}
    folders = [path for path in root.iterdir() if path.is_dir() and path.name not in {"build", ".git"}]
    files = sorted(path.relative_to(root) for folder in folders for path in folder.rglob("*")
                   if path.suffix in {".h", ".hpp", ".c", ".cc", ".cu", ".inc"})
    for file in files:
        layer = layer_of(file)
        if layer is None:
            errors.append(f"{file}: no layer; scripts/check_layers.py lists them")
            continue
        for number, line in enumerate((root / file).read_text().splitlines(), 1):
            if file.parts[0] in {"graph", "opr"} and str(file) not in NAMES_DEVICES:
                if device := DEVICE.search(code_of(line)):
                    errors.append(f"{file}:{number}: names the device {device.group()}; {layer}/ knows none")
            include = re.match(r'#include "([^"]+)"', line)
            target = pathlib.PurePath(include.group(1)) if include else None
            if target is None or layer_of(target) is None:  # of a library
                continue
            if layer_of(target) not in sees[layer]:
                errors.append(f"{file}:{number}: includes {target}; {layer}/ may not include {layer_of(target)}/")
            # A header and its source count as one file.
            here, there = str(file.with_suffix("")), str(target.with_suffix(""))
            if target.parent == file.parent and here != there:
                neighbours.setdefault(here, {}).setdefault(there, f"{file}:{number}")
            if target.parent != file.parent:
                arrows.setdefault(str(file.parent), {}).setdefault(str(target.parent), f"{file}:{number}")
    for kind, includes in (("folders", arrows), ("files", neighbours)):
        if found := circle(includes):
            errors.append(f"{kind} in a circle: " + " -> ".join(found))
            errors += [f"{includes[a][b]}: {a} includes {b}" for a, b in zip(found, found[1:])]
    page = root / "docs/architecture.md"
    if drawing() not in page.read_text():
        errors.append(f"{page.relative_to(root)}: draws other layers than check_layers.py --draw")
    print("\n".join(errors) or f"{len(files)} files in {len(LAYERS)} layers: none includes upward")
    return 1 if errors else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--draw"]:
        print(drawing(), end="")
        sys.exit()
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)))
