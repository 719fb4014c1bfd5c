//===- ConvolutionSetTest.cpp - the convolutions of a program -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions of random shapes, strides and windows in all types, and all that a layer of a network and its
// derivatives are, all ways, against the sum that defines them in f64.
//
//===----------------------------------------------------------------------===//

#include "runtime/devices/cpu/ConvolutionSet.h"
#include "RandomProduct.h"
#include "runtime/devices/cpu/AmxMatmul.h"

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

/// The dimensions of the arrays from the innermost on; random orders and gaps where there are none.
struct Orders {
  std::vector<size_t> lhs, rhs, out;
};

/// Strides of an array without gaps.
std::vector<int64_t> getDense(const std::vector<int64_t> &sizes, const std::vector<size_t> &order) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t dim : order) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return strides;
}

Operand makeOperand(Random &random, DType type, const std::vector<int64_t> &sizes, const std::vector<size_t> &order) {
  return order.empty() ? Operand(random, type, sizes, false) : Operand(random, type, sizes, getDense(sizes, order));
}

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

  Problem(Random &random, DType type, DType outType, Sizes sizes, std::vector<ConvolutionWindow> windows,
          const Orders &orders = {})
      : windows(std::move(windows)),
        lhs(makeOperand(random, type,
                        getSizes({sizes.groups, sizes.batch, sizes.channels}, this->windows, &ConvolutionWindow::in),
                        orders.lhs)),
        rhs(makeOperand(
            random, type,
            getSizes({sizes.groups, sizes.channels, sizes.features}, this->windows, &ConvolutionWindow::size),
            orders.rhs)),
        out(makeOperand(random, outType,
                        getSizes({sizes.groups, sizes.batch, sizes.features}, this->windows, &ConvolutionWindow::out),
                        orders.out)) {
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

  void run(int threads, ConvolutionWays ways) {
    auto set = ConvolutionSet::create(threads, ways);
    ASSERT_TRUE(set.ok());
    auto number = (*set)->prepare(convolution, lhs.bytes.data(), rhs.bytes.data(), out.bytes.data(), "convolution");
    ASSERT_TRUE(number.ok()) << number.status().message();
    ASSERT_TRUE((*set)->finish().ok());
    ASSERT_TRUE((*set)->execute(*number).ok());
  }
  /// Leaves the result of one thread, which that of several has to be, bit by bit.
  void run(ConvolutionWays ways = ConvolutionWays::Fastest) {
    std::vector<std::byte> before = out.bytes;
    run(1, ways);
    for (int threads : {2, 4}) {
      std::vector<std::byte> alone = std::exchange(out.bytes, before);
      run(threads, ways);
      ASSERT_EQ(alone, out.bytes) << threads << " threads";
    }
  }
  bool isByLibrary() const { return LibraryConvolution::create(convolution, 1) != nullptr; }

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

  /// All ways. Small integers: every sum is exact in f32, and in 16 bit once rounded.
  void check() {
    std::vector<double> sums;
    forEachIndex(out.sizes, [&](const std::vector<int64_t> &at) { sums.push_back(sumAt(at)); });
    std::vector<std::byte> before = out.bytes;
    for (ConvolutionWays ways : {ConvolutionWays::Gathered, ConvolutionWays::Library, ConvolutionWays::Fastest}) {
      if (ways == ConvolutionWays::Library && !isByLibrary())
        continue;
      out.bytes = before;
      run(ways);
      if (::testing::Test::HasFatalFailure())
        return;
      size_t number = 0;
      forEachIndex(out.sizes, [&](const std::vector<int64_t> &at) {
        std::byte expected[8];
        store(out.type, expected, sums[number++]);
        ASSERT_EQ(loadAsDouble(out.type, out.at(at)), loadAsDouble(out.type, expected))
            << "group " << at[0] << ", batch " << at[1] << ", feature " << at[2] << ", way " << static_cast<int>(ways);
      });
    }
  }
};

/// One dimension of a layer of a network.
struct LayerDim {
  int64_t size, window, stride, dilation, low, out;
};

enum class ImageLayout { ChannelsLast, ChannelsFirst, Random };

