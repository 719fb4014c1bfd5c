//===- Register.cpp - folds of net operations -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "meshwright/Rules/Rules.h"

void meshwright::registerNetFolds(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, net::NetDialect *) {
    net::fold::attachElementwise(context);
    net::fold::attachLayout(context);
    net::fold::attachContraction(context);
  });
}
