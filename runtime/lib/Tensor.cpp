//===- Tensor.cpp - arrays of files and of the host -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Tensor.h"
#include <cstring>
#include <fmt/ranges.h>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

std::optional<uint64_t> meshwright::runtime::getNumElements(std::span<const int64_t> shape) {
  uint64_t count = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, static_cast<uint64_t>(size), &count) || count > (uint64_t(1) << 60))
      return std::nullopt;
  }
  return empty ? 0 : count;
}

std::string meshwright::runtime::toString(std::span<const int64_t> shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string meshwright::runtime::toString(std::span<const int64_t> shape, DType type) {
  std::string text;
  for (int64_t size : shape)
    text += fmt::format("{}x", size);
  return text + std::string(getName(type));
}

Tensor::Tensor(DType type, Shape shape) : type(type), shape(std::move(shape)) {
  bytes.resize(*getNumElements(this->shape) * getSize(type));
}

namespace {

template <typename From, typename To>
Status convertIntegers(const TensorView &from, DType type, std::span<std::byte> to) {
  const From *source = reinterpret_cast<const From *>(from.bytes.data());
  To *target = reinterpret_cast<To *>(to.data());
  for (uint64_t i = 0, n = from.size(); i != n; ++i) {
    // Files promise no alignment.
    From value;
    std::memcpy(&value, source + i, sizeof(value));
    if (!std::in_range<To>(value) || (type == I1 && value > 1))
      return inputError("element {} is {} and does not fit {}", i, value, getName(type));
    target[i] = static_cast<To>(value);
  }
  return {};
}

} // namespace

Status meshwright::runtime::convert(const TensorView &from, DType type, std::span<std::byte> to) {
  if (from.type == type) {
    if (from.bytes.size() != to.size())
      return inputError("{} bytes where {} are wanted", from.bytes.size(), to.size());
    if (!to.empty())
      std::memcpy(to.data(), from.bytes.data(), to.size());
    return {};
  }
  if (isFloat(from.type) || isFloat(type))
    return inputError("{} is wanted, but the data is {}", getName(type), getName(from.type));
  return dispatch(from.type, [&](auto source) {
    return dispatch(type, [&](auto target) -> Status {
      if constexpr (std::is_integral_v<decltype(source)> && std::is_integral_v<decltype(target)>)
        return convertIntegers<decltype(source), decltype(target)>(from, type, to);
      else
        return {};
    });
  });
}

void meshwright::runtime::addElements(DType type, const std::byte *addends, std::byte *sum, uint64_t count) {
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    using A = typename AccumulatorOf<T>::Type;
    for (uint64_t i = 0; i != count; ++i) {
      // Files promise no alignment.
      T a, b;
      std::memcpy(&a, sum + i * sizeof(T), sizeof(T));
      std::memcpy(&b, addends + i * sizeof(T), sizeof(T));
      if constexpr (std::is_integral_v<T>)
        a = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      else
        a = static_cast<T>(static_cast<A>(a) + static_cast<A>(b));
      std::memcpy(sum + i * sizeof(T), &a, sizeof(T));
    }
  });
}

void meshwright::runtime::fillNeutral(DType type, std::span<std::byte> array) {
  if (array.empty())
    return;
  std::memset(array.data(), 0, array.size());
  // The sign is the highest bit of the last byte. Where no other zero has one, those bits are NaN.
  bool hasOneZero = type == F8E4M3B11FNUZ || type == F8E4M3FNUZ || type == F8E5M2FNUZ;
  if (uint64_t size = getSize(type); isFloat(type) && !hasOneZero)
    for (uint64_t i = size - 1; i < array.size(); i += size)
      array[i] = std::byte(0x80);
}
