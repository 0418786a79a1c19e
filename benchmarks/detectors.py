#!/usr/bin/env python3
"""Runs whole detectors, with what follows their heads, and compares them with ONNX Runtime.

    pip install torch torchvision transformers onnx onnxscript onnxruntime
    benchmarks/detectors.py --list
    benchmarks/detectors.py ssdlite320 fasterrcnn -o models [--images 3] [--exporter dynamo]

Weights are seeded. Statistics of batch norms are measured on images, and the last layers scaled, so
that scores differ. A detection is a box (to 0.1 pixel) with its class. Models whose scores or
overlaps are equal have no one answer: for these, ONNX Runtime with and without its own rewrites
differs, too, and its line says by how much. `ashlar verify` must find the memory as planned, and no
call of the heap in runs.
"""
import argparse
import contextlib
import json
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
import torchvision
from torch import nn
from torchvision.models import detection

ASHLAR = pathlib.Path(__file__).parent.parent / "build" / "release" / "ashlar"
KEYS = ("boxes", "labels", "scores")
SMALL = {"num_classes": 21, "min_size": 320, "max_size": 320}
FEW = {**SMALL, "rpn_pre_nms_top_n_test": 200, "rpn_post_nms_top_n_test": 100}


class Whole(nn.Module):
    """A detector of one image, with its results as a tuple."""

    def __init__(self, inner, keys):
        super().__init__()
        self.inner = inner
        self.keys = keys

    def forward(self, image):
        found = self.inner([image])[0]
        return tuple(found[key] for key in self.keys)


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
        first = torchvision.ops.batched_nms(boxes, scores, labels, 0.5)[:50]
        return [{"boxes": boxes[first], "labels": labels[first], "scores": scores[first]}]


class Detr(nn.Module):
    """A transformer that detects, and its boxes above a score, as post_process_object_detection has them."""

    def __init__(self, queries=50, classes=20):
        super().__init__()
        from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig
        body = ResNetConfig(layer_type="basic", depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512],
                            out_features=["stage4"])
        self.model = DetrForObjectDetection(DetrConfig(
            use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=body,
            num_queries=queries, num_labels=classes, d_model=128, encoder_layers=2, decoder_layers=2,
            encoder_ffn_dim=256, decoder_ffn_dim=256))
        nn.init.normal_(self.model.model.query_position_embeddings.weight, std=3)
        self.threshold = 0.0  # then the median of an image's scores

    def forward(self, images):
        size = images[0].shape[-1]
        found = self.model(images[0][None])
        scores, labels = found.logits[0].softmax(-1)[:, :-1].max(-1)
        middle, half = found.pred_boxes[0, :, :2] * size, found.pred_boxes[0, :, 2:] * size / 2
        boxes = torch.cat([middle - half, middle + half], 1)
        kept = scores > self.threshold
        return [{"boxes": boxes[kept], "labels": labels[kept], "scores": scores[kept]}]


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
    "maskrcnn": (build(detection.maskrcnn_resnet50_fpn, **FEW), (3, 320, 320)),
    "yolo_suppressed": (Suppressed, (3, 320, 320)),
    "detr": (Detr, (3, 320, 320)),
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
    """The layers that give classes and boxes, with the largest magnitude that their results get."""
    for name, layer in model.named_modules():
        if not isinstance(layer, (nn.Conv2d, nn.Linear)):
            continue
        if re.search(r"cls_logits|cls_score|class_labels_classifier|classification_head\.module_list", name):
            yield layer, 6.0
        elif re.search(r"bbox_pred|bbox_reg|regression_head\.module_list", name):
            yield layer, 1.0


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
        for layer, largest in last_layers(model):
            results = []
            offset = 0 if layer.bias is None else layer.bias.reshape(-1, *[1] * (layer.weight.dim() - 2))
            hook = layer.register_forward_hook(lambda _, inputs, result, offset=offset, to=results: to.append(
                (result - offset).abs().max()))
            model([image(shape, 101)])
            hook.remove()
            layer.weight *= largest / torch.stack(results).max().clamp(min=1e-6)
        if name == "detr":
            model.threshold = float(model([image(shape, 101)])[0]["scores"].median())
    keys = [*KEYS, "masks"] if name.startswith("mask") else list(KEYS)
    return Whole(model, keys).eval(), shape


