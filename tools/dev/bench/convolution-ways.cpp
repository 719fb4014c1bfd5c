//===- convolution-ways.cpp - the ways of convolutions beside each other --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The convolutions of training steps of a ResNet (8 images of 64 × 64, 64 to 256 channels) and of a UNet (4 images of
// 64 × 64, 32 to 128 channels), and some of other kinds: forward, gradient of data and gradient of weights, as the
// compiler writes them: by gathering, by oneDNN, and by the fastest way, which is tiles of AMX for some. Each computes
// on one thread, in turns, and results are compared. Processor time of the shortest of several rounds; ratios are to
// oneDNN.
//
// usage: convolution-ways [f32 | bf16] [nhwc | nchw] [ROUNDS]
//
//===----------------------------------------------------------------------===//

#include "runtime/devices/cpu/ConvolutionSet.h"
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <limits>
#include <string_view>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// A layer: so many of them are in a step. `transposed` layers go from the smaller image to the larger one, so their
/// forward is the gradient of data of the layer that is described.
struct Layer {
  const char *network;
  int count;
  int64_t images, size, inputs, outputs, window, stride, groups;
  bool first, transposed;
};

constexpr Layer layers[] = {
    {"resnet", 1, 8, 64, 3, 64, 3, 1, 1, true, false},       {"resnet", 4, 8, 32, 64, 64, 3, 1, 1, false, false},
    {"resnet", 1, 8, 32, 64, 128, 3, 2, 1, false, false},    {"resnet", 1, 8, 32, 64, 128, 1, 2, 1, false, false},
    {"resnet", 3, 8, 16, 128, 128, 3, 1, 1, false, false},   {"resnet", 1, 8, 16, 128, 256, 3, 2, 1, false, false},
    {"resnet", 1, 8, 16, 128, 256, 1, 2, 1, false, false},   {"resnet", 3, 8, 8, 256, 256, 3, 1, 1, false, false},
    {"unet", 1, 4, 64, 3, 32, 3, 1, 1, true, false},         {"unet", 2, 4, 64, 32, 32, 3, 1, 1, false, false},
    {"unet", 1, 4, 64, 32, 64, 3, 2, 1, false, false},       {"unet", 2, 4, 32, 64, 64, 3, 1, 1, false, false},
    {"unet", 1, 4, 32, 64, 128, 3, 2, 1, false, false},      {"unet", 2, 4, 16, 128, 128, 3, 1, 1, false, false},
    {"unet", 1, 4, 32, 64, 128, 2, 2, 1, false, true},       {"unet", 1, 4, 32, 128, 64, 3, 1, 1, false, false},
    {"unet", 1, 4, 64, 32, 64, 2, 2, 1, false, true},        {"unet", 1, 4, 64, 64, 32, 3, 1, 1, false, false},
    {"unet", 1, 4, 64, 32, 3, 3, 1, 1, false, false},        {"depthwise", 1, 8, 32, 96, 96, 7, 1, 96, false, false},
    {"depthwise", 1, 8, 32, 96, 96, 3, 1, 96, false, false}, {"depthwise", 1, 8, 32, 96, 96, 3, 2, 96, false, false},
    {"grouped", 1, 8, 16, 128, 128, 3, 1, 4, false, false},  {"grouped", 1, 8, 32, 128, 128, 3, 1, 16, false, false},
    {"grouped", 1, 8, 32, 128, 128, 3, 1, 32, false, false}, {"grouped", 1, 8, 32, 64, 128, 3, 1, 64, false, false},
    {"small", 1, 8, 7, 512, 512, 3, 1, 1, false, false},     {"small", 1, 64, 14, 64, 64, 3, 1, 1, false, false},
    {"small", 1, 64, 8, 32, 32, 3, 1, 1, false, false},      {"large", 1, 1, 256, 16, 16, 3, 1, 1, false, false},
    {"point", 1, 8, 14, 256, 512, 1, 1, 1, false, false},    {"point", 1, 8, 56, 64, 64, 1, 1, 1, false, false}};

enum Derivative { Forward, Data, Weights };

/// The convolutions of a layer.
class Maker {
public:
  Maker(DType type, bool channelsFirst) : type(type), channelsFirst(channelsFirst) {}

