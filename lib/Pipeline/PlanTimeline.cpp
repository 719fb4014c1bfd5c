//===- PlanTimeline.cpp - the part of a plan about starts and waits -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTimeline.h"
#include "meshwright/Support/Units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using schedule::Event;

static StringRef stringifyKind(Event::Kind kind) {
  return kind == Event::Start ? "start" : kind == Event::Wait ? "wait" : "blocking";
}

int64_t meshwright::countLaunches(ArrayRef<Event> timeline) {
  int64_t launches = 0;
  for (const Event &event : timeline)
    launches += event.kind != Event::Wait && !event.isCopy ? event.iterations : 0;
  return launches;
}

void meshwright::printTimeline(llvm::json::OStream &json, ArrayRef<Event> timeline) {
  json.attributeArray("timeline", [&] {
    for (const Event &event : timeline)
      json.object([&] {
        json.attribute("axes", llvm::json::Array(event.axes));
        json.attribute("bytes", event.bytes);
        json.attribute("collective", event.collective);
        json.attribute("event", stringifyKind(event.kind));
        json.attribute("launch", event.launch);
        json.attribute("parts", llvm::json::Array(event.parts));
        json.attribute("position", event.position);
        json.attribute("role", event.role);
        if (event.segment)
          json.attribute("segment", *event.segment);
        if (event.iterations > 1)
          json.attribute("iterations", event.iterations);
      });
  });
}

void meshwright::printTimeline(llvm::raw_ostream &out, ArrayRef<Event> timeline) {
  if (timeline.empty())
    return;
  // One name stands for its launch; --plan has all.
  out << "timeline, by instructions that come before:\n";
  for (const Event &event : timeline) {
    out << llvm::format("    %6lld  %-8s #%lld ", static_cast<long long>(event.position),
                        stringifyKind(event.kind).str().c_str(), static_cast<long long>(event.launch));
    if (event.kind != Event::Wait) {
      out << event.collective << (event.isCopy ? "" : " over ") << llvm::join(event.axes, ", ") << ", "
          << formatBytes(static_cast<double>(event.bytes)) << ": " << event.parts.front();
      if (event.parts.size() > 1)
        out << " and " << event.parts.size() - 1 << " more";
      if (event.segment)
        out << ", for segment " << *event.segment;
      if (event.iterations > 1)
        out << ", " << event.iterations << " times";
    }
    out << "\n";
  }
  out << "\n";
}
