//===- Constants.cpp - sharding rules of constants -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "Sharding.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// Every part of a constant can be made where it is needed.
template <typename OpT> struct ConstantSharding : ShardingOpInterface::ExternalModel<ConstantSharding<OpT>, OpT> {
  ShardingRule getShardingRule(Operation *op) const {
    return ShardingRule::elementwise(sharding::shapeOf(op->getResult(0)), 0);
  }
  FailureOr<SmallVector<Value>> localize(Operation *op, Localizer &localizer) const {
    if constexpr (std::is_same_v<OpT, ConstantOp>)
      return sharding::localizeConstant(cast<ConstantOp>(op), localizer);
    else
      return sharding::localizeIota(cast<IotaOp>(op), localizer);
  }
};

} // namespace

void sharding::registerConstants(MLIRContext *context) {
  ConstantOp::attachInterface<ConstantSharding<ConstantOp>>(*context);
  IotaOp::attachInterface<ConstantSharding<IotaOp>>(*context);
}
