"""Runs a model on batches of rows in Ray's workers."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

import numpy as np

from .._library import InvalidArgument
from ._packed import buckets_on_node
from ._worker import Path, with_threads

Columns = Dict[str, "np.ndarray[Any, Any]"]


class Predictor:
    """A callable class for `Dataset.map_batches` and for actors.

    A batch is a dict of columns, of any number of rows; the last rows are padded to a whole batch.
    The result has a column for each output, and all columns that are not inputs, unchanged. If the
    batch has one column and the model has one input, their names may differ.

    Parameters
    ----------
    model : str or os.PathLike
    batch : int, optional
        The batch size; by default the model's own.
    columns : mapping of str to str, optional
        The column of each input; by default the input's name.
    pack, folder
        Whether to pack the weights into a file once per node, and the folder of that file.
    **plan
        Options of `Model.plan`.
    """

    def __init__(self, model: Path, batch: Optional[int] = None, *, columns: Optional[Mapping[str, str]] = None, pack: bool = True,
                 folder: Optional[Path] = None, **plan: Any) -> None:
        self._run = buckets_on_node(model, batch, with_threads(plan), pack, folder)
        (self.batch, self.plan), = self._run.plans.items()
        if any(not info.shape or info.shape[0] != self.batch for info in self.plan.inputs + self.plan.outputs):
            raise InvalidArgument(f"{model}: not all inputs and outputs have {self.batch} rows")
        names = [info.name for info in self.plan.inputs]
        unknown = sorted(set(columns or {}) - set(names))
        if unknown:
            raise InvalidArgument(f"columns: no input {unknown}; the model has: " + ", ".join(names))
        self._columns = {name: name for name in names}
        self._columns.update(columns or {})
        self._said = columns is not None

    def _columns_of(self, batch: Mapping[str, Any]) -> Dict[str, str]:
        """Return the batch's column for each input."""
        columns = self._columns
        if len(batch) == 1 and len(columns) == 1 and not self._said:
            columns = dict(zip(columns, batch))
        missing = [column for column in columns.values() if column not in batch]
        if missing:
            raise InvalidArgument(f"no columns {missing}; the batch has: " + ", ".join(batch))
        return columns

    def __call__(self, batch: Mapping[str, Any]) -> Columns:
        columns = self._columns_of(batch)
        inputs = {name: np.ascontiguousarray(batch[column]) for name, column in columns.items()}
        rows = len(next(iter(inputs.values())))
        parts = [self._part({name: array[begin:begin + self.batch] for name, array in inputs.items()})
                 for begin in range(0, rows, self.batch)]
        result: Columns = {name: values for name, values in batch.items() if name not in columns.values()}
        for info in self.plan.outputs:
            made = [part[info.name] for part in parts] or [np.empty((0, *info.shape[1:]), info.dtype)]
            result[info.name] = made[0] if len(made) == 1 else np.concatenate(made)
        return result

    def _part(self, inputs: Columns) -> Columns:
        results = self._run(inputs)
        return results if isinstance(results, dict) else {self.plan.outputs[0].name: results}
