//===- Page.h - what every report has in common -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page loads nothing from elsewhere. It says everything without its script, which shows the value below the
// pointer.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_REPORT_PAGE_H
#define MESHWRIGHT_TOOLS_DISTRUN_REPORT_PAGE_H

#include <string_view>

namespace meshwright::tool {

inline constexpr std::string_view kStyle = R"(
body { font: 14px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; color: #222; }
h1 { font-size: 1.5em; margin-bottom: 0; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; } th, td { padding: .15em .8em .15em 0; text-align: left; vertical-align: top; }
th { font-weight: 600; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
tbody tr:nth-child(odd) { background: #f5f6f8; }
pre { background: #f5f6f8; padding: .6em; overflow-x: auto; white-space: pre-wrap; }
.failed { color: #a11; font-weight: 600; }
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(360px, 1fr)); gap: 1em; }
figure { margin: 0; } figcaption { font-weight: 600; } output { font-weight: 400; color: #555; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 11px; fill: #555; } svg text.y { text-anchor: end; dominant-baseline: middle; } svg text.x { text-anchor: middle; }
.grid { stroke: #e3e5e9; } .curve path { fill: none; stroke: #2060b0; stroke-width: 1.5; } .curve circle { fill: #2060b0; }
.legend span { display: inline-block; margin-right: 1.2em; } .legend i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; }
.c0 { fill: #2060b0; background: #2060b0; } .c1 { fill: #58a; background: #58a; } .c2 { fill: #8bc; background: #8bc; }
.c3 { fill: #aab; background: #aab; } .c4 { fill: #c33; background: #c33; } .c5 { fill: #e90; background: #e90; }
.c6 { fill: #4a4; background: #4a4; } .c7 { fill: #e3e5e9; background: #e3e5e9; } .c8 { fill: #764; background: #764; }
.c9 { fill: #a6c; background: #a6c; } svg text.box { fill: #fff; text-anchor: middle; font-size: 9px; }
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #ddd; } tbody tr:nth-child(odd), pre { background: #20242a; }
  svg text { fill: #aaa; } .grid { stroke: #333840; } output { color: #aaa; } .curve path { stroke: #6aa9f0; } .failed { color: #f77; }
})";

inline constexpr std::string_view kScript = R"(
const curves = JSON.parse(document.getElementById("data").textContent).curves;
for (const svg of document.querySelectorAll("svg.curve")) {
  const points = curves[svg.dataset.key], output = svg.parentElement.querySelector("output");
  const [low, high, left, right] = svg.dataset.x.split(" ").map(Number);
  svg.addEventListener("pointerleave", () => { output.textContent = ""; });
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const step = low + (at - left) / (right - left) * (high - low);
    const near = points.reduce((best, point) => Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best);
    output.textContent = `step ${near[0]}: ${near[1] === null ? "not finite" : near[1]}`;
  });
})";

} // namespace meshwright::tool

#endif
