"""python -m ashlar_runtime COMMAND [...]: the command `ashlar` that the wheel contains.
python -m ashlar_runtime MODEL [--budget 512KiB]: prints the memory of a model's plan.
"""
from __future__ import annotations

import argparse
import importlib.metadata
import os
import pathlib
import sys
from typing import List, Optional

from . import DoesNotFit, Error, InvalidArgument, RejectedFile, load

EXIT_CODES = ((DoesNotFit, 3), (RejectedFile, 6), (InvalidArgument, 2))  # as of the command; otherwise 1


def find_command() -> Optional[pathlib.Path]:
    """Return the command of the installed wheel, or in a clone the one beside the library."""
    try:
        installed = importlib.metadata.distribution("ashlar-runtime").files or []
    except importlib.metadata.PackageNotFoundError:
        installed = []
    places = [pathlib.Path(str(file.locate())) for file in installed if file.name == "ashlar"]
    places.append(pathlib.Path(__file__).resolve().parent.parent / "bin/ashlar")  # of pip install --target
    places += [pathlib.Path(folder, "ashlar") for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return next((place for place in places if os.access(place, os.X_OK) and place.is_file()), None)


def print_plan(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m ashlar_runtime",
                                     description="Plans the memory of a model, without running it.")
    parser.add_argument("model", help=".ash, .onnx or .tflite")
    parser.add_argument("--budget", help="of the arena: bytes, 3.3MB, 512KiB or min")
    parser.add_argument("--threads", type=int, default=0, help="default: as many as this process may use")
    parser.add_argument("--svg", metavar="FILE", help="file for the picture of the plan")
    options = parser.parse_args(arguments)
    try:
        plan = load(options.model).plan(budget=options.budget, threads=options.threads)
    except (Error, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)
    for name, value in plan.memory._asdict().items():
        print(f"{name:18} {value}")
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(plan.svg())
    return 0


def main(arguments: Optional[List[str]] = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    command = find_command()
    names_model = bool(arguments) and (os.sep in arguments[0] or "." in arguments[0])  # no command has these
    if command is None or names_model:
        return print_plan(arguments)
    sys.stdout.flush()
    os.execv(command, ["ashlar", *arguments])


if __name__ == "__main__":
    sys.exit(main())
