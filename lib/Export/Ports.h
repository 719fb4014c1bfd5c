//===- Ports.h - the arguments and results of a module ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_PORTS_H
#define MESHWRIGHT_LIB_EXPORT_PORTS_H

#include "Program.h"
#include "Storage.h"

namespace meshwright::exporter {

/// An argument or a result of a module.
struct Port {
  /// The dotted name, and the path from which Import makes it.
  std::string name, path;
  Storage storage;
  mlir::RankedTensorType local;
  /// The purpose: `parameter`, `input`, `output`, ….
  llvm::StringRef kind;
  /// The coordinates of the axis of stages that hold the value; empty for all.
  llvm::SmallVector<int64_t, 1> holders = {};
  /// The variable, the number of the input or the output, or the axis of times whose coordinate it is.
  net::VariableOp variable = {};
  unsigned index = 0;
  std::optional<dist::Axis> time = {};
  /// The number of the result that takes the memory of this argument.
  std::optional<unsigned> heir = {};

  /// True for the number of the step, of those whose gradients become one update.
  bool isCounter() const;
  /// The type in the signature.
  mlir::RankedTensorType getType(ModuleForm form, const dist::Mesh &mesh) const {
    return form == ModuleForm::Manual ? storage.getGlobal() : storage.getLocal(mesh);
  }
};

/// The arguments and results of a program, in their order.
class Ports {
public:
  /// Fails after an error at a variable or a function whose placements the mesh does not have.
  static mlir::FailureOr<Ports> find(const Program &program);

  /// Names, kinds, and how the values are stored.
  llvm::json::Object describe(ModuleForm form) const;

  llvm::SmallVector<Port, 0> arguments, results;

private:
  explicit Ports(const Program &program) : program(program), mesh(program.getRanks()) {}

  mlir::LogicalResult find();
  mlir::FailureOr<dist::Placement> getPlacement(mlir::Operation *op, mlir::RankedTensorType whole,
                                                dist::MappingAttr mapping) const;
  mlir::LogicalResult add(llvm::SmallVectorImpl<Port> &ports, mlir::Operation *op, llvm::StringRef name,
                          std::string path, mlir::Type local, mlir::TypeAttr global, dist::MappingAttr mapping,
                          llvm::StringRef kind);
  mlir::LogicalResult addVariable(llvm::SmallVectorImpl<Port> &ports, net::VariableOp variable);
  void addNumber(dist::Axis axis, llvm::StringRef kind);
  bool readsTime(dist::Axis axis) const;

  Program program;
  /// The ranks that run the program.
  dist::Mesh mesh;
};

} // namespace meshwright::exporter

#endif
