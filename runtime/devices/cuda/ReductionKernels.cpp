//===- ReductionKernels.cpp - sums over arrays of a GPU -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReductionKernels.h"
#include "kernels/ReductionArguments.h"
#include <algorithm>
#include <cctype>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

/// The kernels as text for the driver, made by the build.
static constexpr char text[] =
#include "Reductions.ptx.inc"
    ;

Result<std::unique_ptr<ReductionKernels>> ReductionKernels::load(const CudaApi &api) {
  std::unique_ptr<ReductionKernels> kernels(new ReductionKernels(api));
  MW_TRY_ASSIGN(kernels->module, loadModule(api, text));
  return kernels;
}

/// `mw_sum_f32`.
static std::string getKernelName(Collective::Reduction reduction, DType type) {
  std::string name = Collective::Reduction_Name(reduction);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return fmt::format("mw_{}_{}", name, getName(type == I1 ? U8 : type));
}

Result<CUfunction> ReductionKernels::find(Collective::Reduction reduction, DType type, size_t arrays) const {
  if (arrays > ReductionArguments::maxAddresses)
    return inputError("a reduction on GPUs has at most {} arrays that go in and come out, and {} are wanted",
                      ReductionArguments::maxAddresses, arrays);
  if (isFloat8(type))
    return inputError("GPUs do not reduce {}; numbers that are reduced have 16 bits or more", getName(type));
  std::string name = getKernelName(reduction, type);
  CUfunction kernel = nullptr;
  MW_TRY(api.check(api.cuModuleGetFunction(&kernel, module.get(), name.c_str()), "cuModuleGetFunction").within(name));
  return kernel;
}

Status ReductionKernels::launch(CUfunction kernel, std::span<const std::byte *const> inputs,
                                std::span<std::byte *const> outputs, uint64_t begin, uint64_t end,
                                CUstream stream) const {
  // As many as fill a large GPU; a thread goes on with other elements.
  constexpr uint64_t maxBlocks = 2048;
  constexpr uint64_t threads = ReductionArguments::threads;
  if (begin == end)
    return {};
  assert(inputs.size() + outputs.size() <= ReductionArguments::maxAddresses && "as many as were announced");
  ReductionArguments arguments = {};
  arguments.begin = begin;
  arguments.end = end;
  arguments.blocks = std::min((end - begin + threads - 1) / threads, maxBlocks);
  arguments.numInputs = inputs.size();
  arguments.numOutputs = outputs.size();
  void **next = arguments.addresses;
  for (const std::byte *input : inputs)
    *next++ = const_cast<std::byte *>(input);
  for (std::byte *output : outputs)
    *next++ = output;
  size_t bytes = sizeof(arguments);
  void *block[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  MW_CALL(api, cuLaunchKernel, kernel, static_cast<unsigned>(arguments.blocks), 1, 1, threads, 1, 1, 0, stream, nullptr,
          block);
  return {};
}
