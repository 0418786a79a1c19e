#!/usr/bin/env python3
"""Tests the Python package on a device: the emulated GPU. usage: device_test.py LIBRARY_FOLDER
COMMAND

The folder holds libashlar_cuda.so, with the emulated CUDA runtime, next to the library. Skips with
exit code 77 if numpy is missing.
"""
import ctypes
import os
import sys

import support

if __name__ == "__main__":
    COMMAND = support.begin("numpy")
import numpy as np

import ashlar_runtime as ashlar

GPU = "gpu0:0"
TO_DEVICE, TO_HOST, NON_BLOCKING = 1, 2, 1


class Tensor:
    """Float32 in device memory, described like PyTorch's and CuPy's tensors."""

    def __init__(self, cuda, dims, **says):
        self.cuda, self.bytes = cuda, 4 * int(np.prod(dims))
        self.address = ctypes.c_void_p()
        cuda("cudaMalloc", ctypes.byref(self.address), ctypes.c_size_t(self.bytes))
        self.says = {"shape": tuple(dims), "typestr": "<f4", "data": (self.address.value, False), "version": 3, **says}

    @property
    def __cuda_array_interface__(self):
        return self.says

    def free(self):
        self.cuda("cudaFree", self.address)


class DeviceTest(support.ModelTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(2)
        cls.images = [random.standard_normal(cls.info.shape).astype(np.float32) for _ in range(3)]
        host = cls.model.compile(threads=1)
        cls.expected = [host(image) for image in cls.images]
        cls.plan = cls.model.plan(device=GPU)
        library = ctypes.CDLL(os.path.join(sys.argv[1], "libashlar_cuda.so"))

        def cuda(name, *arguments):
            assert getattr(library, name)(*arguments) == 0, name

        cls.cuda = staticmethod(cuda)

    def near(self, y, i):
        np.testing.assert_allclose(y, self.expected[i], rtol=1e-4, atol=1e-5)

    def stream(self):
        stream = ctypes.c_void_p()
        self.cuda("cudaStreamCreateWithFlags", ctypes.byref(stream), ctypes.c_uint(NON_BLOCKING))
        self.addCleanup(self.cuda, "cudaStreamDestroy", stream)
        return stream

    def test_a_run_has_two_halves(self):
        session = self.plan.session()
        for i in (0, 1, 2, 0):
            session.start(self.images[i])
            self.near(session.wait(), i)
        out = np.empty_like(self.expected[0])
        session.start(self.images[1], out=out)
        self.assertIs(session.wait(), out)
        self.near(out, 1)

    def test_pinned_memory_is_read_when_the_device_gets_there(self):
        session, out = self.plan.session(), np.zeros_like(self.expected[0])
        with ashlar.Pinned(self.images[0].copy(), GPU) as x, ashlar.Pinned(out, GPU) as y:
            self.near(session(x, out=y), 0)
            for i in (1, 2, 0):
                session.start(x, out=y)
                x[...] = self.images[i]
                self.near(session.wait(), i)
            with self.assertRaisesRegex(ashlar.InvalidArgument, "overlap"):
                ashlar.Pinned(x, GPU)
            session(self.images[0])  # bind others before these are unpinned
        with self.assertRaisesRegex(ashlar.InvalidArgument, "contiguous"):
            ashlar.Pinned(self.images[0].T, GPU)
        with ashlar.Pinned(self.images[0], "cpu0:0"):
            pass

    def test_their_stream_takes_the_runs(self):
        stream = self.stream()
        x, y = Tensor(self.cuda, self.info.shape), Tensor(self.cuda, self.plan.outputs[0].shape)
        self.addCleanup(x.free)
        self.addCleanup(y.free)
        results = [np.zeros_like(self.expected[0]) for _ in range(6)]
        session = self.plan.session(stream=stream.value)
        pinned = [ashlar.Pinned(array, GPU) for array in self.images + results]
        for run, result in enumerate(results):
            image = self.images[run % 3]
            self.cuda("cudaMemcpyAsync", x.address, ctypes.c_void_p(image.ctypes.data), ctypes.c_size_t(x.bytes), TO_DEVICE, stream)
            session.start(x, out=y)
            self.cuda("cudaMemcpyAsync", ctypes.c_void_p(result.ctypes.data), y.address, ctypes.c_size_t(y.bytes), TO_HOST, stream)
        self.cuda("cudaStreamSynchronize", stream)
        for run, result in enumerate(results):
            self.near(result, run % 3)
        self.assertIs(session.wait(), y)
        event = ctypes.c_void_p()
        self.cuda("cudaEventCreate", ctypes.byref(event))
        session.record_event(event.value)
        session.wait_event(event.value)
        self.cuda("cudaEventDestroy", event)
        del session
        for one in pinned:
            one.release()

    def test_the_default_stream_is_0(self):
        self.near(self.plan.session(stream=0)(self.images[1]), 1)

    def test_tensors_that_do_not_fit_are_refused(self):
        shape = self.info.shape
        strides = tuple(8 * s for s in np.empty(shape, np.int8).strides)
        session = self.plan.session()
        for says, why in (({"typestr": "<f2"}, "got float16"), ({"shape": shape[::-1]}, "expected float32"),
                          ({"strides": strides}, "contiguous")):
            x = Tensor(self.cuda, shape, **says)
            with self.assertRaisesRegex(ashlar.InvalidArgument, why):
                session(x)
            with self.assertRaisesRegex(ashlar.InvalidArgument, "the plan is for the host"):
                self.model.compile(threads=1)(x)
            x.free()
        y = Tensor(self.cuda, self.plan.outputs[0].shape)
        y.says["data"] = (y.address.value, True)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "may not be written"):
            session(self.images[0], out=y)
        y.free()
        with self.assertRaises(ashlar.Unsupported):
            self.model.compile(threads=1, stream=1)
        with self.assertRaises(ashlar.Unsupported):
            self.model.compile(threads=1).wait_event(1)


if __name__ == "__main__":
    support.main()
