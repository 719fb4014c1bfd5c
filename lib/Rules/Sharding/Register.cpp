//===- Register.cpp - attaches the sharding rules --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"
#include "meshwright/Rules/Rules.h"

using namespace meshwright;

void meshwright::registerNetSharding(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, net::NetDialect *) {
    sharding::registerConstants(context);
    sharding::registerContraction(context);
    sharding::registerDynamic(context);
    sharding::registerElementwise(context);
    sharding::registerIndexing(context);
    sharding::registerLayout(context);
    sharding::registerLoop(context);
    sharding::registerMatrix(context);
    sharding::registerOrder(context);
    sharding::registerReduction(context);
    sharding::registerWindow(context);
  });
  registry.addExtension(
      +[](mlir::MLIRContext *context, dist::DistDialect *) { sharding::registerAccumulate(context); });
}
