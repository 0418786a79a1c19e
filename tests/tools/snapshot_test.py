#!/usr/bin/env python3
"""Tests `ashlar plan SNAPSHOT.pickle` on snapshots that Python's own pickle writes.

usage: snapshot_test.py COMMAND

torch_snapshots.py makes the snapshots.
"""
import collections
import json
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

from torch_snapshots import Runs, busy_allocator, snapshot_of

COMMAND = sys.argv.pop(1)
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
            self.refused(pickle.dumps({"segments": [Runs(witness)]}, protocol), "posix.system" if protocol >= 1 else "DICT is of protocol 0 or 1")
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