@contextlib.contextmanager
def suppression_without_branches():
    """torchvision chooses the way of its suppression by the number of boxes, which torch.export refuses."""
    def by_offsets(boxes, scores, labels, threshold):
        offsets = labels.to(boxes) * (boxes.max() + 1)
        return torchvision.ops.nms(boxes + offsets[:, None], scores, threshold)

    modules = [torchvision.ops.boxes, torchvision.ops]
    before = [module.batched_nms for module in modules]
    for module in modules:
        module.batched_nms = by_offsets
    try:
        yield
    finally:
        for module, function in zip(modules, before):
            module.batched_nms = function


def export(model, shape, path, exporter):
    names = {"input_names": ["images"], "output_names": model.keys}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if exporter == "ts":
            torch.onnx.export(model, (image(shape, 1),), path, dynamo=False, opset_version=17, **names)
        else:
            with suppression_without_branches():
                torch.onnx.export(model, (image(shape, 1),), path, dynamo=True, external_data=False, verbose=False,
                                  **names)


def run_ashlar(path, x, folder):
    np.save(folder / "x.npy", x)
    command = [ASHLAR, "run", path, "--input", f"images={folder / 'x.npy'}", "--output", folder / "y.npz"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-400:])
    return dict(np.load(folder / "y.npz"))


def verified(path):
    """Whether memory is as planned, in words."""
    done = subprocess.run([ASHLAR, "verify", path, "--json"], capture_output=True, text=True)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip()[-400:])
    found = json.loads(done.stdout)
    arena = found["pools"]["arena"]["planned_bytes"]
    return (f"{'as planned' if found['ok'] else 'NOT AS PLANNED'}, arena {arena / 2**20:.2f} MiB, heap calls of runs "
            f"{found['heap']['own_calls']} own, {found['heap']['library_calls']} of libraries")


def matched(wanted, got):
    """Pairs of indices of the same detections: equal classes, and boxes that agree to 0.1 pixel."""
    pairs, free = [], set(range(len(got["boxes"])))
    for i, (box, label) in enumerate(zip(wanted["boxes"], wanted["labels"])):
        for j in sorted(free, key=lambda j: abs(j - i)):
            if got["labels"][j] == label and np.abs(got["boxes"][j] - box).max() <= 0.1:
                free.remove(j)
                pairs.append((i, j))
                break
    return pairs


def compare(path, shape, keys, images):
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    reference = onnxruntime.InferenceSession(path)
    plain = onnxruntime.InferenceSession(path, options)
    for seed in [*range(images), None]:
        x = np.zeros(shape, np.float32) if seed is None else image(shape, seed).numpy()
        wanted = dict(zip(keys, reference.run(keys, {"images": x})))
        other = dict(zip(keys, plain.run(keys, {"images": x})))
        with tempfile.TemporaryDirectory() as folder:
            got = run_ashlar(path, x, pathlib.Path(folder))
        pairs = matched(wanted, got)
        worst = max((abs(float(wanted["scores"][i] - got["scores"][j])) for i, j in pairs), default=0)
        line = (f"{pathlib.Path(path).stem} {'black' if seed is None else seed}: {len(got['boxes'])} detections, ONNX "
                f"Runtime {len(wanted['boxes'])}, the same {len(pairs)} (ONNX Runtime without rewrites "
                f"{len(matched(wanted, other))}), scores to {worst:.1e}, equal scores "
                f"{len(wanted['scores']) - len(np.unique(wanted['scores']))}")
        if "masks" in keys:
            by_ashlar, by_plain = (sum(bool(np.abs(wanted["masks"][i] - result["masks"][j]).max() <= 1e-2)
                                       for i, j in matched(wanted, result)) for result in (got, other))
            line += f", masks that agree to 0.01 {by_ashlar} (without rewrites {by_plain})"
        print(line, flush=True)
    print(f"{pathlib.Path(path).stem} verify: {verified(path)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="list the names")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("models"), help="folder of the models")
    parser.add_argument("--images", type=int, default=3)
    parser.add_argument("--exporter", choices=("ts", "dynamo"), default="ts", help="TorchScript's, or today's")
    args = parser.parse_args()
    if args.list or not args.names:
        print("\n".join(MODELS))
        return
    os.makedirs(args.output, exist_ok=True)
    failed = False
    for name in args.names:
        path = str(args.output / f"{name}.{args.exporter}.onnx")
        model, shape = seeded(name)
        try:
            export(model, shape, path, args.exporter)
            compare(path, shape, model.keys, args.images)
        except Exception as error:  # of an exporter, ONNX Runtime, or Ashlar
            failed = True
            print(f"{name} by {args.exporter}: {type(error).__name__}: {str(error)[-600:]}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
