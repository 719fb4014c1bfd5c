//===- Layout.cpp - sharding rules of layout operations --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broadcasts and transpositions keep whole dimensions. A reshape splits the dimensions of both shapes into the smallest
// groups with equal numbers of elements and factors each group by its common refinement: 6x4 -> 3x8 has the factors 3,
// 2 and 4. Slices, padding and concatenation split only dimensions that they leave whole.
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "Sharding.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

struct BroadcastSharding : ShardingOpInterface::ExternalModel<BroadcastSharding, BroadcastOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto broadcast = cast<BroadcastOp>(op);
    ShardingRule rule = ShardingRule::elementwise(sharding::shapeOf(broadcast.getResult()), 0);
    TensorRule &operand = rule.operands.emplace_back();
    for (int64_t dim : broadcast.getDims())
      operand.dims.push_back(rule.results[0].dims[dim]);
    sharding::passEveryReduction(rule, {0});
    return rule;
  }
};

struct TransposeSharding : ShardingOpInterface::ExternalModel<TransposeSharding, TransposeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto transpose = cast<TransposeOp>(op);
    ShardingRule rule = ShardingRule::elementwise(sharding::shapeOf(transpose.getOperand()), 1, 0);
    TensorRule &result = rule.results.emplace_back();
    for (int64_t dim : transpose.getPermutation())
      result.dims.push_back(rule.operands[0].dims[dim]);
    sharding::passEveryReduction(rule, {0});
    return rule;
  }
};

//===----------------------------------------------------------------------===//
// Reshape: both shapes are refined into the factors that they have in common
//===----------------------------------------------------------------------===//

/// A run of dimensions on either side with the same number of elements.
struct ReshapeGroup {
  SmallVector<unsigned, 2> from, to;
};

/// Pairs the dimensions of both shapes into the smallest groups; sizes of 1 join the group before them.
SmallVector<ReshapeGroup> groupDims(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<ReshapeGroup> groups;
  unsigned i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeGroup group;
    int64_t left = 1, right = 1;
    do {
      if (i < from.size() && (left <= right || j == to.size())) {
        left *= from[i];
        group.from.push_back(i++);
      } else {
        right *= to[j];
        group.to.push_back(j++);
      }
    } while ((left != right || group.from.empty() || group.to.empty()) && (i < from.size() || j < to.size()));
    groups.push_back(group);
  }
  return groups;
}

/// The number of elements of its group that one index of each dimension spans.
SmallVector<int64_t> getSpans(ArrayRef<int64_t> shape, ArrayRef<unsigned> dims) {
  SmallVector<int64_t> spans(dims.size(), 1);
  for (int i = static_cast<int>(dims.size()) - 2; i >= 0; --i)
    spans[i] = spans[i + 1] * shape[dims[i + 1]];
  return spans;
}

/// Adds the factors of one group to `rule`, or none where the shapes share no refinement.
void addGroup(ShardingRule &rule, ArrayRef<int64_t> from, ArrayRef<int64_t> to, const ReshapeGroup &group) {
  SmallVector<int64_t> fromSpans = getSpans(from, group.from), toSpans = getSpans(to, group.to);
  int64_t total = 1;
  for (unsigned dim : group.from)
    total *= from[dim];
  if (total == 0)
    return;
  // The boundaries between digits, major to minor; each has to divide the one before.
  SmallVector<int64_t> bounds{total, 1};
  bounds.append(fromSpans);
  bounds.append(toSpans);
  llvm::sort(bounds, std::greater<int64_t>());
  bounds.erase(llvm::unique(bounds), bounds.end());
  for (auto [major, minor] : llvm::zip(ArrayRef(bounds).drop_back(), ArrayRef(bounds).drop_front()))
    if (major % minor != 0)
      return;
  for (auto [major, minor] : llvm::zip(ArrayRef(bounds).drop_back(), ArrayRef(bounds).drop_front())) {
    FactorUse use{rule.addFactor(major / minor), major / minor};
    auto place = [&, minor = minor](ArrayRef<unsigned> dims, ArrayRef<int64_t> spans, ArrayRef<int64_t> shape,
                                    TensorRule &tensor) {
      for (auto [dim, span] : llvm::zip(dims, spans))
        if (shape[dim] > 1 && minor >= span && minor < span * shape[dim])
          tensor.dims[dim].push_back(use);
    };
    place(group.from, fromSpans, from, rule.operands[0]);
    place(group.to, toSpans, to, rule.results[0]);
  }
}

