//===- Reductions.cpp - sums over arrays, on a GPU ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel for every reduction of every type: a thread adds up one element after the other, each over the arrays in
// their order, as the host does (Combine.h). Compiled for NVIDIA's GPUs into text that the runtime has in it, and,
// where MW_EMULATED is defined, for the host, by tests that have no GPU. There is no standard library on either.
//
//===----------------------------------------------------------------------===//

#include "ReductionArguments.h"
#include "meshwright/runtime/Combine.h"

using namespace meshwright::runtime;
using meshwright::runtime::cuda::ReductionArguments;

#ifdef MW_EMULATED
extern "C" {
uint32_t mw_emulated_thread();
uint32_t mw_emulated_block();
}
static uint64_t getThread() { return mw_emulated_thread(); }
static uint64_t getBlock() { return mw_emulated_block(); }
// An emulated GPU calls every kernel by one type.
#define MW_KERNEL(name, R, T)                                                                                          \
  extern "C" __attribute__((visibility("default"))) void name(void *const *arguments) {                                \
    reduce<R, T>(*reinterpret_cast<const ReductionArguments *>(arguments));                                            \
  }
#else
static uint64_t getThread() { return __nvvm_read_ptx_sreg_tid_x(); }
static uint64_t getBlock() { return __nvvm_read_ptx_sreg_ctaid_x(); }
#define MW_KERNEL(name, R, T)                                                                                          \
  extern "C" __attribute__((nvptx_kernel)) void name(ReductionArguments arguments) { reduce<R, T>(arguments); }
#endif

template <typename R, typename T> static inline void reduce(const ReductionArguments &arguments) {
  using A = typename AccumulatorOf<T>::Type;
  auto getElement = [&](uint64_t array, uint64_t i) -> T & { return static_cast<T *>(arguments.addresses[array])[i]; };
  uint64_t step = arguments.blocks * ReductionArguments::threads;
  for (uint64_t i = arguments.begin + getBlock() * ReductionArguments::threads + getThread(); i < arguments.end;
       i += step) {
    A sum = static_cast<A>(getElement(0, i));
    for (uint64_t input = 1; input < arguments.numInputs; ++input)
      sum = R::combine(sum, static_cast<A>(getElement(input, i)));
    for (uint64_t output = 0; output < arguments.numOutputs; ++output)
      getElement(arguments.numInputs + output, i) = static_cast<T>(sum);
  }
}

// Booleans are reduced as u8.
#define MW_KERNELS_OF_ANY(name, T)                                                                                     \
  MW_KERNEL(mw_sum_##name, Sum, T)                                                                                     \
  MW_KERNEL(mw_product_##name, Product, T)                                                                             \
  MW_KERNEL(mw_max_##name, Max, T)                                                                                     \
  MW_KERNEL(mw_min_##name, Min, T)
#define MW_KERNELS_OF_INTEGERS(name, T)                                                                                \
  MW_KERNELS_OF_ANY(name, T)                                                                                           \
  MW_KERNEL(mw_and_##name, And, T)                                                                                     \
  MW_KERNEL(mw_or_##name, Or, T)

MW_KERNELS_OF_ANY(f32, float)
MW_KERNELS_OF_ANY(f64, double)
MW_KERNELS_OF_ANY(bf16, BFloat16)
MW_KERNELS_OF_ANY(f16, Float16)
MW_KERNELS_OF_INTEGERS(i8, int8_t)
MW_KERNELS_OF_INTEGERS(i16, int16_t)
MW_KERNELS_OF_INTEGERS(i32, int32_t)
MW_KERNELS_OF_INTEGERS(i64, int64_t)
MW_KERNELS_OF_INTEGERS(u8, uint8_t)
MW_KERNELS_OF_INTEGERS(u16, uint16_t)
MW_KERNELS_OF_INTEGERS(u32, uint32_t)
MW_KERNELS_OF_INTEGERS(u64, uint64_t)
