//===- KernelLowering.h - lowers a kernel's functions to LLVM -----*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_KERNELLOWERING_H
#define MESHWRIGHT_CODEGEN_KERNELLOWERING_H

#include "dialects/Dist/Dist.h"
#include "meshwright/Codegen/Division.h"
#include "meshwright/Codegen/ElementEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright::emit {

/// The implementation of functions like exponentials, besides f32 polynomials.
enum class MathFunctions {
  /// Calls of a library that is linked.
  Library,
  /// Expansions into basic operations.
  Expanded,
  /// The same, but exponentials of f32 by an instruction of NVIDIA's GPUs. exp(x) has a relative error of about
  /// 2^-22 + |x| · 2^-24.
  Approximate
};

/// The numbers that kernels compute with: the program's floats, or those that stand for floats in a check: residues
/// (Residue.h), or the f64 of the twin (Rounding.h).
enum class Numbers { Floats, Residues, Doubles };

/// The module of a kernel while it is lowered. Its internal functions take one pointer for each piece of memory: an
/// output that is where an input was has the input's, so that no two of them alias.
class KernelLowering {
public:
  explicit KernelLowering(dist::KernelOp kernel);

  /// Gives functions and entries a further pointer, to scratch memory; before any of them is added.
  void addScratch() { hasScratch = true; }
  /// Gives functions and the entry the iterations that they run, two numbers; before any of them is added.
  void addIterations(const Division &divided) { division = divided; }
  /// Lets the kernel compute with numbers that stand for floats, with `scale` bytes of memory for each byte of an
  /// element; before any function is added.
  void substituteFloats(Numbers numbers, int64_t scale) {
    this->numbers = numbers;
    wordScale = scale;
  }
  /// Adds an internal function; `emit` writes its body with the addresses of inputs, then outputs, then scratch memory,
  /// then the first iteration and the end of them.
  void addFunction(llvm::StringRef name, llvm::function_ref<void(LoopBuilder &, mlir::ValueRange)> emit);
  /// Adds the whole kernel as an internal function, the way for operations that are not of the planned forms: buffers
  /// for tensors, one loop nest per operation.
  mlir::LogicalResult addBufferized(llvm::StringRef name);
  /// Lowers all functions to the llvm dialect. Where the machine rounds f32 to bf16 itself, that is left to LLVM.
  mlir::LogicalResult lower(MathFunctions functions, bool roundsToBf16 = false);
  /// Adds the function `void name(ptr)` that takes the addresses out of an array and calls `callee`, and beside it the
  /// numbers `name_buffers`: how many inputs and outputs there are, and a record of each (KernelBuffer). With
  /// iterations it adds `name_division`, too: the function `void name_part(ptr, begin, end)`, the number of iterations
  /// and the grain (KernelTable.h).
  void addEntry(llvm::StringRef name, llvm::StringRef callee);
  /// Adds the function of a GPU, launched with blocks of so many threads, that takes a pointer for every input and
  /// output, and for scratch memory, and calls `callee`.
  void addDeviceEntry(llvm::StringRef name, llvm::StringRef callee, unsigned threads);

  unsigned getNumInputs();
  /// The types of inputs, then outputs.
  llvm::ArrayRef<mlir::RankedTensorType> getTypes() const { return types; }
  mlir::OwningOpRef<mlir::ModuleOp> takeModule() { return std::move(module); }

private:
  mlir::func::FuncOp createFunction(llvm::StringRef name);
  mlir::LogicalResult buildBody(mlir::func::FuncOp func);
  mlir::LogicalResult simplifyMath(MathFunctions functions, bool roundsToBf16);
  mlir::LogicalResult lowerStructure(MathFunctions functions);
  mlir::LogicalResult convertToLLVM();
  void addBuffers(llvm::StringRef name, llvm::StringRef callee);
  mlir::LLVM::LLVMFuncOp addCall(llvm::StringRef name, llvm::StringRef callee);
  void addDivision(llvm::StringRef name, mlir::LLVM::LLVMFuncOp part);

  dist::KernelOp kernel;
  mlir::Location location;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<mlir::RankedTensorType> types;
  /// For every input and output the pointer argument of the functions that it comes in.
  llvm::SmallVector<unsigned> pointerOf;
  bool hasScratch = false;
  std::optional<Division> division;
  Numbers numbers = Numbers::Floats;
  /// 1 for floats.
  int64_t wordScale = 1;
};

} // namespace meshwright::emit

#endif
