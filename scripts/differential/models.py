"""Models by seed: one operator, or a chain of them."""
import dataclasses

import numpy as np

from . import elementwise, images, products, quantised, shapes  # noqa: F401: they register
from .builder import Builder, Skip
from .registry import GENERATORS

_TRIES = 60
_OPSETS = (28, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 13, 12, 11, 10, 9, 8, 7)


@dataclasses.dataclass
class Model:
    builder: Builder
    results: list
    proto: object
    chain: bool


def candidates(only, chain):
    found = [g for g in GENERATORS.values() if (not only or g.op in only) and (g.chain or not chain or only)]
    weights = np.array([g.weight if chain else max(g.weight, 1.0) for g in found])
    return found, weights / weights.sum()


def make(seed, only=(), kind=None):
    """The model of a seed, or None where sixty tries made none. `kind` is "single" or "chain", else the seed decides."""
    rng = np.random.default_rng([20261127, seed])
    chain = bool(rng.random() < 0.4)
    if kind:
        chain = kind == "chain"
    generators, weights = candidates(only, chain)
    for _ in range(_TRIES):
        b = Builder(rng, int(rng.choice(_OPSETS)), chain)
        wanted = b.integer(2, 8) if chain else 1
        tries = 0
        added = 0
        while added < wanted and tries < _TRIES:
            tries += 1
            generator = generators[int(rng.choice(len(generators), p=weights))]
            state = b.snapshot()
            try:
                generator.add(b, generator.op)
                added += 1
            except Skip:
                b.restore(state)
                if not chain:
                    break
        results = b.results()
        if added == wanted and results and not all(v.constant and not b.inputs for v in results) or (
                added and results and not chain):
            return Model(b, results, b.model(results), chain)
    return None
