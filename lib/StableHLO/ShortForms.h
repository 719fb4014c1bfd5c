//===- ShortForms.h - parsers shared by the short forms ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_SHORTFORMS_H
#define MESHWRIGHT_LIB_STABLEHLO_SHORTFORMS_H

#include "mlir/IR/OpImplementation.h"

namespace meshwright::importer {

/// Parses the types after an operation's colon and resolves its operands. The types are a function type; or one type
/// per operand (a single one applies to all), then optionally `->` and the type of the result, which defaults to that
/// of the operands.
mlir::ParseResult parseTypes(mlir::OpAsmParser &parser, mlir::OperationState &state,
                             llvm::ArrayRef<mlir::OpAsmParser::UnresolvedOperand> operands);

/// `optimization_barrier %a, %b : types`, with one type per operand, which is also that of its result
mlir::ParseResult parseBarrier(mlir::OpAsmParser &parser, mlir::OperationState &state);
/// `cholesky %a, lower = true : types`
mlir::ParseResult parseCholesky(mlir::OpAsmParser &parser, mlir::OperationState &state);
/// `composite "name" %a, %b {attributes} : types`
mlir::ParseResult parseComposite(mlir::OpAsmParser &parser, mlir::OperationState &state);
/// `custom_call @name(%a, %b) {attributes} : types`
mlir::ParseResult parseCustomCall(mlir::OpAsmParser &parser, mlir::OperationState &state);
/// `manual_computation(%a) in_shardings=[<@mesh, [{"dp"}]>] out_shardings=[…] manual_axes={"dp"} (%b: type) {…} :
/// types`
mlir::ParseResult parseManualComputation(mlir::OpAsmParser &parser, mlir::OperationState &state);
/// `reduce_precision %a, format = e5m10 : types`
mlir::ParseResult parseReducePrecision(mlir::OpAsmParser &parser, mlir::OperationState &state);
/// `top_k(%a, k = 2) : type -> (types)`
mlir::ParseResult parseTopK(mlir::OpAsmParser &parser, mlir::OperationState &state);

} // namespace meshwright::importer

#endif
