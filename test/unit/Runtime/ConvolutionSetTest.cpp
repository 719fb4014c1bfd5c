//===- ConvolutionSetTest.cpp - the convolutions of a program -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions of random shapes, strides and windows in all types, against the sum that defines them in f64.
//
//===----------------------------------------------------------------------===//

#include "runtime/devices/cpu/ConvolutionSet.h"
#include "RandomProduct.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

/// Calls `fn` with every index of an array of `sizes`.
template <typename Fn> void forEachIndex(const std::vector<int64_t> &sizes, Fn fn) {
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t size : sizes)
    if (size == 0)
      return;
  while (true) {
    fn(index);
    size_t dim = sizes.size();
    while (dim-- != 0 && ++index[dim] == sizes[dim])
      index[dim] = 0;
    if (dim == static_cast<size_t>(-1))
      return;
  }
}

struct Sizes {
  int64_t groups, batch, channels, features;
};

ConvolutionWindow makeWindow(int64_t in, int64_t size, int64_t stride, int64_t low, int64_t high, int64_t lhsDilation,
                             int64_t rhsDilation, bool reversed) {
  ConvolutionWindow window;
  window.set_in(in);
  window.set_size(size);
  int64_t room = (in - 1) * lhsDilation + 1 + low + high - ((size - 1) * rhsDilation + 1);
  window.set_out(room < 0 ? 0 : room / stride + 1);
  window.set_stride(stride);
  window.set_low(low);
  window.set_lhs_dilation(lhsDilation);
  window.set_rhs_dilation(rhsDilation);
  window.set_reversed(reversed);
  return window;
}

ConvolutionWindow pickWindow(Random &random) {
  bool plain = random.chance(30);
  int64_t size = random.pick(1, 4);
  return makeWindow(random.pick(1, 7), size, plain ? 1 : random.pick(1, 3), random.pick(plain ? 0 : -1, size),
                    random.pick(plain ? 0 : -1, size), plain ? 1 : random.pick(1, 3), plain ? 1 : random.pick(1, 3),
                    random.chance(20));
}

std::vector<int64_t> getSizes(std::vector<int64_t> sizes, const std::vector<ConvolutionWindow> &windows,
                              int64_t (ConvolutionWindow::*get)() const) {
  for (const ConvolutionWindow &window : windows)
    sizes.push_back((window.*get)());
  return sizes;
}

/// A convolution and its operands.
struct Problem {
  Convolution convolution;
  std::vector<ConvolutionWindow> windows;
  Operand lhs, rhs, out;

  Problem(Random &random, DType type, DType outType, Sizes sizes, std::vector<ConvolutionWindow> windows)
      : windows(std::move(windows)),
        lhs(random, type, getSizes({sizes.groups, sizes.batch, sizes.channels}, this->windows, &ConvolutionWindow::in),
            false),
        rhs(random, type,
            getSizes({sizes.groups, sizes.channels, sizes.features}, this->windows, &ConvolutionWindow::size), false),
        out(random, outType,
            getSizes({sizes.groups, sizes.batch, sizes.features}, this->windows, &ConvolutionWindow::out), false) {
    convolution.set_lhs_dtype(type);
    convolution.set_rhs_dtype(type);
    convolution.set_out_dtype(outType);
    convolution.set_groups(sizes.groups);
    convolution.set_batch(sizes.batch);
    convolution.set_channels(sizes.channels);
    convolution.set_features(sizes.features);
    for (const ConvolutionWindow &window : this->windows)
      *convolution.add_window() = window;
    for (auto [operand, strides] :
         {std::pair(&lhs, convolution.mutable_lhs_strides()), std::pair(&rhs, convolution.mutable_rhs_strides()),
          std::pair(&out, convolution.mutable_out_strides())})
      strides->Assign(operand->strides.begin(), operand->strides.end());
  }

  void run(int threads) {
    auto set = ConvolutionSet::create(threads);
    ASSERT_TRUE(set.ok());
    auto number = (*set)->prepare(convolution, lhs.bytes.data(), rhs.bytes.data(), out.bytes.data(), "convolution");
    ASSERT_TRUE(number.ok()) << number.status().message();
    ASSERT_TRUE((*set)->finish().ok());
    ASSERT_TRUE((*set)->execute(*number).ok());
  }
  /// Leaves the result of one thread, which that of several has to be, bit by bit.
  void run() {
    std::vector<std::byte> before = out.bytes;
    run(3);
    std::vector<std::byte> divided = std::exchange(out.bytes, before);
    run(1);
    ASSERT_EQ(divided, out.bytes);
  }

