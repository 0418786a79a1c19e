#!/usr/bin/env python3
"""Trains three small models on pictures that Python packages ship, and measures them on pictures that
they have not seen.

usage: trained.py digits|faces|textures FOLDER [--epochs N] [--seed N]

    digits      handwritten digits, 8 x 8, ten classes (scikit-learn's load_digits: 1,797 pictures,
                every fifth one for the test)
    faces       a face or not, 25 x 25 (scikit-image's lfw_subset: 200 pictures, every fourth one
                for the test)
    textures    brick, grass or gravel, 32 x 32 (scikit-image: patches of one photograph each; the
                lower quarter of each photograph is for the test)

FOLDER gets train/CLASS/*.png, test/CLASS/*.png, net.onnx (random weights), trained.onnx, labels.txt
and loss.svg. `ashlar` trains; this file only writes the pictures and the net, and counts.

Needs: pip install ashlar_runtime onnx pillow scikit-learn scikit-image
"""
import argparse
import json
import pathlib
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

SCALE = 1 / 128  # pixels become -1 to 1


def every_nth_held_out(pictures, labels, n):
    held_out = np.arange(len(pictures)) % n == n - 1
    return (pictures[~held_out], labels[~held_out]), (pictures[held_out], labels[held_out])


def digits():
    from sklearn.datasets import load_digits
    data = load_digits()
    return ([str(i) for i in range(10)],) + every_nth_held_out(np.clip(data.images * 16, 0, 255).astype(np.uint8), data.target, 5)


def faces():
    from skimage.data import lfw_subset
    labels = np.repeat([0, 1], 100)  # its first half are faces
    return (["face", "other"],) + every_nth_held_out((lfw_subset() * 255).astype(np.uint8), labels, 4)


def textures(size=32):
    import skimage.data
    names, sides = ["brick", "grass", "gravel"], ([], [])
    for name in names:
        photograph = getattr(skimage.data, name)()
        for side, rows, step in ((0, range(0, 384 - size + 1, 16), 16), (1, range(384, 512 - size + 1, 32), 32)):
            sides[side].append([photograph[y:y + size, x:x + size] for y in rows for x in range(0, 512 - size + 1, step)])
    return (names,) + tuple((np.concatenate(side), np.repeat(range(3), [len(one) for one in side])) for side in sides)


def make_net(size, classes, seed):
    """Makes a net of two convolutions and a fully connected layer for pictures {N,3,size,size}."""
    random = np.random.default_rng(seed)
    weights, nodes, value, channels = [], [], "x", 3  # red, green, blue: pictures of one channel give three equal ones

    def add(name, *shape):
        fan_in = np.prod(shape[1:])
        array = random.normal(0, np.sqrt(2 / fan_in), shape) if len(shape) > 1 else np.zeros(shape)
        weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    for i, outputs in enumerate((16, 32)):
        conv, relu, pooled = f"conv{i}", f"relu{i}", f"pool{i}"
        nodes.append(helper.make_node("Conv", [value, add(f"w{i}", outputs, channels, 3, 3), add(f"b{i}", outputs)], [conv], pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [conv], [relu]))
        nodes.append(helper.make_node("MaxPool", [relu], [pooled], kernel_shape=[2, 2], strides=[2, 2]))
        value, channels, size = pooled, outputs, size // 2
    while size > 8:
        nodes.append(helper.make_node("MaxPool", [value], [f"small{size}"], kernel_shape=[2, 2], strides=[2, 2]))
        value, size = f"small{size}", size // 2
    nodes.append(helper.make_node("Flatten", [value], ["flat"]))
    nodes.append(helper.make_node("Gemm", ["flat", add("fc", classes, channels * size * size), add("fc_bias", classes)], ["scores"], transB=1))
    nodes.append(helper.make_node("Softmax", ["scores"], ["probability"], axis=1))
    return nodes, weights


def save_net(path, size, classes, seed):
    nodes, weights = make_net(size, classes, seed)
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, size, size])],
                              [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["N", classes])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_pictures(folder, names, pictures, labels):
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for i, (picture, label) in enumerate(zip(pictures, labels)):
        Image.fromarray(picture).save(folder / names[label] / f"{i:04}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", choices=["digits", "faces", "textures"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ashlar", default="ashlar", help="the command")
    given = parser.parse_args()
    names, train, test = globals()[given.subject]()
    folder = given.folder
    write_pictures(folder / "train", names, *train)
    write_pictures(folder / "test", names, *test)
    (folder / "labels.txt").write_text("".join(f"{name}\n" for name in names))
    save_net(folder / "net.onnx", train[0].shape[1], len(names), given.seed)
    normalised = ["--mean", "128", "--scale", str(SCALE)]
    subprocess.run([given.ashlar, "train", folder / "net.onnx", "--data", folder / "train", "--batch", "25", "--epochs", str(given.epochs),
                    "--lr", "0.004", "--optimizer", "adam", "--schedule", "cosine", "--seed", str(given.seed), *normalised, "--curve",
                    folder / "loss.svg", "-o", folder / "trained.onnx", "-q"], check=True)
    # Counted here, by NumPy: the class of the highest probability of each picture that was held out.
    images = np.repeat(((test[0].astype(np.float32) - 128) * SCALE)[:, None], 3, axis=1)
    import ashlar_runtime
    session = ashlar_runtime.load(folder / "trained.onnx").plan(shapes={"x": images.shape}).session()
    right = int((session(np.ascontiguousarray(images, np.float32)).argmax(1) == test[1]).sum())
    print(json.dumps({"subject": given.subject, "trained_on": len(train[0]), "held_out": len(test[0]), "right": right,
                      "accuracy": round(right / len(test[0]), 4), "model_bytes": (folder / "trained.onnx").stat().st_size}))


if __name__ == "__main__":
    main()
