//===- Tensor.cpp - arrays of files and of the host -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of arrays between element types with the rounding of the serial program: integers are checked for range,
// and floats are rounded once, also where a conversion goes through f32.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Tensor.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
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

bool meshwright::runtime::canTakeFor(const Shape &found, const Shape &wanted) {
  return found == wanted || (wanted.empty() && getNumElements(found) == uint64_t(1));
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
  bool hasOneZero = type == F8E4M3B11FNUZ || type == F8E4M3FNUZ || type == F8E5M2FNUZ || type == RESIDUE;
  if (uint64_t size = getSize(type); isFloat(type) && !hasOneZero)
    for (uint64_t i = size - 1; i < array.size(); i += size)
      array[i] = std::byte(0x80);
}

//===----------------------------------------------------------------------===//
// Rounding to other floats
//===----------------------------------------------------------------------===//

Result<DType> meshwright::runtime::parseFloatType(const std::string &name) {
  std::optional<DType> type = parseDType(name);
  if (!type || !isFloat(*type))
    return usageError("\"{}\" is no type of floats, as bf16, f16, f32 and f64 are", name);
  return *type;
}

/// The f32 from which rounding to a narrower type gives what rounding `value` itself would: what f32 cannot hold stays
/// visible in its last bit ("round to odd"; S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums,
/// 2008). It takes two bits more than the narrower type has.
static float roundToOdd(double value) {
  auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value))
    return nearest;
  // The neighbour towards zero, with its last bit set.
  float below = std::fabs(static_cast<double>(nearest)) > std::fabs(value) ? std::nextafterf(nearest, 0) : nearest;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(below) | 1);
}

template <typename T> static T roundOnce(double value) {
  if constexpr (isNarrowFloat<T>)
    return T(roundToOdd(value));
  else
    return static_cast<T>(value);
}

template <typename T> static double widen(T value) {
  if constexpr (isNarrowFloat<T>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

Status meshwright::runtime::roundFloats(DType from, std::span<const std::byte> elements, DType to,
                                        std::span<std::byte> result) {
  assert(isFloat(from) && isFloat(to) && "only floats are rounded");
  // Between the types stand blocks of f64, which holds them all.
  constexpr uint64_t kBlock = 512;
  std::array<double, kBlock> block;
  uint64_t tooLarge = 0, first = 0;
  double value = 0;
  for (uint64_t begin = 0, count = elements.size() / getSize(from), n; begin < count; begin += n) {
    n = std::min(kBlock, count - begin);
    dispatch(from, [&](auto zero) {
      using T = decltype(zero);
      for (uint64_t i = 0; i != n; ++i) {
        T element;
        std::memcpy(&element, elements.data() + (begin + i) * sizeof(T), sizeof(T));
        block[i] = widen(element);
      }
    });
    dispatch(to, [&](auto zero) {
      using T = decltype(zero);
      for (uint64_t i = 0; i != n; ++i) {
        T element = roundOnce<T>(block[i]);
        std::memcpy(result.data() + (begin + i) * sizeof(T), &element, sizeof(T));
        if (std::isfinite(block[i]) && !std::isfinite(widen(element)) && tooLarge++ == 0) {
          first = begin + i;
          value = block[i];
        }
      }
    });
  }
  if (tooLarge == 0)
    return {};
  return inputError("element {} is {}, which is too large for {}, as {} of {} elements are", first, value, getName(to),
                    tooLarge, elements.size() / getSize(from));
}

//===----------------------------------------------------------------------===//
// Infinities and NaNs
//===----------------------------------------------------------------------===//

/// Floats of IEEE's form, whose exponent is all ones where they are not finite. `Bits` is the integer of their size.
template <typename Bits> static Finiteness classifyIeee(std::span<const std::byte> elements, Bits exponent) {
  const uint64_t count = elements.size() / sizeof(Bits);
  auto load = [&](uint64_t i) {
    Bits bits;
    std::memcpy(&bits, elements.data() + i * sizeof(Bits), sizeof(Bits));
    return bits;
  };
  // Nearly always there is none, so the pass that says so has no branches; it is a vector loop.
  constexpr uint64_t kBlock = 4096;
  bool isInfinite = false;
  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    Bits found = 0;
    uint64_t end = std::min(begin + kBlock, count);
    for (uint64_t i = begin; i != end; ++i)
      found |= Bits((load(i) & exponent) == exponent);
    for (uint64_t i = begin; found != 0 && i != end; ++i)
      if (Bits bits = load(i); (bits & exponent) == exponent) {
        constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
        if (Bits(bits & ~sign) != exponent)
          return Finiteness::NotANumber;
        isInfinite = true;
      }
  }
  return isInfinite ? Finiteness::Infinite : Finiteness::Finite;
}

static Finiteness classifyFloat8(DType type, std::span<const std::byte> elements) {
  Finiteness worst = Finiteness::Finite;
  for (const std::byte &element : elements) {
    double value = loadAsDouble(type, &element);
    if (std::isnan(value))
      return Finiteness::NotANumber;
    if (std::isinf(value))
      worst = Finiteness::Infinite;
  }
  return worst;
}

Finiteness meshwright::runtime::classify(DType type, std::span<const std::byte> elements) {
  switch (type) {
  case F64:
    return classifyIeee<uint64_t>(elements, 0x7ff0000000000000);
  case F32:
    return classifyIeee<uint32_t>(elements, 0x7f800000);
  case BF16:
    return classifyIeee<uint16_t>(elements, 0x7f80);
  case F16:
    return classifyIeee<uint16_t>(elements, 0x7c00);
  default:
    return isFloat8(type) ? classifyFloat8(type, elements) : Finiteness::Finite;
  }
}
