"""Runs the peers of versus_gpu_frameworks.py: PyTorch and JAX, as processes that time runs on
request.

A process prints "imported", waits for a line, takes the GPU and warms up, and prints "ready" and
its memory as JSON. For each line with a number k it runs k times, synchronising after each run, and
prints the k latencies in milliseconds on one line. So all processes can import at the same time,
and warm up one after the other, because the frameworks choose kernels by time meanwhile.
"""
import json
import os
import pathlib
import select
import subprocess
import sys
import time

PEERS = pathlib.Path(__file__).resolve().parent / "peers"


def peer_command(way, batch, precision):
    if way == "jax":
        return [sys.executable, str(PEERS / "jax_resnet50.py"), str(batch), precision]
    return [sys.executable, str(PEERS / "pytorch.py"), way, str(batch), precision]


def device_limits(timeout):
    """Returns the limits of the device, printed by pytorch_limits.py; empty, with a message on
    stderr, if PyTorch cannot run.
    """
    try:
        probe = subprocess.run([sys.executable, str(PEERS / "pytorch_limits.py")], capture_output=True, text=True,
                               timeout=timeout)
        if probe.returncode == 0:
            return json.loads(probe.stdout)
        reason = (probe.stderr.strip().splitlines() or ["no output"])[-1]
    except subprocess.TimeoutExpired:
        reason = f"no answer in {timeout:.0f} s"
    print(f"no limits of the device, since PyTorch does not run: {reason}", file=sys.stderr, flush=True)
    return {}


def smi(field):
    """Returns a field of the first GPU from nvidia-smi; None if it does not answer."""
    try:
        answer = subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"],
                                capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.splitlines()[0].strip() if answer.returncode == 0 and answer.stdout else None


def used_bytes():
    """Returns the device memory used by all processes; None if nvidia-smi does not report it."""
    text = smi("memory.used")
    return int(text) << 20 if text and text.isdigit() else None


class Server:
    """Starts the process at once. failure: the reason why it is unusable; None if it is usable."""

    def __init__(self, name, command, errors, environment=None, imports=True):
        self.name = name
        self.imports = imports  # whether its first line, "imported", was read
        self.memory = {}
        self.failure = None
        self._errors = errors
        self._unread = b""
        self._before = None if imports else used_bytes()
        with errors.open("w") as stderr:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                env=dict(environment or os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false"))

    def prepare(self, deadline):
        """Waits until the process is ready, or has failed."""
        if self.imports:
            if self._expect("imported", deadline) is None:
                return False
            self._before = used_bytes()
            self._write("\n")
        rest = self._expect("ready", deadline)
        if rest is None:
            return False
        self.memory = json.loads(rest) if rest else {}
        after = used_bytes()
        if self._before is not None and after is not None:
            self.memory["process_bytes"] = after - self._before
        return True

    def burst(self, runs, deadline):
        """Returns latencies in milliseconds; None if the process failed."""
        self._write(f"{runs}\n")
        while (line := self._line(deadline)) is not None:
            try:
                times = [float(word) for word in line.split()]
            except ValueError:
                continue  # a message of a library
            if len(times) == runs:
                return times
        return None

    def stop(self):
        self._process.kill()
        self._process.wait()

    def _write(self, text):
        try:
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
        except OSError:
            pass  # the next read reports it

    def _expect(self, word, deadline):
        """Returns the text after `word` in the next line that begins with it."""
        while (line := self._line(deadline)) is not None:
            if line.split(" ", 1)[0] == word:
                return line[len(word):].strip()
        return None

    def _line(self, deadline):
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                self._fail("no answer in time")
                return None
            more = os.read(descriptor, 1 << 16)
            if not more:
                self._fail(f"ended with {self._process.wait()}")
                return None
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _fail(self, reason):
        self.stop()
        lines = self._errors.read_text(errors="replace").strip().splitlines()
        self.failure = reason + (f": {lines[-1][:300]}" if lines else "")
        print(f"{self.name}: {reason}", *lines[-20:], sep="\n    ", file=sys.stderr, flush=True)
