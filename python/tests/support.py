"""Shared by the tests: the library under test, models, and reasons to skip."""
import ctypes
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77


def begin(*modules):
    """Returns the arguments LIBRARY_FOLDER|installed COMMAND, and makes that library importable,
    also in children.

    Ends the process if a module is missing.
    """
    for name in modules:
        if importlib.util.find_spec(name) is None:
            print(f"skipped: {name} is missing")
            sys.exit(SKIPPED)
    folder, command = sys.argv[1:3]
    if folder != "installed":
        # Found by its name from now on.
        ctypes.CDLL(os.path.join(folder, "libashlar.so.1"), ctypes.RTLD_GLOBAL)
        package = str(pathlib.Path(__file__).resolve().parent.parent)
        sys.path.insert(0, package)
        for name, value in (("LD_LIBRARY_PATH", os.path.abspath(folder)), ("PYTHONPATH", package)):
            os.environ[name] = os.pathsep.join(filter(None, [value, os.environ.get(name)]))
    return command


class ModelTest(unittest.TestCase):
    """Creates a file of tiling_chain in `folder`. `path`: the file; `model`: opened; `info`: its
    input.
    """

    @classmethod
    def setUpClass(cls):
        import ashlar_runtime
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = zoo(sys.argv[2], "tiling_chain", cls.folder.name)
        cls.model = ashlar_runtime.load(cls.path)
        cls.info = cls.model.plan(threads=1).inputs[0]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


def zoo(command, name, folder, *options):
    """Writes a model of the zoo to a file."""
    path = os.path.join(folder, f"{name}.ash")
    subprocess.run([command, "zoo", name, "-o", path, "-q", *options], check=True)
    return path


def onnx_relu(path, *shape):
    """Writes an ONNX file of y = Relu(x); see onnx_function."""
    return onnx_function(path, "Relu", *shape)


def onnx_function(path, function, *shape, dtype=1, external=None, inputs=("x",)):
    """Writes an ONNX file of y = function(x), without the package onnx. A dimension that is not a
    number is open. `dtype` is ONNX's: 1 is float, 11 double. y = function(x, w) if `external` names
    the file with w, which has the same shape. `inputs`: of the function.
    """

    def varint(value):
        return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])

    def field(number, value):
        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        data = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(data)) + data

    dims = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape)
    tensor = field(1, field(1, dtype) + field(2, dims))
    node = b"".join(field(1, name) for name in inputs) + (field(1, "w") if external else b"") + field(2, "y") + field(4, function)
    graph = field(1, node) + field(2, "graph")
    if external:
        place = field(13, field(1, "location") + field(2, external)) + field(14, 1)
        graph += field(5, b"".join(field(1, size) for size in shape) + field(2, dtype) + field(8, "w") + place)
    graph += b"".join(
        field(number, field(1, name) + field(2, tensor)) for number, name in (*((11, name) for name in inputs), (12, "y")))
    pathlib.Path(path).write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 13)))
    return path


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
