#!/usr/bin/env python3
"""Builds examples/c/streamed, and compares the resident memory of a model whose weights are streamed
with its plan: in a memory control group of the planned total if one can be made, otherwise outside.
Exit 77 where the system does not tell a process its resident memory.

usage: streamed_memory_test.py COMMAND LIBRARY SOURCES
"""
import ctypes
import json
import pathlib
import re
import subprocess
import sys
import tempfile

THP_DISABLE = 41  # PR_SET_THP_DISABLE: huge pages of stacks would be resident, too
MORE = 256 << 10  # stacks of the threads that read, the session's own objects, ends of pages


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def planned(command, model, *options):
    """Returns the planned bytes: of arena, window and tensors; with the process; read by a run."""
    plan = json.loads(run(command, "plan", model, *options, "--threads", "1", "--json"))
    parts = plan["total"]["parts"]
    own = sum(parts[f"{name}_bytes"] for name in ("arena", "packed_weights", "input", "output"))
    return own, own + parts["process_bytes"], plan["weights_window"]["read_bytes"]


def main(command, library, sources):
    if not pathlib.Path("/proc/self/smaps_rollup").exists():
        print("no /proc/self/smaps_rollup")
        sys.exit(77)
    ctypes.CDLL(None).prctl(THP_DISABLE, 1, 0, 0, 0)  # and of processes that this one starts
    sys.path.insert(0, str(sources / "python/tests"))
    from memory_group import MemoryGroup
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        program, model = folder / "streamed", folder / "packed.ash"
        run("cc", "-O2", sources / "examples/c/streamed/streamed.c", "-I", sources / "library/include", library,
            f"-Wl,-rpath,{library.parent}", "-o", program)
        run(command, "zoo", "resnet18", "--image", "64", "-o", folder / "model.ash", "-q")
        run(command, "convert", folder / "model.ash", "-o", model, "--pack", "--weights-budget", "1MiB", "-q")
        own, total, read = planned(command, model, "--weights-budget", "1MiB")
        assert read > 2 * total, f"{read} bytes of weights would fit {total}"
        arguments = [str(program), str(model), "weights-budget=1MiB", "3"]
        outside, inside = folder / "outside", folder / "inside"
        output = run(*arguments, outside)
        try:
            with MemoryGroup() as group:
                group.limit(total)
                run("sh", "-c", f'{group.shell()}; exec "$@"', "sh", *arguments, inside)
                peak = group.peak()
            print(f"in a group of {total} bytes, which was charged {peak} at most:")
            assert inside.read_bytes() == outside.read_bytes()
        except OSError as error:
            print(f"no memory control group can be made here ({error})")
        print(output, end="")
        resident, of = map(int, re.search(r"resident: (\d+) bytes for (\d+) planned", output).groups())
        assert of == own, f"the library plans {of} bytes, the command {own}"
        assert own <= resident <= own + MORE, f"resident are {resident} bytes, planned {own}"


if __name__ == "__main__":
    main(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:]))
