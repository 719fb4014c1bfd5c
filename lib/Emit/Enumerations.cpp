//===- Enumerations.cpp - enumerations of the package ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Enumerations.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace meshwright;

// The package numbers the kinds as Collectives.def does.
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS)                                          \
  static_assert(static_cast<int>(dist::CollectiveKind::KIND) == Collective::PACKAGED);
#include "meshwright/runtime/Collectives.def"
static_assert(Collective::Kind_ARRAYSIZE == kNumCollectives);

Collective::Kind emit::translate(dist::CollectiveKind kind) { return static_cast<Collective::Kind>(kind); }

Collective::Reduction emit::translate(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return Collective::SUM;
  case ReduceKind::Product:
    return Collective::PRODUCT;
  case ReduceKind::Max:
    return Collective::MAX;
  case ReduceKind::Min:
    return Collective::MIN;
  case ReduceKind::And:
    return Collective::AND;
  case ReduceKind::Or:
    return Collective::OR;
  case ReduceKind::Tree:
    return Collective::TREE;
  }
  llvm_unreachable("all kinds are covered");
}

Variable::Kind emit::translate(net::VariableKind kind) {
  switch (kind) {
  case net::VariableKind::Parameter:
    return Variable::PARAMETER;
  case net::VariableKind::OptimizerState:
    return Variable::OPTIMIZER_STATE;
  case net::VariableKind::Counter:
    return Variable::COUNTER;
  case net::VariableKind::Buffer:
    return Variable::BUFFER;
  case net::VariableKind::Accumulator:
    return Variable::ACCUMULATOR;
  }
  llvm_unreachable("all kinds are covered");
}

Initializer::Kind emit::translate(net::InitializerKind kind) {
  switch (kind) {
  case net::InitializerKind::Constant:
    return Initializer::CONSTANT;
  case net::InitializerKind::Normal:
    return Initializer::NORMAL;
  case net::InitializerKind::TruncatedNormal:
    return Initializer::TRUNCATED_NORMAL;
  case net::InitializerKind::Uniform:
    return Initializer::UNIFORM;
  }
  llvm_unreachable("all kinds are covered");
}

/// The 8-bit float types of the schema.
static DType getFloat8(mlir::Type element) {
  return llvm::TypeSwitch<mlir::Type, DType>(element)
      .Case([](mlir::Float8E4M3FNType) { return F8E4M3FN; })
      .Case([](mlir::Float8E5M2Type) { return F8E5M2; })
      .Case([](mlir::Float8E4M3B11FNUZType) { return F8E4M3B11FNUZ; })
      .Case([](mlir::Float8E4M3FNUZType) { return F8E4M3FNUZ; })
      .Case([](mlir::Float8E5M2FNUZType) { return F8E5M2FNUZ; })
      .Case([](mlir::Float8E4M3Type) { return F8E4M3; })
      .Case([](mlir::Float8E3M4Type) { return F8E3M4; })
      .Default(DTYPE_INVALID);
}

DType emit::getDType(mlir::Type element) {
  if (element.isF32())
    return F32;
  if (element.isF64())
    return F64;
  if (element.isBF16())
    return BF16;
  if (element.isF16())
    return F16;
  auto integer = llvm::dyn_cast<mlir::IntegerType>(element);
  if (!integer)
    return getFloat8(element);
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return I1;
  case 8:
    return isUnsigned ? U8 : I8;
  case 16:
    return isUnsigned ? U16 : I16;
  case 32:
    return isUnsigned ? U32 : I32;
  case 64:
    return isUnsigned ? U64 : I64;
  default:
    return DTYPE_INVALID;
  }
}
