//===- GivenRules.h - registers the rules of the given dialect --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RULES_GIVENRULES_H
#define MESHWRIGHT_RULES_GIVENRULES_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace meshwright {

/// Attaches all aspects of meaning to the operations of `given`, as external models.
void registerGivenRules(mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
