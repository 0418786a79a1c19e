"""The protocol of peers: once ready, each runs a burst for every line with a number."""
import sys
import time


def await_turn():
    """Reports that all is imported, and waits for permission to take the GPU and to warm up."""
    print("imported", flush=True)
    sys.stdin.readline()


def serve(run, facts=""):
    """Prints "ready" and the facts. For each number k on stdin runs k times, and prints the
    milliseconds on a line.
    """
    print(f"ready {facts}".strip(), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        print(" ".join(f"{t:.4f}" for t in times), flush=True)


def serve_output(run, target):
    """Serves bursts after three warm-up runs, whose output goes to a file."""
    import numpy

    for _ in range(3):
        result = run()
    numpy.save(target, result)
    serve(run)
