#!/usr/bin/env python3
"""Tests `ashlar plan SNAPSHOT.pickle` on snapshots that Python's own pickle writes.

usage: snapshot_test.py COMMAND

The snapshots have the form of torch.cuda.memory._dump_snapshot, made by an allocator of this file. It counts the bytes
allocated and reserved at most itself, for comparison.
"""
import collections
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import unittest

COMMAND = sys.argv.pop(1)
ALIGNMENT = 512
SEGMENT = 2 << 20


class Allocator:
    """First fit in segments; records a history from `start_history` on."""

    def __init__(self, device):
        self.device, self.trace, self.recording = device, [], False
        self.segments, self.live = {}, {}
        self.reserved = self.allocated = self.most_reserved = self.most_allocated = 0

    def record(self, action, address, size, line=0):
        if self.recording:
            frames = [{"filename": "/usr/lib/python3/site-packages/torch/nn/linear.py", "line": 9, "name": "forward"},
                      {"filename": "/home/me/net.py", "line": line, "name": "layer"}]
            self.trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": len(self.trace), "frames": frames})

    def start_history(self):
        self.recording, self.most_reserved, self.most_allocated = True, self.reserved, self.allocated

    def place(self, size):
        for begin, total in self.segments.items():
            at = begin
            for address, used in sorted(self.live.items()):
                if begin <= address < begin + total:
                    if address - at >= size:
                        return at
                    at = address + -(-used // ALIGNMENT) * ALIGNMENT
            if begin + total - at >= size:
                return at
        begin = 0x7f0000000000 + self.device * (1 << 40) + len(self.segments) * 5 * SEGMENT
        self.segments[begin] = max(SEGMENT, -(-size // SEGMENT) * SEGMENT)
        self.reserved += self.segments[begin]
        self.most_reserved = max(self.most_reserved, self.reserved)
        self.record("segment_alloc", begin, self.segments[begin])
        return begin

    def allocate(self, size, line):
        address = self.place(size)
        self.live[address] = size
        self.allocated += size
        self.most_allocated = max(self.most_allocated, self.allocated)
        self.record("alloc", address, size, line)
        return address

    def free(self, address):
        size = self.live.pop(address)
        self.allocated -= size
        self.record("free_requested", address, size)
        self.record("free_completed", address, size)

    def segment_entries(self):
        for begin, total in self.segments.items():
            blocks, at = [], begin
            for address, size in sorted(self.live.items()):
                if begin <= address < begin + total:
                    if address > at:
                        blocks.append({"address": at, "size": address - at, "state": "inactive"})
                    blocks.append({"address": address, "size": size, "state": "active_allocated"})
                    at = address + size
            yield {"device": self.device, "address": begin, "total_size": total, "allocated_size": self.allocated,
                   "active_size": self.allocated, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "blocks": blocks}


def snapshot_of(*allocators):
    return {"segments": [segment for one in allocators for segment in one.segment_entries()],
            "device_traces": [one.trace for one in allocators], "allocator_settings": {"expandable_segments": False, "ratio": 0.5, "none": None},
            "external_annotations": []}


def busy_allocator(device, seed, allocations=400):
    """Some blocks are older than the history, and some are never freed."""
    choose = random.Random(seed)
    made = Allocator(device)
    before = [made.allocate(choose.randrange(1, 300000), 1) for _ in range(10)]
    made.start_history()
    open_blocks = before[5:]
    for line in range(allocations):
        open_blocks.append(made.allocate(choose.randrange(1, 900000), line + 1))
        while len(open_blocks) > choose.randrange(5, 15):
            made.free(open_blocks.pop(choose.randrange(len(open_blocks))))
    return made


class Runs:
    """An object whose pickle would run a command."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


class SnapshotTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, content):
        path = self.folder / "snapshot.pickle"
        path.write_bytes(content)
        return path

    def plan(self, path, *options):
        return subprocess.run([COMMAND, "plan", path, *options], capture_output=True, text=True, check=False, timeout=60)

    def document(self, snapshot, protocol=4):
        done = self.plan(self.write(pickle.dumps(snapshot, protocol)), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, content, *words):
        done = self.plan(self.write(content))
        self.assertEqual(done.returncode, 6, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_every_protocol_gives_what_the_allocator_counted(self):
        allocator = busy_allocator(0, seed=1)
        for protocol in (2, 3, 4, 5):
            document = self.document(snapshot_of(allocator), protocol)
            snapshot = document["snapshot"]
            self.assertEqual(snapshot["allocated_bytes"], allocator.most_allocated, protocol)
            self.assertEqual(snapshot["reserved_bytes"], allocator.most_reserved)
            self.assertEqual(snapshot["allocations"], 400)
            self.assertEqual(document["buffers"], 410)  # ten are older than the history
            self.assertGreaterEqual(document["arena_bytes"], document["liveness_bound_bytes"])
            self.assertLess(document["arena_bytes"], allocator.most_reserved)

    def test_the_device_that_allocates_most_is_planned(self):
        small, large = busy_allocator(0, seed=2, allocations=20), busy_allocator(1, seed=3)
        snapshot = self.document(snapshot_of(small, large))["snapshot"]
        self.assertEqual((snapshot["device"], snapshot["devices"]), (1, 2))
        self.assertEqual(snapshot["allocated_bytes"], large.most_allocated)

    def test_blocks_alone_live_together(self):
        allocator = busy_allocator(0, seed=4)
        snapshot = dict(snapshot_of(allocator), device_traces=[[]])
        self.assertEqual(self.document(snapshot)["snapshot"]["allocated_bytes"], allocator.allocated)

    def test_the_page_has_both_placements(self):
        path, page = self.write(pickle.dumps(snapshot_of(busy_allocator(0, seed=5)))), self.folder / "plan.html"
        done = self.plan(path, "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text()
        self.assertIn("as PyTorch placed them", text)
        self.assertIn("net.py:7 layer", text)
        table = self.plan(path).stdout
        self.assertIn("a plan takes 0.", table)

    def test_pickles_that_would_run_code_are_refused_and_do_not_run(self):
        witness = self.folder / "witness"
        for protocol in (0, 1, 2, 3, 4, 5):
            self.refused(pickle.dumps({"segments": [Runs(witness)]}, protocol), *(["posix.system"] if protocol >= 2 else []))
        self.refused(pickle.dumps(collections.OrderedDict(), 4), "STACK_GLOBAL (collections.OrderedDict)", "runs Python code")
        self.refused(b"\x80\x02cos\nsystem\n.", "byte 2", "GLOBAL (os.system)")
        self.refused(pickle.dumps({1, 2}, 4), "EMPTY_SET")
        self.refused(b"\x80\x04\x95\x02\0\0\0\0\0\0\0Pabc\n.", "PERSID")
        self.assertFalse(witness.exists())

    def test_malformed_files_are_named(self):
        good = pickle.dumps(snapshot_of(busy_allocator(0, seed=6, allocations=10)), 4)
        self.refused(good[:-30], "ends")
        self.refused(good + b"x", "after the end")
        self.refused(b"", "byte 0", "ends early")
        self.refused(pickle.dumps([1], 4), "has no 'segments'")
        self.refused(pickle.dumps({"segments": 5}, 4), "is no list")
        self.refused(pickle.dumps({"segments": [], "device_traces": []}, 4), "no device")
        self.refused(pickle.dumps({"segments": [{"device": 1 << 40, "address": 0, "total_size": 1, "blocks": []}]}, 4), "segment 0")
        events = [{"action": "alloc", "addr": 512, "size": -1}]
        self.refused(pickle.dumps({"segments": [], "device_traces": [events]}, 4), "'size' of event 0 of device 0", "-1")
        events = [{"action": "alloc", "addr": 512, "size": 8}] * 2
        self.refused(pickle.dumps({"segments": [], "device_traces": [events]}, 4), "event 1 of device 0", "0x200 is allocated already")
        self.refused(pickle.dumps({"segments": [{"device": 0, "address": 1 << 70}]}, 4), "an integer of 9 bytes")

    def test_lists_within_lists_take_bounded_work(self):
        inner = [{"action": "snapshot"}] * 3000
        self.refused(pickle.dumps({"segments": [], "device_traces": [inner] * 60000}, 4), "devices")
        self.refused(b"\x80\x02" + b"]" * 200000 + b"a" * 199999 + b".", "has no 'segments'")


if __name__ == "__main__":
    unittest.main()
