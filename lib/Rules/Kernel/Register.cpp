//===- Register.cpp - attaches the kernel lowerings -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "meshwright/Rules/Rules.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace meshwright;

void meshwright::registerNetKernels(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  registry.addExtension(+[](mlir::MLIRContext *context, net::NetDialect *) {
    kernel::registerConstants(context);
    kernel::registerContraction(context);
    kernel::registerDynamic(context);
    kernel::registerElementwise(context);
    kernel::registerGather(context);
    kernel::registerLayout(context);
    kernel::registerMatrix(context);
    kernel::registerOrder(context);
    kernel::registerReduction(context);
    kernel::registerScatter(context);
    kernel::registerWindow(context);
  });
}
