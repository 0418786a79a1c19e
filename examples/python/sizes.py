"""Serves arrays of many sizes by one model: weights once, one arena, nothing allocated per request.

    python sizes.py model.onnx "1..8x3x{224,320}x{224,320}"
"""
import os
import sys

import numpy as np

import ashlar_runtime as ashlar


def resident_bytes():
    """Returns the resident set."""
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def main(path, sizes):
    model = ashlar.load(path)
    name = model.inputs[0].name
    family = model.family({name: sizes}, threads=1)
    apart = sum(plan.memory.arena for plan in family.plans)
    print(f"{len(family.plans)} sizes: arena {family.arena} bytes ({apart} apart), weights {family.weights}")
    inputs = [np.zeros(point[name], plan.inputs[0].dtype) for point, plan in zip(family.points, family.plans)]
    for x in inputs:  # each once
        family(x)
    before = resident_bytes()
    order = np.random.default_rng(0).integers(len(inputs), size=2000)
    for at in order:
        family(inputs[at])
    print(f"{len(order)} runs at random sizes: resident set grew by {resident_bytes() - before} bytes")
    try:
        family(np.zeros([size + 1 for size in inputs[-1].shape], inputs[-1].dtype))
    except ashlar.InvalidArgument as error:
        print(f"refused: {error}")
    padding = model.family({name: sizes}, pad=True, threads=1)
    choice = padding.choose(inputs[-1][:1])
    print(f"the first row runs at {choice.shapes[name]}, of which {choice.padding:.0%} is padding")


if __name__ == "__main__":
    main(*sys.argv[1:])
