"""One model: the references' values against Ashlar's in every mode, and what differs first."""
import os

import numpy as np
import onnx

from . import compare, known, references
from .ashlar import Refused


MODES = ("threads", "min", "tile", "written")


class Check:
    """The outcome for one model: findings, explained differences, and omitted checks with their reasons."""

    def __init__(self, ashlar, model, seed, folder, modes=MODES, tell=lambda mode: None):
        self.ashlar, self.model, self.folder, self.wanted_modes, self.tell = ashlar, model, folder, modes, tell
        self.rng = np.random.default_rng([7, seed])
        self.builder = model.builder
        self.names = [v.name for v in model.results]
        self.feeds = {v.name: np.array(v.array, order="C") for v in self.builder.inputs}
        self.findings, self.explained, self.refusals, self.modes = [], [], [], []
        self._slacks = {}

    def run(self):
        """Checks the model. What Ashlar raises that is no refusal is a finding."""
        try:
            self._run()
        except self.ashlar.package.Error as error:
            self._found("error", type(error).__name__, self._ops(), str(error))
        except RuntimeError as error:  # of the command
            self._found("error", "convert", self._ops(), str(error))

    def _run(self):
        path = os.path.join(self.folder, "model.onnx")
        onnx.save(self.model.proto, path)
        wanted = self._references(self.builder, self.model.results, self.model.proto)
        if not wanted:
            self.refusals.append("no reference")
            return
        try:
            opened = self.ashlar.open(path)
            whole = self.ashlar.run(opened, self.names, self.feeds, threads=1)
        except Refused as refusal:
            self.refusals.append(str(refusal))
            return
        differs = set()
        for reference, arrays in wanted.items():
            text = self._difference(whole, arrays, self.builder, self.model.results)
            if text:
                differs.add(reference)
                self._attribute(reference, text)
        for mode, options in self._modes(path):
            if mode not in self.wanted_modes:
                continue
            self.tell(f"{mode} {options}")
            try:
                results = self.ashlar.run(opened, self.names, self.feeds, **options)
            except Refused as refusal:
                if mode != "tile":
                    self.refusals.append(f"{mode}: {refusal}")
                continue
            self.modes.append(mode)
            text = self._difference(results, whole, self.builder, self.model.results)
            if text:
                self._found(mode, "whole", self._ops(), f"{options}: {text}")
        if "written" in self.wanted_modes and "onnxruntime" in wanted and "onnxruntime" not in differs:
            self._written_back(path, whole)

    def _references(self, builder, results, proto):
        wanted = {}
        if all(v.by == "onnx.reference" for v in results):
            wanted["onnx.reference"] = [v.array for v in results]
        if builder.onnxruntime:
            arrays = references.by_onnxruntime(proto, {v.name: v.array for v in builder.inputs})
            if not isinstance(arrays, str):
                wanted["onnxruntime"] = arrays
        return wanted

    def _modes(self, path):
        yield "threads", {"threads": 2}
        nodes = len(self.builder.nodes)
        if self.rng.random() < (0.3 if nodes <= 2 else 0.1 if nodes <= 4 else 0.03):
            yield "min", {"threads": 1, "budget": "min"}
        try:
            ids = self.ashlar.operators(path)
        except Refused:
            return
        for _ in range(4 if ids else 0):
            first, last = sorted(int(i) for i in self.rng.choice(len(ids), 2))
            end = ids[last + 1] if last + 1 < len(ids) else ids[last] + 4
            kind = self.rng.choice(["rows2", "rows3", "lines1", "lines2", "rolling1", "rolling2", "rolling3", "batch2", "grid2x2", "grid3x2",
                                    "grid1x3", "inputgrid2x2"])
            yield "tile", {"threads": 1, "tile": f"{ids[first]}-{end}:{kind}"}

    def _difference(self, got, want, builder, results):
        """The first result that differs by more than rounding."""
        roundings = compare.roundings(builder)
        for i, (g, w) in enumerate(zip(got, want)):
            rounded = roundings[results[i].name]
            text = compare.difference(g, np.asarray(w), rounded)
            if text and rounded:
                key = tuple(v.name for v in results)
                if key not in self._slacks:
                    self._slacks[key] = compare.slacks(builder, results)
                if self._slacks[key] is not None:
                    text = compare.difference(g, np.asarray(w), rounded, self._slacks[key][i])
            if text:
                return f"{results[i].name} {text}"
        return None

    def _attribute(self, reference, text):
        """Finds the first node whose results differ, and asks whether that is explained."""
        node, first = self._first(reference)
        if node is None:
            self._found("whole", reference, self._ops(), text)
            return
        # A difference may first be seen behind the node that has it.
        for cause in [node, *self._before(node)]:
            entry = known.explained(reference, known.describe(self.builder, cause))
            if entry is not None:
                self.explained.append(f"{entry.reference} {cause.op_type}: {entry.why}")
                return
        self._found("whole", reference, node.op_type, f"opset {self.builder.opset}: {onnx.printer.to_text(node)}: {first or text}")

    def _before(self, node):
        """The nodes on which a node depends."""
        names, before = set(node.input), []
        for other in reversed(self.builder.nodes):
            if names & set(other.output):
                before.append(other)
                names |= set(other.input)
        return before

    def _first(self, reference):
        nodes = [n for n in self.builder.nodes if n.op_type != "Constant"]
        if len(nodes) == 1:
            return nodes[0], None
        full = self.builder.nodes
        try:
            for count, node in enumerate(full, 1):
                results = [v for v in self.builder.values if v.name in node.output and isinstance(v.array, np.ndarray)]
                if not results:
                    continue
                self.builder.nodes = full[:count]
                proto = self.builder.model(results)
                path = os.path.join(self.folder, "part.onnx")
                onnx.save(proto, path)
                wanted = self._references(self.builder, results, proto)
                if reference not in wanted:
                    continue
                try:
                    got = self.ashlar.run(self.ashlar.open(path), [v.name for v in results], self.feeds, threads=1)
                except Refused:
                    continue
                text = self._difference(got, wanted[reference], self.builder, results)
                if text:
                    return node, text
        finally:
            self.builder.nodes = full
        return None, None

    def _written_back(self, path, whole):
        self.tell("written")
        to = os.path.join(self.folder, "written.onnx")
        try:
            self.ashlar.convert(path, to)
        except Refused as refusal:
            self.refusals.append(f"convert: {refusal}")
            return
        self.modes.append("written")
        proto = onnx.load(to)
        feeds = {i.name: self.feeds[i.name] for i in proto.graph.input}
        results = references.by_onnxruntime(proto, feeds)
        if isinstance(results, str) and "NOT_IMPLEMENTED" in results:
            results = references.by_reference(proto, feeds)
            if isinstance(results, str):
                self.refusals.append(f"neither reference runs the written model: {results}")
                return
        if isinstance(results, str):
            self._found("written", "refused", self._ops(), results)
            return
        by_name = dict(zip([o.name for o in proto.graph.output], results))
        if not set(self.names) <= set(by_name):
            self._found("written", "names", self._ops(), f"outputs {list(by_name)}, expected {self.names}")
            return
        text = self._difference([np.asarray(by_name[n]) for n in self.names], whole, self.builder, self.model.results)
        if text and not self._explain_written():
            self._found("written", "onnxruntime", self._ops(), text)

    def _explain_written(self):
        """Asks whether a node has a difference from ONNX Runtime that is explained: it runs the written model."""
        for node in self.builder.nodes:
            entry = known.explained("onnxruntime", known.describe(self.builder, node))
            if entry:
                self.explained.append(f"{entry.reference} {node.op_type}, written: {entry.why}")
                return True
        return False

    def _ops(self):
        return " ".join(n.op_type for n in self.builder.nodes if n.op_type != "Constant")

    def _found(self, mode, against, ops, text):
        self.findings.append({"mode": mode, "against": against, "ops": ops, "text": text})
