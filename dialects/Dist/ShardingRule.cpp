//===- ShardingRule.cpp - digits of dimensions and splits of factors ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a rule against the types of its operation, and translates digits of dimensions to splits of factors and back.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/ShardingRule.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace meshwright::dist;

unsigned ShardingRule::addFactor(int64_t size) {
  FactorInfo info;
  info.size = size;
  factors.push_back(info);
  return factors.size() - 1;
}

ShardingRule ShardingRule::elementwise(ArrayRef<int64_t> shape, unsigned numOperands, unsigned numResults) {
  ShardingRule rule;
  TensorRule tensor;
  for (int64_t size : shape)
    tensor.dims.push_back({FactorUse{rule.addFactor(size), size}});
  rule.operands.assign(numOperands, tensor);
  rule.results.assign(numResults, tensor);
  return rule;
}

ShardingRule ShardingRule::whole(Operation *op) {
  auto describe = [](Value value) {
    TensorRule tensor;
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      tensor.dims.resize(type.getRank());
    return tensor;
  };
  ShardingRule rule;
  for (Value operand : op->getOperands())
    rule.operands.push_back(describe(operand));
  for (Value result : op->getResults())
    rule.results.push_back(describe(result));
  return rule;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyTensor(Operation *op, Value value, const TensorRule &tensor, StringRef what, unsigned index,
                                  size_t numFactors) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  unsigned rank = type ? type.getRank() : 0;
  if (tensor.dims.size() != rank)
    return op->emitOpError() << "sharding rule has " << tensor.dims.size() << " dimensions for " << what << " #"
                             << index << " of rank " << rank;
  for (auto [dim, uses] : llvm::enumerate(tensor.dims)) {
    int64_t product = 1;
    for (const FactorUse &use : uses) {
      if (use.factor >= numFactors)
        return op->emitOpError() << "sharding rule names factor " << use.factor << " of " << numFactors;
      product *= use.size;
    }
    if (!uses.empty() && product != type.getDimSize(dim))
      return op->emitOpError() << "sharding rule gives dimension " << dim << " of " << what << " #" << index << " size "
                               << product << " but it has " << type.getDimSize(dim);
  }
  return success();
}

LogicalResult ShardingRule::verify(Operation *op) const {
  if (operands.size() != op->getNumOperands() || results.size() != op->getNumResults())
    return op->emitOpError() << "sharding rule has " << operands.size() << " operands and " << results.size()
                             << " results but the operation has " << op->getNumOperands() << " and "
                             << op->getNumResults();
  for (auto [index, value, tensor] : llvm::enumerate(op->getOperands(), operands))
    if (failed(verifyTensor(op, value, tensor, "operand", index, factors.size())))
      return failure();
  for (auto [index, value, tensor] : llvm::enumerate(op->getResults(), results))
    if (failed(verifyTensor(op, value, tensor, "result", index, factors.size())))
      return failure();
  for (const PartialRule &partial : partials)
    for (unsigned operand : partial.operands)
      if (operand >= operands.size())
        return op->emitOpError() << "sharding rule names operand " << operand << " of " << operands.size();
  return success();
}

//===----------------------------------------------------------------------===//
// Digits of dimensions and splits of factors
//===----------------------------------------------------------------------===//

bool meshwright::dist::keepsParts(const FactorInfo &factor, const FactorSplit &split, int64_t n) {
  if (factor.reduction != ReduceKind::Tree)
    return true;
  int64_t part = factor.getPartSize();
  return split.stride > 0 && split.stride % part == 0 && factor.getNumParts() % (split.stride / part) == 0 &&
         split.stride * n == static_cast<int64_t>(llvm::alignTo(split.extent, part));
}

std::optional<FactorSplit> meshwright::dist::toFactorSplit(const TensorRule &tensor, unsigned dim, int64_t extent,
                                                           int64_t stride, int64_t n) {
  int64_t trailing = 1;
  for (const FactorUse &use : llvm::reverse(tensor.dims[dim])) {
    int64_t span = trailing * use.size;
    if (extent > span) {
      trailing = span;
      continue;
    }
    if (stride % trailing != 0 || extent % trailing != 0)
      return std::nullopt;
    FactorSplit split{use.factor, extent / trailing, stride / trailing, extent == span && use.offset == 0};
    if (split.open)
      return split;
    // The digit has a period, or the tensor does not begin at index 0 of the factor. Both the first index and the size
    // have to be multiples of the period, so that periods of the factor and of the dimension coincide.
    if (split.extent == 0 || use.offset % split.extent != 0 || use.size % split.extent != 0)
      return std::nullopt;
    return split;
  }
  return std::nullopt;
}

/// The extent of `split` in a tensor that spans `use` of the factor; nothing if the tensor cannot be split so.
static std::optional<int64_t> fitExtent(const FactorUse &use, const FactorSplit &split, int64_t n) {
  // An open split has no period: index i is on coordinate i / stride. The tensor may span fewer or more indices as long
  // as no coordinate is empty or holds more than `stride` of them.
  if (split.open && use.offset == 0 && use.size <= split.stride * n && use.size > split.stride * (n - 1))
    return use.size;
  // A split with a period fits tensors that consist of whole periods. An open split may be read as one with a period
  // too: both agree up to its extent. A tensor without indices has no period.
  if (split.extent == 0 || use.size == 0 || use.offset % split.extent != 0 || use.size % split.extent != 0)
    return std::nullopt;
  return split.extent;
}

TensorSplit meshwright::dist::toTensorSplit(const TensorRule &tensor, const FactorSplit &split, int64_t n) {
  TensorSplit result;
  for (auto [dim, uses] : llvm::enumerate(tensor.dims)) {
    int64_t trailing = 1;
    for (const FactorUse &use : llvm::reverse(uses)) {
      if (use.factor == split.factor) {
        std::optional<int64_t> extent = fitExtent(use, split, n);
        if (!extent || result.kind != TensorSplit::Kind::Absent) {
          result.kind = TensorSplit::Kind::Illegal;
          return result;
        }
        result = {TensorSplit::Kind::Present, static_cast<unsigned>(dim), *extent * trailing, split.stride * trailing};
      }
      trailing *= use.size;
    }
  }
  return result;
}
