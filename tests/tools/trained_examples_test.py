#!/usr/bin/env python3
"""Checks the trained models of examples/trained: each names the class of the pictures beside it. With scikit-learn,
scikit-image and Pillow, the counts of its README.md are right, too.

usage: trained_examples_test.py COMMAND FOLDER
"""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

COMMAND, FOLDER = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
NORMALISED = ["--mean", "128", "--scale", "0.0078125"]


def best_classes(model, labels, *pictures):
    """Returns the name of the best class of each picture."""
    names = []
    for picture in pictures:
        shown = subprocess.run([COMMAND, "run", FOLDER / model, "--input", f"x={picture}", *NORMALISED, "--labels", FOLDER / labels, "--top", "1"],
                               check=True, capture_output=True, text=True).stdout
        names.append(re.search(r"image 0\s+\d+ (\S+) ", shown)[1])
    return names


class TrainedExamplesTest(unittest.TestCase):
    def test_the_pictures_beside_them_are_recognised(self):
        textures = ["brick", "grass", "gravel"]
        self.assertEqual(best_classes("textures.onnx", "textures.txt", *(FOLDER / f"{name}.png" for name in textures)), textures)
        self.assertEqual(best_classes("digits.onnx", "digits.txt", FOLDER / "seven.png"), ["7"])

    def test_the_counts_of_the_page_are_right(self):
        for module in ("numpy", "onnx", "PIL", "sklearn", "skimage"):
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"{module} is missing")
        sys.path.insert(0, str(FOLDER))
        import trained
        page = (FOLDER / "README.md").read_text()
        for subject in ("digits", "faces", "textures"):
            names, _, (pictures, labels) = getattr(trained, subject)()
            right = 0
            with tempfile.TemporaryDirectory() as folder:
                trained.write_pictures(pathlib.Path(folder), names, pictures, labels)
                for path in sorted(pathlib.Path(folder).glob("*/*.png")):
                    right += best_classes(f"{subject}.onnx", f"{subject}.txt", path) == [path.parent.name]
            self.assertIn(f"| {right} of {len(pictures)} ", page)


if __name__ == "__main__":
    unittest.main()
