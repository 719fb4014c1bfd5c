// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The precompiled header of rooms that depend on both dialects of the project, and of tools and tests: what most of
// them include, and the dialects of MLIR that kernels are written in, which take seconds to read.

#include "pch.h"

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
