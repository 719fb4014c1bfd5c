//===- Register.cpp - attaches the forms of operations --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Export/Export.h"

using namespace meshwright;

void exporter::registerForms(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, dist::DistDialect *) { attachCollectives(context); });
  registry.addExtension(+[](mlir::MLIRContext *context, net::NetDialect *) {
    attachContraction(context);
    attachElementwise(context);
    attachIndexing(context);
    attachLayout(context);
    attachMatrix(context);
    attachOrder(context);
    attachReduction(context);
    attachWindow(context);
  });
}
