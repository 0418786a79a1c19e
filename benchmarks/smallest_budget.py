#!/usr/bin/env python3
"""Whether `--memory-budget min` is what it says: for each model the arena that it gives, beside the least arena that
any other option reaches: both --prefer, every planner, the specs of the frontier and of budgets in between, given as
--tile.

    benchmarks/smallest_budget.py [--ashlar build/release/ashlar] [--models a,b] [--image 97,224]
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

MODELS = ["squeezenet", "mobilenet_v2", "inception_v1", "resnet18", "resnet50", "vgg19"]
PLANNERS = ["auto", "exact", "dive"]
STEPS = 8  # budgets between the smallest and the whole


def plan(ashlar, model, *options):
    """The document of a plan; None where there is none."""
    done = subprocess.run([ashlar, "plan", model, "--threads", "1", "--json", *options], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def arena(document):
    return document["pools"]["arena"]["planned_bytes"]


def reached(ashlar, model, least):
    """Arenas that options other than `min` reach, with the options."""
    specs = set()
    for prefer in ([], ["--prefer", "memory"]):
        whole = plan(ashlar, model, *prefer)
        yield arena(whole), prefer
        for step in range(1, STEPS + 1):
            budget = int(least * (arena(whole) / least) ** (step / STEPS))
            document = plan(ashlar, model, "--memory-budget", str(budget), *prefer)
            if document:
                yield arena(document), [*prefer, "--memory-budget", str(budget)]
                specs.add(document["tile"])
        smallest = plan(ashlar, model, "--memory-budget", "min", *prefer)
        specs.add(smallest["tile"])
    for spec, planner, prefer in itertools.product(sorted(specs - {""}), PLANNERS, ([], ["--prefer", "memory"])):
        options = ["--tile", spec, "--planner", planner, *prefer]
        document = plan(ashlar, model, *options)
        if document:
            yield arena(document), options


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ashlar", default="build/release/ashlar")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--image", default="97,224", help="sides of the images, separated by commas")
    arguments = parser.parse_args()
    ashlar = os.path.abspath(arguments.ashlar)
    missed = 0
    print(f"{'model':20} {'min':>10} {'others':>10}  by")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, side in itertools.product(arguments.models.split(","), arguments.image.split(",")):
            model = f"{name}_{side}.ash"
            subprocess.run([ashlar, "zoo", name, "--image", side, "-o", model, "-q"], check=True)
            least = arena(plan(ashlar, model, "--memory-budget", "min"))
            other, options = min(reached(ashlar, model, least), key=lambda point: point[0])
            missed += other < least
            print(f"{name + ' ' + side:20} {least:10} {other:10}  {' '.join(options)}", flush=True)
    print(f"{missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