/// A layer of a network, and its derivatives as the compiler writes them.
struct Layer {
  int64_t groups, images, inputs, outputs;
  std::vector<LayerDim> dims;
  ImageLayout layout;
  DType type, outType;
  /// Whether the window is that of a layer whose weights another framework keeps the other way round.
  bool isReversed;

  static Layer pick(Random &random) {
    bool isDepthwise = random.chance(20);
    Layer layer;
    layer.groups = isDepthwise ? random.pick(2, 24) : random.chance(75) ? 1 : random.pick(2, 3);
    layer.images = random.chance(15) ? random.pick(9, 18) : random.pick(1, 3);
    bool isWide = random.chance(20);
    layer.inputs = isDepthwise ? 1 : random.pick(1, isWide ? 40 : 12);
    layer.outputs = isDepthwise ? 1 : random.pick(1, isWide ? 100 : 12);
    int64_t longest = isWide || layer.images > 3 ? 5 : 18;
    for (int64_t left = random.chance(70) ? 2 : random.chance(60) ? 1 : 3; left != 0; --left)
      layer.dims.push_back(pickDim(random, left == 3 ? 4 : longest));
    layer.layout = random.choose(std::vector<ImageLayout>{ImageLayout::ChannelsLast, ImageLayout::ChannelsLast,
                                                          ImageLayout::ChannelsFirst, ImageLayout::Random});
    layer.type = random.chance(60) ? F32 : BF16;
    layer.outType = layer.type == BF16 && random.chance(70) ? BF16 : F32;
    layer.isReversed = random.chance(15);
    return layer;
  }

  Problem makeForward(Random &random) const {
    std::vector<ConvolutionWindow> windows;
    for (const LayerDim &d : dims)
      windows.push_back(makeWindow(d.size, d.window, d.out, d.stride, d.low, 1, d.dilation, isReversed));
    return {random, type, outType, {groups, images, inputs, outputs}, windows, order(1, 2, 1, 2, 1, 2)};
  }
  Problem makeData(Random &random) const {
    std::vector<ConvolutionWindow> windows;
    for (const LayerDim &d : dims)
      windows.push_back(makeWindow(d.out, d.window, d.size, 1, (d.window - 1) * d.dilation - d.low, d.stride,
                                   d.dilation, !isReversed));
    return {random, type, outType, {groups, images, outputs, inputs}, windows, order(1, 2, 2, 1, 1, 2)};
  }
  Problem makeWeights(Random &random) const {
    std::vector<ConvolutionWindow> windows;
    for (const LayerDim &d : dims)
      windows.push_back(makeWindow(d.size, d.out, d.window, d.dilation, d.low, 1, d.stride, false));
    return {random, type, outType, {groups, inputs, images, outputs}, windows, order(2, 1, 1, 2, 1, 2)};
  }
  /// The same for a transposed layer, whose image is dst.
  Problem makeTransposedWeights(Random &random) const {
    std::vector<ConvolutionWindow> windows;
    for (const LayerDim &d : dims)
      windows.push_back(
          makeWindow(d.out, d.size, d.window, d.dilation, (d.window - 1) * d.dilation - d.low, d.stride, 1, false));
    return {random, type, outType, {groups, outputs, images, inputs}, windows, order(2, 1, 1, 2, 2, 1)};
  }

private:
  static LayerDim pickDim(Random &random, int64_t longest) {
    while (true) {
      LayerDim dim;
      dim.size = random.pick(1, longest);
      dim.window = random.pick(1, 4);
      dim.stride = random.chance(60) ? 1 : random.pick(2, 3);
      dim.dilation = random.chance(75) ? 1 : random.pick(2, 3);
      dim.low = random.pick(random.chance(10) ? -1 : 0, dim.window - 1);
      int64_t high = random.pick(-1, dim.window),
              room = dim.size + dim.low + high - (dim.window - 1) * dim.dilation - 1;
      dim.out = room / dim.stride + 1;
      if (room >= 0)
        return dim;
    }
  }

