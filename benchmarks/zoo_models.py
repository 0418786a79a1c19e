"""Writes models of the zoo to files, for scripts that measure all of them."""
import subprocess

MODELS = ["tiling_chain", "squeezenet", "mobilenet_v2", "inception_v1", "resnet18", "resnet50", "vgg19"]


def make(ashlar, name, path, side=None, batch=1):
    """Writes the model for `batch` images of `side` pixels (default: its own).

    VGG-19 has a classifier only for multiples of 224; for other sizes it is written without.
    """
    options = ["--image", str(side)] if side else []
    if batch > 1:
        options += ["--batch", str(batch)]
    if name == "vgg19" and side and int(side) % 224:
        options.append("--headless")
    subprocess.run([ashlar, "zoo", name, "-o", path, "-q", *options], check=True)
