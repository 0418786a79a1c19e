#!/usr/bin/env python3
"""Tests whether a plan depends on its inputs alone.

Plans each model at a series of budgets in several processes, half of them next to a process that
keeps a core busy. Equal requests must give equal results: exit code, messages, and the JSON
document without the times of planning.

    benchmarks/deterministic_plans.py [--ashlar build/release/ashlar] [--processes 10]
        [--budgets 12] [--models a,b] [--image 64] [--plan-time 20ms] [--state answers.jsonl]

With --state an interrupted run continues.
"""
import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile

import zoo_models
from kept_answers import KeptAnswers

TIMES = ("plan_ms", "memory_plan_ms", "search_ms", "total_ms")


def answer(command):
    """Returns the output of a process, without the times."""
    done = subprocess.run(command, capture_output=True, text=True)
    document = json.loads(done.stdout) if done.stdout.strip() else None
    for key in TIMES:
        if document:
            document.pop(key, None)
    return done.returncode, done.stderr, json.dumps(document, sort_keys=True)


def answers_of(command, processes):
    """Returns the number of different results of several processes, every second one next to a busy
    one.
    """
    answers = set()
    for process in range(processes):
        beside = None
        if process % 2 == 1:
            beside = multiprocessing.Process(target=busy, daemon=True)
            beside.start()
        answers.add(answer(command))
        if beside:
            beside.terminate()
            beside.join()
    return len(answers)


def busy():
    while True:
        pass


def budgets_of(ashlar, model, options, count):
    """Returns budgets from the smallest to the untiled arena, in equal ratios, and one that is too
    small.
    """
    def arena(*more):
        command = [ashlar, "plan", model, "--json", *options, *more]
        document = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return document["pools"]["arena"]["planned_bytes"]
    least, whole = arena("--memory-budget", "min"), arena()
    steps = max(count - 2, 1)
    return [least - 1] + [int(least * (whole / least) ** (i / steps)) for i in range(count - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ashlar", default="build/release/ashlar")
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--budgets", type=int, default=12)
    parser.add_argument("--models", default=",".join(zoo_models.MODELS))
    parser.add_argument("--image", type=int, help="side of the images (default: the model's)")
    parser.add_argument("--plan-time", help="of the command (default: its own)")
    parser.add_argument("--state", help="file that keeps the answers")
    arguments = parser.parse_args()
    ashlar = os.path.abspath(arguments.ashlar)
    kept = KeptAnswers(arguments.state, ashlar)
    options = ["--threads", "1", *(["--plan-time", arguments.plan_time] if arguments.plan_time else [])]
    different = questions = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in arguments.models.split(","):
            model = name + ".ash"
            zoo_models.make(ashlar, name, model, arguments.image)
            budgets = kept.ask(" ".join(["budgets", name, str(arguments.image), str(arguments.budgets), *options]),
                               lambda model=model: budgets_of(ashlar, model, options, arguments.budgets))
            for budget in budgets:
                command = [ashlar, "plan", model, "--json", *options, "--memory-budget", str(budget)]
                question = " ".join([*command[1:], str(arguments.image), str(arguments.processes)])
                answers = kept.ask(question, lambda command=command: answers_of(command, arguments.processes))
                questions += 1
                if answers != 1:
                    different += 1
                    print(f"{name} within {budget} bytes: {answers} answers")
            os.remove(model)
            print(f"{name}: {arguments.budgets} budgets in {arguments.processes} processes each", flush=True)
    print(f"{different} of {questions} questions had more than one answer")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