  static ConvolutionWindow makeWindow(int64_t in, int64_t size, int64_t out, int64_t stride, int64_t low,
                                      int64_t lhsDilation, int64_t rhsDilation, bool reversed) {
    ConvolutionWindow window;
    window.set_in(in);
    window.set_size(size);
    window.set_out(out);
    window.set_stride(stride);
    window.set_low(low);
    window.set_lhs_dilation(lhsDilation);
    window.set_rhs_dilation(rhsDilation);
    window.set_reversed(reversed);
    return window;
  }

  /// The layouts of the arrays, by the dimensions in which images and channels, and inputs and outputs are.
  Orders order(size_t lhsImage, size_t lhsChannel, size_t input, size_t output, size_t outImage,
               size_t outChannel) const {
    if (layout == ImageLayout::Random)
      return {};
    std::vector<size_t> spatial;
    for (size_t i = dims.size(); i-- != 0;)
      spatial.push_back(3 + i);
    auto join = [&](std::vector<size_t> before, std::vector<size_t> after) {
      before.insert(before.end(), spatial.begin(), spatial.end());
      before.insert(before.end(), after.begin(), after.end());
      return before;
    };
    bool isLast = layout == ImageLayout::ChannelsLast;
    auto images = [&](size_t image, size_t channel) {
      return isLast ? join({channel, 0}, {image}) : join({}, {channel, 0, image});
    };
    auto weights = [&](size_t in, size_t out) { return isLast ? join({out, 0, in}, {}) : join({}, {in, out, 0}); };
    bool writesWeights = lhsImage == 2, readsRhsImages = writesWeights;
    return {images(lhsImage, lhsChannel), readsRhsImages ? images(1, 2) : weights(input, output),
            writesWeights ? weights(outImage, outChannel) : images(outImage, outChannel)};
  }
};

/// Checks what `makes` make of a layer and calls fn with each, up to one that is wrong.
template <typename Fn>
void checkEach(const Layer &layer, Random &random, std::initializer_list<Problem (Layer::*)(Random &) const> makes,
               Fn &&fn) {
  for (auto make : makes) {
    Problem problem = (layer.*make)(random);
    SCOPED_TRACE(problem.convolution.ShortDebugString());
    problem.check();
    if (::testing::Test::HasFatalFailure())
      return;
    fn(problem);
  }
}

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
    problem.check();
    if (HasFatalFailure())
      return;
  }
}

TEST(ConvolutionSet, LayersAndTheirDerivatives) {
  Random random;
  const char *rounds = std::getenv("MESHWRIGHT_TEST_ROUNDS");
  int byLibrary = 0, count = rounds ? 50 * std::atoi(rounds) : 50;
  for (int round = 0; round != count; ++round) {
    SCOPED_TRACE(random.describe(round));
    Layer layer = Layer::pick(random);
    checkEach(layer, random,
              {&Layer::makeForward, &Layer::makeData, &Layer::makeWeights, &Layer::makeTransposedWeights},
              [&](const Problem &problem) { byLibrary += problem.isByLibrary(); });
    if (HasFatalFailure())
      return;
  }
  // Its code depends on the processor, but there is some for each.
  EXPECT_GT(byLibrary, 0);
}

/// Layers of many channels, which tiles of AMX compute where there are any: also those of which a number is not finite,
/// and which are all computed another way then.
TEST(ConvolutionSet, LayersOfManyChannels) {
  Random random;
  int byTiles = 0;
  for (int round = 0; round != 8; ++round) {
    SCOPED_TRACE(random.describe(round));
    Layer layer = {1,   random.pick(1, 4), random.pick(32, 70), random.pick(32, 70), {}, ImageLayout::ChannelsLast, F32,
                   F32, random.chance(15)};
    for (int64_t left = random.chance(80) ? 2 : 1; left != 0; --left) {
      int64_t size = random.pick(6, 14), window = random.pick(1, 3), stride = random.pick(1, 2),
              low = random.pick(0, window - 1);
      layer.dims.push_back(
          {size, window, stride, 1, low, (size + low + random.pick(0, window - 1) - window) / stride + 1});
    }
    checkEach(layer, random, {&Layer::makeForward, &Layer::makeData, &Layer::makeWeights}, [&](Problem &problem) {
      std::vector<ConvolutionForm> forms = getForms(problem.convolution);
      byTiles += !forms.empty() && AmxConvolution::create(forms.front(), 1);
      Operand &operand = random.chance(50) ? problem.lhs : problem.rhs;
      store(F32, &operand.bytes[random.pick(0, static_cast<int64_t>(operand.bytes.size() / 4) - 1) * 4],
            random.choose<double>({NAN, INFINITY, -INFINITY}));
      problem.run(ConvolutionWays::Library);
      std::vector<std::byte> expected = problem.out.bytes;
      problem.run(ConvolutionWays::Fastest);
      if (HasFatalFailure())
        return;
      // Where the number meets padding alone, all sums are finite and exact.
      EXPECT_TRUE(problem.out.bytes == expected);
    });
    if (HasFatalFailure())
      return;
  }
  if (hasAmx()) {
    EXPECT_GT(byTiles, 0);
  }
}

