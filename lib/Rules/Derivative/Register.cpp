//===- Register.cpp - derivatives of net operations -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "meshwright/Rules/Rules.h"

void meshwright::registerNetDerivatives(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, net::NetDialect *) {
    net::derivative::attachElementwise(context);
    net::derivative::attachLayout(context);
    net::derivative::attachContraction(context);
    net::derivative::attachReduction(context);
    net::derivative::attachIndexing(context);
    net::derivative::attachDynamic(context);
    net::derivative::attachMatrix(context);
    net::derivative::attachWindow(context);
  });
}
