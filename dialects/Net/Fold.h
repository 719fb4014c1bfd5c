//===- Fold.h - simpler forms of operations ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_FOLD_H
#define MESHWRIGHT_DIALECTS_NET_FOLD_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/Net/NetFold.h.inc"

#endif
