# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests the page of --report: it needs nothing else, holds what the metrics and the plan say, and is there of runs that stop.

The page is read by an HTML parser. Its curves are the metrics, its pictures lie on a line with their values, the memory of a rank adds up to
the peak and has the parameters' bytes of the plan, and conversions are those of the plan. Names are hostile.
"""
import html.parser
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
AXIS = '<script>alert("&amp;\')</script>'
BATCHES = fixtures / "reference" / "gpt2-tiny-f64"
STRATEGY = f"""mesh {{ axes {{ name: {json.dumps(AXIS)} size: 2 }} axes {{ name: "dp" size: 2 }} }}
model {{ parameters: "p.*" batch {{ inputs: "ids" }} }} init {{ match: "*.scale" constant: 1 }} init {{ match: "*" normal {{ stddev: 0.02 }} }}
train {{ adamw {{ lr {{ warmup_cosine {{ peak: 1e-2 warmup: 2 total: 10 }} }} }} clip {{ global_norm: 0.5 }} precision {{ compute: BF16 loss_scale {{ dynamic {{ initial: 1024 window: 2 }} }} }} }}
data {{ axes: {json.dumps(AXIS)} axes: "dp" }} zero {{ axes: {json.dumps(AXIS)} axes: "dp" stage: 3 }}
"""
VOID = {"meta", "br", "img", "input", "link", "hr"}
TAGS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "section", "table", "thead", "tbody", "tr", "th", "td", "div", "figure",
        "figcaption", "output", "svg", "line", "text", "path", "circle", "rect", "span", "i", "pre", "script"}


class Page(html.parser.HTMLParser):
    """The contents of a page: texts by element with an id, rows of tables by section, and pictures."""

    def __init__(self, path):
        super().__init__()
        self.open, self.ids, self.rows, self.curves, self.texts = [], {}, {}, {}, []
        self.section, self.key = None, None
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)
        self.close()
        if self.open:
            sys.exit(f"{path}: {self.open} are not closed")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in TAGS:
            sys.exit(f"there is an element <{tag}>")
        for name, value in attributes.items():
            if name in ("src", "href") or name.startswith("on") or "javascript:" in value:
                sys.exit(f"<{tag}> has {name}={value}")
        if tag == "section":
            self.section = attributes["id"]
        if "data-key" in attributes:
            self.key = attributes["data-key"]
        if tag == "path":
            self.curves[self.key] = [tuple(map(float, point.split())) for point in re.split("[ML]", attributes["d"])[1:]]
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in ("td", "th"):
            self.rows[self.section][-1].append("")
        if tag not in VOID:
            self.open.append((tag, attributes.get("id")))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop()[0] != tag:
            sys.exit(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1][1]:
            self.ids[self.open[-1][1]] = self.ids.get(self.open[-1][1], "") + data
        if self.open and self.open[-1][0] in ("td", "th"):
            self.rows[self.section][-1][-1] += data


def run(*command, status=0):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != status:
        sys.exit(f"{' '.join(str(word) for word in command)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stderr


def read_metrics(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def check_curves(page, metrics):
    """The page's numbers are those of the metrics, and its pictures are linear in them."""
    curves = json.loads(page.ids["data"])["curves"]
    for key in ("loss", "grad_norm", "lr", "loss_scale", "tokens_per_s", "seconds", "model_flops_per_s"):
        expected = [[step["step"], step[key]] for step in metrics]
        if len(curves[key]) != len(expected) or any(
                left[0] != right[0] or not math.isclose(left[1], right[1], rel_tol=1e-12) for left, right in zip(curves[key], expected)):
            sys.exit(f"{key} is {curves[key]}, the metrics have {expected}")
        drawn = page.curves[key]
        if len(drawn) != len(expected):
            sys.exit(f"{key} is drawn with {len(drawn)} points, not {len(expected)}")
        for axis, sign in ((0, 1), (1, -1)):
            low, high = min(range(len(expected)), key=lambda i: expected[i][axis]), max(range(len(expected)), key=lambda i: expected[i][axis])
            span = expected[high][axis] - expected[low][axis]
            if span == 0:
                continue
            length = drawn[high][axis] - drawn[low][axis]
            if sign * length < 100:
                sys.exit(f"{key}: {expected[low]} to {expected[high]} is drawn over {length}")
            for value, point in zip(expected, drawn):
                where = drawn[low][axis] + (value[axis] - expected[low][axis]) / span * length
                if abs(where - point[axis]) > 0.02:
                    sys.exit(f"{key}: {value} is drawn at {point}, not {where}")