struct ReshapeSharding : ShardingOpInterface::ExternalModel<ReshapeSharding, ReshapeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reshape = cast<ReshapeOp>(op);
    ArrayRef<int64_t> from = sharding::shapeOf(reshape.getOperand()), to = sharding::shapeOf(reshape.getResult());
    ShardingRule rule = ShardingRule::whole(op);
    for (const ReshapeGroup &group : groupDims(from, to))
      addGroup(rule, from, to, group);
    sharding::passEveryReduction(rule, {0});
    return rule;
  }
};

//===----------------------------------------------------------------------===//
// Parts of a longer line: slice, pad, concatenate
//===----------------------------------------------------------------------===//

struct SliceSharding : ShardingOpInterface::ExternalModel<SliceSharding, SliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto slice = cast<SliceOp>(op);
    ArrayRef<int64_t> from = sharding::shapeOf(slice.getOperand()), to = sharding::shapeOf(slice.getResult());
    ShardingRule rule = ShardingRule::whole(op);
    for (size_t dim = 0; dim < from.size(); ++dim) {
      if (slice.getSteps()[dim] != 1)
        continue;
      unsigned factor = rule.addFactor(from[dim]);
      rule.operands[0].dims[dim] = {FactorUse{factor, from[dim]}};
      rule.results[0].dims[dim] = {FactorUse{factor, to[dim], slice.getStarts()[dim]}};
    }
    sharding::passEveryReduction(rule, {0});
    return rule;
  }
  FailureOr<SmallVector<Value>> localize(Operation *op, Localizer &localizer) const {
    return sharding::localizeSlice(cast<SliceOp>(op), localizer);
  }
};

struct PadSharding : ShardingOpInterface::ExternalModel<PadSharding, PadOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto pad = cast<PadOp>(op);
    ArrayRef<int64_t> from = sharding::shapeOf(pad.getOperand()), to = sharding::shapeOf(pad.getResult());
    ShardingRule rule = ShardingRule::whole(op);
    for (size_t dim = 0; dim < from.size(); ++dim) {
      int64_t low = pad.getLow()[dim];
      if (pad.getInterior()[dim] != 0)
        continue;
      unsigned factor = rule.addFactor(std::max(from[dim], to[dim]));
      rule.operands[0].dims[dim] = {FactorUse{factor, from[dim], std::max<int64_t>(low, 0)}};
      rule.results[0].dims[dim] = {FactorUse{factor, to[dim], std::max<int64_t>(-low, 0)}};
    }
    // A sum padded with zeros stays one; any reduction does if the value joins it.
    sharding::passEveryReduction(rule, {0, 1});
    if (sharding::isZero(pad.getValue()))
      rule.partials.insert(rule.partials.begin(), {ReduceKind::Sum, {0}});
    return rule;
  }
  FailureOr<SmallVector<Value>> localize(Operation *op, Localizer &localizer) const {
    return sharding::localizePad(cast<PadOp>(op), localizer);
  }
};

struct ConcatenateSharding : ShardingOpInterface::ExternalModel<ConcatenateSharding, ConcatenateOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto concatenate = cast<ConcatenateOp>(op);
    ShardingRule rule = ShardingRule::elementwise(sharding::shapeOf(concatenate.getResult()), op->getNumOperands());
    unsigned dim = concatenate.getDim();
    int64_t offset = 0;
    SmallVector<unsigned> operands;
    for (auto [index, operand] : llvm::enumerate(concatenate.getOperands())) {
      FactorUse &use = rule.operands[index].dims[dim].front();
      use.size = sharding::shapeOf(operand)[dim];
      use.offset = offset;
      offset += use.size;
      operands.push_back(index);
    }
    sharding::passEveryReduction(rule, operands);
    return rule;
  }
};

} // namespace

bool sharding::isZero(Value value) {
  while (auto reshard = value.getDefiningOp<ReshardOp>())
    value = reshard.getInput();
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

void sharding::registerLayout(MLIRContext *context) {
  BroadcastOp::attachInterface<BroadcastSharding>(*context);
  TransposeOp::attachInterface<TransposeSharding>(*context);
  ReshapeOp::attachInterface<ReshapeSharding>(*context);
  SliceOp::attachInterface<SliceSharding>(*context);
  PadOp::attachInterface<PadSharding>(*context);
  ConcatenateOp::attachInterface<ConcatenateSharding>(*context);
}
