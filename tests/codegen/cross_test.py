#!/usr/bin/env python3
"""Runs programs of `ashlar compile` on microcontrollers that qemu emulates: the self-test of each,
traced step by step. Beside arena and stack no memory is used.

usage: cross_test.py ASHLAR SHARED [--table [MODEL OPTIONS]...]
--table: a table of sizes and instructions in Markdown, of all networks below or of the given files; they are planned in
20 ms, unless OPTIONS have another --plan-time
Expected instructions must be within a factor of 1.25 of the counted ones.
exit 77: no cross compiler or emulator is installed (gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm,
gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf, qemu-system-misc)
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FIRMWARE = pathlib.Path(__file__).resolve().parents[2] / "examples/microcontroller"
STRICT = "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -ffreestanding -fstack-usage".split()
ARM = "arm-none-eabi-"
RISCV = "riscv64-unknown-elf-"


class Target:
    def __init__(self, name, processor, tools, flags, source, emulator, code, ram, weights):
        self.name, self.processor, self.tools, self.flags, self.source = name, processor, tools, flags.split(), source
        self.emulator, self.code, self.ram, self.weights = emulator.split(), code, ram, weights

    def missing(self):
        tools = [self.tools + "gcc", self.emulator[0]]
        return [tool for tool in tools if shutil.which(tool) is None]


TARGETS = [
    Target("Cortex-M4", "cortex-m4", ARM, "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -DCLOCK_HZ=25000000u", "arm.c",
           "qemu-system-arm -M mps2-an386", 0, 0x20000000, 0x21000000),
    Target("Cortex-M7", "cortex-m7", ARM, "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16 -DCLOCK_HZ=25000000u", "arm.c",
           "qemu-system-arm -M mps2-an500", 0, 0x20000000, 0x60000000),
    Target("Cortex-M55", "cortex-m55", ARM, "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -DCLOCK_HZ=32000000u -DMPS3", "arm.c",
           "qemu-system-arm -M mps3-an547", 0, 0x21000000, 0x60000000),
    Target("RV32IMC", "rv32imc", RISCV, "-march=rv32imc -mabi=ilp32 --specs=picolibc.specs", "riscv.c",
           "qemu-system-riscv32 -M virt -bios none", 0x80000000, 0x81000000, 0x82000000),
]

# Models under tests/data/int8 or SHARED/data/int8, how each is planned, and whether the test runs it; the table has
# all.
NETS = [
    ("tiny/ad", "", False), ("tiny/ic", "", False), ("tiny/ic", "--memory-budget min", True), ("tiny/kws", "", True),
    ("tiny/kws", "--memory-budget min --release-input", False), ("tiny/vww", "", False),
    ("tiny/vww", "--memory-budget min --release-input", False), ("digits/digits.u8", "", True),
    ("digits/digits.s8", "--memory-budget min", False), ("digits/digits", "--memory-budget min", True),
    ("nodes/softmax", "", True), ("nodes/add", "", True), ("nodes/conv_3x3_relu6", "", True),
]


SECONDS = 900  # of one command: an emulator with half a processor
ESTIMATE = 1.25  # factor within which expected instructions are


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SECONDS, **options)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-2000:]
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{said}")
    return done.stdout + done.stderr


def build(target, folder, optimisation, defines=()):
    """Returns the program as an ELF file, and the bytes of its code."""
    elf = folder / "firmware.elf"
    sources = sorted(folder.glob("*.c"))
    gcc = target.tools + "gcc"
    objects = []
    for source in sources:
        objects.append(source.with_suffix(".o"))
        run([gcc, *target.flags, *STRICT, *defines, '-DNET_SECTION=".weights"', optimisation, "-ffunction-sections", "-fdata-sections", "-c", source,
             "-o", objects[-1]])
    link(target, folder, elf, [*objects, *compile_firmware(target, folder)])
    symbols = run([target.tools + "nm", elf])
    for heap in ["malloc", "_sbrk", "calloc", "realloc"]:
        if re.search(rf"\b{heap}\b", symbols):
            raise RuntimeError(f"{target.name}: {heap} is linked")
    code = sum(size_of(target, folder / name) for name in ["net.o", "ashlar_kernels.o"])
    for name in ["net.o", "net_weights.o", "ashlar_kernels.o"]:
        if size_of(target, folder / name, r"\.(data|bss)"):
            raise RuntimeError(f"{target.name}: {name} has variables beside the arena")
    return elf, code


def compile_firmware(target, folder):
    """Returns the objects of start-up code and of a small C library."""
    objects = []
    for name in [target.source, "runtime.c"]:
        objects.append(folder / (name + ".o"))
        run([target.tools + "gcc", *target.flags, "-std=gnu99", "-O2", "-fno-builtin",
             "-fno-tree-loop-distribute-patterns", "-c", FIRMWARE / name, "-o", objects[-1]])
    return objects


def link(target, folder, elf, objects):
    run([target.tools + "gcc", *target.flags, "-nostartfiles", "-static", "-Wl,--gc-sections", "-Wl,--wrap=net_run",
         f"-Wl,--defsym=CODE={target.code}", f"-Wl,--defsym=RAM={target.ram}",
         f"-Wl,--defsym=WEIGHTS={target.weights}", f"-Wl,-Map={folder}/firmware.map", "-T", FIRMWARE / "memory.ld",
         "-o", elf, *objects])


def size_of(target, file, sections=r"\.text"):
    """Returns the bytes of the sections whose names begin so."""
    lines = run([target.tools + "size", "-A", file]).splitlines()
    return sum(int(line.split()[1]) for line in lines if re.match(sections, line))


def emulate(target, elf):
    command = [*target.emulator, "-nographic", "-icount", "shift=0", "-semihosting-config", "enable=on,target=native",
               "-kernel", elf]
    return run(command, stdin=subprocess.DEVNULL)


def number_after(word, text):
    return int(re.search(rf"{word} (\d+)", text).group(1))


class Measured:
    """A program for a target: its report, and the memory and instructions of a run under emulation."""

    def __init__(self, ashlar, model, options, target, folder, table):
        """Raises RuntimeError if results differ from the desktop's, or more memory than stated is used."""
        planning = options.split() + ([] if "--plan-time" in options else ["--plan-time", "20ms"])
        self.report = json.loads(run([ashlar, "compile", model, *planning, "--processor", target.processor,
                                      "--name", "net", "-o", folder, "--json", "--quiet"]))
        elf, _ = build(target, folder, "-O2", ["-DASHLAR_TRACE"])
        emulate(target, elf)
        self.portable = None
        if table:
            elf, _ = build(target, folder, "-Os", ["-DASHLAR_PORTABLE"])
            self.portable = number_after("instructions", emulate(target, elf))
        elf, self.code = build(target, folder, "-Os")
        said = emulate(target, elf)
        self.stack, self.instructions = number_after("stack", said), number_after("instructions", said)
        stated = int(re.search(r"NET_STACK_BYTES (\d+)", (folder / "net.h").read_text()).group(1))
        if self.stack > stated:
            raise RuntimeError(f"{self.stack} bytes of stack, {stated} are stated")
        self.expected = self.report["expected_instructions"]
        if not 1 / ESTIMATE <= self.expected / self.instructions <= ESTIMATE:
            raise RuntimeError(f"{self.instructions} instructions, {self.expected:.0f} were expected")


