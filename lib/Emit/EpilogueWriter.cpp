//===- EpilogueWriter.cpp - writes the epilogue of a GEMM's instruction ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueWriter.h"
#include "meshwright/Schedule/Passes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;
using schedule::ProductEpilogue;

namespace {

/// A range of the device's memory, over all iterations of the loops around `op` and all micro-batches.
struct ByteRange {
  uint64_t begin, end;

  ByteRange(const Buffer &buffer, Operation *op, const net::LoopNest &nest) : begin(buffer.offset()) {
    end = begin + buffer.bytes() + (buffer.slots() > 1 ? (buffer.slots() - 1) * buffer.slot_bytes() : 0);
    net::LoopOp loop = nest.getLoop(op);
    // The bytes of the outermost loop come first; inner loops that do not move the buffer have no entry.
    SmallVector<net::LoopOp> loops;
    for (; loop; loop = nest.getParent(loop))
      loops.insert(loops.begin(), loop);
    for (auto [around, bytes] : llvm::zip(loops, buffer.iteration_bytes()))
      end += (around.getCount() - 1) * bytes;
  }
  bool overlaps(const ByteRange &other) const { return begin < other.end && other.begin < end; }
};

} // namespace

/// True if the outputs of `epilogue` overlap neither its inputs nor each other.
static bool isApart(const Matmul &product, const Epilogue &epilogue, function_ref<ByteRange(uint32_t)> getRange) {
  SmallVector<ByteRange> read = {getRange(product.lhs()), getRange(product.rhs())},
                         written = {getRange(epilogue.out())};
  if (epilogue.has_bias())
    read.push_back(getRange(epilogue.bias()));
  if (epilogue.has_preactivation())
    written.push_back(getRange(epilogue.preactivation()));
  auto overlapsRead = [&](const ByteRange &range) {
    return llvm::any_of(read, [&](const ByteRange &other) { return range.overlaps(other); });
  };
  return llvm::none_of(written, overlapsRead) && (written.size() == 1 || !written[0].overlaps(written[1]));
}

static std::string describe(const Epilogue &epilogue) {
  std::string text = epilogue.has_bias() ? "bias" : "";
  if (epilogue.activation() == Epilogue::GELU_TANH)
    text += text.empty() ? "gelu" : " gelu";
  return epilogue.has_preactivation() ? text + " aux" : text;
}

void emit::addEpilogue(dist::MatmulOp op, dist::KernelOp kernel, const net::LoopNest &nest, const Program &program,
                       function_ref<uint32_t(Value)> getBuffer, Instruction &product, EpilogueTable &table) {
  std::string reason;
  std::optional<ProductEpilogue> found = schedule::findEpilogue(op, kernel, reason);
  if (!found)
    return table.add(product, "", reason);
  if (!dist::kEpilogueAttr.isOn(op))
    return;
  Epilogue epilogue;
  if (found->bias)
    epilogue.set_bias(getBuffer(found->bias));
  epilogue.set_activation(found->isGelu ? Epilogue::GELU_TANH : Epilogue::IDENTITY);
  if (found->preactivation)
    epilogue.set_preactivation(getBuffer(found->preactivation));
  epilogue.set_out(getBuffer(found->out));
  auto getRange = [&](uint32_t buffer) { return ByteRange(program.buffers(buffer), op, nest); };
  if (!isApart(product.matmul(), epilogue, getRange))
    return table.add(product, "", "its result overlaps an operand that the GEMM or its epilogue still reads");
  table.add(product, describe(epilogue), "");
  *product.mutable_matmul()->mutable_epilogue() = std::move(epilogue);
}
