//===- Register.cpp - net operations on batches of operands ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "meshwright/Rules/Rules.h"

void meshwright::registerNetBatches(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, net::NetDialect *) {
    net::batch::attachContraction(context);
    net::batch::attachIndexing(context);
    net::batch::attachLayout(context);
    net::batch::attachLoop(context);
    net::batch::attachReduction(context);
    net::batch::attachWindow(context);
  });
}
