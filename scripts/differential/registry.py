"""The table of generators: for every ONNX operator a function that adds it to a model."""
import dataclasses
from typing import Callable


@dataclasses.dataclass
class Generator:
    op: str
    add: Callable
    weight: float
    chain: bool  # whether chains may have it


GENERATORS = {}


def operators(*ops, weight=1.0, chain=True):
    """Registers a function of a builder and an operator's name for these operators."""

    def register(function):
        for op in ops:
            GENERATORS[op] = Generator(op, function, weight, chain)
        return function

    return register


operator = operators
