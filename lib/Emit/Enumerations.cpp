//===- Enumerations.cpp - enumerations of the package ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Enumerations.h"

using namespace meshwright;

// The package numbers the kinds as Collectives.def does.
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS)                                          \
  static_assert(static_cast<int>(dist::CollectiveKind::KIND) == Collective::PACKAGED);
#include "meshwright/runtime/Collectives.def"
static_assert(Collective::Kind_ARRAYSIZE == kNumCollectives);

Collective::Kind emit::translate(dist::CollectiveKind kind) { return static_cast<Collective::Kind>(kind); }

Collective::Reduction emit::translate(dist::ReduceKind kind) {
  switch (kind) {
  case dist::ReduceKind::Sum:
    return Collective::SUM;
  case dist::ReduceKind::Product:
    return Collective::PRODUCT;
  case dist::ReduceKind::Max:
    return Collective::MAX;
  case dist::ReduceKind::Min:
    return Collective::MIN;
  case dist::ReduceKind::And:
    return Collective::AND;
  case dist::ReduceKind::Or:
    return Collective::OR;
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
