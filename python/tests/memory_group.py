"""A memory control group: the kernel counts and limits the memory of its processes. Versions 1 and
2.
"""
import pathlib
import time
import uuid


def _own_group(controller):
    """Returns the group of this process, under the controller's mount, as far as it is visible."""
    mount = pathlib.Path("/sys/fs/cgroup") / controller
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if names == controller and (mount / path.strip("/")).is_dir():
            return mount / path.strip("/")
    return mount


class MemoryGroup:
    """Created and removed by `with`. Raises OSError if groups cannot be created."""

    def __init__(self):
        self.old = pathlib.Path("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists()
        self.path = _own_group("memory" if self.old else "") / f"ashlar-{uuid.uuid4().hex[:12]}"

    def __enter__(self):
        self.path.mkdir()
        if not (self.path / ("memory.limit_in_bytes" if self.old else "memory.max")).exists():
            self.path.rmdir()
            raise OSError(f"{self.path} has no memory controller")
        return self

    def __exit__(self, *_):
        for _ in range(100):
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.1)

    def limit(self, size):
        (self.path / ("memory.limit_in_bytes" if self.old else "memory.max")).write_text(str(size))
        swap = self.path / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")

    def join(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid))

    def _stat(self):
        return dict(line.split() for line in (self.path / "memory.stat").read_text().splitlines())

    def anonymous(self):
        """Returns the bytes of its processes that are not backed by files."""
        return int(self._stat()["rss" if self.old else "anon"])

    def peak(self):
        """Returns the most bytes that were charged at the same time; needs Linux 5.19 or version 1."""
        return int((self.path / ("memory.max_usage_in_bytes" if self.old else "memory.peak")).read_text())

    def cache(self):
        """Returns the bytes of files that were first read in this group."""
        return int(self._stat()["cache" if self.old else "file"])

    def shell(self):
        """Returns a shell line that moves the shell into the group."""
        return f"echo $$ > {self.path}/cgroup.procs"