  Convolution make(const Layer &layer, Derivative derivative) const {
    int64_t out = (layer.size - 1) / layer.stride + 1, low = layer.window > layer.stride ? (layer.window - 1) / 2 : 0;
    int64_t inputs = layer.inputs / layer.groups, outputs = layer.outputs / layer.groups, window = layer.window;
    // SAME puts the odd element of the padding last.
    if (layer.stride > 1)
      low = std::max<int64_t>((out - 1) * layer.stride + window - layer.size, 0) / 2;
    Convolution c;
    c.set_lhs_dtype(type);
    c.set_rhs_dtype(type);
    c.set_out_dtype(type);
    c.set_groups(layer.groups);
    std::vector<int64_t> src = getImages(layer.size, layer.inputs, layer.groups),
                         dst = getImages(out, layer.outputs, layer.groups);
    // HWIO, or OIHW.
    std::vector<int64_t> weights =
        channelsFirst
            ? std::vector<int64_t>{outputs * inputs * window * window, window * window, inputs * window * window,
                                   window, 1}
            : std::vector<int64_t>{outputs, layer.outputs, 1, window * inputs * layer.outputs, inputs * layer.outputs};
    ConvolutionWindow w;
    w.set_stride(1);
    w.set_lhs_dilation(1);
    w.set_rhs_dilation(1);
    if (derivative == Forward) {
      set(c, layer.images, inputs, outputs, src, weights, dst);
      set(w, layer.size, window, out, low);
      w.set_stride(layer.stride);
    } else if (derivative == Data) {
      std::swap(weights[1], weights[2]);
      set(c, layer.images, outputs, inputs, dst, weights, src);
      set(w, out, window, layer.size, window - 1 - low);
      w.set_lhs_dilation(layer.stride);
      w.set_reversed(true);
    } else {
      std::swap(src[1], src[2]);
      set(c, inputs, layer.images, outputs, src, dst, weights);
      set(w, layer.size, out, window, low);
      w.set_rhs_dilation(layer.stride);
    }
    *c.add_window() = w;
    *c.add_window() = w;
    return c;
  }

private:
  /// The strides of groups, images, channels and both dimensions.
  std::vector<int64_t> getImages(int64_t size, int64_t channels, int64_t groups) const {
    if (channelsFirst)
      return {channels / groups * size * size, channels * size * size, size * size, size, 1};
    return {channels / groups, channels * size * size, 1, size * channels, channels};
  }
  static void set(Convolution &c, int64_t batch, int64_t channels, int64_t features, const std::vector<int64_t> &lhs,
                  const std::vector<int64_t> &rhs, const std::vector<int64_t> &out) {
    c.set_batch(batch);
    c.set_channels(channels);
    c.set_features(features);
    c.mutable_lhs_strides()->Assign(lhs.begin(), lhs.end());
    c.mutable_rhs_strides()->Assign(rhs.begin(), rhs.end());
    c.mutable_out_strides()->Assign(out.begin(), out.end());
  }
  static void set(ConvolutionWindow &w, int64_t in, int64_t size, int64_t out, int64_t low) {
    w.set_in(in);
    w.set_size(size);
    w.set_out(out);
    w.set_low(low);
  }

  DType type;
  bool channelsFirst;
};

/// The bytes of an array of these strides.
uint64_t getBytes(const Convolution &c, const google::protobuf::RepeatedField<int64_t> &strides,
                  std::vector<int64_t> sizes, int64_t (ConvolutionWindow::*size)() const) {
  for (const ConvolutionWindow &window : c.window())
    sizes.push_back((window.*size)());
  int64_t last = 0;
  for (size_t i = 0; i != sizes.size(); ++i)
    last += (sizes[i] - 1) * strides[static_cast<int>(i)];
  return (last + 1) * getSize(c.lhs_dtype());
}

double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// One way of a convolution.
class Way {
public:
  Status prepare(ConvolutionWays ways, const Convolution &c, std::span<const std::byte> lhs,
                 std::span<const std::byte> rhs, uint64_t outBytes) {
    out.resize(outBytes);
    MW_TRY_ASSIGN(set, ConvolutionSet::create(1, ways));
    MW_TRY_ASSIGN(number, set->prepare(c, lhs.data(), rhs.data(), out.data(), "convolution"));
    return set->finish();
  }
  Status run() {
    double start = now();
    MW_TRY(set->execute(number));
    seconds = std::min(seconds, now() - start);
    return {};
  }

  std::vector<std::byte> out;
  double seconds = std::numeric_limits<double>::infinity();
  std::unique_ptr<ConvolutionSet> set;

private:
  uint32_t number = 0;
};

void fill(std::vector<std::byte> &bytes, DType type, uint32_t seed) {
  for (size_t i = 0; i != bytes.size(); i += getSize(type)) {
    seed = seed * 1664525 + 1013904223;
    float value = static_cast<float>(seed >> 8) / (1 << 23) - 1;
    if (type == BF16)
      *reinterpret_cast<BFloat16 *>(&bytes[i]) = BFloat16(value);
    else
      *reinterpret_cast<float *>(&bytes[i]) = value;
  }
}

/// The largest difference relative to the largest element.
double compare(const Way &a, const Way &b, DType type) {
  double difference = 0, largest = 1e-30;
  for (size_t i = 0; i != a.out.size(); i += getSize(type)) {
    double x = loadAsDouble(type, &a.out[i]), y = loadAsDouble(type, &b.out[i]);
    difference = std::max(difference, std::isnan(x - y) ? INFINITY : std::abs(x - y));
    largest = std::max(largest, std::abs(x));
  }
  return difference / largest;
}

