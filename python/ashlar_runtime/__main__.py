"""python -m ashlar_runtime MODEL [--budget 512KiB]: prints the memory of a model's plan."""
from __future__ import annotations

import argparse
import sys

from . import DoesNotFit, Error, InvalidArgument, RejectedFile, load

EXIT_CODES = ((DoesNotFit, 3), (RejectedFile, 6), (InvalidArgument, 2))  # as of the command; otherwise 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ashlar_runtime",
                                     description="Plans the memory of a model, without running it.")
    parser.add_argument("model", help=".ash or .onnx")
    parser.add_argument("--budget", help="of the arena: bytes, 3.3MB, 512KiB or min")
    parser.add_argument("--threads", type=int, default=0, help="default: as many as this process may use")
    parser.add_argument("--svg", metavar="FILE", help="file for the picture of the plan")
    options = parser.parse_args()
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


if __name__ == "__main__":
    sys.exit(main())
