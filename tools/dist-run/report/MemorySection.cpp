//===- MemorySection.cpp - the memory of every rank -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Html.h"
#include "MemoryUse.h"
#include "Sections.h"
#include <algorithm>
#include <iterator>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

namespace {

/// Ranks whose memory is alike, and the bytes of all classes: those of the arena, of scratch memory, of copies for
/// checkpoints.
struct Bar {
  int64_t first, last;
  std::vector<uint64_t> bytes;

  std::string getLabel() const {
    return first == last ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}, each", first, last);
  }
  uint64_t getTotal() const {
    uint64_t total = 0;
    for (uint64_t part : bytes)
      total += part;
    return total;
  }
};

std::vector<std::string> getClasses() {
  std::vector<std::string> classes;
  for (size_t i = 0; i != kNumMemoryClasses; ++i)
    classes.emplace_back(getName(static_cast<MemoryClass>(i)));
  classes.emplace_back("scratch memory");
  classes.emplace_back("copies for checkpoints");
  return classes;
}

std::vector<Bar> getBars(const Session &session, bool serial, const CheckpointWriter *writer) {
  const meshwright::Package &message = session.getPackage().message();
  std::vector<MemoryUse> programs;
  for (const Program &program : message.programs())
    programs.push_back(getMemoryUse(message, program));
  std::vector<Bar> bars;
  for (int64_t rank = 0; rank != session.getNumRanks(); ++rank) {
    MemoryUse use =
        serial ? getMemoryUse(message, message.serial()) : programs[message.program_of_rank(static_cast<int>(rank))];
    std::vector<uint64_t> bytes(use.begin(), use.end());
    bytes.push_back(session.getMemory(rank).scratch);
    bytes.push_back(writer ? writer->getCopyBytes(rank) : 0);
    if (!bars.empty() && bars.back().bytes == bytes)
      bars.back().last = rank;
    else
      bars.push_back({rank, rank, std::move(bytes)});
  }
  return bars;
}

std::string drawBar(const Bar &bar, const std::vector<std::string> &classes, uint64_t most) {
  constexpr double width = 1000;
  std::string rects;
  double left = 0;
  for (size_t i = 0; i != bar.bytes.size(); ++i) {
    double size = most == 0 ? 0 : width * static_cast<double>(bar.bytes[i]) / static_cast<double>(most);
    if (bar.bytes[i] != 0)
      fmt::format_to(
          std::back_inserter(rects),
          "<rect class=\"c{}\" x=\"{:.2f}\" width=\"{:.2f}\" y=\"0\" height=\"20\"><title>{}: {}</title></rect>", i,
          left, size, classes[i], formatBytes(static_cast<double>(bar.bytes[i])));
    left += size;
  }
  return fmt::format("<figure><figcaption>{}: {}</figcaption><svg class=\"memory\" viewBox=\"0 0 {} 20\" "
                     "role=\"img\">{}</svg></figure>\n",
                     bar.getLabel(), formatBytes(static_cast<double>(bar.getTotal())), width, rects);
}

} // namespace

std::string meshwright::tool::drawMemory(const Session &session, bool serial, const CheckpointWriter *writer) {
  std::vector<Bar> bars = getBars(session, serial, writer);
  std::vector<std::string> classes = getClasses();
  uint64_t most = 0;
  for (const Bar &bar : bars)
    most = std::max(most, bar.getTotal());
  std::string drawing, legend, head, rows;
  for (const Bar &bar : bars)
    drawing += drawBar(bar, classes, most);
  std::vector<std::string> cells = {"bytes"};
  for (const Bar &bar : bars)
    cells.push_back(bar.getLabel());
  head = makeRow(cells, 1, true);
  for (size_t i = 0; i != classes.size(); ++i) {
    if (std::all_of(bars.begin(), bars.end(), [&](const Bar &bar) { return bar.bytes[i] == 0; }))
      continue;
    legend += fmt::format("<span><i class=\"c{}\"></i>{}</span>", i, classes[i]);
    cells = {classes[i]};
    for (const Bar &bar : bars)
      cells.push_back(fmt::format("{}", bar.bytes[i]));
    rows += makeRow(cells, 1);
  }
  return fmt::format(
      "<section id=\"memory\"><h2>Memory</h2>\n<p>What stays, and what is alive at the busiest moment of a "
      "step.</p>\n{}<p class=\"legend\">{}</p>\n<table><thead>{}</thead><tbody>{}</tbody></table></section>\n",
      drawing, legend, head, rows);
}
