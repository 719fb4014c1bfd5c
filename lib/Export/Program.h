//===- Program.h - one module of StableHLO ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_PROGRAM_H
#define MESHWRIGHT_LIB_EXPORT_PROGRAM_H

#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "meshwright/Export/Writer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace meshwright::exporter {

/// A step, or an action of a pipeline, that becomes a module.
struct Program {
  mlir::func::FuncOp func;
  dist::Mesh mesh;
  /// The name of the module.
  std::string name;
  /// True for an action of a pipeline: its arguments and results are the variables that it reads and assigns, those
  /// within the step too, the inputs that it reads, and the number of the slice.
  bool isAction = false;
  /// The axis of stages, and the coordinate on it whose ranks run the action; no coordinate where all ranks do.
  dist::Axis stageAxis = 0;
  std::optional<int64_t> stage = {};

  /// The mesh of the ranks that run the program: the axis of stages has one coordinate of them.
  dist::Mesh getRanks() const;
};

/// Writes the text of the module, whose first line is a comment with its arguments and results as JSON.
mlir::FailureOr<std::string> writeProgram(const Program &program, ModuleForm form);

} // namespace meshwright::exporter

#endif
