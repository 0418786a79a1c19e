"""Snapshots in the form of torch.cuda.memory._dump_snapshot, made by an allocator of this file, which counts the bytes
allocated and reserved at most itself, for comparison."""
import os
import random

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
