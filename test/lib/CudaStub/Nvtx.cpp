//===- Nvtx.cpp - a profiler that notes ranges ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library that NVTX_INJECTION64_PATH may name: fills the tables of functions that the program offers.
//
//===----------------------------------------------------------------------===//

#include "devices/cuda/abi/Nvtx.h"
#include "Stub.h"
#include <algorithm>

using namespace meshwright::runtime::cuda;
using namespace meshwright::stub;

namespace {

/// The depth of the ranges of the calling thread.
thread_local int depth = 0;

int push(const char *name) {
  std::string text = name;
  // Words of a line of the trace have no blanks.
  std::replace(text.begin(), text.end(), ' ', '_');
  Call("nvtxRangePush").note("name", text).note("depth", static_cast<uint64_t>(depth));
  return depth++;
}

int pop() {
  Call("nvtxRangePop").note("depth", static_cast<uint64_t>(depth - 1));
  return --depth;
}

template <typename Function> NvtxFunctionPointer erase(Function *function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

} // namespace

MW_STUB_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t getExportTable) {
  const auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(getExportTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) ||
      size <= NVTX_CBID_CORE_RangePop)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = erase(push);
  *table[NVTX_CBID_CORE_RangePop] = erase(pop);
  return 1;
}