def find_nets(shared, table):
    """Yields names, files and options."""
    roots = [pathlib.Path(__file__).resolve().parent.parent, pathlib.Path(shared)]
    for name, options, tested in NETS:
        found = [path for root in roots if (path := root / "data/int8" / (name + ".onnx")).exists()]
        if found and (tested or table):
            yield name, found[0], options


def main(ashlar, shared, table, given):
    targets = [target for target in TARGETS if not target.missing()]
    for target in TARGETS:
        if target.missing():
            print(f"{target.name}: left out, there is no {', '.join(target.missing())}")
    if not targets:
        print("no cross compiler with its emulator: skipped")
        return 77
    files = [(pathlib.Path(model).stem, model, options) for model, options in zip(given[::2], given[1::2])]
    rows, failures = [], 0
    for name, model, options in files or find_nets(shared, table):
        for target in targets:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    done = Measured(ashlar, model, options, target, pathlib.Path(folder), table)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    print(f"{name} {options} on {target.name}: {error}", flush=True)
                    failures += 1
                    continue
            rows.append((name, options, target.name, done))
            print(f"{name} {options} on {target.name}: ok, stack {done.stack}, {done.instructions} instructions, "
                  f"{done.expected / done.instructions:.2f} of them expected", flush=True)
    if table:
        print_table(rows)
    return 1 if failures else 0


def print_table(rows):
    print("\n| model | options | target | arena | input | output | stack | code | constants | instructions, portable C | "
          "instructions | expected |")
    print("|---|---|---|" + "---:|" * 9)
    for name, options, target, done in rows:
        ram, flash = done.report["ram"], done.report["flash"]
        print(f"| {name} | {options} | {target} | {ram['arena_bytes']:,} | {ram['input_bytes']:,} | "
              f"{ram['output_bytes']:,} | {done.stack:,} | {done.code:,} | {sum(flash.values()):,} | {done.portable:,} | "
              f"{done.instructions:,} | {done.expected / done.instructions:.2f} |")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], "--table" in sys.argv, sys.argv[4:]))
