#!/usr/bin/env python3
"""Makes the wheel: the Python sources, one shared library and the command, for every CPython from 3.9
on.

usage: wheel.py SOURCES LIBRARY COMMAND FOLDER      SOURCES: the folder of pyproject.toml
"""
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

import tomllib

# The libraries that manylinux guarantees; others would have to be in the wheel.
EVERYWHERE = {"libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "libz.so.1", "libdl.so.2", "libpthread.so.0",
              "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
OLDEST_GLIBC = (2, 28)  # as RHEL 8 has: the tag is never older, as pip knows few older ones


def newest_glibc(binary):
    """Returns the version of the newest symbol of the C library that a binary needs."""
    dynamic = subprocess.run(["objdump", "-p", str(binary)], check=True, capture_output=True, text=True).stdout
    others = set(re.findall(r"NEEDED\s+(\S+)", dynamic)) - EVERYWHERE
    if others:
        sys.exit(f"{binary} needs {', '.join(sorted(others))}, which wheels may not expect")
    return max(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_(\d+\.\d+)", dynamic))


def machine_of(binary):
    """Returns the name that platform tags have for the machine that a binary is for."""
    header = pathlib.Path(binary).read_bytes()[:20]  # of ELF: e_machine is the last field
    return {62: "x86_64", 183: "aarch64"}[int.from_bytes(header[18:20], "little")]


def platform_tag(*binaries):
    """Returns manylinux_MAJOR_MINOR_MACHINE."""
    major, minor = max([OLDEST_GLIBC, *map(newest_glibc, binaries)])
    return f"manylinux_{major}_{minor}_{machine_of(binaries[0])}"


def entry_points(project):
    """Returns the content of entry_points.txt."""
    return "".join(f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
                   for group, points in project.get("entry-points", {}).items())


def main(sources, library, command, folder):
    sources, library, command = map(pathlib.Path, (sources, library, command))
    project = tomllib.loads((sources / "pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    tag = f"py3-none-{platform_tag(library, command)}"
    info = f"{name}-{project['version']}.dist-info"
    files = {str(path.relative_to(sources)): path.read_bytes() for path in sorted((sources / name).rglob("*"))
             if path.suffix in (".py", ".typed")}
    files[f"{name}/{library.name}"] = library.read_bytes()
    script = f"{name}-{project['version']}.data/scripts/{command.name}"  # pip puts it beside python
    files[script] = command.read_bytes()
    wanted = [f"Requires-Dist: {one}" for one in project["dependencies"]]
    for extra, packages in project.get("optional-dependencies", {}).items():
        wanted += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {one}; extra == "{extra}"' for one in packages]
    files[f"{info}/METADATA"] = "\n".join(
        ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}", f"Summary: {project['description']}",
         f"Requires-Python: {project['requires-python']}"] + wanted +
        ["Description-Content-Type: text/markdown", "", (sources / project["readme"]).read_text()]).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: ashlar\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/entry_points.txt"] = entry_points(project).encode()
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
                     for path, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    wheel = pathlib.Path(folder) / f"{name}-{project['version']}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in files.items():
            # A fixed date, so that wheels are reproducible.
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if path == script else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(wheel, wheel.stat().st_size, "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