/// Seconds of each way, and how far their results are apart.
struct Times {
  double gathered = 0, library = 0, fastest = 0, difference = 0;
};

Result<Times> measure(const Convolution &c, int rounds) {
  std::vector<std::byte> lhs(
      getBytes(c, c.lhs_strides(), {c.groups(), c.batch(), c.channels()}, &ConvolutionWindow::in)),
      rhs(getBytes(c, c.rhs_strides(), {c.groups(), c.channels(), c.features()}, &ConvolutionWindow::size));
  uint64_t outBytes = getBytes(c, c.out_strides(), {c.groups(), c.batch(), c.features()}, &ConvolutionWindow::out);
  fill(lhs, c.lhs_dtype(), 1);
  fill(rhs, c.lhs_dtype(), 2);
  Way gathered, library, fastest;
  MW_TRY(gathered.prepare(ConvolutionWays::Gathered, c, lhs, rhs, outBytes));
  MW_TRY(library.prepare(ConvolutionWays::Library, c, lhs, rhs, outBytes));
  MW_TRY(fastest.prepare(ConvolutionWays::Fastest, c, lhs, rhs, outBytes));
  for (int round = 0; round != rounds; ++round) {
    MW_TRY(gathered.run());
    MW_TRY(library.run());
    MW_TRY(fastest.run());
  }
  return Times{gathered.seconds, library.seconds, fastest.seconds,
               std::max(compare(gathered, library, c.out_dtype()), compare(gathered, fastest, c.out_dtype()))};
}

double getFlops(const Convolution &c, const Layer &layer) {
  double out = static_cast<double>((layer.size - 1) / layer.stride + 1);
  return 2.0 *
         static_cast<double>(layer.images * layer.inputs / layer.groups * layer.outputs * layer.window * layer.window) *
         out * out;
}

} // namespace

int main(int argc, char **argv) {
  DType type = F32;
  bool channelsFirst = false;
  int rounds = 7;
  for (std::string_view argument : std::span(argv + 1, argc - 1))
    if (argument == "bf16" || argument == "f32")
      type = argument == "bf16" ? BF16 : F32;
    else if (argument == "nchw" || argument == "nhwc")
      channelsFirst = argument == "nchw";
    else
      rounds = std::max(std::atoi(argument.data()), 1);
  const char *names[] = {"forward", "data", "weights"};
  Times total;
  bool allAgree = true;
  std::string_view network;
  auto endNetwork = [&] {
    if (!network.empty())
      fmt::print("{:<60} {:>7.2f} ms {:>7.2f} ms {:>7.2f} ms {:>21} {:>8.2f} {:>7.2f}\n",
                 fmt::format("{} in all", network), total.gathered * 1e3, total.library * 1e3, total.fastest * 1e3, "",
                 total.gathered / total.library, total.fastest / total.library);
    total = {};
  };
  fmt::print("{:<60} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>7}\n", "", "gathered", "oneDNN", "fastest",
             "of oneDNN", "GFLOP/s", "gathered", "fastest");
  for (const Layer &layer : layers) {
    if (network != layer.network)
      endNetwork();
    network = layer.network;
    for (Derivative derivative : {Forward, Data, Weights}) {
      // The input of a network has no gradient. A transposed layer is its described layer's gradient of data.
      if (layer.first && derivative == Data)
        continue;
      Derivative made = !layer.transposed       ? derivative
                        : derivative == Forward ? Data
                        : derivative == Data    ? Forward
                                                : Weights;
      Convolution c = Maker(type, channelsFirst).make(layer, made);
      Result<Times> times = measure(c, rounds);
      if (!times.ok()) {
        fmt::print(stderr, "convolution-ways: {}\n", times.status().message());
        return 1;
      }
      std::string name =
          fmt::format("{} {} x {}{}x{}x{} > {}, window {}, stride {}{}", layer.network, layer.count,
                      layer.transposed ? "transposed " : "", layer.images, layer.size, layer.inputs, layer.outputs,
                      layer.window, layer.stride, layer.groups > 1 ? fmt::format(", {} groups", layer.groups) : "");
      double flops = getFlops(c, layer) * 1e-9;
      bool agrees = times->difference <= (type == BF16 ? 1e-2 : 1e-4);
      fmt::print("{:<52}{:<8} {:>7.2f} ms {:>7.2f} ms {:>7.2f} ms {:>10.0f} {:>10.0f} {:>8.2f} {:>7.2f}{}\n", name,
                 names[derivative], times->gathered * 1e3, times->library * 1e3, times->fastest * 1e3,
                 flops / times->library, flops / times->fastest, times->gathered / times->library,
                 times->fastest / times->library, agrees ? "" : "  WRONG");
      std::fflush(stdout);
      allAgree &= agrees;
      total.gathered += times->gathered * layer.count;
      total.library += times->library * layer.count;
      total.fastest += times->fastest * layer.count;
    }
  }
  endNetwork();
  return allAgree ? 0 : 1;
}
