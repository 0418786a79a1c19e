#!/usr/bin/env python3
"""Measures the arenas of small networks in 8 bits, next to published or planned sizes of others.

    pip install onnx numpy
    cmake --build --preset release --target ashlar
    benchmarks/small_memory.py [--ashlar build/release/ashlar]
        [--nets tests/data/int8/nets.json] [--verify] [--processor avx2/32K/512K]
        [--networks mcunet-in0,tiny-ic] > benchmarks/results/small-memory.md

Each network is written as an ONNX model of QuantizeLinear and DequantizeLinear with arbitrary
weights and an input of bytes. It is planned untiled, with `--memory-budget min --max-extra-flops
0`, and with a donated input. With --verify it also runs: then planned and used bytes must be equal.
Columns of others are not measured here: SOURCES has their sources and definitions.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

# Bytes by network: TFLM, TinyEngine, X-CUBE-AI (kB), Vela, MCUNetV2's patches (kB).
OTHERS = {
    "mbv2-1.0-224": (1505280, None, None, 361984, 172),
    "mcunet-in0": (46080, 49, 69, 33792, None),
    "mcunet-in2": (332800, 215, 238, 145920, None),
    "mcunet-in3": (371712, 260, 243, 183040, None),
    "mcunet-in4": (422400, 416, 342, 211200, None),
    "proxyless-1.0": (852992, None, None, 345856, None),
    "tiny-vww": (73728, None, None, 49152, None),
    "tiny-ic": (49152, None, None, 35840, None),
    "tiny-kws": (16000, None, None, 15994, None),
    "tiny-ad": (768, None, None, 768, None),
}
SOURCES = """Counted are: by TFLM (2026-10) the activations that its planner places, the image among them, not its tables
(3 to 164 kB more); by TinyEngine and X-CUBE-AI kB of SRAM on an STM32H743, the run time and the image included, as the
README of mit-han-lab/tinyengine has them; by Vela 5.2.0 its "Total SRAM used" for Ethos-U55-256, optimised for size with
cascading, the image included; of MCUNetV2 the peak that Table 1 of arXiv 2110.15352 has with 4 x 4 patches, without the
image, of which some are computed again. Ashlar's arena holds neither the image nor the output, which are the caller's:
the column "with input and output" adds both. With `--release-input` the image lies in the arena, where rows that were
read make room, and "donated, with output" is all there is."""


def add_network(net, path):
    """Returns the network as QDQ, with arbitrary int8 weights and scales so that few results
    saturate.
    """
    import numpy
    from onnx import TensorProto, helper, numpy_helper, save

    random = numpy.random.default_rng(1)
    nodes, constants = [], []
    scale, zero = 0.05, 3

    def constant(name, array):
        constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    constant("s", numpy.float32(scale))
    constant("z", numpy.int8(zero))
    constant("softmax_s", numpy.float32(1 / 256))
    constant("softmax_z", numpy.int8(-128))

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    shapes = [[1, *shape] for shape in net["tensors"]]
    first, last = net["input_tensor"], net["output_tensor"]
    floats = {first: node("DequantizeLinear", ["x", "s", "z"], "f0")}
    bytes_of = {}
    for kind, name, inputs, output, window, stride, padding, activation in net["ops"]:
        x, shape = floats[inputs[0]], shapes[output]
        of = (f"{name}.y", "s", "z")
        if kind in ("conv", "dw", "fc"):
            channels = int(numpy.prod(shapes[inputs[0]])) if kind == "fc" else shapes[inputs[0]][1]
            if kind == "fc" and shapes[inputs[0]] != [1, channels, 1, 1]:
                x = node("Reshape", [x, constant(f"{name}.shape", numpy.int64([1, channels, 1, 1]))], f"{name}.flat")
            group = channels if kind == "dw" else 1
            size = [shape[1], channels // group, *(window if kind != "fc" else [1, 1])]
            s = 0.01 / numpy.sqrt(numpy.prod(size[1:]))
            w = constant(f"{name}.w", random.integers(-127, 128, size).astype("int8"))
            b = constant(f"{name}.b", random.integers(-999, 1000, [shape[1]]).astype("int32"))
            ws = constant(f"{name}.ws", numpy.float32(s))
            bs = constant(f"{name}.bs", numpy.float32(scale) * numpy.float32(s))
            w = node("DequantizeLinear", [w, ws, constant(f"{name}.wz", numpy.int8(0))], f"{name}.wf")
            b = node("DequantizeLinear", [b, bs, constant(f"{name}.bz", numpy.int32(0))], f"{name}.bf")
            y = node("Conv", [x, w, b], f"{name}.f", group=group, strides=stride, pads=padding)
        elif kind == "add":
            y = node("Add", [x, floats[inputs[1]]], f"{name}.f")
        elif kind == "avg":
            y = node("AveragePool", [x], f"{name}.f", kernel_shape=window, strides=stride)
        elif kind == "softmax":
            y = node("Softmax", [x], f"{name}.f", axis=1)
            of = (f"{name}.y", "softmax_s", "softmax_z")
        else:
            sys.exit(f"{name}: unknown operator {kind}")
        if activation == "relu":
            y = node("Relu", [y], f"{name}.r")
        elif activation == "relu6":
            y = node("Clip", [y, constant(f"{name}.0", numpy.float32(0)), constant(f"{name}.6", numpy.float32(6))],
                     f"{name}.r")
        bytes_of[output] = node("QuantizeLinear", [y, of[1], of[2]], of[0])
        if output != last:
            floats[output] = node("DequantizeLinear", [of[0], of[1], of[2]], f"{name}.d")
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.INT8, shapes[first])],
                              [helper.make_tensor_value_info(bytes_of[last], TensorProto.INT8, shapes[last])], constants)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def document(ashlar, *arguments):
    done = subprocess.run([ashlar, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return json.loads(done.stdout)


def network_parser(description):
    """Returns a parser of the command's path and of the file of networks."""
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ashlar", default=root / "build/release/ashlar")
    parser.add_argument("--nets", default=root / "tests/data/int8/nets.json")
    return parser