  /// The sum that an element of the result is, from the definition.
  double sumAt(const std::vector<int64_t> &at) {
    double sum = 0;
    forEachIndex(getSizes({convolution.channels()}, windows, &ConvolutionWindow::size), [&](const auto &element) {
      std::vector<int64_t> left = {at[0], at[1], element[0]}, right = {at[0], element[0], at[2]};
      for (size_t i = 0; i != windows.size(); ++i) {
        const ConvolutionWindow &window = windows[i];
        int64_t position = at[3 + i] * window.stride() + element[1 + i] * window.rhs_dilation() - window.low();
        if (position < 0 || position % window.lhs_dilation() != 0 || position / window.lhs_dilation() >= window.in())
          return;
        left.push_back(position / window.lhs_dilation());
        right.push_back(window.reversed() ? window.size() - 1 - element[1 + i] : element[1 + i]);
      }
      sum += loadAsDouble(lhs.type, lhs.at(left)) * loadAsDouble(rhs.type, rhs.at(right));
    });
    return sum;
  }

  /// Small integers: every sum is exact in f32, and in 16 bit once rounded.
  void check() {
    forEachIndex(out.sizes, [&](const std::vector<int64_t> &at) {
      std::byte expected[8];
      store(out.type, expected, sumAt(at));
      ASSERT_EQ(loadAsDouble(out.type, out.at(at)), loadAsDouble(out.type, expected))
          << "group " << at[0] << ", batch " << at[1] << ", feature " << at[2];
    });
  }
};

} // namespace

TEST(ConvolutionSet, RandomShapesStridesAndWindows) {
  Random random;
  const std::vector<std::pair<DType, DType>> types = {{F32, F32}, {F64, F64}, {BF16, F32},       {BF16, BF16},
                                                      {F16, F32}, {F16, F16}, {RESIDUE, RESIDUE}};
  for (int round = 0; round != 300; ++round) {
    SCOPED_TRACE(random.describe(round));
    auto [type, outType] = random.choose(types);
    // Many small groups now and then, which are computed beside each other.
    bool isGrouped = random.chance(25);
    Sizes sizes = {isGrouped ? random.pick(8, 20) : random.pick(1, 3), random.pick(1, 3),
                   random.pick(1, isGrouped ? 2 : 6), random.pick(1, isGrouped ? 3 : 6)};
    std::vector<ConvolutionWindow> windows;
    for (int64_t dims = random.pick(0, 3); dims != 0; --dims)
      windows.push_back(pickWindow(random));
    Problem problem(random, type, outType, sizes, windows);
    problem.run();
    problem.check();
    if (HasFatalFailure())
      return;
  }
}

TEST(ConvolutionSet, SizesBeyondOneBlock) {
  Random random;
  ConvolutionWindow wide = makeWindow(40, 3, 1, 1, 1, 1, 1, false), deep = makeWindow(70, 60, 1, 0, 0, 1, 1, true);
  for (int round = 0; round != 6; ++round) {
    SCOPED_TRACE(random.describe(round));
    Problem rows(random, round % 2 ? F32 : F64, F32, {1, 2, 3, 5}, {wide, wide});
    rows.run();
    rows.check();
    Problem depth(random, round % 2 ? F32 : F64, F64, {2, 2, 90, 3}, {deep});
    depth.run();
    depth.check();
  }
  for (Problem residues : {Problem(random, RESIDUE, RESIDUE, {1, 2, 3, 5}, {wide, wide}),
                           Problem(random, RESIDUE, RESIDUE, {2, 2, 90, 3}, {deep})}) {
    residues.run();
    residues.check();
  }
}

TEST(ConvolutionSet, EmptySumsAreZero) {
  Random random;
  Problem problem(random, F32, F32, {2, 2, 0, 3}, {makeWindow(4, 2, 1, 0, 0, 1, 1, false)});
  problem.run();
  problem.check();
}

TEST(ConvolutionSet, TheBatchMayBeDivided) {
  Random random;
  for (int round = 0; round != 10; ++round) {
    SCOPED_TRACE(random.describe(round));
    std::vector<ConvolutionWindow> windows = {pickWindow(random), pickWindow(random)};
    Problem whole(random, F64, F64, {1, 4, 30, 8}, windows);
    for (auto *operand : {&whole.lhs, &whole.rhs})
      for (size_t i = 0; i < operand->bytes.size(); i += 8)
        store(F64, &operand->bytes[i], std::sin(static_cast<double>(i)));
    whole.run();
    Problem half = whole;
    half.convolution.set_batch(2);
    std::fill(half.out.bytes.begin(), half.out.bytes.end(), std::byte(0));
    half.run();
    forEachIndex(whole.out.sizes, [&](const std::vector<int64_t> &at) {
      if (at[1] < 2)
        ASSERT_EQ(loadAsDouble(F64, whole.out.at(at)), loadAsDouble(F64, half.out.at(at)));
    });
  }
}
