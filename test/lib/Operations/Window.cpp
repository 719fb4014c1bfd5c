//===- Window.cpp - cases of convolutions and sliding windows -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"
#include "test/lib/Operations/WindowLists.h"

using namespace meshwright;
using namespace meshwright::test;

/// A window over a dimension of `extent`, now and then one that does not slide. All its places show an element where
/// `isFull`.
static net::WindowDim drawWindow(CaseSource &source, int64_t extent, bool isFull) {
  if (source.chance(30) || (isFull && extent == 0))
    return {};
  while (true) {
    net::WindowDim window{source.pick(1, 3), source.pick(1, 3)};
    window.low = source.pick(isFull ? 0 : -1, isFull ? window.size - 1 : 3);
    window.high = source.pick(isFull ? 0 : -1, isFull ? window.size - 1 : 3);
    window.baseDilation = isFull ? 1 : source.pick(1, 3);
    window.windowDilation = isFull ? 1 : source.pick(1, 3);
    if (isFull && extent < window.size)
      continue;
    if (*window.countPlaces(extent) > 0)
      return window;
  }
}

/// A convolution [b, s.., f] x [s.., i, o], with groups of that many features or of the batch.
static OperationCase drawConvolution(CaseSource &source, int64_t groups, int64_t batchGroups, int64_t spatial) {
  int64_t batch = source.size(), channels = source.size(), outputs = groups * batchGroups * source.size();
  CaseShape lhs = {batch * batchGroups}, rhs, result = {batch}, places, kernelPlaces;
  WindowLists lists;
  std::string reversed;
  for (int64_t dim = 0; dim < spatial; ++dim) {
    int64_t extent = source.size();
    net::WindowDim window = drawWindow(source, extent, /*isFull=*/false);
    lists.add(window);
    lhs.push_back(extent);
    rhs.push_back(window.size);
    result.push_back(*window.countPlaces(extent));
    places.push_back(dim + 1);
    kernelPlaces.push_back(dim);
    reversed += std::string(dim == 0 ? "" : ", ") + (source.chance(30) ? "true" : "false");
  }
  lhs.push_back(channels * groups);
  rhs.insert(rhs.end(), {channels, outputs});
  result.push_back(outputs);
  auto printSpatial = [&](const char *name, const CaseShape &dims) {
    return dims.empty() ? std::string() : std::string(", ") + name + " = " + printList(dims);
  };
  std::string last = std::to_string(spatial + 1);
  std::string text = "net.convolution %a, %b <lhsBatch = 0, lhsFeature = " + last + printSpatial("lhsSpatial", places) +
                     ", rhsInput = " + std::to_string(spatial) + ", rhsOutput = " + last +
                     printSpatial("rhsSpatial", kernelPlaces) + ", outBatch = 0, outFeature = " + last +
                     printSpatial("outSpatial", places) + "> strides = " + printList(lists.strides) +
                     " low = " + printList(lists.low) + " high = " + printList(lists.high) +
                     " lhs_dilation = " + printList(lists.base) + " rhs_dilation = " + printList(lists.window) +
                     " reversed = [" + reversed + "] groups = " + std::to_string(groups) + " x " +
                     std::to_string(batchGroups) + " : " + printType(lhs) + ", " + printType(rhs) + " -> " +
                     printType(result);
  return {{{lhs}, {rhs}}, text};
}

static std::string printWindows(const WindowLists &lists) {
  return " sizes = " + printList(lists.sizes) + " strides = " + printList(lists.strides) +
         " low = " + printList(lists.low) + " high = " + printList(lists.high) +
         " base_dilation = " + printList(lists.base) + " window_dilation = " + printList(lists.window) + " : ";
}

/// Windows over a tensor of two dimensions: their lists, and the shape of their places.
static WindowLists drawWindows(CaseSource &source, const CaseShape &shape, CaseShape &places, bool isFull) {
  WindowLists lists;
  for (int64_t extent : shape) {
    net::WindowDim window = drawWindow(source, extent, isFull);
    lists.add(window);
    places.push_back(*window.countPlaces(extent));
  }
  return lists;
}

static CaseFamily makeReduceWindow(const std::string &kind, const std::string &element) {
  auto draw = [=](CaseSource &source) {
    CaseShape shape = source.shape(2), places;
    // The extremum of nothing is infinite.
    WindowLists lists = drawWindows(source, shape, places, /*isFull=*/kind == "max" || kind == "min");
    return OperationCase{{{shape, element}},
                         "net.reduce_window " + kind + " %a" + printWindows(lists) + printType(shape, element) +
                             " -> " + printType(places, element)};
  };
  return {"net.reduce_window", kind + " of " + element, draw};
}

static OperationCase drawSelectAndScatter(CaseSource &source) {
  CaseShape shape = source.shape(2), places;
  WindowLists lists = drawWindows(source, shape, places, /*isFull=*/false);
  std::string kind = source.choose<std::string>({"max", "min"});
  return {{{shape}, {places}},
          "net.select_and_scatter " + kind + " %a, %b" + printWindows(lists) + printType(shape) + ", " +
              printType(places) + " -> " + printType(shape)};
}

void test::addWindowFamilies(std::vector<CaseFamily> &families) {
  auto addConvolution = [&](const char *what, int64_t groups, int64_t batchGroups, int64_t spatial) {
    families.push_back({"net.convolution", what,
                        [=](CaseSource &source) { return drawConvolution(source, groups, batchGroups, spatial); }});
  };
  addConvolution("of two spatial dimensions", 1, 1, 2);
  addConvolution("of none", 1, 1, 0);
  addConvolution("in groups of features", 4, 1, 1);
  addConvolution("in groups of the batch", 1, 4, 1);
  families.push_back(makeReduceWindow("sum", "f64"));
  families.push_back(makeReduceWindow("max", "f64"));
  families.push_back(makeReduceWindow("min", "f64"));
  families.push_back(makeReduceWindow("product", "f64"));
  families.push_back(makeReduceWindow("or", "i32"));
  families.push_back({"net.select_and_scatter", "f64", drawSelectAndScatter});
}
