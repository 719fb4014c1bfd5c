//===- CheckEpilogue.cpp - checks the epilogues of GEMMs ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the kernel computes what the epilogue says is not known here, as it is not of any kernel.
//
//===----------------------------------------------------------------------===//

#include "CheckEpilogue.h"
#include "CheckCollectives.h"
#include "meshwright/runtime/Slots.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

class EpilogueChecker {
public:
  EpilogueChecker(const Program &program, const Task &task, int index)
      : program(program), matmul(task.instructions(index).matmul()), epilogue(matmul.epilogue()) {
    if (index + 1 < task.instructions_size() && task.instructions(index + 1).has_kernel())
      kernel = &task.instructions(index + 1).kernel();
  }

  Status check() {
    MW_TRY(checkKind());
    if (epilogue.has_bias())
      MW_TRY(checkBuffer(epilogue.bias(), countBias(), "bias"));
    std::vector<int64_t> sizes(matmul.batch().begin(), matmul.batch().end());
    sizes.insert(sizes.end(), {matmul.m(), matmul.n()});
    // The product has been checked to have its result in memory.
    bool isEmpty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    std::span<const int64_t> strides(matmul.out_strides().data(), matmul.out_strides().size());
    uint64_t reach = isEmpty ? 0 : *getLastElement(sizes, strides) + 1;
    if (epilogue.has_preactivation())
      MW_TRY(checkBuffer(epilogue.preactivation(), reach, "preactivation"));
    MW_TRY(checkBuffer(epilogue.out(), reach, "result"));
    MW_TRY(checkKernel());
    return checkApart();
  }

private:
  Status checkKind() const {
    DType type = matmul.out_dtype();
    if (type != F32 && type != BF16 && type != F16)
      return inputError("the product of {} has an epilogue, where one is of f32, bf16 or f16", getName(type));
    if (!Epilogue::Activation_IsValid(epilogue.activation()))
      return inputError("activation {} of the epilogue is unknown", static_cast<int>(epilogue.activation()));
    bool isIdentity = epilogue.activation() == Epilogue::IDENTITY;
    if (isIdentity && (!epilogue.has_bias() || epilogue.has_preactivation()))
      return inputError("the epilogue has no activation and {}", epilogue.has_bias() ? "a preactivation" : "no bias");
    if (epilogue.has_bias() && countBias() < 0)
      return inputError("the epilogue has a bias, but the product's result has strides {} and {}, none of them 1",
                        matmul.out_strides().end()[-2], matmul.out_strides().end()[-1]);
    return {};
  }

  /// The elements of the bias: those of the dimension of stride 1; -1 where there is none.
  int64_t countBias() const {
    if (matmul.out_strides().end()[-1] == 1)
      return matmul.n();
    return matmul.out_strides().end()[-2] == 1 ? matmul.m() : -1;
  }

  Status checkBuffer(uint32_t index, uint64_t elements, const char *what) const {
    if (index >= static_cast<uint32_t>(program.buffers_size()))
      return inputError("buffer {} is the epilogue's {} but the program has {}", index, what, program.buffers_size());
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    if (buffer.memory() != DEVICE)
      return inputError("buffer {}, the epilogue's {}, is in the memory of the host", index, what);
    if (buffer.dtype() != matmul.out_dtype() || elements > buffer.bytes() / getSize(buffer.dtype()))
      return inputError("buffer {}, the epilogue's {}, has {} bytes of {} where {} elements of {} are wanted", index,
                        what, buffer.bytes(), getName(buffer.dtype()), elements, getName(matmul.out_dtype()));
    return {};
  }

  /// The kernel reads and writes the buffers that the GEMM with its epilogue reads and writes.
  Status checkKernel() const {
    if (!kernel)
      return inputError("the product has an epilogue, but no kernel directly after it");
    std::vector<uint32_t> read = {matmul.out()}, written = {epilogue.out()};
    if (epilogue.has_bias())
      read.push_back(epilogue.bias());
    if (epilogue.has_preactivation() && epilogue.preactivation() != matmul.out())
      written.push_back(epilogue.preactivation());
    const auto &arguments = kernel->arguments();
    if (static_cast<size_t>(arguments.size()) == read.size() + written.size() && kernel->outputs() == written.size()) {
      auto firstOutput = arguments.begin() + static_cast<int>(read.size());
      if (std::is_permutation(arguments.begin(), firstOutput, read.begin()) &&
          std::is_permutation(firstOutput, arguments.end(), written.begin()))
        return {};
    }
    return inputError("the kernel {} after the product does not read and write what the epilogue does",
                      kernel->symbol());
  }

  Status checkApart() const {
    std::vector<uint32_t> written = {epilogue.out()}, read = {matmul.lhs(), matmul.rhs()};
    if (epilogue.has_preactivation())
      written.push_back(epilogue.preactivation());
    if (epilogue.has_bias())
      read.push_back(epilogue.bias());
    for (uint32_t out : written)
      for (uint32_t in : read)
        if (overlap(out, in))
          return inputError("the epilogue writes buffer {}, which overlaps buffer {} that the product or it reads", out,
                            in);
    if (written.size() == 2 && overlap(written[0], written[1]))
      return inputError("the epilogue's result in buffer {} overlaps its preactivation in buffer {}", written[0],
                        written[1]);
    return {};
  }
  bool overlap(uint32_t a, uint32_t b) const {
    return runtime::overlap(program.buffers(static_cast<int>(a)), program.buffers(static_cast<int>(b)));
  }

  const Program &program;
  const Matmul &matmul;
  const Epilogue &epilogue;
  const Kernel *kernel = nullptr;
};

} // namespace

Status meshwright::runtime::checkEpilogue(const Program &program, const Task &task, int index) {
  return EpilogueChecker(program, task, index).check();
}
