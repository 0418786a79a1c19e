#!/usr/bin/env python3
"""Compares models in 8 bits and in Float32, in Ashlar and in ONNX Runtime, interleaved.

    pip install onnx onnxruntime openvino numpy
    cmake --build --preset release --target ashlar latency_server
    benchmarks/eight_bits.py [--models resnet50 mobilenet_v2] [--batch 1] [--threads 1 2]
                             [--openvino] [--folder DIR]

ONNX Runtime's quantiser makes a QDQ model from a model of the zoo: u8 activations, s8 weights with
a scale a channel, ranges from four seeded random images. Both systems run that file. Each of the
four is a long-lived process pinned to the same cores. In every round each gets a burst, in rotating
order; the first round is dropped. With one thread the time is the processor's (user and system, as
the scheduler counts it), which other load disturbs little. With more threads it is wall time,
because threads that spin while waiting would count. --openvino adds OpenVINO with its own defaults,
on the same file in 8 bits and on the model in Float32, which it may compute in bf16. Reported: medians of the times over the rounds,
and of their ratios to ONNX Runtime's Float32; the interval of the first (ratios.py); the share of
the quantised models' outputs that differ, and the largest difference over the largest output.
"""
import pathlib
import statistics

import cpu_peers
from ratios import median_interval

SYSTEMS = ["ashlar 8 bits", "ashlar fp32", "onnxruntime 8 bits", "onnxruntime fp32"]
OPENVINO = ["openvino_default 8 bits", "openvino_default fp32"]


def quantise(source, target):
    """Writes the QDQ model of `source`."""
    import numpy
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Images(CalibrationDataReader):
        def __init__(self, tensor):
            shape = [d.dim_value for d in tensor.type.tensor_type.shape.dim]
            random = numpy.random.default_rng(0)
            self.images = iter([{tensor.name: random.standard_normal(shape, dtype="float32")} for _ in range(4)])

        def get_next(self):
            return next(self.images, None)

    prepared = target.with_suffix(".prepared.onnx")
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(target), Images(onnx.load(prepared).graph.input[0]), per_channel=True,
                    quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def make_models(folder, name, batch, image):
    """Returns the files of each system, in the format of cpu_peers.start."""
    files = cpu_peers.make_model(folder, name, batch, image)
    onnx, ash = (files[0].with_suffix(f".qdq.{ending}") for ending in ("onnx", "ash"))
    if not onnx.exists():
        quantise(files[1], onnx)
    cpu_peers.ashlar("convert", onnx, "-o", ash)
    return {system: (ash, onnx) if "8 bits" in system else files for system in SYSTEMS + OPENVINO}


def processor_ms(server):
    """Returns the processor time of all threads of the process."""
    tasks = pathlib.Path(f"/proc/{server.process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def burst(server, runs, threads):
    """Returns the milliseconds of a run."""
    before = processor_ms(server)
    times = server.burst(runs)
    return (processor_ms(server) - before) / runs if threads == 1 else statistics.median(times)


def compare(args, folder, model, batch, threads):
    import numpy

    files = make_models(folder, model, batch, args.image)
    source = cpu_peers.make_input(folder, batch, args.image)
    systems = SYSTEMS + (OPENVINO if args.openvino else [])
    outputs = {system: folder / f"{system.replace(' ', '-')}.npy" for system in systems}
    servers = {}
    for system in systems:
        peer = system.split()[0]
        servers[system] = cpu_peers.start(peer, files[system], threads, source, outputs[system], args.ashlar_options)
    rounds = []
    for number in range(args.rounds + 1):
        turn = number % len(systems)
        rounds.append({system: burst(servers[system], args.runs, threads)
                       for system in systems[turn:] + systems[:turn]})
    for server in servers.values():
        server.close()
    rounds = rounds[1:]
    base = SYSTEMS[-1]
    ratios = {system: [each[system] / each[base] for each in rounds] for system in systems}
    beside = {system: statistics.median(each[SYSTEMS[0]] / each[system] for each in rounds) for system in systems}
    theirs = numpy.load(outputs["onnxruntime 8 bits"])
    difference = abs(numpy.load(outputs["ashlar 8 bits"]).reshape(theirs.shape) - theirs)
    return {"model": model, "batch": batch, "threads": threads,
            "ms": {system: statistics.median(each[system] for each in rounds) for system in systems},
            "ratio": {system: statistics.median(ratios[system]) for system in systems},
            "ashlar_8_bits_over": beside,
            "interval": median_interval(ratios[SYSTEMS[0]])[:2],
            "differing": float((difference != 0).mean()),
            "largest_difference": float(difference.max() / abs(theirs).max())}


def print_row(row):
    ms, ratio = row["ms"], row["ratio"]
    times = " | ".join(f"{ms[system]:.2f}" for system in SYSTEMS)
    print(f"| {row['model']} | {row['batch']} | {row['threads']} | {times} | **{ratio[SYSTEMS[0]]:.3f}** "
          f"({row['interval'][0]:.3f}, {row['interval'][1]:.3f}) | {ratio[SYSTEMS[2]]:.3f} | "
          f"{ratio[SYSTEMS[1]]:.3f} | {row['differing']:.1%}, {row['largest_difference']:.0e} |", end="")
    for system in OPENVINO:
        if system in ms:
            print(f" {ms[system]:.2f}: **{row['ashlar_8_bits_over'][system]:.3f}** |", end="")
    print(flush=True)


def main():
    parser = cpu_peers.argument_parser(__doc__, batch=[1], threads=[1, 2], rounds=10, program="latency_server")
    parser.set_defaults(models=["resnet50", "mobilenet_v2"])
    parser.add_argument("--runs", type=int, default=10, help="runs in a burst")
    parser.add_argument("--openvino", action="store_true", help="also OpenVINO with its own defaults")
    args = parser.parse_args()
    more = "".join(f" {name} ms: 8 bits / it |" for name in OPENVINO) if args.openvino else ""

    cpu_peers.measure_all(
        args, "| model | batch | threads | " + " ms | ".join(SYSTEMS) + " ms | 8 bits / ORT fp32 (interval) | "
        "ORT 8 bits / its fp32 | fp32 / ORT fp32 | outputs that differ |" + more, compare, print_row)


if __name__ == "__main__":
    main()
