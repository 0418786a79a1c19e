#!/usr/bin/env python3
"""Tests encoding and decoding of the Open Inference Protocol; Ray is not needed. usage as
runtime_test.py's.
"""
import json
import unittest

import support

if __name__ == "__main__":
    support.begin("numpy")
import numpy as np

from ashlar_runtime import TensorInfo
from ashlar_runtime.ray import _protocol as protocol

X = TensorInfo("x", np.dtype("float32"), (4, 2), 32)
N = TensorInfo("n", np.dtype("int8"), (4,), 4)
H = TensorInfo("h", np.dtype("float16"), (4, 2), 16)
B = TensorInfo("b", np.dtype("bool"), (4,), 4)
Y = TensorInfo("y", np.dtype("float32"), (4, 2), 32)


def tensor(info, data, shape, **more):
    return {"name": info.name, "datatype": protocol.datatype(info), "shape": shape, "data": data, **more}


def decode(request, binary=b"", infos=(X,), rows=4, outputs=(Y,), header=True):
    head = json.dumps(request).encode()
    return protocol.decode(head + binary, str(len(head)) if header else None, infos, outputs, rows)


class ProtocolTest(unittest.TestCase):

    def test_json_in_rows_and_flat(self):
        for data in ([[1, 2.5], [3, 4]], [1, 2.5, 3, 4]):
            request = decode({"id": "7", "inputs": [tensor(X, data, [2, 2])]})
            np.testing.assert_array_equal(request.inputs["x"], np.array([[1, 2.5], [3, 4]], np.float32))
            self.assertEqual((request.id, request.inputs["x"].dtype, request.outputs), ("7", np.float32, [("y", False)]))

    def test_binary_in_the_order_of_the_inputs(self):
        h, x = np.arange(6, dtype=np.float16).reshape(3, 2), np.ones((3, 2), np.float32)
        b = np.array([True, False, True])
        request = {"inputs": [{"name": "h", "datatype": "FP16", "shape": [3, 2], "parameters": {"binary_data_size": h.nbytes}},
                              tensor(N, [1, -2, 3], [3]),
                              {"name": "x", "datatype": "FP32", "shape": [3, 2], "parameters": {"binary_data_size": x.nbytes}},
                              {"name": "b", "datatype": "BOOL", "shape": [3], "parameters": {"binary_data_size": 3}}]}
        made = decode(request, h.tobytes() + x.tobytes() + b.tobytes(), infos=(X, N, H, B)).inputs
        for name, expected in (("h", h), ("x", x), ("b", b), ("n", np.array([1, -2, 3], np.int8))):
            np.testing.assert_array_equal(made[name], expected)
            self.assertEqual(made[name].dtype, expected.dtype)

    def test_what_is_wrong_is_named(self):
        x = tensor(X, [1, 2], [1, 2])
        binary = {"name": "x", "datatype": "FP32", "shape": [1, 2], "parameters": {"binary_data_size": 8}}
        for request, message in (
            ([], "no JSON object"), ({"inputs": 3}, "'inputs'"), ({"inputs": [3]}, "'inputs'"), ({}, "missing: x"),
            ({"inputs": [x, x]}, "once"), ({"inputs": [dict(x, name="z")]}, "'z'"), ({"inputs": [dict(x, name=[])]}, "once"),
            ({"inputs": [dict(x, datatype="FP64")]}, "'FP32'"), ({"inputs": [dict(x, shape=[1, 3])]}, r"\[-1, 2\]"),
            ({"inputs": [dict(x, shape=[2])]}, "shape"), ({"inputs": [dict(x, shape="2")]}, "shape"),
            ({"inputs": [dict(x, shape=[True, 2])]}, "shape"), ({"inputs": [dict(x, shape=[-1, 2])]}, "shape"),
            ({"inputs": [dict(x, shape=[0, 2], data=[])]}, "rows"), ({"inputs": [dict(x, shape=[5, 2], data=[0] * 10)]}, "rows"),
            ({"inputs": [dict(x, data=[1])]}, "data"), ({"inputs": [dict(x, data=[1, "2"])]}, "data"),
            ({"inputs": [dict(x, data=[[1], [2, 3]])]}, "data"), ({"inputs": [dict(x, data={})]}, "data"),
            ({"inputs": [dict(x, parameters=4)]}, "parameters"), ({"inputs": [x], "outputs": [{"name": "z"}]}, "'z'"),
            ({"inputs": [x], "outputs": {}}, "'outputs'"), ({"inputs": [binary]}, "0 bytes are left"),
        ):
            with self.assertRaisesRegex(protocol.Refused, message, msg=request):
                decode(request)
        for size, blob, message in ((8, b"\0" * 12, "4 bytes after"), (4, b"\0" * 4, "got 4 bytes"), (-1, b"", "-1"),
                                    ("8", b"\0" * 8, "'8'"), (True, b"\0", "True"), (2**70, b"", "are left")):
            with self.assertRaisesRegex(protocol.Refused, message):
                decode({"inputs": [dict(binary, parameters={"binary_data_size": size})]}, blob)
        for infos, entry, message in ((N, tensor(N, [1.5], [1]), "INT8"), (N, tensor(N, [300], [1]), "range"),
                                      (N, tensor(N, [True], [1]), "INT8"), (N, tensor(N, [10**30], [1]), "INT8"),
                                      (X, tensor(X, [1e300, 1], [1, 2]), "infinite as float32"),
                                      (B, tensor(B, [1], [1]), "BOOL"), (H, tensor(H, [1, 2], [1, 2]), "binary")):
            with self.assertRaisesRegex(protocol.Refused, message):
                decode({"inputs": [entry]}, infos=(infos,))
        for body, header, message in ((b"{", None, "no JSON"), (b"\xff", None, "no JSON"), (b"{}", "3", "2 bytes"),
                                      (b"{}", "-1", "'-1'"), (b"{}", "9" * 5000, "2 bytes"), (b"[" * 100000, None, "no JSON"),
                                      (b"{}", "\u00b2", "bytes")):
            with self.assertRaisesRegex(protocol.Refused, message):
                protocol.decode(body, header, (X,), (Y,), 4)
        with self.assertRaisesRegex(protocol.Refused, "numbers of rows"):
            decode({"inputs": [x, tensor(N, [1, 2], [2])]}, infos=(X, N))

    def test_damaged_requests_are_refused_or_read(self):
        binary = {"name": "x", "datatype": "FP32", "shape": [1, 2], "parameters": {"binary_data_size": 8}}
        whole = [json.dumps({"id": "1", "inputs": [tensor(X, [1, 2.5], [1, 2])], "outputs": [{"name": "y"}]}).encode(),
                 json.dumps({"inputs": [binary], "parameters": {"binary_data_output": True}}).encode() + b"\0" * 8]
        pieces = [b"null", b"-1", b"1e999", b"[]", b"{}", b'"', b"true", b"\xff", b"[[", b"9" * 30, b'"parameters":', b"NaN", b""]
        for seed in range(3000):
            random = np.random.default_rng(seed)
            body = whole[seed % 2]
            for _ in range(random.integers(1, 4)):
                begin = int(random.integers(len(body) + 1))
                end = min(len(body), begin + int(random.integers(4)))
                body = body[:begin] + pieces[random.integers(len(pieces))] + body[end:]
            try:
                made = protocol.decode(body, str(len(body) - 8) if seed % 2 else None, (X,), (Y,), 4)
                self.assertEqual(made.inputs["x"].dtype, np.float32)
            except protocol.Refused:
                pass
            except Exception as error:
                raise AssertionError(f"seed {seed}: {body!r}") from error

    def test_shapes_as_planned_where_nothing_is_batched(self):
        self.assertEqual(decode({"inputs": [tensor(X, [0] * 8, [4, 2])]}, rows=None).inputs["x"].shape, (4, 2))
        with self.assertRaisesRegex(protocol.Refused, r"\[4, 2\]"):
            decode({"inputs": [tensor(X, [0, 0], [1, 2])]}, rows=None)

    def test_answers_are_read_back(self):
        results = {"y": np.array([[0.1, -2], [3e30, 4]], np.float32), "h": np.ones((2, 2), np.float16)}
        x = tensor(X, [1, 2], [1, 2])
        for request, binary in (({"inputs": [x]}, [False]), ({"inputs": [x], "parameters": {"binary_data_output": True}}, [True]),
                                ({"inputs": [x], "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}, [True]),
                                ({"inputs": [x], "outputs": [{"name": "y"}, {"name": "h", "parameters": {"binary_data": True}}]},
                                 [False, True])):
            request = decode(dict(request, id="a"), outputs=(Y,) if len(binary) == 1 else (Y, H))
            body, headers = protocol.encode("m", "1", request, results)
            length = int(headers.get(protocol.HEADER_LENGTH, len(body)))
            head, rest = json.loads(body[:length]), body[length:]
            self.assertEqual((head["id"], head["model_name"], head["model_version"]), ("a", "m", "1"))
            for entry, is_binary in zip(head["outputs"], binary):
                expected = results[entry["name"]]
                if is_binary:
                    size = entry["parameters"]["binary_data_size"]
                    made, rest = np.frombuffer(rest[:size], expected.dtype), rest[size:]
                else:
                    made = np.array(entry["data"], expected.dtype)
                np.testing.assert_array_equal(made.reshape(entry["shape"]), expected)
            self.assertEqual(rest, b"")
        with self.assertRaisesRegex(protocol.Refused, "binary"):
            protocol.encode("m", "1", decode({"inputs": [x]}, outputs=(H,)), results)


if __name__ == "__main__":
    support.main()
