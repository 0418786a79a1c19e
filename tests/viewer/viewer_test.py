#!/usr/bin/env python3
"""Tests the viewer in a real browser: compares its contents with values computed here from the
document.

usage: viewer_test.py ASHLAR [--million]    exit 0: all is true, 77: Chromium or its driver is missing

--million: also measures frame times, which are meaningless on a busy machine.
"""
import base64
import collections
import csv
import io
import json
import pathlib
import pickle
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import browser
import torch_snapshots

PLANS = re.compile(r'(<script type="application/json" id="plans">)(.*?)(</script>)', re.DOTALL)
DATA = HERE.parent / "data"
EVIL = "</script><img src=x onerror=window.evil=1><script>window.evil=1</script>"


def plans_in(page):
    return json.loads(PLANS.search(page.read_text()).group(2))


def page_with(page, plans, path):
    """Returns a copy of a page with other plans in it."""
    text = json.dumps(plans).replace("<", "\\u003c")
    path.write_text(PLANS.sub(lambda found: found.group(1) + text + found.group(3), page.read_text()))
    return path


def rows(plan):
    """Returns the buffers of a plan, as dictionaries."""
    columns = plan["buffers"]
    return [dict(zip(columns, values), index=i) for i, values in enumerate(zip(*columns.values()))]


def covered(buffers):
    """Returns the number of bytes that at least one of the buffers holds."""
    sum_, reached = 0, -1
    for buffer in sorted(buffers, key=lambda b: b["offset_bytes"]):
        end = buffer["offset_bytes"] + buffer["size_bytes"]
        sum_ += max(0, end - max(reached, buffer["offset_bytes"]))
        reached = max(reached, end)
    return sum_


def live(plan, step):
    return [b for b in rows(plan) if b["size_bytes"] > 0 and b["first_step"] <= step < b["end_step"]]


