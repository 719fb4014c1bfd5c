//===- Units.h - units of sizes and operations ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_UNITS_H
#define MESHWRIGHT_SUPPORT_UNITS_H

#include "meshwright/Support/Bytes.h"
#include "llvm/Support/CommandLine.h"
#include <algorithm>
#include <cmath>
#include <string>

namespace meshwright {

/// A size that options and strategies state as a number of units of `unit` bytes. Units are SI's, as in GB/s.
template <int64_t unit> class SizeIn {
public:
  constexpr SizeIn(double number = 0) : number(number) {}
  /// The largest size, which bounds nothing.
  static constexpr SizeIn unbounded() { return static_cast<double>(kUnboundedBytes) / unit; }

  /// In bytes, rounded to nearest, at most `kUnboundedBytes`.
  int64_t getBytes() const {
    return static_cast<int64_t>(std::min(std::round(number * unit), static_cast<double>(kUnboundedBytes)));
  }
  double getNumber() const { return number; }
  friend bool operator==(const SizeIn &, const SizeIn &) = default;
  friend llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const SizeIn &size) { return os << size.number; }

private:
  double number;
};
using Kilobytes = SizeIn<1'000>;
using Megabytes = SizeIn<1'000'000>;

/// Readable quantities: "48 B", "13.3 MB"; "2.5 GFLOP".
std::string formatBytes(double bytes);
std::string formatOperations(double operations);
/// The longest text of `formatBytes`, for columns.
inline constexpr unsigned kBytesWidth = 8;

} // namespace meshwright

/// Options of passes are numbers of units.
template <int64_t unit>
class llvm::cl::parser<meshwright::SizeIn<unit>> : public basic_parser<meshwright::SizeIn<unit>> {
public:
  using Size = meshwright::SizeIn<unit>;
  parser(Option &option) : basic_parser<Size>(option), numbers(option) {}

  /// Returns true on error.
  bool parse(Option &option, StringRef name, StringRef argument, Size &size) {
    double number;
    if (numbers.parse(option, name, argument, number))
      return true;
    size = number;
    return false;
  }
  void printOptionDiff(const Option &option, const Size &size, const OptionValue<Size> &standard, size_t width) const {
    OptionValue<double> number;
    if (standard.hasValue())
      number = standard.getValue().getNumber();
    numbers.printOptionDiff(option, size.getNumber(), number, width);
  }
  StringRef getValueName() const override { return "number"; }

private:
  parser<double> numbers;
};

#endif
