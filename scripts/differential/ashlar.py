"""Ashlar in this process, by its Python package over libashlar, and its command where the package has no function for it."""
import ctypes
import json
import pathlib
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class Refused(Exception):
    """Raised for models that Ashlar says it cannot read, write or plan."""


def load(build):
    """The package, over the library of a build folder."""
    ctypes.CDLL(str(pathlib.Path(build) / "libashlar.so.1"), ctypes.RTLD_GLOBAL)
    sys.path.insert(0, str(_ROOT / "python"))
    import ashlar_runtime
    return ashlar_runtime


class Ashlar:

    def __init__(self, build):
        self.package = load(build)
        self.command = str(pathlib.Path(build) / "ashlar")

    def open(self, path):
        try:
            return self.package.load(path)
        except self.package.Error as error:
            raise Refused(str(error)) from error

    def run(self, model, names, feeds, **options):
        """Results in the order of `names`."""
        try:
            plan = model.plan(**options)
            session = plan.session()
        except self.package.Internal:
            raise
        except self.package.Error as error:
            raise Refused(str(error)) from error
        given = {info.name: feeds[info.name] for info in plan.inputs}
        results = session(given) if plan.inputs else session({})
        if not isinstance(results, dict):
            results = {plan.outputs[0].name: results}
        return [results[name] for name in names]

    def convert(self, path, to):
        done = subprocess.run([self.command, "convert", "-q", path, "-o", to], capture_output=True, text=True, timeout=60)
        if done.returncode < 0 or (done.returncode == 1 and "not written as ONNX" not in done.stderr):
            raise RuntimeError(f"convert ends with {done.returncode}: {done.stderr.strip()}")
        if done.returncode:
            raise Refused(done.stderr.strip())

    def operators(self, path):
        """The ids of the operators that `--tile` takes."""
        done = subprocess.run([self.command, "inspect", "--nodes", "--json", "-q", path], capture_output=True, text=True,
                              timeout=60)
        if done.returncode:
            raise Refused(done.stderr.strip())
        return [node["id"] for node in json.loads(done.stdout)["nodes"]]

    def read(self):
        """Returns the names of the ONNX operators that are read; of other domains as NAME:DOMAIN."""
        done = subprocess.run([self.command, "ops", "--onnx", "--json"], capture_output=True, text=True, check=True)
        return sorted({o["type"] + ("" if o["domain"] == "ai.onnx" else f":{o['domain']}")
                       for o in json.loads(done.stdout)["onnx"]})
