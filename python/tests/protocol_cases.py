"""Tests any HTTP server of the Open Inference Protocol: the same requests for Ray Serve and Triton.

The model is tiling_chain of the zoo in batches of up to four rows, served under the name "chain".
"""
import concurrent.futures
import json
import urllib.error
import urllib.request

import numpy as np

LENGTH = "Inference-Header-Content-Length"


def ask(url, path, body=None, length=None, timeout=60):
    """Returns status, headers and body of a response."""
    headers = {"Content-Type": "application/octet-stream"}
    if length is not None:
        headers[LENGTH] = str(length)
    request = urllib.request.Request(url + path, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


class Server:
    """Checks a server's responses about one model."""

    def __init__(self, test, url, session, x, refused=(400,)):
        self.test, self.url, self.x, self.refused = test, url, x, refused
        self.input, self.output = session.plan.inputs[0], session.plan.outputs[0]
        self.expected = np.concatenate([session(row[None]) for row in x])

    def entry(self, rows, binary):
        x = self.x[:rows]
        entry = {"name": self.input.name, "datatype": "FP32", "shape": list(x.shape)}
        if binary:
            return dict(entry, parameters={"binary_data_size": x.nbytes}), x.tobytes()
        return dict(entry, data=x.ravel().tolist()), b""

    def infer(self, request, blob=b"", path="/v2/models/chain/infer"):
        head = json.dumps(request).encode()
        return ask(self.url, path, head + blob, len(head) if blob else None)

    def result(self, answer, binary, rows):
        """Returns the output in a response, which must have so many rows."""
        status, headers, body = answer
        self.test.assertEqual(status, 200, body[:500])
        length = int(headers[LENGTH]) if binary else len(body)
        head, rest = json.loads(body[:length]), body[length:]
        self.test.assertEqual(head["model_name"], "chain")
        self.test.assertEqual(head["model_version"], "1")
        (entry,) = head["outputs"]
        self.test.assertEqual((entry["name"], entry["datatype"], entry["shape"]),
                              (self.output.name, "FP32", [rows, *self.output.shape[1:]]))
        if binary:
            self.test.assertEqual(entry["parameters"]["binary_data_size"], len(rest))
            return head, np.frombuffer(rest, np.float32).reshape(entry["shape"])
        self.test.assertEqual(rest, b"")
        return head, np.array(entry["data"], np.float32).reshape(entry["shape"])

    def check_infer(self):
        for rows in (1, 2, 3, 4):
            for given, wanted in ((False, False), (True, True), (True, False), (False, True)):
                entry, blob = self.entry(rows, given)
                for request in ({"outputs": [{"name": self.output.name, "parameters": {"binary_data": wanted}}]},
                                {"parameters": {"binary_data_output": wanted}}):
                    answer = self.infer({"id": "7", "inputs": [entry], **request}, blob)
                    head, y = self.result(answer, wanted, rows)
                    self.test.assertEqual(head["id"], "7")
                    np.testing.assert_allclose(y, self.expected[:rows], rtol=1e-5, atol=1e-6)
        entry, _ = self.entry(1, False)
        _, y = self.result(self.infer({"inputs": [entry]}, path="/v2/models/chain/versions/1/infer"), False, 1)
        np.testing.assert_allclose(y, self.expected[:1], rtol=1e-5, atol=1e-6)

    def check_together(self, requests):
        """Sends several requests at a time, of one to three rows each; returns the number of rows.
        """

        def one(number):
            rows = 1 + number % 3
            entry, blob = self.entry(rows, True)
            _, y = self.result(self.infer({"inputs": [entry], "parameters": {"binary_data_output": True}}, blob), True, rows)
            np.testing.assert_allclose(y, self.expected[:rows], rtol=1e-5, atol=1e-6)
            return rows

        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            return sum(threads.map(one, range(requests)))

    def check_metadata(self):
        for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/chain/ready", "/v2/models/chain/versions/1/ready"):
            self.test.assertEqual(ask(self.url, path)[0], 200, path)
        server = json.loads(ask(self.url, "/v2")[2])
        self.test.assertIn("binary_tensor_data", server["extensions"])
        self.test.assertTrue({"name", "version"} <= set(server))
        model = json.loads(ask(self.url, "/v2/models/chain")[2])
        self.test.assertEqual((model["name"], model["versions"]), ("chain", ["1"]))
        self.test.assertIn("platform", model)
        for key, info in (("inputs", self.input), ("outputs", self.output)):
            self.test.assertEqual(model[key], [{"name": info.name, "datatype": "FP32", "shape": [-1, *info.shape[1:]]}])

    def check_refusals(self):
        entry, _ = self.entry(1, False)
        binary, blob = self.entry(1, True)
        for request, data in (({"inputs": []}, b""), ({"inputs": [dict(entry, name="none")]}, b""),
                              ({"inputs": [dict(binary, datatype="INT32")]}, blob), ({"inputs": [dict(binary, shape=[1, 2])]}, blob),
                              ({"inputs": [dict(entry, data=entry["data"][:-1])]}, b""),
                              ({"inputs": [entry], "outputs": [{"name": "none"}]}, b""), ({"inputs": [binary]}, blob[:-4]),
                              ({"inputs": [dict(binary, parameters={"binary_data_size": len(blob) + 4})]}, blob),
                              ({"inputs": [dict(entry, shape=[5, *self.input.shape[1:]], data=entry["data"] * 5)]}, b"")):
            status, _, body = self.infer(request, data)
            self.test.assertIn(status, self.refused, (str(request)[:300], body[:300]))
            self.test.assertTrue(json.loads(body)["error"])
        status, _, body = ask(self.url, "/v2/models/chain/infer", b"{")
        self.test.assertIn(status, self.refused)
        for path in ("/v2/models/none", "/v2/models/chain/versions/9"):
            status, _, body = ask(self.url, path)
            self.test.assertGreaterEqual(status, 400, path)
            self.test.assertTrue(json.loads(body)["error"])

    def check(self):
        self.check_metadata()
        self.check_infer()
        self.check_refusals()
