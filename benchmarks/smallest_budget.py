#!/usr/bin/env python3
"""Tests whether `--memory-budget min` gives the smallest arena.

Compares, for each model, its arena with the smallest arena that any other option reaches: both
values of --prefer, every planner, and tiles given by --tile. The tiles come from
budgets in between, from the smallest plans for other processors, and from the frontier. With
several images, tiles of the plans of one image are tried too. Each is planned with several times of
planning. Tiles that cannot need less than `min` (by the plan's lower bound, or because it is proven
optimal) are planned once. Also tests whether, in the plans of the budgets in between, more memory
is ever predicted to be slower.

    benchmarks/smallest_budget.py [--ashlar build/release/ashlar] [--models a,b] [--image 97,224]
        [--batch 1] [--processors avx512/32K/1M,...] [--plan-times 250ms,1s]
        [--state answers.jsonl] [--seconds 600]

With --state an interrupted run continues. --seconds limits the processor time for a model; the
number of remaining plans is printed.
"""
import argparse
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

import zoo_models
from kept_answers import KeptAnswers

PLANNERS = ["auto", "exact", "dive"]
PROCESSORS = ["avx512/32K/1M", "avx2/32K/512K", "baseline/32K/256K"]
PLAN_TIMES = ["250ms", "1s"]
STEPS = 8  # budgets between the smallest and the untiled arena
PREFER = ([], ["--prefer", "memory"])


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class OutOfTime(Exception):
    pass


class Sweep:
    """The plans of one model, and their results."""

    def __init__(self, arguments, kept, model, seconds, image=None):
        """`image`: the model for one image, if `model` is for several."""
        self.arguments, self.kept, self.model, self.seconds, self.image = arguments, kept, model, seconds, image
        self.start = processor_seconds()
        self.least = None  # the result of `min`
        self.other = None  # (bytes, options): the smallest of all others
        self.asked = self.left = 0
        self.slower = []  # pairs of budgets

    def plan(self, *options, model=None):
        """Returns the relevant part of a plan's document; None if there is no plan."""
        model = model or self.model
        def run():
            if self.seconds and processor_seconds() - self.start > self.seconds:
                raise OutOfTime
            command = [self.arguments.ashlar, "plan", model, "--threads", "1", "--json", *options]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                return None
            document = json.loads(done.stdout)
            if "frontier" in document:
                return {"points": [[point["arena_bytes"], point["tile"]] for point in document["frontier"]]}
            return {"arena": document["pools"]["arena"]["planned_bytes"], "tile": document["tile"],
                    "bound": document["proven_bytes"], "proof": document["proof"], "ms": document["predicted_ms"]}
        return self.kept.ask(" ".join([model, *options]), run)

    def consider(self, arena, options):
        self.asked += 1
        if arena < self.other[0] or (arena == self.other[0] and "min" in self.other[1]):
            self.other = (arena, options)

    def run(self):
        self.least = self.plan("--memory-budget", "min")["arena"]
        self.other = (self.least, ["--memory-budget", "min"])
        specs = set()
        self.try_each(self.sources(specs))
        questions = [(spec, prefer) for spec in sorted(specs - {""}) for prefer in PREFER]
        self.try_each(map(lambda question: self.ask_spec(*question), questions), len(questions))

    def try_each(self, steps, count=None):
        done = 0
        try:
            for _ in steps:
                done += 1
        except OutOfTime:
            self.left += count - done if count else 1

    def sources(self, specs):
        """Plans the sources of tiles, and considers their own arenas."""
        for prefer in PREFER:
            whole = self.plan(*prefer)["arena"]
            self.consider(whole, prefer)
            before = None
            for step in range(STEPS + 1):
                budget = int(self.least * (whole / self.least) ** (step / STEPS))
                options = [*prefer, "--memory-budget", str(budget)]
                found = self.plan(*options)
                yield
                if not found:
                    continue
                self.consider(found["arena"], options)
                specs.add(found["tile"])
                if before and found["ms"] > before[1]:
                    self.slower.append((before[0], budget))
                before = (budget, found["ms"])
            specs.add(self.plan("--memory-budget", "min", *prefer)["tile"])
            yield
        for processor in self.arguments.processors.split(","):
            specs.add(self.plan("--memory-budget", "min", "--processor", processor)["tile"])
            yield
        for prefer in PREFER if self.image else []:
            tile = self.plan("--memory-budget", "min", *prefer, model=self.image)["tile"]
            specs.update({f"{batch}({tile})" for spec in specs for batch in re.findall(r"^\d+-\d+:batch\d+", spec)})
            yield
        for prefer in PREFER:
            for arena, spec in self.plan("--frontier", *prefer)["points"]:
                self.consider(arena, [*prefer, "--frontier"])
                specs.add(spec)
            yield

    def ask_spec(self, spec, prefer):
        times = self.arguments.plan_times.split(",")
        for planner, time in itertools.product(PLANNERS, times):
            options = ["--tile", spec, "--planner", planner, "--plan-time", time, *prefer]
            found = self.plan(*options)
            if not found:
                return
            self.consider(found["arena"], options)
            if found["bound"] >= self.least or found["bound"] == found["arena"]:
                return  # no planner can make it smaller


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ashlar", default="build/release/ashlar")
    parser.add_argument("--models", default=",".join(zoo_models.MODELS))
    parser.add_argument("--image", default="97,224", help="sides of the images, separated by commas")
    parser.add_argument("--batch", type=int, default=1, help="images at a time")
    parser.add_argument("--processors", default=",".join(PROCESSORS), help="whose smallest plans give specs")
    parser.add_argument("--plan-times", default=",".join(PLAN_TIMES), help="for each spec")
    parser.add_argument("--state", help="file that keeps the answers")
    parser.add_argument("--seconds", type=float, help="of processor time, for each model")
    arguments = parser.parse_args()
    arguments.ashlar = os.path.abspath(arguments.ashlar)
    kept = KeptAnswers(arguments.state, arguments.ashlar)
    missed = slower = 0
    print(f"{'model':20} {'min':>10} {'others':>10} {'asked':>6} {'left':>5}  by")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, side in itertools.product(arguments.models.split(","), arguments.image.split(",")):
            model, image = f"{name}_{side}.ash", None
            zoo_models.make(arguments.ashlar, name, model, side)
            if arguments.batch > 1:
                model, image = f"{name}_{side}_{arguments.batch}.ash", model
                zoo_models.make(arguments.ashlar, name, model, side, arguments.batch)
            sweep = Sweep(arguments, kept, model, arguments.seconds, image)
            sweep.run()
            for file in filter(None, (model, image)):
                os.remove(file)
            other, options = sweep.other
            missed += other < sweep.least
            slower += len(sweep.slower)
            print(f"{name + ' ' + side:20} {sweep.least:10} {other:10} {sweep.asked:6} {sweep.left:5}  "
                  f"{' '.join(options)}", flush=True)
            for small, large in sweep.slower:
                print(f"{name} {side}: {large} bytes are expected to be slower than {small}", flush=True)
    print(f"{missed} missed, {slower} slower with more memory")
    return 1 if missed or slower else 0


if __name__ == "__main__":
    sys.exit(main())
