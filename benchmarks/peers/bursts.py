"""How a peer answers: once it is ready, a burst of runs for each line with their number."""
import sys
import time


def await_turn():
    """All is imported; the line that comes allows to take the GPU and to warm up."""
    print("imported", flush=True)
    sys.stdin.readline()


def serve(run, facts=""):
    """Prints "ready" and the facts; for each number k on stdin runs k times, and prints the milliseconds on a line."""
    print(f"ready {facts}".strip(), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        print(" ".join(f"{t:.4f}" for t in times), flush=True)


def serve_output(run, target):
    """After three runs to warm up, whose output goes to a file."""
    import numpy

    for _ in range(3):
        result = run()
    numpy.save(target, result)
    serve(run)