def read_networks(path):
    return json.loads(pathlib.Path(path).read_text())["nets"]


def planned(plan, pool):
    return plan["pools"][pool]["planned_bytes"]


def text(value, unit=""):
    return "-" if value is None else f"{value:,}{unit}"


def main():
    parser = network_parser(__doc__)
    parser.add_argument("--processor", default="avx2/32K/512K")
    parser.add_argument("--networks", help="comma-separated; default: all")
    parser.add_argument("--verify", action="store_true")
    arguments = parser.parse_args()
    nets = read_networks(arguments.nets)
    options = ["--threads", "1"] if arguments.verify else ["--threads", "1", "--processor", arguments.processor]
    tiled = ["--memory-budget", "min", "--max-extra-flops", "0"]
    print(f"# Small memory\n\n`benchmarks/small_memory.py{' --verify' if arguments.verify else ''}`. Networks in 8 bits, bytes "
          "unless kB are said; no operation is done twice.\n\n" + SOURCES + "\n")
    print("| network | Ashlar whole | **Ashlar tiled** | with input and output | given up, with output | TFLM | TinyEngine "
          "| X-CUBE-AI | Vela | MCUNetV2 | over Vela | given up, over Vela |\n|---|" + "---:|" * 11)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.networks.split(",") if arguments.networks else nets:
            model = pathlib.Path(folder) / f"{name}.onnx"
            add_network(nets[name], str(model))
            whole = document(arguments.ashlar, "plan", model, *options)
            least = document(arguments.ashlar, "plan", model, *options, *tiled)
            given_up = document(arguments.ashlar, "plan", model, *options, *tiled, "--release-input")
            if arguments.verify:
                used = document(arguments.ashlar, "verify", model, *options, *tiled)
                if not used["ok"] or used["pools"]["arena"]["actual_bytes"] != planned(least, "arena"):
                    sys.exit(f"{name}: used is not what was planned")
            total = sum(planned(least, pool) for pool in ("arena", "input", "output"))
            tflm, tiny_engine, cube, vela, patches = OTHERS.get(name, (None,) * 5)
            all_of_it = sum(planned(given_up, pool) for pool in ("arena", "output"))
            share = "-" if vela is None else f"{total / vela:.2f}"
            share_given_up = "-" if vela is None else f"{all_of_it / vela:.2f}"
            print(f"| {name} | {planned(whole, 'arena'):,} | **{planned(least, 'arena'):,}** | {total:,} | {all_of_it:,} | {text(tflm)} | "
                  f"{text(tiny_engine, ' kB')} | {text(cube, ' kB')} | {text(vela)} | {text(patches, ' kB')} | {share} | {share_given_up} |",
                  flush=True)


if __name__ == "__main__":
    main()
