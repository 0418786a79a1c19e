#!/usr/bin/env python3
"""Builds and runs every example against the Debian packages, unpacked into a root of their own. The
Python sources lie beside them, in the layout that pip creates.

usage: examples_test.py BUILD_FOLDER SOURCES
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def run_python(sources, folder, environment, command):
    """Runs the Python examples as python/tests/wheel_test.py runs them with the wheel."""
    sys.path.insert(0, str(sources / "python/tests"))
    import wheel_test
    shutil.copytree(sources / "python/ashlar_runtime", folder / "site/ashlar_runtime", ignore=shutil.ignore_patterns("__pycache__"))
    installed = wheel_test.Installed(sys.executable, folder, PYTHONPATH=str(folder / "site"),
                                     LD_LIBRARY_PATH=environment["LD_LIBRARY_PATH"])
    if not installed.has("numpy"):
        print("examples in Python skipped: numpy is missing")
        return
    installed.run_examples(command)
    if installed.status != 0:
        sys.exit(installed.status)


def main(build, sources):
    examples = sources / "examples"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        packages, root = folder / "packages", folder / "root"
        run("cpack", "--config", build / "CPackConfig.cmake", "-B", packages, cwd=build)
        for package in sorted(packages.glob("*.deb")):
            run("dpkg-deb", "-x", package, root)
            print(package.name, package.stat().st_size, "bytes")
        library = next(root.glob("usr/lib/**/libashlar.so")).parent
        environment = dict(os.environ, LD_LIBRARY_PATH=str(library),
                           PKG_CONFIG_LIBDIR=str(library / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "ashlar", env=environment).split()

        def example(*command):
            print("$", *(pathlib.Path(part).name for part in command))
            print(run(*command, env=environment), end="", flush=True)

        model = folder / "mobilenet.ash"
        run(root / "usr/bin/ashlar", "zoo", "mobilenet_v2", "-o", model, "-q", env=environment)
        run(root / "usr/bin/ashlar", "zoo", "resnet18", "--image", "32", "-o", folder / "small.ash", "-q", env=environment)
        for name in ("minimal", "camera", "train"):
            run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", examples / "c" / name / f"{name}.c", *flags, "-lm",
                "-o", folder / name)
        example(folder / "minimal", model)
        example(folder / "camera", model, "100")  # 1,000: scripts/test_packages.sh
        example(folder / "train", folder / "small.ash", folder / "trained.ash")
        run(root / "usr/bin/ashlar", "run", folder / "trained.ash", "-q", env=environment)
        run("cmake", "-S", examples / "cpp/find_package", "-B", folder / "cpp", f"-DCMAKE_PREFIX_PATH={root}/usr")
        run("cmake", "--build", folder / "cpp")
        example(folder / "cpp/budget", folder / "small.ash", "10000")  # MobileNetV2: scripts/test_packages.sh
        dump, command = folder / "profile.json", root / "usr/bin/ashlar"
        run(command, "profile", model, "--warmup", "0", "--dump", dump, "-q", env=environment)
        run("bash", examples / "megengine/dump.sh", dump, folder / "pictures",
            env=dict(environment, PATH=f"{command.parent}:{environment['PATH']}"))
        run_python(sources, folder, environment, root / "usr/bin/ashlar")
        for page in ("recorded", "planned"):
            assert "<svg" in (folder / "pictures" / f"{page}.html").read_text(), page
        for installed in ("man/man1/ashlar.1.gz", "bash-completion/completions/ashlar", "zsh/vendor-completions/_ashlar"):
            assert (root / "usr/share" / installed).exists(), installed
        newer = folder / "newer.cmake"
        newer.write_text("cmake_minimum_required(VERSION 3.16)\nproject(newer LANGUAGES CXX)\nfind_package(Ashlar 2.0 QUIET)\n"
                         "if(Ashlar_FOUND)\n  message(FATAL_ERROR \"version 1 is found as 2\")\nendif()\n")
        (folder / "newer").mkdir()
        newer.rename(folder / "newer/CMakeLists.txt")
        run("cmake", "-S", folder / "newer", "-B", folder / "newer/build", f"-DCMAKE_PREFIX_PATH={root}/usr")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
