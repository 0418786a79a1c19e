#!/usr/bin/env python3
"""Measures the cost of the least memory of small networks: bytes, operations, expected and measured
time, and the time to plan, for several limits of operations that are done twice.

    pip install onnx numpy
    cmake --build --preset release --target ashlar
    benchmarks/least_plans.py [--limits 0,0.3,1.7] [--networks mcunet-in0,tiny-ic]

Networks are the ones of small_memory.py, and "mbv2-0.35-144", the body of MobileNetV2 of width 0.35 at
144 pixels with 448 channels at its end. Plans are for this processor and one thread. Runs of the
whole and of the least plan take turns, --rounds times; the table has medians. `verify` compares
planned bytes with used ones.
"""
import pathlib
import statistics
import sys
import tempfile
import time

from small_memory import add_network, document, network_parser, read_networks


def mobilenet_v2(pixels):
    """Returns MobileNetV2 of width 0.35 without pool and classifier, as nets.json has networks."""
    tensors, ops = [[3, pixels, pixels]], []

    def add(kind, source, channels, window=1, stride=1, activation="relu6"):
        _, height, width = tensors[source]
        side = window // 2
        tensors.append([channels, (height + stride - 1) // stride, (width + stride - 1) // stride])
        ops.append([kind, f"{kind}{len(ops)}", [source], len(tensors) - 1, [window] * 2, [stride] * 2, [side] * 4, activation])
        return len(tensors) - 1

    x = add("conv", 0, 16, 3, 2)
    for expand, channels, count, first_stride in ((1, 8, 1, 1), (6, 8, 2, 2), (6, 16, 3, 2), (6, 24, 4, 2), (6, 32, 3, 1),
                                                  (6, 56, 3, 2), (6, 112, 1, 1)):
        for i in range(count):
            stride, inside, before = first_stride if i == 0 else 1, tensors[x][0] * expand, x
            x = add("conv", x, inside) if expand > 1 else x
            x = add("conv", add("dw", x, inside, 3, stride), channels, activation="none")
            if stride == 1 and tensors[before] == tensors[x]:
                tensors.append(tensors[x])
                ops.append(["add", f"add{len(ops)}", [before, x], len(tensors) - 1, [1, 1], [1, 1], [0] * 4, "none"])
                x = len(tensors) - 1
    x = add("conv", x, 448)
    return {"tensors": tensors, "ops": ops, "input_tensor": 0, "output_tensor": x}


def main():
    parser = network_parser(__doc__)
    parser.add_argument("--networks", help="comma-separated; default: all")
    parser.add_argument("--limits", default="0,0.3,1.7")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    nets = read_networks(arguments.nets)
    nets["mbv2-0.35-144"] = mobilenet_v2(144)
    one_thread = ["--threads", "1"]
    print("| network | whole: arena | ms | at most | **arena** | operations | steps | expected ms | measured ms | over whole "
          "| planning, s |\n|---|" + "---:|" * 10)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in arguments.networks.split(",") if arguments.networks else nets:
            model = folder / f"{name}.onnx"
            add_network(nets[name], str(model))
            whole = document(arguments.ashlar, "plan", model, *one_thread)
            for limit in arguments.limits.split(","):
                file = folder / "least.plan"
                begin = time.monotonic()
                least = document(arguments.ashlar, "plan", model, *one_thread, "--memory-budget", "min",
                                 "--max-extra-flops", limit, "-o", file)
                seconds = time.monotonic() - begin
                used = document(arguments.ashlar, "verify", model, "--plan", file)
                if not used["ok"] or used["pools"]["arena"]["actual_bytes"] != least["arena_bytes"]:
                    sys.exit(f"{name}: used is not what was planned")
                times = {(): [], ("--plan", file): []}
                for _ in range(arguments.rounds):
                    for options, measured in times.items():
                        bench = document(arguments.ashlar, "bench", model, *(options or one_thread), "--warmup", "50ms",
                                         "--duration", "200ms")
                        measured.append(bench["latency_ms"]["median"])
                run, strips = (statistics.median(measured) for measured in times.values())
                print(f"| {name} | {whole['arena_bytes']:,} | {run:.2f} | {1 + float(limit):.2f} | **{least['arena_bytes']:,}** "
                      f"| {1 + least['extra_flops_ratio']:.2f} | {len(least['comp_seq']):,} "
                      f"| {least['predicted_ms']:.2f} | {strips:.2f} | {strips / run:.2f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
