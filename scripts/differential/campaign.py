"""Many models in child processes: a crash or a hang ends one model, and is a finding with its seed."""
import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time

_BATCH = 200  # models of one child


def replay(options, seed):
    words = ["scripts/differential.py", "--seed", str(seed)]
    words += ["--only", ",".join(options.only)] if options.only else []
    words += ["--kind", options.kind] if options.kind else []
    words += ["--dtype", options.dtype] if options.dtype else []
    return " ".join(shlex.quote(w) for w in words)


class Watch:
    """Ends a child that takes longer than so many seconds of the processor, or ten times that in all, since the last begin()."""

    def __init__(self, process, limit):
        self.process, self.limit, self.late = process, limit, False
        self.ended = threading.Event()
        self.begin()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _used(self):
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        except OSError:  # it has ended
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def begin(self):
        self.start = (self._used(), time.monotonic())

    def end(self):
        self.ended.set()
        self.thread.join()

    def _watch(self):
        while not self.ended.wait(0.5):
            used, since = self.start
            if self._used() - used > self.limit or time.monotonic() - since > 10 * self.limit:
                self.late = True
                self.process.kill()
                return


class Campaign:

    def __init__(self, options):
        self.options = options
        self.next_seed, self.end = options.seed, options.seed + options.models
        self.deadline = time.monotonic() + options.minutes * 60 if options.minutes else None
        self.lock = threading.Lock()
        self.counts, self.refusals, self.explained = collections.Counter(), collections.Counter(), collections.Counter()
        self.nodes, self.found = collections.Counter(), collections.defaultdict(list)

    def run(self):
        slots = [threading.Thread(target=self._slot) for _ in range(self.options.jobs)]
        for slot in slots:
            slot.start()
        for slot in slots:
            slot.join()

    def _take(self):
        with self.lock:
            if self.next_seed >= self.end or (self.deadline and time.monotonic() > self.deadline):
                return None
            first = self.next_seed
            self.next_seed = min(self.end, first + _BATCH)
            return first, self.next_seed

    def _slot(self):
        while (batch := self._take()) is not None:
            first, end = batch
            while first < end and not (self.deadline and time.monotonic() > self.deadline):
                first = self._child(first, end)

    def _child(self, first, end):
        """Runs seeds in a process; returns the first that is still to do."""
        command = [sys.executable, *self.options.command, "--child", "--seed", str(first), "--models", str(end - first)]
        with tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
            watch = Watch(child, self.options.limit)
            seed, mode = first, "made"
            for line in child.stdout:
                if not line.startswith("@"):
                    continue
                told = json.loads(line[1:])
                watch.begin()
                seed, mode = told["seed"], told.get("mode", "made")
                if "counts" in told:
                    self._note(told)
                    seed += 1
                if self.deadline and time.monotonic() > self.deadline:
                    child.kill()
                    break
            watch.end()
            code = child.wait()
            if seed >= end or (self.deadline and time.monotonic() > self.deadline):
                return end
            errors.seek(0)
            last = errors.read().strip().splitlines()[-1:]
            how = f"longer than {self.options.limit} s" if watch.late else f"the process ends with {code}: {' '.join(last)}"
            self._note({"seed": seed, "counts": {"models": 1}, "findings": [
                {"mode": "hang" if watch.late else "crash", "against": mode.split()[0], "ops": "", "text": f"{mode}: {how}"}]})
            return seed + 1

    def _note(self, told):
        with self.lock:
            self.counts.update(told["counts"])
            self.refusals.update(told.get("refusals", ()))
            self.explained.update(told.get("explained", ()))
            self.nodes.update(told.get("nodes", ()))
            for finding in told.get("findings", ()):
                key = (finding["mode"], finding["against"], finding["ops"])
                if not self.found[key]:
                    print(f"{replay(self.options, told['seed'])}\n    {' '.join(k for k in key if k)}: {finding['text'][:600]}",
                          flush=True)
                self.found[key].append(told["seed"])

    def summary(self, uncovered):
        print("\n" + ", ".join(f"{count} {name}" for name, count in self.counts.items()))
        if uncovered:
            print("read, but not generated: " + " ".join(uncovered))
        for title, counter in (("refused", self.refusals), ("explained differences", self.explained)):
            print(f"{title}: {sum(counter.values())}")
            for text, count in counter.most_common(60):
                print(f"  {count:6} {text[:220]}")
        print(f"findings: {sum(map(len, self.found.values()))} in {len(self.found)} groups")
        for key, seeds in sorted(self.found.items(), key=lambda item: -len(item[1])):
            print(f"  {len(seeds):6} {' '.join(key)[:150]}: seeds {' '.join(map(str, seeds[:6]))}")


def child(options, models, checks, ashlar):
    """Checks seeds in this process, and tells about each on its standard output."""
    for seed in range(options.seed, options.seed + options.models):
        print("@" + json.dumps({"seed": seed}), flush=True)
        model = models.make(seed, options.only, options.kind)
        told = {"seed": seed, "counts": {"models": 1}}
        if model is None:
            told["counts"]["not made"] = 1
        else:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="differential"))
            try:
                tell = lambda mode: print("@" + json.dumps({"seed": seed, "mode": mode}), flush=True)
                check = checks.Check(ashlar, model, seed, str(folder), options.modes, tell)
                check.run()
                for mode in check.modes:
                    told["counts"][mode] = told["counts"].get(mode, 0) + 1
                told.update(findings=check.findings, explained=check.explained, refusals=[shortened(r) for r in check.refusals],
                            nodes=[n.op_type for n in model.builder.nodes])
                if check.findings:
                    keep(pathlib.Path(options.out) / str(seed), folder, check, replay(options, seed))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        print("@" + json.dumps(told), flush=True)


def shortened(text):
    """A refusal without the names of files and values and without sizes, so that alike ones are counted together."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"/\S+: |'[^']*'|\{[\d,]*\}|\(`ashlar ops --onnx` lists those that are\) ", "", text)
    return re.sub(r"n?\d+(\.\d+)?(?!-?bit)", "N", re.sub(r"\bn\d+_", "", text))[:200]


def keep(to, folder, check, line):
    """Model, inputs and expected values of a finding."""
    import numpy as np
    to.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        shutil.copy(file, to / file.name)
    np.savez(to / "inputs.npz", **check.feeds)
    np.savez(to / "expected.npz", **{v.name: v.array for v in check.model.results})
    (to / "findings.txt").write_text(line + "\n" + "\n".join(
        f"{f['mode']} {f['against']} {f['ops']}: {f['text']}" for f in check.findings) + "\n")
