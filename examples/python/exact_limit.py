"""Runs a model under a system limit of exactly the planned arena, then of one page less.

    python exact_limit.py model.ash
"""
import mmap
import os
import resource
import sys

import numpy as np

import ashlar_runtime as ashlar


def data_bytes():
    """Returns the bytes that RLIMIT_DATA counts."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))


def limited(plan, x, y, less):
    """Whether a session can be created and run under the limit, in a child process."""
    child = os.fork()
    if child == 0:
        arena = -(-plan.memory.arena // mmap.PAGESIZE) * mmap.PAGESIZE
        limit = data_bytes() + arena - less
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        try:
            plan.session()(x, out=y)
        except ashlar.DoesNotFit:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main(path):
    plan = ashlar.load(path).plan(threads=1)
    plan.load()  # the weights
    x = np.zeros(plan.inputs[0].shape, plan.inputs[0].dtype)
    y = np.zeros(plan.outputs[0].shape, plan.outputs[0].dtype)
    plan.session()(x, out=y)  # the first run of Python code allocates, too
    print(f"arena {plan.memory.arena} bytes")
    for less in (0, mmap.PAGESIZE):
        ran = limited(plan, x, y, less)
        print(f"limit: the arena less {less} bytes: {'runs' if ran else 'refused'}")
        assert ran == (less == 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
