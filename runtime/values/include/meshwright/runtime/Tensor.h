//===- Tensor.h - arrays of files and of the host ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_TENSOR_H
#define MESHWRIGHT_RUNTIME_TENSOR_H

#include "meshwright/runtime/DType.h"
#include "meshwright/runtime/Status.h"
#include <cstddef>
#include <span>
#include <vector>

namespace meshwright::runtime {

using Shape = std::vector<int64_t>;

/// The number of elements; nothing where a size is negative or the product times 8 overflows 63 bits.
std::optional<uint64_t> getNumElements(std::span<const int64_t> shape);
/// True if an array of shape `found` can be taken for one of shape `wanted`: where they are equal, or a scalar is wanted
/// and found is one element, as files have it whose writers know no scalars.
bool canTakeFor(const Shape &found, const Shape &wanted);
/// As in messages: `8x128`, `scalar`.
std::string toString(std::span<const int64_t> shape);
/// As in messages: `8x128xf32`.
std::string toString(std::span<const int64_t> shape, DType type);

/// A view of a whole array, row-major, that another object owns.
struct TensorView {
  DType type = DTYPE_INVALID;
  Shape shape;
  std::span<const std::byte> bytes;

  uint64_t size() const { return *getNumElements(shape); }
};

/// A whole array, row-major.
struct Tensor {
  DType type = DTYPE_INVALID;
  Shape shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  Tensor(DType type, Shape shape);
  TensorView view() const { return {type, shape, bytes}; }
  template <typename T> std::span<T> as() { return {reinterpret_cast<T *>(bytes.data()), bytes.size() / sizeof(T)}; }
};

/// Copies `from` into `to` as elements of `type`. Equal types are copied; integers (and i1) convert where every value
/// fits; everything else is an error that names both types, or the position and the value.
Status convert(const TensorView &from, DType type, std::span<std::byte> to);

/// The float type of that name; an error names those there are.
Result<DType> parseFloatType(const std::string &name);
/// Rounds an array of floats to another float type, each element once, to nearest even. An error names the first
/// element that is finite and too large for the type, and how many there are.
Status roundFloats(DType from, std::span<const std::byte> elements, DType to, std::span<std::byte> result);

/// The worst class among the elements of an array: all finite, some infinite, or some NaN.
enum class Finiteness : uint8_t { Finite, Infinite, NotANumber };
/// Classifies an array of any type; integers are finite. Reads each element once.
Finiteness classify(DType type, std::span<const std::byte> elements);

/// Adds `count` elements to those at `sum`, each rounded to the type. Integers wrap.
void addElements(DType type, const std::byte *addends, std::byte *sum, uint64_t count);
/// Fills an array with the zeros that change no sum, not even the sign of one: those of floats are negative,
/// where their type has such a zero.
void fillNeutral(DType type, std::span<std::byte> array);

} // namespace meshwright::runtime

#endif
