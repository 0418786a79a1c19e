"""What the tests share: the library that they are about, models, and reasons to skip."""
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
    """LIBRARY_FOLDER|installed COMMAND of the command line; the former is then what this process and its children import.
    Ends the process where a module is missing."""
    for name in modules:
        if importlib.util.find_spec(name) is None:
            print(f"skipped: {name} is missing")
            sys.exit(SKIPPED)
    folder, command = sys.argv[1:3]
    if folder != "installed":
        ctypes.CDLL(os.path.join(folder, "libashlar.so.1"), ctypes.RTLD_GLOBAL)  # found by its name from here on
        package = str(pathlib.Path(__file__).resolve().parent.parent)
        sys.path.insert(0, package)
        for name, value in (("LD_LIBRARY_PATH", os.path.abspath(folder)), ("PYTHONPATH", package)):
            os.environ[name] = os.pathsep.join(filter(None, [value, os.environ.get(name)]))
    return command


class ModelTest(unittest.TestCase):
    """Has a file of tiling_chain, `path`, in `folder`; opened, `model`; and what its input is, `info`."""

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
    """A model of the zoo in a file."""
    path = os.path.join(folder, f"{name}.ash")
    subprocess.run([command, "zoo", name, "-o", path, "-q", *options], check=True)
    return path


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
