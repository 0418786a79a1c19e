#!/usr/bin/env python3
"""Whether `--memory-budget min` is what it says: for each model the arena that it gives, beside the least arena that
any other option reaches: both --prefer, every planner, the specs of budgets in between, of the smallest plans for other
processors and of the frontier, given as --tile, each in several times of planning.

    benchmarks/smallest_budget.py [--ashlar build/release/ashlar] [--models a,b] [--image 97,224]
        [--processors avx512/32K/1M,...] [--plan-times 250ms,1s]
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
PROCESSORS = ["avx512/32K/1M", "avx2/32K/512K", "baseline/32K/256K"]
PLAN_TIMES = ["250ms", "1s"]
STEPS = 8  # budgets between the smallest and the whole


def plan(ashlar, model, *options):
    """The document of a plan; None where there is none."""
    done = subprocess.run([ashlar, "plan", model, "--threads", "1", "--json", *options], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def arena(document):
    return document["pools"]["arena"]["planned_bytes"]


def reached(ashlar, model, least, processors, plan_times):
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
        frontier = plan(ashlar, model, "--frontier", *prefer)
        for point in frontier["frontier"]:
            yield point["arena_bytes"], [*prefer, "--frontier"]
            specs.add(point["tile"])
    for processor in processors:
        specs.add(plan(ashlar, model, "--memory-budget", "min", "--processor", processor)["tile"])
    for spec, planner, time, prefer in itertools.product(sorted(specs - {""}), PLANNERS, plan_times,
                                                         ([], ["--prefer", "memory"])):
        options = ["--tile", spec, "--planner", planner, "--plan-time", time, *prefer]
        document = plan(ashlar, model, *options)
        if document:
            yield arena(document), options


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ashlar", default="build/release/ashlar")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--image", default="97,224", help="sides of the images, separated by commas")
    parser.add_argument("--processors", default=",".join(PROCESSORS), help="whose smallest plans give specs")
    parser.add_argument("--plan-times", default=",".join(PLAN_TIMES), help="for each spec")
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
            other, options = min(reached(ashlar, model, least, arguments.processors.split(","),
                                         arguments.plan_times.split(",")), key=lambda point: point[0])
            missed += other < least
            print(f"{name + ' ' + side:20} {least:10} {other:10}  {' '.join(options)}", flush=True)
    print(f"{missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
