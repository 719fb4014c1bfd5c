//===- Residue.h - numbers of the exact check -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exact check evaluates programs over the integers modulo the prime p = 2^61 - 1 instead of floats: sums and
// products do not depend on the order there, so two programs that compute one formula give equal results, and two that
// do not differ at a random point but for a chance of about their degree / p (J. Schwartz, Fast probabilistic
// algorithms for verification of polynomial identities, 1980).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_RESIDUE_H
#define MESHWRIGHT_RUNTIME_RESIDUE_H

#include <cstdint>

namespace meshwright::runtime {

/// A number modulo 2^61 - 1, or one of the symbols +inf, -inf and NaN, which follow the rules of IEEE 754. There is one
/// zero. The sign of a residue, which decides the sign of its product with an infinity, is its quadratic character: it
/// is multiplicative, -1 is negative, and powers of two are positive.
///
/// Any 64 bits are a Residue: those that are neither a residue nor an infinity are NaN.
class Residue {
public:
  static constexpr uint64_t prime = (uint64_t(1) << 61) - 1;

  Residue() = default;
  /// The number itself: mantissa · 2^exponent.
  explicit Residue(double value);
  explicit Residue(float value) : Residue(static_cast<double>(value)) {}
  explicit constexpr Residue(int value)
      : bits(value < 0 ? prime - static_cast<uint64_t>(-int64_t(value)) : static_cast<uint64_t>(value)) {}
  static Residue fromSigned(int64_t value);
  static Residue fromUnsigned(uint64_t value);
  static constexpr Residue fromBits(uint64_t bits) {
    Residue result;
    result.bits = bits;
    return result;
  }
  static constexpr Residue infinity(bool negative) { return fromBits(plusInfinity + negative); }
  static constexpr Residue nan() { return fromBits(notANumber); }

  constexpr uint64_t getBits() const { return bits; }
  constexpr bool isFinite() const { return bits < prime; }
  constexpr bool isInfinite() const { return bits == plusInfinity || bits == minusInfinity; }
  constexpr bool isNaN() const { return !isFinite() && !isInfinite(); }
  /// 1, 0 or -1; of a NaN 0.
  int getSign() const;
  /// The integer of least magnitude that the residue stands for.
  int64_t toSmallest() const;
  /// Infinities, NaN and integers below 2^53 as they are; of other residues the sign alone is right.
  explicit operator double() const;
  explicit operator float() const { return static_cast<float>(static_cast<double>(*this)); }

  constexpr Residue operator+(Residue other) const {
    if (isFinite() && other.isFinite()) {
      uint64_t sum = bits + other.bits;
      return fromBits(sum >= prime ? sum - prime : sum);
    }
    return addSymbols(*this, other);
  }
  constexpr Residue operator-() const {
    if (isFinite())
      return fromBits(bits == 0 ? 0 : prime - bits);
    return isInfinite() ? fromBits(bits ^ 1) : nan();
  }
  constexpr Residue operator-(Residue other) const { return *this + -other; }
  constexpr Residue operator*(Residue other) const {
    if (isFinite() && other.isFinite())
      return fromBits(multiply(bits, other.bits));
    return multiplySymbols(*this, other);
  }
  Residue operator/(Residue other) const;
  constexpr Residue &operator+=(Residue other) { return *this = *this + other; }

  /// Chooses another order of the residues, for all threads; none of them computes meanwhile.
  static void chooseOrder(uint64_t seed);
  /// Compares as floats do: NaN is equal to nothing. Residues have a pseudo-random total order between the infinities,
  /// with as many above zero as below it.
  constexpr bool operator==(Residue other) const { return bits == other.bits && !isNaN(); }
  constexpr bool operator!=(Residue other) const { return !(*this == other); }
  bool operator<(Residue other) const { return !isNaN() && !other.isNaN() && getRank() < other.getRank(); }
  bool operator>(Residue other) const { return other < *this; }

  /// The product modulo p of two numbers below p.
  static constexpr uint64_t multiply(uint64_t a, uint64_t b) { return reduce(static_cast<unsigned __int128>(a) * b); }
  /// A number modulo p.
  static constexpr uint64_t reduce(unsigned __int128 value) {
    // 2^61 is 1: the digits to the base of 2^61 are added.
    uint64_t low = static_cast<uint64_t>(value) & prime, middle = static_cast<uint64_t>(value >> 61) & prime;
    uint64_t sum = low + middle + static_cast<uint64_t>(value >> 122);
    sum = (sum & prime) + (sum >> 61);
    return sum >= prime ? sum - prime : sum;
  }

private:
  static constexpr uint64_t plusInfinity = uint64_t(1) << 62, minusInfinity = plusInfinity + 1,
                            notANumber = plusInfinity + 2;
  static constexpr Residue addSymbols(Residue a, Residue b) {
    if (a.isNaN() || b.isNaN() || (a.isInfinite() && b.isInfinite() && a.bits != b.bits))
      return nan();
    return a.isInfinite() ? a : b;
  }
  static Residue multiplySymbols(Residue a, Residue b);
  /// The place in the order, for what is no NaN.
  unsigned __int128 getRank() const;

  uint64_t bits = 0;
};

/// Mixes a number's bits: a bijection that looks like chance (a step of the generator SplitMix64: G. Steele, D. Lea and
/// C. Flood, Fast splittable pseudorandom number generators, 2014).
constexpr uint64_t mixBits(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// A pseudo-random residue for a key.
constexpr Residue hashToResidue(uint64_t key) {
  uint64_t residue = mixBits(key) & Residue::prime;
  return Residue::fromBits(residue == Residue::prime ? 0 : residue);
}

} // namespace meshwright::runtime

#endif
