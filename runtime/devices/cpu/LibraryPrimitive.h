//===- LibraryPrimitive.h - a primitive of oneDNN ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_LIBRARYPRIMITIVE_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_LIBRARYPRIMITIVE_H

#include <memory>
#include <oneapi/dnnl/dnnl.h>

namespace meshwright::runtime {

struct DestroyPrimitive {
  void operator()(dnnl_primitive_t primitive) const { dnnl_primitive_destroy(primitive); }
};

/// A function of the library with its shapes, which can be called any number of times.
using LibraryPrimitive = std::unique_ptr<dnnl_primitive, DestroyPrimitive>;

} // namespace meshwright::runtime

#endif
