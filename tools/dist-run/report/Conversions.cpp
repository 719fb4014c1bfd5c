//===- Conversions.cpp - what the steps of a program move -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversions.h"
#include "meshwright/runtime/Communicator.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

static ConversionKey getKey(const Collective &collective, const Mesh &mesh) {
  ConversionKey key{std::string(runtime::getName(collective.kind())), "", std::string(getName(collective.dtype()))};
  if (isReducing(collective.kind())) {
    std::string reduction = Collective::Reduction_Name(collective.reduction());
    std::transform(reduction.begin(), reduction.end(), reduction.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    key.kind += " (" + reduction + ")";
  }
  for (uint32_t axis : collective.axes())
    key.axes += (key.axes.empty() ? "" : " x ") + mesh.getName(axis);
  return key;
}

std::map<ConversionKey, ConversionCount> meshwright::tool::countConversions(const Program &program, uint32_t position,
                                                                            const Mesh &mesh) {
  std::map<ConversionKey, ConversionCount> counts;
  forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &) {
    if (!instruction.has_collective())
      return;
    const Collective &collective = instruction.collective();
    uint64_t members = 1;
    for (uint32_t axis : collective.axes())
      members *= mesh.getSize(axis);
    ConversionCount &count = counts[getKey(collective, mesh)];
    ++count.launches;
    count.values += static_cast<uint64_t>(collective.parts_size());
    // In a send one end sends and the other receives.
    for (const CollectivePart &part : collective.parts())
      if (collective.kind() != Collective::SEND || part.has_in())
        count.bytes += getSentBytes(collective.kind(), members, part.count() * getSize(collective.dtype()));
  });
  return counts;
}
