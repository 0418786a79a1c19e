#!/usr/bin/env python3
"""Runs whole detectors of torchvision, with their suppression, and compares them with ONNX Runtime.

    pip install torch torchvision onnx onnxruntime
    benchmarks/detectors.py --list
    benchmarks/detectors.py ssdlite320 fasterrcnn -o models [--images 3]

Weights are seeded. Statistics of batch norms are measured on images, and the last layers scaled, so
that scores differ. A detection is a box (to 0.1 pixel) with its class. Models whose scores or
overlaps are equal have no one answer: for these, ONNX Runtime with and without its own rewrites
differs, too, and its line says by how much.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnxruntime
import torch
from torch import nn
from torchvision.models import detection
from torchvision.ops import batched_nms

ASHLAR = pathlib.Path(__file__).parent.parent / "build" / "release" / "ashlar"
KEYS = ("boxes", "labels", "scores")
SMALL = {"num_classes": 21, "min_size": 320, "max_size": 320}
FEW = {**SMALL, "rpn_pre_nms_top_n_test": 200, "rpn_post_nms_top_n_test": 100}


class Whole(nn.Module):
    """A detector of one image, with its results as a tuple."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, image):
        found = self.inner([image])[0]
        return tuple(found[key] for key in KEYS)


class Suppressed(nn.Module):
    """Grid cells that each give a box and classes, and suppression by class, as YOLO exports have."""

    def __init__(self, classes=8):
        super().__init__()
        layers, width = [], 3
        for wide in (16, 32, 64, 64):
            layers += [nn.Conv2d(width, wide, 3, 2, 1), nn.BatchNorm2d(wide), nn.SiLU()]
            width = wide
        self.body = nn.Sequential(*layers)
        self.bbox_pred = nn.Conv2d(width, 4, 1)
        self.cls_logits = nn.Conv2d(width, classes, 1)

    def forward(self, images):
        x = self.body(images[0][None])
        rows, columns = x.shape[2:]
        centres = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")[::-1], -1)
        centres = centres.reshape(-1, 2) * 16.0 + 8
        boxes = self.bbox_pred(x).flatten(2)[0].T
        middle, half = centres + boxes[:, :2] * 8, boxes[:, 2:].exp() * 12
        boxes = torch.cat([middle - half, middle + half], 1)
        scores, labels = self.cls_logits(x).flatten(2)[0].T.sigmoid().max(1)
        kept = scores > 0.6
        boxes, scores, labels = boxes[kept], scores[kept], labels[kept]
        first = batched_nms(boxes, scores, labels, 0.5)[:50]
        return [{"boxes": boxes[first], "labels": labels[first], "scores": scores[first]}]


def build(maker, **settings):
    return lambda: maker(weights=None, weights_backbone=None, **settings)


# By name: the function that builds it, the shape of its image.
MODELS = {
    "ssdlite320": (build(detection.ssdlite320_mobilenet_v3_large, num_classes=21, score_thresh=0.2), (3, 320, 320)),
    "ssd300": (build(detection.ssd300_vgg16, num_classes=21, score_thresh=0.2), (3, 300, 300)),
    "retinanet": (build(detection.retinanet_resnet50_fpn, **SMALL, score_thresh=0.2), (3, 320, 320)),
    "fcos": (build(detection.fcos_resnet50_fpn, **SMALL, score_thresh=0.2), (3, 320, 320)),
    "fasterrcnn": (build(detection.fasterrcnn_mobilenet_v3_large_320_fpn, num_classes=21), (3, 320, 320)),
    "fasterrcnn_resnet50": (build(detection.fasterrcnn_resnet50_fpn, **FEW), (3, 320, 320)),
    "yolo_suppressed": (Suppressed, (3, 320, 320)),
}


def image(shape, seed):
    """Structure at every scale, as photographs have."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.zeros(1, *shape)
    for size in (2, 4, 8, 16, 32, 64):
        rough = torch.randn(1, shape[0], size, size, generator=generator)
        x += nn.functional.interpolate(rough, shape[1:], mode="bicubic")
    return torch.sigmoid(x[0])


def last_layers(model):
    """The layers that give classes and boxes, with the deviation that their results get."""
    for name, layer in model.named_modules():
        if not isinstance(layer, (nn.Conv2d, nn.Linear)):
            continue
        if re.search(r"cls_logits|cls_score|classification_head\.module_list", name):
            yield layer, 2.0
        elif re.search(r"bbox_pred|bbox_reg|regression_head\.module_list", name):
            yield layer, 0.3


def seeded(name):
    torch.manual_seed(sum(name.encode()))
    make, shape = MODELS[name]
    model = make().eval()
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]

    def measure(norm, inputs):
        x = inputs[0]
        if x.numel() > 8 * x.shape[1]:
            norm.running_mean.copy_(x.mean((0, 2, 3)))
            norm.running_var.copy_(x.var((0, 2, 3)).clamp(min=1e-3))

    hooks = [norm.register_forward_pre_hook(measure) for norm in norms]
    with torch.no_grad():
        model([image(shape, 100)])
        for hook in hooks:
            hook.remove()
        for layer, deviation in last_layers(model):
            results = []
            hook = layer.register_forward_hook(lambda _, inputs, result, to=results: to.append(result.std()))
            model([image(shape, 101)])
            hook.remove()
            layer.weight *= deviation / torch.stack(results).mean().clamp(min=1e-6)
    return Whole(model), shape


def run_ashlar(path, x, folder):
    np.save(folder / "x.npy", x)
    command = [ASHLAR, "run", path, "--input", f"images={folder / 'x.npy'}", "--output", folder / "y.npz"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-400:])
    return dict(np.load(folder / "y.npz"))


def detections(found):
    return {(*np.round(box, 1).tolist(), int(label)): float(score)
            for box, label, score in zip(found["boxes"], found["labels"], found["scores"])}


def compare(path, shape, images):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    reference = onnxruntime.InferenceSession(path)
    plain = onnxruntime.InferenceSession(path, options)
    for seed in [*range(images), None]:
        x = np.zeros(shape, np.float32) if seed is None else image(shape, seed).numpy()
        wanted = detections(dict(zip(KEYS, reference.run(list(KEYS), {"images": x}))))
        other = detections(dict(zip(KEYS, plain.run(list(KEYS), {"images": x}))))
        with tempfile.TemporaryDirectory() as folder:
            got = detections(run_ashlar(path, x, pathlib.Path(folder)))
        common = wanted.keys() & got.keys()
        worst = max((abs(wanted[key] - got[key]) for key in common), default=0)
        print(f"{pathlib.Path(path).stem} {'black' if seed is None else seed}: {len(got)} detections, ONNX Runtime "
              f"{len(wanted)}, the same {len(common)} (ONNX Runtime without rewrites {len(wanted.keys() & other.keys())}), "
              f"scores to {worst:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="list the names")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("models"), help="folder of the models")
    parser.add_argument("--images", type=int, default=3)
    args = parser.parse_args()
    if args.list or not args.names:
        print("\n".join(MODELS))
        return
    os.makedirs(args.output, exist_ok=True)
    failed = False
    for name in args.names:
        path = str(args.output / f"{name}.onnx")
        model, shape = seeded(name)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(model, (image(shape, 1),), path, dynamo=False, opset_version=17,
                              input_names=["images"], output_names=list(KEYS))
        try:
            compare(path, shape, args.images)
        except RuntimeError as error:
            failed = True
            print(f"{name}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
