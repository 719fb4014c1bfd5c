//===- ProgramWriter.h - writes the program of one rank ----------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_PROGRAMWRITER_H
#define MESHWRIGHT_LIB_EMIT_PROGRAMWRITER_H

#include "EpilogueWriter.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Codegen/KernelCompiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "package.pb.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace meshwright::emit {

/// The kernels of a package, each once.
class KernelTable {
public:
  /// The name of the function that computes `kernel`.
  llvm::StringRef getSymbol(dist::KernelOp kernel);
  llvm::ArrayRef<KernelJob> getJobs() const { return jobs; }

private:
  llvm::StringMap<unsigned> known;
  llvm::SmallVector<KernelJob> jobs;
};

/// The bytes of `constants.bin`, equal ones once.
class ConstantTable {
public:
  uint64_t add(mlir::ElementsAttr value);
  llvm::StringRef getBytes() const { return bytes; }

private:
  llvm::StringMap<uint64_t> known;
  std::string bytes;
};

/// Tables that the programs of a package share, and data for reports.
struct Tables {
  KernelTable kernels;
  ConstantTable constants;
  EpilogueTable epilogues;
};

/// `file:line` where `location` leads to one, else empty.
std::string getLocationText(mlir::Location location);
/// The element type of the schema; invalid where it has none.
DType getDType(mlir::Type element);

/// Writes the functions of a scheduled module that one rank runs: one, or variants of it for different times.
class ProgramWriter {
public:
  ProgramWriter(llvm::ArrayRef<mlir::func::FuncOp> variants, Tables &tables, Program &program)
      : variants(variants), func(variants.front()), kernels(tables.kernels), constants(tables.constants),
        epilogues(tables.epilogues), program(program) {}

  /// `variables` and the functions' results in the order of the package.
  mlir::LogicalResult write(llvm::ArrayRef<net::VariableOp> variables);

private:
  mlir::LogicalResult addVariables(llvm::ArrayRef<net::VariableOp> variables);
  void addInputs();
  void addFixedOutputs();
  mlir::LogicalResult addTask();
  mlir::FailureOr<int64_t> addVariable(net::VariableOp variable);
  void addCoordinate(dist::CoordinateOp op, uint32_t buffer);
  uint32_t getLeafBuffer(mlir::Value value);
  uint32_t addBuffer(mlir::RankedTensorType type, uint64_t offset, llvm::StringRef name, Memory memory = DEVICE);
  uint32_t getBuffer(mlir::Value value);
  /// The memory of a value from element `offset` on.
  uint32_t getBufferFrom(mlir::Value value, int64_t offset);
  mlir::LogicalResult addInstruction(mlir::Operation &op);
  void addKernel(dist::KernelOp op, Instruction &instruction);
  void addMatmul(dist::MatmulOp op, Instruction &instruction);
  void addConvolution(net::ConvolutionOp op, Instruction &instruction);
  mlir::LogicalResult addCollective(dist::CollectiveOp op, Instruction &instruction);
  void addHostCopy(dist::CopyOp op, Instruction &instruction);
  void addWait(dist::WaitOp op, Instruction &instruction);
  void addLoop(net::LoopOp op);
  bool isMadeInPlace(net::StackOp op);
  uint32_t getPart(mlir::Operation *op, mlir::Value stack, mlir::Value part);
  void addAssign(net::AssignOp op);
  void addOutputs(mlir::func::ReturnOp op);
  void copyOutputs(mlir::func::ReturnOp op);
  void addCopy(mlir::Operation *op, uint32_t from, uint32_t to);
  Instruction *startInstruction(mlir::Operation *op);

  llvm::ArrayRef<mlir::func::FuncOp> variants;
  /// The one that is being written.
  mlir::func::FuncOp func;
  net::LoopNest nest;
  KernelTable &kernels;
  ConstantTable &constants;
  EpilogueTable &epilogues;
  Program &program;
  Task *task = nullptr;
  /// The product that is the last instruction of the task, while it is.
  dist::MatmulOp lastProduct;
  llvm::DenseMap<mlir::Value, uint32_t> buffers;
  llvm::DenseMap<mlir::StringAttr, uint32_t> variableBuffers;
  /// For variables with slots, by their places: the first slot's end, the number of slots and the bytes of one.
  struct Slots {
    uint64_t end;
    uint32_t number;
    uint64_t bytes;
  };
  std::map<uint64_t, Slots> slots;
  /// Buffers of constants and coordinates, which variants share, by place and type.
  llvm::DenseMap<std::pair<int64_t, mlir::Type>, uint32_t> leafBuffers;
  /// Tags of collectives and copies that are only started.
  llvm::DenseMap<mlir::Operation *, uint32_t> tags;
  uint32_t nextTag = 0, nextCopyTag = 0;
};

} // namespace meshwright::emit

#endif
