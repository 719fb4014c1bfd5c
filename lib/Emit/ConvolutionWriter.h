//===- ConvolutionWriter.h - writes the instruction of a convolution -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_CONVOLUTIONWRITER_H
#define MESHWRIGHT_LIB_EMIT_CONVOLUTIONWRITER_H

#include "BufferTable.h"

namespace meshwright::emit {

/// Makes `instruction` the convolution `op` over `buffers`.
void writeConvolution(net::ConvolutionOp op, BufferTable &buffers, Instruction &instruction);

} // namespace meshwright::emit

#endif
