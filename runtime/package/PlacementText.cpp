//===- PlacementText.cpp - placements as text -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/PlacementText.h"
#include <fmt/ranges.h>

using namespace meshwright;
using namespace meshwright::runtime;

std::string meshwright::runtime::toString(const Placement &placement, std::span<const int64_t> shape,
                                          const Mesh &mesh) {
  std::vector<std::string> dims;
  for (int dim = 0; dim != placement.dims_size(); ++dim) {
    std::vector<std::string> digits;
    int64_t left = shape[dim];
    for (const Split &split : placement.dims(dim).splits()) {
      if (split.extent() != left)
        digits.push_back(fmt::format("{}", left / split.extent()));
      digits.push_back(fmt::format("\"{}\"", mesh.getName(split.axis())));
      left = split.stride();
    }
    dims.push_back(fmt::format("[{}]", fmt::join(digits, ", ")));
  }
  std::vector<std::string> support;
  for (const Support &entry : placement.support())
    support.push_back(fmt::format("\"{}\" = [{}]", mesh.getName(entry.axis()), fmt::join(entry.coordinates(), ", ")));
  std::vector<std::string> partial;
  for (uint32_t axis : placement.partial())
    partial.push_back(fmt::format("\"{}\"", mesh.getName(axis)));
  return fmt::format("[{}]{}{}", fmt::join(dims, ", "),
                     partial.empty() ? "" : fmt::format(", partial = sum [{}]", fmt::join(partial, ", ")),
                     support.empty() ? "" : fmt::format(", on {{{}}}", fmt::join(support, ", ")));
}

std::string meshwright::runtime::toLower(std::string name) {
  for (char &c : name)
    c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  return name;
}