def first_fit(count, seed=1):
    """Returns a plan of many buffers: rows of boxes of one height, so that nothing overlaps."""
    rand = random.Random(seed)
    height, line, step = 4096, 0, 0
    per_line = count // max(10, round(count ** 0.5 / 3)) * 11  # steps
    first, end, offset = [], [], []
    for length in rand.choices(range(1, 21), k=count):
        if step + length > per_line:
            line, step = line + 1, 0
        first.append(step)
        step += length
        end.append(step)
        offset.append(line * height)
    return {"name": [f"b{i}" for i in range(count)], "kind": [0] * count, "first_step": first, "end_step": end, "offset_bytes": offset,
            "size_bytes": rand.choices(range(height // 2, height), k=count), "alignment_bytes": [1] * count}


class ViewerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = browser.browser()
        cls.browser = cls.context.__enter__()
        cls.addClassCleanup(cls.context.__exit__, None, None, None)
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.ashlar("zoo", "squeezenet", "--image", "64", "-o", "model.ash")
        cls.page = cls.folder / "plan.html"
        cls.ashlar("plan", "model.ash", "--threads", "1", "-o", "plan.html")
        cls.tiled = cls.folder / "tiled.html"
        cls.ashlar("plan", "model.ash", "--threads", "1", "--processor", "avx2/32K/512K", "--memory-budget", "min", "-o", "tiled.html")
        cls.browser.size(1300, 900)

    @classmethod
    def ashlar(cls, *arguments):
        subprocess.run([COMMAND, *arguments, "-q"], cwd=cls.folder, check=True, stdout=subprocess.DEVNULL)

    def open(self, page, fragment=""):
        self.show(page, fragment)
        return plans_in(page)

    def show(self, page, fragment=""):
        self.browser.requests()
        self.browser.log("browser")
        self.browser.open(page, fragment)
        self.settle()

    def settle(self):
        self.browser.run("await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));")

    def tearDown(self):
        severe = [entry["message"] for entry in self.browser.log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])
        asked = [address for address in self.browser.requests() if not address.startswith("data:") and address != "about:blank"]
        self.assertEqual({address.split("#")[0] for address in asked} - {p.as_uri() for p in self.folder.glob("*.html")}, set())

    def center_of(self, buffer):
        """Returns the middle of a box, in pixels of the window and of the picture."""
        return self.browser.run("""
            const {app} = ashlar, {plan} = app, {camera, over} = app.pictures[0], {left, top} = over.getBoundingClientRect();
            const x = Math.round(camera.toX((plan.first[arguments[0]] + plan.end[arguments[0]]) / 2));
            const y = Math.round(camera.toY(plan.offset[arguments[0]] + plan.size[arguments[0]] / 2));
            return [left + x, top + y, x, y];""", buffer)

    def table(self, caption):
        return self.browser.run("""
            const found = [...document.querySelectorAll('table')].find(table => table.caption.textContent.includes(arguments[0]));
            return [...found.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.title));""", caption)

    def test_a_hovered_box_says_what_it_is(self):
        plan, = self.open(self.page)
        buffer = max(rows(plan), key=lambda b: b["size_bytes"] * (b["end_step"] - b["first_step"]))
        x, y, _, _ = self.center_of(buffer["index"])
        self.browser.pointer({"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0})
        tip = self.browser.run("return document.getElementById('tip').textContent")
        self.assertEqual(tip.splitlines()[0], buffer["name"])
        digits = tip.replace("\u202f", "")
        self.assertIn(f"{buffer['size_bytes']} bytes", digits)
        self.assertIn(f"at {buffer['offset_bytes']}", digits)
        self.assertIn(f"steps {buffer['first_step']} to {buffer['end_step'] - 1}", digits)
        self.assertIn(plan["steps"]["type"][buffer["first_step"]], tip)

    def test_a_click_on_a_step_lists_what_lives_then(self):
        plan, = self.open(self.page)
        buffer = max(rows(plan), key=lambda b: b["size_bytes"] * (b["end_step"] - b["first_step"]))
        x, y, _, _ = self.center_of(buffer["index"])
        self.browser.pointer({"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
                             {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})
        step, chosen = self.browser.run("return [ashlar.app.step, ashlar.app.buffer]")
        self.assertEqual(chosen, buffer["index"])
        self.assertIn(step, range(buffer["first_step"], buffer["end_step"]))
        expected = sorted(live(plan, step), key=lambda b: (-b["size_bytes"], b["index"]))
        self.assertEqual([row[0] for row in self.table("live at step")], [b["name"] for b in expected])
        self.assertEqual([row[2].replace("\u202f", "") for row in self.table("live at step")],
                         [str(b["offset_bytes"]) for b in expected])
        text = self.browser.run("return document.getElementById('details').textContent").replace("\u202f", "")
        self.assertIn(f"live{covered(expected)} bytes", text)

    def test_live_bytes_are_those_of_the_document_at_every_step(self):
        for page in (self.page, self.tiled):
            for index, plan in enumerate(self.open(page)):
                steps = range(max(plan["buffers"]["end_step"]))
                shown = self.browser.run("return arguments[1].map(step => ashlar.app.plans[arguments[0]].live.at(step))",
                                         index, list(steps))
                self.assertEqual(shown, [covered(live(plan, step)) for step in steps], page.name)
                self.assertEqual(max(shown), plan["lower_bound_bytes"])
                self.assertEqual(shown[plan["bottleneck_step"]], plan["lower_bound_bytes"])

    def test_a_click_on_a_head_sorts_the_table(self):
        self.open(self.page)
        self.browser.run("[...document.querySelectorAll('th button')].filter(b => b.textContent === 'name').at(-1).click()")
        names = [row[0] for row in self.table("all buffers")]
        self.assertEqual(names, sorted(names))
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('th')].filter(h => h.ariaSort).map(h => h.ariaSort)"),
                         ["ascending"])

    def test_searches_find_what_they_say(self):
        plan, = self.open(self.page)
        names = plan["steps"]
        cases = {
            "conv": lambda b: "conv" in b["name"].lower(),
            ">64KiB": lambda b: b["size_bytes"] > 65536,
            "<=0.1MB": lambda b: b["size_bytes"] <= 100000,
            "@5": lambda b: b["first_step"] <= 5 < b["end_step"],
            "type:pool >=1": lambda b: "pool" in names["type"][b["first_step"]].lower() and b["size_bytes"] >= 1,
            "kind:workspace": lambda b: plan["kinds"][b["kind"]] == "workspace",
            "no such name": lambda b: False,
        }
        for query, holds in cases.items():
            expected = [b["index"] for b in rows(plan) if holds(b)]
            self.assertEqual(self.browser.run("ashlar.app.search(arguments[0]); return ashlar.app.found.list", query), expected, query)
            self.assertIn(f"{len(expected)} found", self.browser.run("return document.getElementById('found').textContent"))

    def test_the_wheel_zooms_where_the_pointer_is(self):
        self.open(self.page)
        where = "const {camera, over} = ashlar.app.pictures[0], {left, top} = over.getBoundingClientRect();" \
                "return [camera.toStep(arguments[0] - left), camera.toByte(arguments[1] - top), camera.stepWidth]"
        before = self.browser.run(where, 500, 300)
        for delta in (-200, -120, 90):
            self.browser.wheel(500, 300, delta)
            after = self.browser.run(where, 500, 300)
            self.assertAlmostEqual(after[0], before[0], places=3)
            self.assertAlmostEqual(after[1], before[1], delta=1)
        self.assertGreater(after[2], 1.2 * before[2])
        self.browser.keys("0")
        self.assertEqual(self.browser.run(where, 500, 300), before)

    def test_keys_do_what_their_list_says(self):
        plan, = self.open(self.page)
        state = "const {app} = ashlar; return [app.step, app.buffer, app.pictures[0].camera.stepWidth, document.activeElement.id]"
        step, _, width, _ = self.browser.run(state)
        self.assertEqual(step, plan["bottleneck_step"])
        self.browser.keys("\ue014")
        self.assertEqual(self.browser.run(state)[0], step + 1)
        self.browser.keys("\ue012\ue012+")
        self.assertEqual(self.browser.run(state)[0], step - 1)
        self.assertGreater(self.browser.run(state)[2], width)
        self.browser.keys("b")
        self.assertEqual(self.browser.run(state)[0], step)
        self.browser.keys("/")
        self.assertEqual(self.browser.run(state)[3], "search")
        self.browser.keys("conv")
        time.sleep(0.3)
        found = self.browser.run("return ashlar.app.found.list")
        self.assertTrue(found)
        self.browser.keys("\ue00cnn")
        self.assertEqual(self.browser.run(state)[1], found[1])
        self.browser.keys("p")
        self.assertEqual(self.browser.run(state)[1], found[0])
        self.browser.keys("\ue00c")
        self.assertEqual(self.browser.run(state)[:2], [None, -1])

    def test_two_plans_are_compared(self):
        a, b = self.open(self.tiled)
        self.assertGreater(b["arena_bytes"], a["arena_bytes"])
        sums = self.browser.run("return ashlar.app.comparison.sums()")
        of_b = {}
        for row in rows(b):
            of_b.setdefault(row["name"], []).append(row)
        expected = {"same": [], "moved": [], "resized": [], "onlyA": [], "onlyB": []}
        seen = set()
        for row in rows(a):
            others = of_b.get(row["name"])
            if not others:
                expected["onlyA"].append(row["index"])
                continue
            other = others.pop(0)
            seen.add(other["index"])
            kind = "resized" if row["size_bytes"] != other["size_bytes"] else \
                   "moved" if row["offset_bytes"] != other["offset_bytes"] else "same"
            expected[kind].append(row["index"])
        expected["onlyB"] = [row["index"] for row in rows(b) if row["index"] not in seen]
        self.assertEqual({name: sorted(sums[name]) for name in expected}, expected)
        # A step of a tile links to the operator that it is a slice of.
        step = next(i for i, part in enumerate(a["steps"]["part"]) if part and not re.search(":", a["steps"]["name"][i]))
        other = self.browser.run("return ashlar.app.comparison.step(arguments[0])", step)
        self.assertEqual(b["steps"]["name"][other], re.sub(r"(/[\d,]+)+$", "", a["steps"]["name"][step]))
        # The wheel zooms both; 'x' swaps them.
        self.browser.wheel(400, 300, -300)
        spans = self.browser.run("return ashlar.app.pictures.map(({camera, plan}) => (camera.x1 - camera.x0) / (plan.last - plan.begin))")
        self.assertAlmostEqual(spans[0], spans[1], places=6)
        self.assertLess(spans[0], 0.9)
        self.browser.keys("x")
        self.assertEqual(self.browser.run("return ashlar.app.plan.arena"), b["arena_bytes"])

    def test_a_plan_beside_itself_has_all_at_the_same_place(self):
        plan = plans_in(self.page)[0]
        plan["buffers"]["name"] = [name if i % 3 else "one of many" for i, name in enumerate(plan["buffers"]["name"])]
        self.open(page_with(self.page, [plan, plan], self.folder / "itself.html"))
        sums, partners = self.browser.run("const {comparison} = ashlar.app; return [comparison.sums(), [...comparison.partners]]")
        everything = [row["index"] for row in rows(plan)]
        self.assertEqual(sums, {"same": everything, "moved": [], "resized": [], "onlyA": [], "onlyB": []})
        self.assertEqual(partners, everything)

    def test_numbers_of_a_table_are_whole(self):
        plan = plans_in(self.page)[0]
        columns = plan["buffers"]
        columns["name"] = [name * 9 for name in columns["name"]]
        for name, unit in (("size_bytes", 123456789), ("offset_bytes", 12345678901)):
            columns[name] = [value * unit // 1000 for value in columns[name]]
        columns["first_step"] = [step + 1_000_000 for step in columns["first_step"]]
        columns["end_step"] = [step + 1_001_000 for step in columns["end_step"]]
        plan["arena_bytes"] = max(map(sum, zip(columns["offset_bytes"], columns["size_bytes"])))
        self.open(page_with(self.page, [plan], self.folder / "large.html"))
        cells, cut, names, wide = self.browser.run("""
            const cells = [...document.querySelectorAll('td.number')], root = document.getElementById('details');
            return [cells.length, cells.filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => cell.title),
                    Math.min(...[...document.querySelectorAll('td:first-child')].map(cell => cell.clientWidth)),
                    root.scrollWidth - root.clientWidth]""")
        self.assertGreater(cells, 30)
        self.assertEqual((cut, wide), ([], 0))
        self.assertGreater(names, 60)

    def test_a_recorded_run_is_beside_our_plan(self):
        dump = DATA / "megengine-resnet50-b10.profile.json"
        self.ashlar("inspect", str(dump), "--own-plan", "own.html")
        ours, recorded = self.open(self.folder / "own.html")
        self.assertEqual((ours["arena_bytes"], recorded["arena_bytes"]), (72272896, 102443008))
        self.assertEqual(recorded["planner"], "recorded")
        self.assertTrue(any(ms for ms in recorded["steps"]["ms"]))
        self.assertEqual(self.browser.run("return ashlar.app.plans.map(plan => plan.live.peak)"),
                         [ours["lower_bound_bytes"], recorded["lower_bound_bytes"]])
        self.ashlar("plan", str(dump), "-o", "dump.html")
        self.assertEqual(plans_in(self.folder / "dump.html")[1], recorded)

    def test_the_view_is_saved_as_svg(self):
        plan, = self.open(self.page)
        svg = self.browser.run("return ashlar.svgOf(ashlar.app.pictures[0], ashlar.app.colors[0])")
        root = xml.etree.ElementTree.fromstring(svg)
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        shown = {title.splitlines()[0] for title in titles}
        largest = sorted(rows(plan), key=lambda b: -b["size_bytes"] * (b["end_step"] - b["first_step"]))[:20]
        self.assertEqual([b["name"] for b in largest if b["name"] not in shown], [])

    DROP = """
            const file = new File([arguments[1]], arguments[0]), transfer = new DataTransfer();
            transfer.items.add(file);
            document.body.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: transfer}));
            await new Promise(done => setTimeout(done, 300));
"""

    def test_what_a_run_used_is_shown(self):
        plan, = self.open(self.page)
        self.assertNotIn("a run used", self.browser.run("return document.getElementById('facts').textContent"))
        self.ashlar("verify", "model.ash", "--threads", "1", "--json=verify.json")
        seen = json.loads((self.folder / "verify.json").read_text())
        self.assertEqual(seen["pools"]["arena"]["planned_bytes"], plan["arena_bytes"])
        shown = self.DROP + """
            return [document.getElementById('facts').textContent, ashlar.svgOf(ashlar.app.pictures[0], ashlar.app.colors[0]),
                    document.getElementById('message').textContent, ashlar.app.plans.length]"""
        # A number of bytes that no other figure has.
        seen["pools"]["arena"]["actual_bytes"] -= 4097
        facts, svg, message, plans = self.browser.run(shown, "verify.json", json.dumps(seen))
        self.assertEqual((message, plans), ("", 1))
        self.assertIn(f"a run used {plan['arena_bytes'] - 4097} bytes", facts.replace("\u202f", ""))
        self.assertIn("used by a run", svg)
        seen["pools"]["arena"]["planned_bytes"] += 1
        self.assertIn("which no plan here has", self.browser.run(shown, "verify.json", json.dumps(seen))[2])

    def test_a_printed_page_has_the_picture_as_text_and_lines(self):
        plan, = self.open(self.page)
        state = "return [document.documentElement.dataset.theme ?? null, document.querySelectorAll('.printed svg').length]"
        self.assertEqual(self.browser.run(state), [None, 0])
        self.browser.command("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.addCleanup(lambda: self.browser.command("Emulation.setEmulatedMedia", media="", features=[]))
        self.browser.run("dispatchEvent(new Event('beforeprint'))")
        self.settle()
        self.assertEqual(self.browser.run(state), ["light", 1])
        seen = self.browser.run("""
            const shown = id => document.querySelector(id).getClientRects().length > 0;
            const svg = document.querySelector('.printed svg'), {width, height} = svg.getBoundingClientRect(), box = svg.viewBox.baseVal;
            const {overflow} = getComputedStyle(document.getElementById('details'));
            return {hidden: ['#tools', '.stack', '#tip'].filter(shown), shown: ['#title', '#facts', '.curve', '#legend', '#details'].filter(shown),
                    wide: document.documentElement.scrollWidth - innerWidth, shape: width / height / (box.width / box.height), overflow}""")
        self.assertEqual((seen["hidden"], len(seen["shown"]), seen["overflow"]), ([], 5, "visible"))
        self.assertLessEqual(seen["wide"], 0)
        self.browser.run("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.run(state), [None, 0])
        # The whole way to paper: few pages, with the tables' text.
        pdf = base64.b64decode(self.browser.command("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.7)["data"])
        self.assertIn(len(re.findall(rb"/Type\s*/Page\b", pdf)), range(1, 8))
        self.assertGreater(len(pdf), 20_000)
        self.assertEqual(self.browser.run(state), [None, 0])

    def test_recorded_traces_of_others_are_shown(self):
        for name in ("iree-mobilebert", "somas-resnet50", "minimalloc-A", "megengine-resnet50"):
            trace = DATA / f"dsa/{name}.csv"
            with self.subTest(name):
                self.ashlar("plan", str(trace), "-o", f"{name}.html")
                plan, = self.open(self.folder / f"{name}.html")
                with trace.open() as lines:
                    buffers = {row["id"]: row for row in csv.DictReader(lines)}
                self.assertEqual({b["name"]: (b["first_step"], b["end_step"], b["size_bytes"]) for b in rows(plan)},
                                 {row["id"]: (int(row["lower"]), int(row["upper"]), int(row["size"])) for row in buffers.values()})
                peak, step = self.browser.run("return [ashlar.app.plan.live.peak, ashlar.app.step]")
                self.assertEqual((peak, covered(live(plan, step))), (plan["lower_bound_bytes"],) * 2)
                self.assertEqual(len(self.table("live at step")), min(100, len(live(plan, step))))
                self.assertGreater(self.browser.run("return ashlar.app.pictures[0].boxes"), 50)

    def test_anybodys_buffers_are_opened(self):
        self.open(self.page)
        opened = self.DROP + """
            const {app} = ashlar, {plan} = app;
            return {title: plan.title, arena: plan.arena, bound: plan.lowerBound, names: plan.names, offsets: [...plan.offset],
                    message: document.getElementById('message').textContent, plans: app.plans.length};"""
        got = self.browser.run(opened, "theirs.csv", 'id,lower,upper,size,offset\n"a,1",0,2,10,0\nb,1,3,20,16\nc,2,4,10,0\n')
        self.assertEqual((got["title"], got["arena"], got["bound"], got["names"]), ("theirs.csv", 36, 30, ["a,1", "b", "c"]))
        # Buffers without offsets are placed by the page.
        got = self.browser.run(opened, "unplaced.csv", "id,lower,upper,size\na,0,2,10\nb,1,3,20\nc,2,4,10\n")
        self.assertEqual((got["arena"], got["bound"], got["plans"]), (30, 30, 3))
        for name, text, message in (("bad.csv", "id,lower\na,1\n", "no column upper"), ("bad.json", "{}", "no plan's document"),
                                    ("bad.csv", "id,lower,upper,size\na,x,2,3\n", "row 2: lower is no number")):
            got = self.browser.run(opened, name, text)
            self.assertIn(message, got["message"])
            self.assertEqual(got["plans"], 3)
        # The command's CSV and JSON outputs describe the same plan.
        self.ashlar("plan", "model.ash", "--threads", "1", "-o", "plan.csv", "--json=plan.json", "--buffers")
        plan, = plans_in(self.page)
        self.assertEqual(json.loads((self.folder / "plan.json").read_text())["plan"], plan)
        for name in ("plan.csv", "plan.json", "plan.html"):
            got = self.browser.run(opened, name, (self.folder / name).read_text())
            self.assertEqual((got["message"], got["arena"], got["bound"], got["offsets"]),
                             ("", plan["arena_bytes"], plan["lower_bound_bytes"], plan["buffers"]["offset_bytes"]), name)
        saved = list(csv.DictReader(io.StringIO(self.browser.run("return ashlar.csvOf(ashlar.app.plan)"))))
        self.assertEqual([int(row["offset"]) for row in saved], plan["buffers"]["offset_bytes"])
        self.assertEqual([row["name"] for row in saved], plan["buffers"]["name"])

    def drop_snapshot(self, content, name="snapshot.pickle"):
        """Drops a pickle's bytes onto the page; returns the message, and the documents of the plans shown."""
        return self.browser.run("""
            const bytes = Uint8Array.from(atob(arguments[1]), letter => letter.charCodeAt(0)), transfer = new DataTransfer();
            transfer.items.add(new File([bytes], arguments[0]));
            document.getElementById('message').textContent = 'waiting';
            document.body.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: transfer}));
            while (document.getElementById('message').textContent === 'waiting') await new Promise(done => setTimeout(done, 10));
            const {plans, shown, beside} = ashlar.app;
            return [document.getElementById('message').textContent, [shown, beside].map(index => plans[index]?.document), plans.length]""",
                                name, base64.b64encode(content).decode())

    def test_what_pytorch_allocated_is_opened_and_planned(self):
        quiet, busy = torch_snapshots.busy_allocator(0, seed=2, allocations=20), torch_snapshots.busy_allocator(1, seed=3)
        snapshot = torch_snapshots.snapshot_of(quiet, busy)
        (self.folder / "command.pickle").write_bytes(pickle.dumps(snapshot))
        self.ashlar("plan", "command.pickle", "-o", "command.html")
        _, expected = plans_in(self.folder / "command.html")
        for protocol in (2, 3, 4, 5):
            self.open(self.page)
            message, (planned, recorded), _ = self.drop_snapshot(pickle.dumps(snapshot, protocol))
            # The command reads the same places and lifetimes.
            for key in ("buffers", "arena_bytes", "planner"):
                self.assertEqual(recorded[key], expected[key], (protocol, key))
            self.assertIn("as PyTorch placed them", recorded["title"])
            self.assertEqual(recorded["lower_bound_bytes"], busy.most_allocated)
            self.assertIn("device 1 of 2, which allocates most", message)
            self.assertIn(f"a plan takes {planned['arena_bytes'] / busy.most_reserved:.3f} of the reserved bytes", message)
            self.assertGreaterEqual(planned["arena_bytes"], busy.most_allocated)
            self.assertLess(planned["arena_bytes"], busy.most_reserved)
            for column in ("name", "first_step", "end_step", "size_bytes"):
                self.assertEqual(planned["buffers"][column], recorded["buffers"][column])
            for plan in (planned, recorded):  # no two buffers have one byte at once
                events = sorted({b["first_step"] for b in rows(plan)})
                for step in events:
                    at_once = live(plan, step)
                    self.assertEqual(covered(at_once), sum(b["size_bytes"] for b in at_once), (plan["title"], step))
        old = dict(torch_snapshots.snapshot_of(busy), device_traces=[[], []])
        message, (planned, _), _ = self.drop_snapshot(pickle.dumps(old))
        self.assertIn("no history", message)
        self.assertEqual(planned["lower_bound_bytes"], busy.allocated)  # all blocks live together

    def test_pickles_that_would_run_code_or_are_damaged_are_refused_by_name(self):
        self.open(self.page)
        good = pickle.dumps(torch_snapshots.snapshot_of(torch_snapshots.busy_allocator(0, seed=6, allocations=10)), 4)
        event = {"action": "alloc", "addr": 512, "size": 8}
        traces = lambda *events: pickle.dumps({"segments": [], "device_traces": [list(events)]}, 4)
        for content, *words in (
                (pickle.dumps({"segments": [torch_snapshots.Runs("x")]}, 4), "STACK_GLOBAL (posix.system)", "runs Python code"),
                (pickle.dumps({"segments": [torch_snapshots.Runs("x")]}, 2), "GLOBAL (posix.system)", "runs Python code"),
                (pickle.dumps({"segments": [torch_snapshots.Runs("x")]}, 0), "DICT", "protocol 2 or later"),
                (pickle.dumps(collections.OrderedDict(), 4), "STACK_GLOBAL (collections.OrderedDict)"),
                (b"\x80\x02cos\nsystem\n.", "byte 2", "GLOBAL (os.system)"),
                (pickle.dumps({1, 2}, 4), "EMPTY_SET"),
                (b"\x80\x04\x95\x02\0\0\0\0\0\0\0Pabc\n.", "PERSID"),
                (b"\x80\x02\xff.", "0xff is no instruction"),
                (good[:-30], "ends"), (good + b"x", "after the end"), (b"", "byte 0", "ends early"),
                (b"\x80\x02(.", "without one value"), (b"\x80\x02a.", "too few"), (b"\x80\x02h\x07.", "value 7 was never stored"),
                (b"\x80\x02)K\x01a.", "no list"), (b"\x80\x02](K\x01u.", "no dictionary"), (b"\x80\x02}(K\x01u.", "without a value"),
                (pickle.dumps([1], 4), "has no 'segments'"), (pickle.dumps({"segments": 5}, 4), "is no list"),
                (pickle.dumps({"segments": [], "device_traces": []}, 4), "no device"),
                (pickle.dumps({"segments": [{"device": 1 << 40, "address": 0, "total_size": 1, "blocks": []}]}, 4), "devices"),
                (pickle.dumps({"segments": [{"device": 0, "address": 1 << 70}]}, 4), "an integer of 9 bytes"),
                (pickle.dumps({"segments": [{"device": 0, "address": 1 << 60}]}, 4), "'address' of segment 0 of device 0", "expected 0 to 2^53"),
                (traces({**event, "size": -1}), "'size' of event 0 of device 0", "-1"),
                (traces({**event, "size": 0.5}), "is no whole number"), (traces(event, event), "event 1 of device 0", "0x200 is allocated already"),
                (pickle.dumps({"segments": [], "device_traces": [[{"action": "snapshot"}] * 3000] * 60000}, 4), "devices"),
                (b"\x80\x02" + b"]" * 200000 + b"a" * 199999 + b".", "has no 'segments'")):
            message, _, plans = self.drop_snapshot(content)
            self.assertEqual(plans, 1, message)
            for word in ("snapshot.pickle: ", *words):
                self.assertIn(word, message)

    def test_pickles_of_any_bytes_end_in_an_error_that_names_the_place(self):
        self.open(self.page)
        good = pickle.dumps(torch_snapshots.snapshot_of(torch_snapshots.busy_allocator(0, seed=7, allocations=30)), 4)
        seed = 1
        outcomes = self.browser.run("""
            let state = arguments[1];
            const next = bound => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % bound;
            const good = Uint8Array.from(atob(arguments[0]), letter => letter.charCodeAt(0)), seen = {read: 0, refused: 0, others: []};
            for (let round = 0; round < 400; ++round) {
              const bytes = good.slice(0, next(4) === 0 ? 1 + next(good.length) : good.length);
              for (let i = next(4); i >= 0; --i) bytes[next(bytes.length)] = next(256);
              try {
                ashlar.documentsOfSnapshot(bytes, "x");
                ++seen.read;
              } catch (error) {
                ++seen.refused;
                if (error.constructor !== Error || error.message === "") seen.others.push([round, String(error)]);
              }
            }
            return seen""", base64.b64encode(good).decode(), seed)
        self.assertEqual(outcomes["others"], [], f"[round, error] from seed {seed}")
        self.assertGreater(outcomes["refused"], 100)
        self.assertGreater(outcomes["read"], 0)

    def test_a_link_comes_back_to_the_view(self):
        plan, = self.open(self.page, "#step=7&buffer=3&find=conv&color=size&x=2,20")
        state = "const {app} = ashlar, {camera} = app.pictures[0];" \
                "return [app.step, app.buffer, app.query, app.coloring, camera.x0, camera.x1]"
        self.assertEqual(self.browser.run(state), [7, 3, "conv", "size", 2, 20])
        time.sleep(0.5)
        fragment = self.browser.run("return location.hash")
        self.open(self.page, fragment)
        self.assertEqual(self.browser.run(state), [7, 3, "conv", "size", 2, 20])
        self.open(self.page, "#step=-5&buffer=1e9&color=toString&x=a,b&plan=7")
        self.assertEqual(self.browser.run(state)[:2], [plan["bottleneck_step"], -1])

    def test_names_are_text_wherever_they_stand(self):
        plan = plans_in(self.page)[0]
        plan["title"] = EVIL
        plan["buffers"]["name"] = [EVIL + str(i) for i in range(len(plan["buffers"]["name"]))]
        for column in ("name", "type", "kernel", "part"):
            plan["steps"][column] = [EVIL] * len(plan["steps"]["name"])
        plan["kinds"] = [EVIL] * 3
        other = json.loads(json.dumps(plan))
        other["buffers"]["offset_bytes"] = [offset + 64 for offset in other["buffers"]["offset_bytes"]]
        page = page_with(self.page, [plan, other], self.folder / "evil.html")
        self.open(page, "#find=" + "img")
        x, y, _, _ = self.center_of(max(range(len(plan["buffers"]["name"])), key=lambda i: plan["buffers"]["size_bytes"][i]))
        self.browser.pointer({"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
                             {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})
        self.assertEqual(self.browser.run("return [window.evil ?? null, document.images.length, document.title]"), [None, 0, EVIL])
        xml.etree.ElementTree.fromstring(self.browser.run("return ashlar.svgOf(ashlar.app.pictures[0], ashlar.app.colors[0])"))

    def test_light_and_dark_have_different_paper(self):
        self.open(self.page)
        pixel = "const {base} = ashlar.app.pictures[0]; return [...base.getContext('2d').getImageData(3, 3, 1, 1).data.slice(0, 3)]"
        seen = []
        for scheme in ("light", "dark"):
            self.browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.settle()
            seen.append(self.browser.run(pixel))
        self.browser.command("Emulation.setEmulatedMedia", features=[])
        self.assertGreater(min(seen[0]), 200)
        self.assertLess(max(seen[1]), 60)

    def test_the_picture_is_not_blank(self):
        self.open(self.page)
        colors = self.browser.run("""
            const {base} = ashlar.app.pictures[0], {data} = base.getContext('2d').getImageData(0, 0, base.width, base.height);
            return new Set(new Uint32Array(data.buffer)).size""")
        self.assertGreater(colors, 10)
        self.assertGreater(len(self.browser.screenshot()), 20_000)

    def test_screen_readers_have_tables_and_names(self):
        plan, = self.open(self.page)
        self.assertEqual(len(self.table("all buffers")), min(100, sum(size > 0 for size in plan["buffers"]["size_bytes"])))
        nameless = self.browser.run("""
            const named = e => e.textContent.trim() || e.ariaLabel || e.title || e.labels?.length;
            return [...document.querySelectorAll('button, select, input:not([hidden]), canvas[role], section, aside')]
                .filter(e => !named(e)).map(e => e.outerHTML)""")
        self.assertEqual(nameless, [])

    def many(self, count):
        plan = plans_in(self.page)[0]
        plan.update(buffers=first_fit(count), title=f"{count} buffers", bottleneck_step=0)
        for name in ("relations", "steps", "reads", "views"):
            plan[name] = {column: [] for column in plan[name]}
        columns = plan["buffers"]
        plan["arena_bytes"] = max(map(sum, zip(columns["offset_bytes"], columns["size_bytes"])))
        self.show(page_with(self.page, [plan], self.folder / f"{count}.html"))

    # Milliseconds of drawing per frame, as the page measures them, while it zooms in and out.
    ZOOM = """
        const {app} = ashlar, {camera} = app.pictures[0];
        performance.clearMeasures();
        for (let i = 0; i < 120; ++i) {
          const factor = i < 60 ? 0.99 : 1 / 0.99;
          camera.zoom(500, 300, factor, factor);
          app.draw();
          await new Promise(requestAnimationFrame);
        }
        const times = performance.getEntriesByName('draw').map(entry => entry.duration).sort((a, b) => a - b);
        return {frames: times.length, middle: times[times.length >> 1], most: times.at(-1), boxes: app.pictures[0].boxes}"""

    def test_thirty_thousand_boxes_are_drawn_at_once(self):
        self.many(30_000)
        drawn = self.browser.run("ashlar.app.fit(); ashlar.app.drawNow(); const {boxes, nodes} = ashlar.app.pictures[0]; return [boxes, nodes]")
        self.assertEqual(drawn, [30_000, 0])
        times = self.browser.run(self.ZOOM)
        print(f"30,000 buffers: {times}")
        if MILLION:
            self.assertLess(times["middle"], 1000 / 60)
        # The tree finds the same box under the pointer as a search of all boxes.
        for i in (5, 1234, 29_999):
            self.assertEqual(self.browser.run("""
                const {plan} = ashlar.app, i = arguments[0];
                return plan.tree.at(plan.first[i] + .25, plan.offset[i] + plan.size[i] / 2)""", i), i)

    def test_a_million_buffers_open(self):
        before, start = self.browser.processor_seconds(), time.monotonic()
        self.many(1_000_000)
        drawn = self.browser.run("const {boxes, nodes} = ashlar.app.pictures[0]; return {boxes, nodes}")
        taken = self.browser.processor_seconds() - before
        print(f"1,000,000 buffers: written and open in {time.monotonic() - start:.1f} s, {taken:.1f} s of them of the browser's processes, {drawn}")
        self.assertLess(taken, 10)
        if MILLION:
            print(f"1,000,000 buffers: {self.browser.run(self.ZOOM)}")


if __name__ == "__main__":
    if missing := browser.missing():
        print(f"skipped: {missing} is not installed (Debian: chromium, chromium-driver)")
        sys.exit(77)
    MILLION = "--million" in sys.argv
    COMMAND = str(pathlib.Path(sys.argv[1]).resolve())
    unittest.main(argv=sys.argv[:1] + [a for a in sys.argv[2:] if a != "--million"])
