"""Makes Markdown tables for benchmarks/results from rows of versus_gpu_frameworks.py and from
plans.
"""
import datetime
import json

PEERS = {"eager": "PyTorch", "graph": "PyTorch, CUDA graph", "folded": "CUDA graph, folded",
         "inductor": "torch.compile, CUDA graph", "compile": "torch.compile, max-autotune",
         "freeze": "torch.compile, freezing", "jax": "JAX"}
ORDER = {"fp32": 0, "tf32": 1, "fp16": 2, "bf16": 3}
# Largest accepted difference from the CPU's outputs, over the largest output, for sums in each
# precision.
TOLERANCE = {"fp32": 1e-3, "tf32": 1e-1, "fp16": 1e-1, "bf16": 4e-1}


def read_rows(path):
    """Returns the rows of a file; the last line may be incomplete."""
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i < 1 else "---:" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def mib(value):
    return "-" if value is None else f"{value / 2**20:.1f}"


def place(row):
    """Returns a key of the machine of a row: rows of different machines are in different tables."""
    return json.dumps([row["device"], row["driver"], row["versions"], row["doctor"]], sort_keys=True)


def speed(rows):
    if not rows:
        return "No rows."
    return "\n\n".join(speed_of_place([row for row in rows if place(row) == where])
                       for where in dict.fromkeys(map(place, rows)))


def speed_of_place(rows):
    first = rows[0]
    rows = sorted(rows, key=lambda row: (ORDER[row["precision"]], row["batch"]))
    names = [name for name in PEERS if any(name in row["ms"] for row in rows)]
    parts = [f"{first['device']}, driver {first['driver']}; "
             + ", ".join(f"{name} {version}" for name, version in first["versions"].items())
             + f". {first['date'][:10]}."]
    if first["doctor"]:
        parts.append("`ashlar doctor`: " + "; ".join(f"{name}: {fact}" for name, fact in first["doctor"].items()) + ".")
    parts.append("\n".join("    " + command for command in dict.fromkeys(row["command"] for row in rows)))
    parts.append("Milliseconds a run, medians; in brackets the median of the per-round ratios to Ashlar (above 1: slower "
                 "than Ashlar). \"Best\": the least of these ratios, with the least and the most of its rounds. Each line "
                 "is one call, interleaved. \"Error\": the largest difference of Ashlar's outputs from those of the CPU's "
                 "exact kernels, over the largest output.")
    lines = []
    for row in rows:
        ratios = row["over_ashlar"]
        best = min(ratios, key=lambda name: ratios[name]["median"], default=None)
        cells = [f"{row['precision']}, batch {row['batch']}", f"{row['ms']['ashlar']:.3f}"]
        for name in names:
            cells.append(f"{row['ms'][name]:.3f} ({ratios[name]['median']:.2f}x)" if name in ratios else "-")
        cells.append(f"**{ratios[best]['median']:.2f}x** {PEERS[best]} ({ratios[best]['least']:.2f} to "
                     f"{ratios[best]['most']:.2f})" if best else "-")
        cells.append(error_of(row))
        cells.append(f"{row['rounds']} x {row['runs']}" + ("" if row["complete"] or row.get("wrong") else ", cut short")
                     + ("" if row["tuned"] else ", not tuned"))
        lines.append(cells)
    parts.append(table(["", "Ashlar", *(PEERS[name] for name in names), "best", "error", "rounds x runs"], lines))
    parts += [memory(rows, names), kinds(rows)]
    left_out = [f"{row['precision']}, batch {row['batch']}: {name}: {why}" for row in rows
                for name, why in row["left_out"].items()]
    if left_out:
        parts.append("Left out:\n\n" + "\n".join(f"- {line}" for line in left_out))
    return "\n\n".join(part for part in parts if part)


def error_of(row):
    """Formats the error of a row's outputs; "-" if they were not compared."""
    if "wrong" not in row:
        return "-"
    text = "not finite" if row["error"] is None else f"{row['error']:.1g}"
    return f"**WRONG: {text}**" if row["wrong"] else text


def memory(rows, names):
    """Formats the peaks of device memory, in MiB."""
    how = {}
    lines = []
    for row in rows:
        verify = row.get("verify", {})
        cells = [f"{row['precision']}, batch {row['batch']}", mib(sum(row["planned"].values())),
                 mib(row["planned"]["arena"]), mib(verify.get("taken_bytes"))]
        for name in names:
            found = row["memory"].get(name, {})
            cells.append(mib(found.get("peak_bytes")))
            if "how" in found:
                how[name] = found["how"]
        cells.append(", ".join(f"{name} {mib(found['process_bytes'])}" for name, found in row["memory"].items()
                               if "process_bytes" in found) or "-")
        lines.append(cells)
    notes = "; ".join(f"{PEERS[name]}: {text}" for name, text in how.items())
    return ("Peak of device memory, MiB. Planned: arena, weights, input and output of the kernels that ran. Taken: by how "
            "much free memory shrank in `ashlar verify`, without the libraries' contexts. "
            + (notes + ". " if notes else "")
            + "Whole process: by how much nvidia-smi's memory.used grew until it was ready, contexts and caches "
            "included.\n\n"
            + table(["", "Ashlar, planned", "of it arena", "Ashlar, taken", *(PEERS[name] for name in names),
                     "whole process"], lines))


def kinds(rows):
    rows = [row for row in rows if "kinds" in row]
    if not rows:
        return ""
    found = list(dict.fromkeys(kind for row in rows for kind in row["kinds"]))
    lines = []
    for row in rows:
        cells = [f"{row['precision']}, batch {row['batch']}",
                 f"{row['limits']['flops'] / 1e12:.0f}, {row['limits']['bytes'] / 1e12:.2f}",
                 f"{sum(entry['ms'] for entry in row['kinds'].values()):.3f}", f"{row['ms']['ashlar']:.3f}"]
        for kind in found:
            entry = row["kinds"].get(kind)
            share = f"{entry['share']:.0%}" if entry and entry["share"] is not None else "-"
            cells.append(f"{entry['ms']:.3f} ({share})" if entry else "-")
        lines.append(cells)
    return ("By kind of operator, from one profiled run: milliseconds, and in brackets the share of the nearer limit. "
            "Limits: a product of 8192 x 8192 matrices in that precision (TFLOP/s), a copy of 4 GiB (TB/s, read and "
            "written), both by PyTorch on this device. The clock is read between the steps of that run, so at small "
            "batches their sum exceeds the time of a run, which stands beside it.\n\n"
            + table(["", "limits", "sum", "run", *found], lines))


def planned(ashlar, folder, batches, precisions):
    """Makes the table of device memory planned by `ashlar plan`; needs no device."""
    lines, facts = [], ashlar.run("doctor", json_output=True)["facts"]
    for batch in batches:
        model = ashlar.model(folder, batch)
        for precision in precisions:
            plan = ashlar.plan(model, precision, "--no-autotune")
            pools = {name: pool["planned_bytes"] for name, pool in plan["pools"].items()}
            arena = plan["arena"]
            lines.append([f"{precision}, batch {batch}", str(pools["arena"]),
                          f"{pools['arena'] / arena['lower_bound_bytes']:.3f}", str(arena["workspace_at_peak_bytes"]),
                          str(pools["weights"]), str(pools["input"] + pools["output"]), mib(sum(pools.values()))])
    head = ["", "arena", "over its lower bound", "workspace at the peak", "weights", "input and output", "in all, MiB"]
    return (f"{datetime.date.today()}; {facts.get('CUDA libraries', 'no CUDA libraries')}, whose heuristics chose the "
            "kernels for a described H100.\n\n" + table(head, lines))
