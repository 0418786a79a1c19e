#!/usr/bin/env python3
"""Tests random small ONNX models, by seed: compares Ashlar with onnx.reference and ONNX Runtime.

Each model runs untiled, with two threads, in the least memory, in tiles, and after writing it back.

    python3 -m venv build/differential.venv
    build/differential.venv/bin/pip install onnx onnxruntime
    cmake --build --preset release --target ashlar ashlar_shared
    build/differential.venv/bin/python scripts/differential.py --models 10000
    build/differential.venv/bin/python scripts/differential.py --seed 17          # repeat one model
    build/differential.venv/bin/python scripts/differential.py --only Conv,QDQ    # these operators

Integers must be equal bit for bit, floats up to rounding (differential/compare.py). A model is
saved in build/differential/SEED if it has a difference that differential/known.py does not explain.
Crashes are saved too, and models that take longer than --limit.
"""
import argparse
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, help="how many (default: 1 with --seed, else 1000)")
    parser.add_argument("--seed", type=int, help="the first (default 0)")
    parser.add_argument("--minutes", type=float, help="to end after; with it, models without end")
    parser.add_argument("--only", type=lambda text: tuple(text.split(",")), default=(), help="operators, apart by commas")
    parser.add_argument("--kind", choices=("single", "chain"), help="one operator a model, or chains (default: both)")
    parser.add_argument("--dtype", help="takes this dtype for most inputs that may have it, such as float64")
    parser.add_argument("--modes", type=lambda text: tuple(text.split(",")), default=("threads", "min", "tile", "written"),
                        help="beside the whole model: some of threads,min,tile,written (default: all; min takes most of the time)")
    parser.add_argument("--build", default=str(ROOT / "build/release"), help="the folder with libashlar.so.1 and ashlar")
    parser.add_argument("--out", default=str(ROOT / "build/differential"), help="where models with findings are kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--limit", type=float, default=60, help="seconds of the processor for one step of a model")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.models is None:
        options.models = 1 if options.seed is not None and not options.minutes else 1000 if not options.minutes else 10**9
    options.seed = options.seed or 0
    options.command = [__file__, "--build", options.build, "--out", options.out]
    options.command += ["--modes", ",".join(options.modes)]
    options.command += ["--only", ",".join(options.only)] if options.only else []
    options.command += ["--kind", options.kind] if options.kind else []
    options.command += ["--dtype", options.dtype] if options.dtype else []
    return options


def main():
    options = arguments()
    try:
        from differential import builder, campaign, check, known, models, registry
        from differential.ashlar import Ashlar
    except ImportError as error:
        sys.exit(f"{error}; needs onnx and onnxruntime: {__file__} --help says how")
    unknown = [op for op in options.only if op not in registry.GENERATORS]
    if unknown:
        sys.exit(f"no generator of {', '.join(unknown)}; there are: {' '.join(sorted(registry.GENERATORS))}")
    if options.dtype:
        if options.dtype not in builder.WEIGHTS:
            sys.exit(f"no dtype {options.dtype}; there are: {' '.join(builder.WEIGHTS)}")
        builder.WEIGHTS[options.dtype] = 5 * sum(builder.WEIGHTS.values())
    ashlar = Ashlar(options.build)
    if options.child:
        campaign.child(options, models, check, ashlar)
        return 0
    run = campaign.Campaign(options)
    run.run()
    covered = registry.GENERATORS.keys() | known.WITHOUT_REFERENCE
    uncovered = [op for op in ashlar.read() if op not in covered]
    run.summary(uncovered)
    return 1 if run.found or uncovered else 0


if __name__ == "__main__":
    sys.exit(main())
