//===- ConvolutionProblem.cpp - convolutions as products ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/ConvolutionProblem.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

static int64_t countPositions(const std::vector<PatchLoop> &loops) {
  int64_t count = 1;
  for (const PatchLoop &loop : loops)
    count *= loop.extent;
  return count;
}

int64_t ConvolutionProblem::getRows() const { return countPositions(rows); }
int64_t ConvolutionProblem::getDepth() const { return countPositions(depth); }

/// The loop that moves least in lhs becomes the innermost.
static void order(std::vector<PatchLoop> &loops, const std::vector<PatchDim> &dims) {
  auto getStride = [&](const PatchLoop &loop) { return loop.spatial < 0 ? loop.lhs : dims[loop.spatial].stride; };
  std::stable_sort(loops.begin(), loops.end(),
                   [&](const PatchLoop &a, const PatchLoop &b) { return getStride(a) > getStride(b); });
}

ConvolutionProblem meshwright::runtime::getProblem(const Convolution &convolution) {
  const auto &lhs = convolution.lhs_strides(), &rhs = convolution.rhs_strides(), &out = convolution.out_strides();
  ConvolutionProblem p;
  p.lhsType = convolution.lhs_dtype();
  p.rhsType = convolution.rhs_dtype();
  p.outType = convolution.out_dtype();
  p.rounded = convolution.rounded_dtype();
  p.ordered = convolution.ordered();
  p.groups = convolution.groups();
  p.channels = convolution.channels();
  p.features = convolution.features();
  p.lhsGroup = lhs[0];
  p.rhsGroup = rhs[0];
  p.outGroup = out[0];
  p.rhsFeature = rhs[2];
  p.outFeature = out[2];
  p.rhsStart = 0;
  p.rows.push_back({convolution.batch(), lhs[1], out[1]});
  p.depth.push_back({convolution.channels(), lhs[2], rhs[1]});
  for (int i = 0; i != convolution.window_size(); ++i) {
    const ConvolutionWindow &window = convolution.window(i);
    p.dims.push_back({window.in(), lhs[3 + i], window.lhs_dilation(), window.low()});
    p.rows.push_back({window.out(), 0, out[3 + i], i, window.stride()});
    int64_t step = rhs[3 + i];
    if (window.reversed()) {
      p.rhsStart += (window.size() - 1) * step;
      step = -step;
    }
    p.depth.push_back({window.size(), 0, step, i, window.rhs_dilation()});
  }
  order(p.rows, p.dims);
  order(p.depth, p.dims);
  return p;
}

std::optional<int64_t> meshwright::runtime::findStride(const std::vector<PatchLoop> &loops) {
  std::optional<int64_t> stride;
  int64_t inner = 1;
  for (size_t i = loops.size(); i-- != 0;) {
    if (loops[i].extent == 1)
      continue;
    if (!stride)
      stride = loops[i].other;
    else if (loops[i].other != *stride * inner)
      return std::nullopt;
    inner *= loops[i].extent;
  }
  return stride.value_or(1);
}

bool meshwright::runtime::canJoin(const std::vector<PatchLoop> &loops) {
  return loops.back().spatial < 0 && loops.back().lhs == 1;
}

void meshwright::runtime::listSpans(const std::vector<PatchLoop> &loops, bool joins, int64_t from, int64_t to,
                                    std::vector<Span> &spans) {
  spans.clear();
  for (int64_t at = from; at < to;) {
    Span span{at - from, 1};
    int64_t rest = at;
    for (size_t i = loops.size(); i-- != 0;) {
      const PatchLoop &loop = loops[i];
      int64_t index = rest % loop.extent;
      rest /= loop.extent;
      span.lhs += index * loop.lhs;
      span.other += index * loop.other;
      if (loop.spatial >= 0)
        span.position[loop.spatial] += index * loop.step;
      if (joins && i + 1 == loops.size())
        span.length = std::min(loop.extent - index, to - at);
    }
    at += span.length;
    spans.push_back(span);
  }
}