TEST(ConvolutionSet, WindowsOfPaddingAlone) {
  Random random;
  // At the end, before the beginning, and on both sides of a single element.
  for (LayerDim dim : {LayerDim{5, 2, 2, 1, 1, 4}, LayerDim{4, 2, 1, 1, 3, 6}, LayerDim{1, 2, 1, 4, 2, 1}})
    for (DType type : {F32, BF16})
      for (int64_t channels : {9, 32}) {
        Layer layer = {1,    2,    channels, 2 * channels, {dim, {8, 1, 3, 1, 0, 3}}, ImageLayout::ChannelsLast,
                       type, type, false};
        checkEach(layer, random, {&Layer::makeForward, &Layer::makeData, &Layer::makeWeights}, [](const Problem &) {});
        if (HasFatalFailure())
          return;
      }
}

/// For these oneDNN 2.6 has code that writes beyond its memory.
TEST(ConvolutionSet, PointwiseWeightsOfFewChannels) {
  Random random;
  for (int64_t channels : {3, 8, 15}) {
    LayerDim dim = {64, 1, 2, 1, 0, 32};
    Layer layer = {1, 2, channels, 16, {dim, dim}, ImageLayout::ChannelsLast, F32, F32, false};
    Problem problem = layer.makeWeights(random);
    EXPECT_FALSE(problem.isByLibrary());
    problem.check();
  }
}

TEST(ConvolutionSet, RowsOfOneImage) {
  Random random;
  int64_t parts = 0;
  for (int round = 0; round != 6; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t stride = round % 2 + 1, window = random.pick(2, 4), size = random.pick(48, 56),
            low = random.pick(0, window - 1);
    LayerDim wide = {size, window, stride, 1, low, (size + window - 1 - window) / stride + 1},
             narrow = {8, 2, 1, 1, 0, 7};
    Layer layer = {
        1,   1,   32,   32, {wide, narrow}, round < 4 ? ImageLayout::ChannelsLast : ImageLayout::ChannelsFirst,
        F32, F32, false};
    checkEach(layer, random, {&Layer::makeForward, &Layer::makeData}, [&](const Problem &problem) {
      if (auto library = LibraryConvolution::create(problem.convolution, 1))
        parts = std::max(parts, library->getNumParts());
    });
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(parts, 1);
}

TEST(ConvolutionSet, SizesBeyondOneBlock) {
  Random random;
  ConvolutionWindow wide = makeWindow(40, 3, 1, 1, 1, 1, 1, false), deep = makeWindow(70, 60, 1, 0, 0, 1, 1, true);
  for (int round = 0; round != 6; ++round) {
    SCOPED_TRACE(random.describe(round));
    Problem rows(random, round % 2 ? F32 : F64, F32, {1, 2, 3, 5}, {wide, wide});
    rows.check();
    Problem depth(random, round % 2 ? F32 : F64, F64, {2, 2, 90, 3}, {deep});
    depth.check();
  }
  for (Problem residues : {Problem(random, RESIDUE, RESIDUE, {1, 2, 3, 5}, {wide, wide}),
                           Problem(random, RESIDUE, RESIDUE, {2, 2, 90, 3}, {deep})}) {
    residues.check();
  }
}

TEST(ConvolutionSet, EmptySumsAreZero) {
  Random random;
  Problem problem(random, F32, F32, {2, 2, 0, 3}, {makeWindow(4, 2, 1, 0, 0, 1, 1, false)});
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
