//===- BufferTable.h - the memory of a program's values ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_BUFFERTABLE_H
#define MESHWRIGHT_LIB_EMIT_BUFFERTABLE_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "package.pb.h"
#include <map>

namespace meshwright::emit {

/// Numbers the buffers of one rank's program. Its variants for different times share the buffers of variables,
/// constants, coordinates and results.
class BufferTable {
public:
  /// Buffers are added to `program`.
  explicit BufferTable(Program &program) : program(program) {}
  /// The loops of the function whose values are asked for from now on; `nest` has to outlive that.
  void enter(const net::LoopNest &nest) { this->nest = &nest; }

  uint32_t add(mlir::RankedTensorType type, uint64_t offset, llvm::StringRef name, Memory memory = DEVICE);
  /// The number of the buffer of `variable`; -1 where the ranks of `func` do not keep it.
  mlir::FailureOr<int64_t> addVariable(mlir::func::FuncOp func, net::VariableOp variable);
  /// States that `value` is in `buffer`.
  void set(mlir::Value value, uint32_t buffer) { buffers[value] = buffer; }

  uint32_t get(mlir::Value value);
  /// The memory of `value` from element `offset` on.
  uint32_t getFrom(mlir::Value value, int64_t offset);
  /// The buffer of a constant or coordinate, whatever variants have it.
  uint32_t getLeaf(mlir::Value value);
  size_t getNumLeaves() const { return leafBuffers.size(); }
  /// The part of `stack` that belongs to the iteration of `op`, in which `part` is or will be stored.
  uint32_t getPart(mlir::Operation *op, mlir::Value stack, mlir::Value part);
  uint32_t getVariable(mlir::StringAttr name) const { return variableBuffers.lookup(name); }

private:
  Program &program;
  const net::LoopNest *nest = nullptr;
  llvm::DenseMap<mlir::Value, uint32_t> buffers;
  llvm::DenseMap<mlir::StringAttr, uint32_t> variableBuffers;
  /// For variables with slots, by their places: the first slot's end, the number of slots and the bytes of one.
  struct Slots {
    uint64_t end;
    uint32_t number;
    uint64_t bytes;
  };
  std::map<uint64_t, Slots> slots;
  /// Buffers of constants and coordinates, by place and type.
  llvm::DenseMap<std::pair<int64_t, mlir::Type>, uint32_t> leafBuffers;
};

} // namespace meshwright::emit

#endif
