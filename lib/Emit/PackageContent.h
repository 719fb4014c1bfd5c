//===- PackageContent.h - writes the programs of a package's message -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_PACKAGECONTENT_H
#define MESHWRIGHT_LIB_EMIT_PACKAGECONTENT_H

#include "ProgramWriter.h"
#include "meshwright/Emit/Emit.h"

namespace meshwright::emit {

/// Writes the programs of one scheduled module, for all ranks and serial, with their variables, inputs and outputs.
/// Kernels and constants go into tables that the modules of a package share.
class ContentWriter {
public:
  ContentWriter(mlir::ModuleOp module, mlir::ModuleOp serial, Tables &tables, Package &package);

  mlir::LogicalResult write(const ProgramMetrics &metrics);

private:
  void describeMetrics(const ProgramMetrics &described);
  mlir::LogicalResult describe();
  mlir::LogicalResult describeVariables();
  mlir::LogicalResult describePorts(mlir::func::FuncOp func);
  mlir::LogicalResult describeValue(mlir::Location location, mlir::Type local, mlir::Attribute global,
                                    mlir::Attribute mapping, DType &dtype,
                                    google::protobuf::RepeatedField<int64_t> &shape, meshwright::Placement &placement);
  mlir::LogicalResult writeProgram(llvm::ArrayRef<mlir::func::FuncOp> variants, Program &program);
  mlir::LogicalResult writePrograms();

  mlir::ModuleOp module, serial;
  Tables &tables;
  Package &package;
  std::optional<dist::Mesh> mesh;
};

} // namespace meshwright::emit

#endif
