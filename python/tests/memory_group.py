"""A memory control group: what its processes take is counted by the kernel, and limited. Versions 1 and 2."""
import pathlib
import time
import uuid


def _own_group(controller):
    """Where this process is, under the controller's mount, as far as that can be seen from here."""
    mount = pathlib.Path("/sys/fs/cgroup") / controller
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if names == controller and (mount / path.strip("/")).is_dir():
            return mount / path.strip("/")
    return mount


class MemoryGroup:
    """Made and removed by `with`. Raises OSError where groups cannot be made."""

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

    def join(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid))

    def _stat(self):
        return dict(line.split() for line in (self.path / "memory.stat").read_text().splitlines())

    def anonymous(self):
        """Bytes of its processes that are in no file."""
        return int(self._stat()["rss" if self.old else "anon"])

    def cache(self):
        """Bytes of files: those that were first read here."""
        return int(self._stat()["cache" if self.old else "file"])

    def shell(self):
        """A line for sh that puts itself into the group."""
        return f"echo $$ > {self.path}/cgroup.procs"
