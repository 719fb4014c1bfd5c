//===- EpilogueWriter.h - writes the epilogue of a GEMM's instruction -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_EPILOGUEWRITER_H
#define MESHWRIGHT_LIB_EMIT_EPILOGUEWRITER_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Codegen/EpilogueTable.h"
#include "meshwright/Kernels/ProductEpilogue.h"
#include "package.pb.h"

namespace meshwright::emit {

/// Adds `kernel` after `op` to `product`, the instruction of `op`, as its epilogue, if Schedule has annotated it as one
/// and memory allows it. `getBuffer` returns the buffers of values in `program`.
void addEpilogue(dist::MatmulOp op, dist::KernelOp kernel, const net::LoopNest &nest, const Program &program,
                 llvm::function_ref<uint32_t(mlir::Value)> getBuffer, Instruction &product, EpilogueTable &table);

} // namespace meshwright::emit

#endif