def check_memory(page, metrics, plan):
    head, *rows = page.rows["memory"]
    if head != ["bytes", "ranks 0 to 3, each"]:
        sys.exit(f"the memory is that of {head}")
    table = {name: int(count) for name, count in rows}
    if sum(table.values()) != metrics[0]["peak_bytes"]:
        sys.exit(f"{table} add up to {sum(table.values())}, not {metrics[0]['peak_bytes']}")
    parameters = sum(variable["bytes_per_rank"] for variable in plan["variables"] if variable["name"].startswith("p."))
    if table["parameters"] != parameters:
        sys.exit(f"parameters have {table['parameters']} bytes, not {parameters}")
    for name in ("optimizer state", "gradients", "fetched parameters", "activations and others"):
        if not table.get(name, 0) > 0 and name not in ("gradients", "fetched parameters"):
            sys.exit(f"there are no {name}: {table}")
    if not table.get("gradients", 0) + table.get("fetched parameters", 0) > 0:
        sys.exit(f"neither gradients nor fetched parameters are alive: {table}")


def check_conversions(page, plan):
    head, *rows, total = page.rows["plan"]
    if head[0] != "conversion" or total[0] != "all":
        sys.exit(f"the table of conversions begins with {head} and ends with {total}")
    expected = {}
    for conversion in plan["programs"][0]["conversions"]:
        entry = expected.setdefault((conversion["kind"], " x ".join(conversion["axes"]), conversion["dtype"]), [0, 0])
        entry[0] += 1
        entry[1] += conversion["bytes"]
    found = {}
    for kind, axes, dtype, values, launches, sent in rows:
        entry = found.setdefault((kind.split(" ")[0], axes, dtype), [0, 0])
        entry[0] += int(values)
        entry[1] += int(sent)
    if found.keys() != expected.keys() or any(
            found[key][0] != expected[key][0] or abs(found[key][1] - expected[key][1]) > 1 for key in expected):
        sys.exit(f"conversions are {found}, those of the plan {expected}")


(folder / "s.textproto").write_text(STRATEGY)
package = folder / "<b>&\"'"
run("dist-opt", fixtures / "gpt2-tiny.mlir", f"--strategy={folder}/s.textproto", f"--emit={package}", f"--plan={folder}/plan.json", "--quiet")
plan = json.loads((folder / "plan.json").read_text())
common = ["dist-run", package, f"--feed={BATCHES}/batch0.safetensors", "--quiet", f"--report={folder}/run.html", f"--metrics={folder}/m.jsonl"]

# A whole run, with a planned timeline.
run(*common, "--steps=6", "--link=20us,2GB/s")
page, metrics = Page(folder / "run.html"), read_metrics(folder / "m.jsonl")
if re.search(r"https?:|@import|url\(", page.text):
    sys.exit("the page loads something")
if page.ids["end"] != "Done." or str(package) not in page.ids["command"] or not any(AXIS in cell for row in page.rows["run"] for cell in row):
    sys.exit(f"the page says {page.ids}, {page.rows['run']}")
if 'class="timeline"' not in page.text:
    sys.exit("there is no timeline")
check_curves(page, metrics)
check_memory(page, metrics, plan)
check_conversions(page, plan)

# A run that fails in its third step.
for step in range(2):
    shutil.copy(BATCHES / f"batch{step}.safetensors", folder / f"b{step}.safetensors")
error = run("dist-run", package, f"--feed={folder}/b{{step}}.safetensors", "--quiet", "--steps=5", f"--report={folder}/failed.html",
            f"--metrics={folder}/failed.jsonl", status=1)
page, metrics = Page(folder / "failed.html"), read_metrics(folder / "failed.jsonl")
if len(metrics) != 2 or "b2.safetensors" not in page.ids["end"] or page.ids["end"].removeprefix("Stopped: ") not in error:
    sys.exit(f"of {len(metrics)} steps the page says {page.ids['end']}")
check_curves(page, metrics)

# A run that is interrupted.
process = subprocess.Popen([str(word) for word in common if word != "--quiet"] + ["--steps=1000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for _ in range(5):
    process.stdout.readline()
process.send_signal(signal.SIGINT)
output, error = process.communicate(timeout=300)
page, metrics = Page(folder / "run.html"), read_metrics(folder / "m.jsonl")
if process.returncode != 4 or page.ids["end"] != f"Stopped: interrupted before step {len(metrics)}" or not 5 <= len(metrics) < 1000000:
    sys.exit(f"ended with {process.returncode} after {len(metrics)} steps: {page.ids['end']}")
if len(metrics) < 1000:
    check_curves(page, metrics)

# A page that cannot be written is known before the first step.
error = run("dist-run", package, f"--feed={BATCHES}/batch0.safetensors", f"--report={folder}/no/such/folder", status=1)
if "no/such" not in error or "step 0" in error:
    sys.exit(f"a page that cannot be written: {error}")

# No step at all, and the serial program.
run("dist-run", package, "--steps=0", "--quiet", f"--report={folder}/none.html")
if Page(folder / "none.html").ids["end"] != "Done.":
    sys.exit("no step is not done")
run(*common, "--steps=2", "--serial")
page = Page(folder / "run.html")
if "Nothing is moved between ranks" not in page.text or ["program", "serial"] not in page.rows["run"]:
    sys.exit("the serial program moves something")
print("pages hold what they should")
