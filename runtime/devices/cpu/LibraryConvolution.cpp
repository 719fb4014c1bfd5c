//===- LibraryConvolution.cpp - a convolution by oneDNN -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution is a list of steps, each a primitive with its memory: what comes before the parts (weights into the
// layout that the library likes), those of a part, and what comes after.
//
//               before                a part                                      after
//   forward,    flip and pack the     [reorder images or rows] convolve [reorder]
//   data        weights
//   weights     –                     [reorder images] convolve into sums         add the sums of all parts,
//    by images                                                                    reorder [and flip] them
//    by         [reorder images]      copy channels, convolve, reorder [and flip]
//    channels
//
// Images are read and written as they lie where the library has compiled code for that, which it has for neighbouring
// channels; else they are reordered on the way.
//
//===----------------------------------------------------------------------===//

#include "LibraryConvolution.h"
#include "ConvolutionForm.h"
#include "LibraryPrimitive.h"
#include "PatchBlocks.h"
#include "Threads.h"
#include "meshwright/runtime/Arena.h"
#include <algorithm>
#include <oneapi/dnnl/dnnl.h>
#include <optional>
#include <string_view>

using namespace meshwright;
using namespace meshwright::runtime;

/// A part of fewer operations is not worth its calls, unless there were fewer parts than this.
static constexpr double minPartFlops = 2e6;
static constexpr int64_t usualParts = 8;
/// Rows of images are divided where there are fewer images than this, into blocks of so many rows and operations.
static constexpr int64_t minParts = 4, minRows = 8;
static constexpr double minRowFlops = 1e6;
/// Channels of a part of a gradient of weights, if there are at least two such parts.
static constexpr int64_t minPartChannels = 32, vectorChannels = 16;
/// Positions of a row that a gradient of weights by channels has at least.
static constexpr int64_t minRow = 16;
/// Elements of a window that is flipped, one call for each.
static constexpr int64_t maxFlippedWindow = 64;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

namespace {

struct Library {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;

  Library() {
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
      engine = nullptr;
  }
  ~Library() {
    if (stream)
      dnnl_stream_destroy(stream);
    if (engine)
      dnnl_engine_destroy(engine);
  }
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
};

using Desc = dnnl_memory_desc_t;
using Dims = std::vector<int64_t>;

std::optional<dnnl_data_type_t> getType(DType type) {
  if (type == F32)
    return dnnl_f32;
  if (type == BF16)
    return dnnl_bf16;
  return std::nullopt;
}

/// Memory by strides; nothing where elements overlap.
std::optional<Desc> describe(dnnl_data_type_t type, const Dims &sizes, const Dims &strides) {
  Desc desc;
  dnnl_dims_t dims, steps;
  for (size_t i = 0; i != sizes.size(); ++i) {
    if (sizes[i] > 1 && strides[i] <= 0)
      return std::nullopt;
    dims[i] = sizes[i];
    steps[i] = std::max<int64_t>(strides[i], 1);
  }
  if (dnnl_memory_desc_init_by_strides(&desc, static_cast<int>(sizes.size()), dims, type, steps) != dnnl_success)
    return std::nullopt;
  return desc;
}

/// Memory in the layout that a primitive likes best.
Desc describeAny(const Desc &desc) {
  Desc any;
  dnnl_memory_desc_init_by_tag(&any, desc.ndims, desc.dims, desc.data_type, dnnl_format_tag_any);
  return any;
}

/// Memory of these sizes without gaps, the last dimension innermost.
Desc describeDense(dnnl_data_type_t type, const Desc &desc) {
  Desc dense;
  dnnl_memory_desc_init_by_strides(&dense, desc.ndims, desc.dims, type, nullptr);
  return dense;
}

/// Images of these sizes without gaps, whose channels are neighbours.
Desc describeChannelsLast(const Desc &images) {
  Desc last;
  dnnl_dims_t strides;
  int64_t stride = images.dims[1];
  strides[1] = 1;
  for (int dim = images.ndims; dim-- != 2; stride *= images.dims[dim])
    strides[dim] = stride;
  strides[0] = stride;
  dnnl_memory_desc_init_by_strides(&last, images.ndims, images.dims, images.data_type, strides);
  return last;
}

bool areEqual(const Desc &a, const Desc &b) { return dnnl_memory_desc_equal(&a, &b) != 0; }
uint64_t getBytes(const Desc &desc) { return dnnl_memory_desc_get_size(&desc); }

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

enum class Place { Lhs, Rhs, Out, Shared, Scratch };

Place getPlace(ConvolutionArray array) {
  return array == ConvolutionArray::Lhs ? Place::Lhs : array == ConvolutionArray::Rhs ? Place::Rhs : Place::Out;
}

/// An argument of a primitive: `offset` bytes into its memory, and so many more for each part.
struct Argument {
  int id;
  Desc desc;
  Place place;
  int64_t offset = 0, perPart = 0;
};

struct Step {
  LibraryPrimitive primitive;
  std::vector<Argument> arguments;
  /// The arguments of every thread.
  std::vector<std::vector<dnnl_exec_arg_t>> bound;
};

/// A convolution of the library with the layouts that it chose.
struct Convolve {
  LibraryPrimitive primitive;
  Desc src, weights, dst, scratchpad;
};

} // namespace

struct LibraryConvolution::Implementation {
  ConvolutionForm form;
  int threads = 1;
  /// How many images, or channels, a part has, and the last one; the steps of both.
  int64_t numParts = 0, partSize = 0, lastSize = 0;
  std::vector<Step> before, whole, last, after;
  /// The steps of blocks of rows, where a part is such a block of one image.
  std::vector<std::vector<Step>> rowBlocks;
  uint64_t sharedBytes = 0, scratchBytes = 0;
  /// The sums of parts, one after the other from here on in shared memory, which are added; none where it is zero.
  int64_t sumsOffset = 0, sumBytes = 0;
  std::byte *shared = nullptr;
  std::vector<std::byte *> scratch;

  ~Implementation() {
    auto destroy = [](std::vector<Step> &steps) {
      for (Step &step : steps)
        for (auto &arguments : step.bound)
          for (dnnl_exec_arg_t &argument : arguments)
            dnnl_memory_destroy(argument.memory);
    };
    for (std::vector<Step> *steps : {&before, &whole, &last, &after})
      destroy(*steps);
    std::ranges::for_each(rowBlocks, destroy);
  }

  static const Library &library() {
    static const Library found;
    return found;
  }

  //===--------------------------------------------------------------------===//
  // Preparation
  //===--------------------------------------------------------------------===//

  int64_t reserve(Place place, uint64_t bytes) {
    uint64_t &total = place == Place::Shared ? sharedBytes : scratchBytes;
    uint64_t offset = total;
    total += alignToLine(bytes);
    return static_cast<int64_t>(offset);
  }

  bool addReorder(std::vector<Step> &steps, Argument from, Argument to) {
    setLibraryThreads(&steps == &before || &steps == &after ? threads : 1);
    from.id = DNNL_ARG_FROM;
    to.id = DNNL_ARG_TO;
    dnnl_primitive_attr_t attributes;
    if (dnnl_primitive_attr_create(&attributes) != dnnl_success)
      return false;
    dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    dnnl_primitive_desc_t desc = nullptr;
    bool made = dnnl_reorder_primitive_desc_create(&desc, &from.desc, library().engine, &to.desc, library().engine,
                                                   attributes) == dnnl_success;
    dnnl_primitive_attr_destroy(attributes);
    if (!made)
      return false;
    Argument pad = {DNNL_ARG_SCRATCHPAD, *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0),
                    Place::Scratch};
    pad.offset = reserve(Place::Scratch, getBytes(pad.desc));
    dnnl_primitive_t primitive = nullptr;
    made = dnnl_primitive_create(&primitive, desc) == dnnl_success;
    dnnl_primitive_desc_destroy(desc);
    if (made)
      steps.push_back({LibraryPrimitive(primitive), {from, to, pad}, {}});
    return made;
  }

  /// Reorders an array in scratch memory, if the library likes another layout, and says where it is then.
  std::optional<Argument> addInput(std::vector<Step> &steps, const Argument &from, const Desc &wanted, Place place) {
    if (areEqual(from.desc, wanted))
      return from;
    Argument to = {0, wanted, place};
    to.offset = reserve(place, getBytes(wanted));
    if (!addReorder(steps, from, to))
      return std::nullopt;
    return to;
  }

  /// Where flipped weights are copied: a reorder of every element of the window, of `plain` from or to `dense`.
  bool addFlips(std::vector<Step> &steps, const Argument &plain, const Argument &dense, bool toDense) {
    size_t first = form.groups > 1 ? 3 : 2;
    int64_t window = 1;
    for (const FormDim &dim : form.dims)
      window *= dim.kernel;
    if (window > maxFlippedWindow)
      return false;
    auto getElement = [&](Argument array, int64_t number, bool flips) {
      auto size = static_cast<int64_t>(dnnl_data_type_size(array.desc.data_type));
      Dims sizes(array.desc.dims, array.desc.dims + array.desc.ndims);
      const auto &strides = array.desc.format_desc.blocking.strides;
      for (size_t i = form.dims.size(); i-- != 0;) {
        const FormDim &dim = form.dims[i];
        int64_t at = number % dim.kernel;
        number /= dim.kernel;
        array.offset += (flips && dim.flipped ? dim.kernel - 1 - at : at) * strides[first + i] * size;
        sizes[first + i] = 1;
      }
      array.desc = *describe(array.desc.data_type, sizes, Dims(strides, strides + sizes.size()));
      return array;
    };
    for (int64_t number = 0; number != window; ++number) {
      Argument from = getElement(plain, number, true), to = getElement(dense, number, false);
      if (!addReorder(steps, toDense ? from : to, toDense ? to : from))
        return false;
    }
    return true;
  }

  bool isFlipped() const { return std::ranges::any_of(form.dims, &FormDim::flipped); }

  /// The memory of so many images with so many channels of each group.
  std::optional<Argument> describeImages(const FormImages &array, bool isDst, int64_t images, int64_t channels) const {
    auto type = getType(array.type);
    if (!type)
      return std::nullopt;
    int64_t stride = form.groups == 1 || channels > 1 ? array.channel : array.group;
    if (form.groups > 1 && channels > 1 && array.group != channels * array.channel)
      return std::nullopt;
    Dims sizes = {images, form.groups * channels}, strides = {array.image, stride};
    for (size_t i = 0; i != form.dims.size(); ++i) {
      sizes.push_back(isDst ? form.dims[i].dst : form.dims[i].src);
      strides.push_back(array.spatial[i]);
    }
    auto desc = describe(*type, sizes, strides);
    if (!desc)
      return std::nullopt;
    return Argument{0, *desc, getPlace(array.array)};
  }

  std::optional<Argument> describeWeights(int64_t outputs) const {
    auto type = getType(form.weights.type);
    if (!type)
      return std::nullopt;
    Dims sizes = {outputs, form.inputs}, strides = {form.weights.output, form.weights.input};
    if (form.groups > 1) {
      sizes.insert(sizes.begin(), form.groups);
      strides.insert(strides.begin(), form.weights.group);
    }
    for (size_t i = 0; i != form.dims.size(); ++i) {
      sizes.push_back(form.dims[i].kernel);
      strides.push_back(form.weights.spatial[i]);
    }
    auto desc = describe(*type, sizes, strides);
    if (!desc)
      return std::nullopt;
    return Argument{0, *desc, getPlace(form.weights.array)};
  }

  /// Whether the library's code of that name is compiled for the convolution. Other code is a loop over elements, or
  /// gathers patches of whole images. Code that is not for depthwise convolutions has vectors of one channel for these.
  /// That for AMX calls a null pointer in oneDNN 2.6 for windows with padding alone, and that for point-wise weights
  /// writes beyond its scratch memory with a stride and fewer inputs than a vector has.
  bool isFast(std::string_view code) const {
    if (!code.starts_with("brg") && !code.starts_with("jit"))
      return false;
    if (code.find("amx") != std::string_view::npos && std::ranges::any_of(form.dims, hasEmptyWindow))
      return false;
    bool isPointwise = std::ranges::all_of(form.dims, [](const FormDim &dim) { return dim.kernel == 1; });
    bool isStrided = std::ranges::any_of(form.dims, [](const FormDim &dim) { return dim.stride > 1; });
    if (form.kind == ConvolutionForm::Weights && isPointwise && isStrided && form.inputs < vectorChannels)
      return false;
    return form.inputs > 1 || form.outputs > 1 || form.groups == 1 || code.find("dw") != std::string_view::npos;
  }

  /// A convolution of arrays in these layouts, weights in any; nothing without code that is compiled for it.
  std::optional<Convolve> createConvolve(const Desc &src, Desc weights, const Desc &dst) const {
    weights = describeAny(weights);
    dnnl_dims_t strides, dilations, low, high;
    for (size_t i = 0; i != form.dims.size(); ++i) {
      strides[i] = form.dims[i].stride;
      dilations[i] = form.dims[i].dilation - 1;
      low[i] = form.dims[i].low;
      high[i] = form.dims[i].high;
    }
    setLibraryThreads(1);
    dnnl_convolution_desc_t operation;
    dnnl_status_t status;
    if (form.kind == ConvolutionForm::Forward)
      status = dnnl_dilated_convolution_forward_desc_init(&operation, dnnl_forward_training, dnnl_convolution_direct,
                                                          &src, &weights, nullptr, &dst, strides, dilations, low, high);
    else if (form.kind == ConvolutionForm::Data)
      status = dnnl_dilated_convolution_backward_data_desc_init(&operation, dnnl_convolution_direct, &src, &weights,
                                                                &dst, strides, dilations, low, high);
    else
      status = dnnl_dilated_convolution_backward_weights_desc_init(&operation, dnnl_convolution_direct, &src, &weights,
                                                                   nullptr, &dst, strides, dilations, low, high);
    if (status != dnnl_success)
      return std::nullopt;
    dnnl_primitive_attr_t attributes;
    if (dnnl_primitive_attr_create(&attributes) != dnnl_success)
      return std::nullopt;
    dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    dnnl_primitive_desc_t desc = nullptr;
    status = dnnl_primitive_desc_create(&desc, &operation, attributes, library().engine, nullptr);
    dnnl_primitive_attr_destroy(attributes);
    if (status != dnnl_success)
      return std::nullopt;
    Convolve convolve;
    auto query = [&](dnnl_query_t what) { return *dnnl_primitive_desc_query_md(desc, what, 0); };
    convolve.src = query(form.kind == ConvolutionForm::Data ? dnnl_query_diff_src_md : dnnl_query_src_md);
    convolve.weights =
        query(form.kind == ConvolutionForm::Weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
    convolve.dst = query(form.kind == ConvolutionForm::Forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md);
    convolve.scratchpad = query(dnnl_query_scratchpad_md);
    const char *info = nullptr;
    bool isCompiled = dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &info) == dnnl_success && info &&
                      isFast(std::string_view(info));
    if (dnnl_primitive_t primitive; isCompiled && dnnl_primitive_create(&primitive, desc) == dnnl_success)
      convolve.primitive.reset(primitive);
    dnnl_primitive_desc_destroy(desc);
    if (!convolve.primitive)
      return std::nullopt;
    return convolve;
  }

  /// The same of arrays as they lie, if it has code for that, else of arrays in the layouts that it likes, or else with
  /// neighbouring channels: it likes layouts by the kind of convolution, before it knows whether it has code.
  std::optional<Convolve> createEither(const Desc &src, const Desc &weights, const Desc &dst) const {
    if (auto direct = createConvolve(src, weights, dst))
      return direct;
    if (auto liked = createConvolve(describeAny(src), weights, describeAny(dst)))
      return liked;
    return createConvolve(describeChannelsLast(src), weights, describeChannelsLast(dst));
  }

  void addConvolve(std::vector<Step> &steps, Convolve &&convolve, Argument src, Argument weights, Argument dst) {
    src.id = form.kind == ConvolutionForm::Data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
    weights.id = form.kind == ConvolutionForm::Weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
    dst.id = form.kind == ConvolutionForm::Forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
    Argument pad = {DNNL_ARG_SCRATCHPAD, convolve.scratchpad, Place::Scratch};
    pad.offset = reserve(Place::Scratch, getBytes(convolve.scratchpad));
    steps.push_back({std::move(convolve.primitive), {src, weights, dst, pad}, {}});
  }

  double getFlops() const {
    double flops =
        2.0 * static_cast<double>(form.groups * form.images * form.inputs) * static_cast<double>(form.outputs);
    for (const FormDim &dim : form.dims)
      flops *= static_cast<double>(dim.dst * dim.kernel);
    return flops;
  }

  /// Calls fn(steps, size) for whole parts of `size` of `total`, and for the last part if it is smaller.
  template <typename Fn> bool divideParts(int64_t total, int64_t size, Fn &&fn) {
    partSize = size;
    numParts = (total - 1) / size + 1;
    lastSize = total - (numParts - 1) * size;
    return fn(whole, size) && (lastSize == size || fn(last, lastSize));
  }

  /// Images forward, or the gradient of data: parts are images.
  bool prepareImages() {
    auto weights = describeWeights(form.outputs);
    if (!weights)
      return false;
    int64_t size =
        std::clamp<int64_t>(static_cast<int64_t>(minPartFlops * static_cast<double>(form.images) / getFlops()), 1,
                            std::max<int64_t>(form.images / usualParts, 1));
    std::optional<Argument> packed;
    auto addSteps = [&](std::vector<Step> &steps, int64_t images, int64_t srcRow = 0, int64_t dstRow = 0) {
      auto src = describeImages(form.src, false, images, form.inputs),
           dst = describeImages(form.dst, true, images, form.outputs);
      if (!src || !dst)
        return false;
      auto convolve = createEither(src->desc, weights->desc, dst->desc);
      if (!convolve)
        return false;
      src->perPart = getBytesOf(form.src, form.src.image * size);
      dst->perPart = getBytesOf(form.dst, form.dst.image * size);
      src->offset = getBytesOf(form.src, form.src.spatial[0] * srcRow);
      dst->offset = getBytesOf(form.dst, form.dst.spatial[0] * dstRow);
      if (!packed || !areEqual(packed->desc, convolve->weights)) {
        Argument from = *weights;
        if (isFlipped()) {
          Argument dense = {0, describeDense(from.desc.data_type, from.desc), Place::Shared};
          dense.offset = reserve(Place::Shared, getBytes(dense.desc));
          if (!addFlips(before, from, dense, true))
            return false;
          from = dense;
        }
        packed = addInput(before, from, convolve->weights, Place::Shared);
      }
      bool isForward = form.kind == ConvolutionForm::Forward;
      Argument in = isForward ? *src : *dst, out = isForward ? *dst : *src;
      auto read = addInput(steps, in, isForward ? convolve->src : convolve->dst, Place::Scratch);
      if (!packed || !read)
        return false;
      Argument written = out;
      written.desc = isForward ? convolve->dst : convolve->src;
      bool reorders = !areEqual(written.desc, out.desc);
      if (reorders) {
        written = {0, written.desc, Place::Scratch};
        written.offset = reserve(Place::Scratch, getBytes(written.desc));
      }
      addConvolve(steps, std::move(*convolve), isForward ? *read : written, *packed, isForward ? written : *read);
      return !reorders || addReorder(steps, written, out);
    };
    std::vector<RowBlock> blocks = cutRows();
    if (blocks.size() <= 1)
      return divideParts(form.images, size, addSteps);
    FormDim all = form.dims.front();
    rowBlocks.resize(blocks.size());
    numParts = form.images * static_cast<int64_t>(blocks.size());
    bool done = true;
    for (size_t i = 0; i != blocks.size(); ++i) {
      form.dims.front() = blocks[i].dim;
      done = done && addSteps(rowBlocks[i], 1, blocks[i].src, blocks[i].dst);
    }
    form.dims.front() = all;
    return done;
  }

  /// Some rows of what is written, and the rows of what is read for them: a convolution of its own.
  struct RowBlock {
    FormDim dim;
    int64_t src, dst;
  };

  /// Blocks of rows that are enough parts where images are few; one where rows cannot be cut.
  std::vector<RowBlock> cutRows() const {
    const FormDim &all = form.dims.front();
    bool isForward = form.kind == ConvolutionForm::Forward;
    int64_t rows = isForward ? all.dst : all.src, count = (minParts - 1) / form.images + 1;
    count = std::min(
        {count, rows / minRows, static_cast<int64_t>(getFlops() / (minRowFlops * static_cast<double>(form.images)))});
    std::vector<RowBlock> blocks;
    if (count <= 1)
      return blocks;
    // A gradient of data begins where the forward window does.
    int64_t size = ((rows - 1) / count / all.stride + 1) * all.stride;
    for (int64_t from = 0; from < rows; from += size) {
      int64_t to = std::min(rows, from + size);
      FormDim dim = all;
      RowBlock block = {dim, from, from};
      if (isForward) {
        int64_t first = from * all.stride - all.low,
                end = (to - 1) * all.stride + (all.kernel - 1) * all.dilation + 1 - all.low;
        block.src = std::max<int64_t>(first, 0);
        dim.low = block.src - first;
        dim.src = std::min(end, all.src) - block.src;
        dim.dst = to - from;
      } else {
        // Element i of src meets position j of dst at i + low − j · stride, which is within the window.
        int64_t reach = (all.kernel - 1) * all.dilation, first = from + all.low - reach;
        block.dst = first <= 0 ? 0 : (first - 1) / all.stride + 1;
        dim.low = from + all.low - block.dst * all.stride;
        dim.src = to - from;
        dim.dst = std::min(all.dst, (to - 1 + all.low) / all.stride + 1) - block.dst;
      }
      dim.high = (dim.dst - 1) * dim.stride + (dim.kernel - 1) * dim.dilation + 1 - dim.src - dim.low;
      if (dim.src <= 0 || dim.dst <= 0 || !isPlain(dim))
        return {};
      block.dim = dim;
      blocks.push_back(block);
    }
    return blocks;
  }

  static int64_t getBytesOf(const auto &array, int64_t elements) {
    return elements * static_cast<int64_t>(getSize(array.type));
  }

  /// Weights in f32 from where the library left them to where they belong.
  bool addResult(std::vector<Step> &steps, const Argument &sums, const Argument &out, Place place) {
    if (!isFlipped())
      return addReorder(steps, sums, out);
    Argument dense = {0, describeDense(dnnl_f32, out.desc), place};
    dense.offset = reserve(place, getBytes(dense.desc));
    return addReorder(steps, sums, dense) && addFlips(steps, out, dense, false);
  }

  Desc getSums(const Argument &weights) const {
    Desc desc = weights.desc;
    desc.data_type = dnnl_f32;
    return desc;
  }

  /// The gradient of weights of a part of the channels, over all images.
  bool prepareChannels() {
    int64_t size =
        std::max(minPartChannels, (form.outputs / usualParts + vectorChannels - 1) / vectorChannels * vectorChannels);
    std::optional<Argument> images;
    return divideParts(form.outputs, size, [&](std::vector<Step> &steps, int64_t channels) {
      auto src = describeImages(form.src, false, form.images, form.inputs),
           dst = describeImages(form.dst, true, form.images, channels);
      auto weights = describeWeights(channels);
      if (!src || !dst || !weights)
        return false;
      auto convolve = createEither(src->desc, getSums(*weights), describeChannelsLast(dst->desc));
      if (!convolve)
        return false;
      dst->perPart = getBytesOf(form.dst, form.dst.channel * size);
      weights->perPart = getBytesOf(form.weights, form.weights.output * size);
      if (!images || !areEqual(images->desc, convolve->src))
        images = addInput(before, *src, convolve->src, Place::Shared);
      auto gradient = addInput(steps, *dst, convolve->dst, Place::Scratch);
      if (!images || !gradient)
        return false;
      Argument sums = {0, convolve->weights, Place::Scratch};
      sums.offset = reserve(Place::Scratch, getBytes(sums.desc));
      addConvolve(steps, std::move(*convolve), *images, sums, *gradient);
      return addResult(steps, sums, *weights, Place::Scratch);
    });
  }

  /// The gradient of weights of some images, which are added.
  bool prepareSums() {
    auto weights = describeWeights(form.outputs);
    if (!weights)
      return false;
    int64_t size = (form.images - 1) / usualParts + 1;
    std::optional<Argument> sums;
    bool done = divideParts(form.images, size, [&](std::vector<Step> &steps, int64_t images) {
      auto src = describeImages(form.src, false, images, form.inputs),
           dst = describeImages(form.dst, true, images, form.outputs);
      if (!src || !dst)
        return false;
      auto convolve = createEither(src->desc, getSums(*weights), dst->desc);
      if (!convolve)
        return false;
      src->perPart = getBytesOf(form.src, form.src.image * size);
      dst->perPart = getBytesOf(form.dst, form.dst.image * size);
      if (!sums) {
        sums = Argument{0, convolve->weights, Place::Shared};
        sumBytes = static_cast<int64_t>(alignToLine(getBytes(sums->desc)));
        sums->offset = sumsOffset = reserve(Place::Shared, sumBytes * numParts);
        sums->perPart = sumBytes;
      } else if (!areEqual(sums->desc, convolve->weights)) {
        return false;
      }
      auto from = addInput(steps, *src, convolve->src, Place::Scratch),
           gradient = addInput(steps, *dst, convolve->dst, Place::Scratch);
      if (!from || !gradient)
        return false;
      addConvolve(steps, std::move(*convolve), *from, *sums, *gradient);
      return true;
    });
    return done && addResult(after, *sums, *weights, Place::Shared);
  }

  /// Sums are written and read once more for each part, copied channels too: the smaller of both is better.
  bool prefersChannels() const {
    if (form.groups > 1 || form.outputs < 2 * minPartChannels)
      return false;
    int64_t sums = std::min(form.images, usualParts) * form.inputs * form.outputs,
            gradient = form.images * form.outputs;
    for (const FormDim &dim : form.dims) {
      sums *= dim.kernel;
      gradient *= dim.dst;
    }
    return form.images == 1 || gradient < sums;
  }

  bool prepare() {
    if (!library().engine)
      return false;
    if (form.kind != ConvolutionForm::Weights)
      return prepareImages();
    if (!prefersChannels())
      return prepareSums();
    // The library computes gradients of weights along rows of the images. Products over all positions of all images are
    // faster where rows are short and weights large, and patches are gathered in runs of neighbouring channels.
    bool gathersRuns = form.src.channel == 1 && form.dst.channel == 1;
    return (form.dims.back().dst >= minRow || !gathersRuns) && prepareChannels();
  }

  //===--------------------------------------------------------------------===//
  // Execution
  //===--------------------------------------------------------------------===//

  std::byte *getBase(const Argument &argument, size_t thread, const Addresses &at) const {
    switch (argument.place) {
    case Place::Lhs:
      return const_cast<std::byte *>(at.lhs);
    case Place::Rhs:
      return const_cast<std::byte *>(at.rhs);
    case Place::Out:
      return at.out;
    case Place::Shared:
      return shared;
    case Place::Scratch:
      return scratch[thread];
    }
    return nullptr;
  }

  Status bind(std::vector<Step> &steps, size_t threads) {
    for (Step &step : steps)
      for (size_t thread = 0; thread != threads; ++thread) {
        auto &bound = step.bound.emplace_back();
        for (const Argument &argument : step.arguments) {
          dnnl_memory_t memory = nullptr;
          if (dnnl_memory_create(&memory, &argument.desc, library().engine, DNNL_MEMORY_NONE) != dnnl_success)
            return faultError("oneDNN cannot describe the memory of a convolution");
          bound.push_back({argument.id, memory});
        }
      }
    return {};
  }

  Status run(const std::vector<Step> &steps, size_t thread, const Addresses &at, int64_t part) {
    for (const Step &step : steps) {
      const auto &bound = step.bound[thread];
      for (size_t i = 0; i != bound.size(); ++i) {
        const Argument &argument = step.arguments[i];
        std::byte *address = getBase(argument, thread, at) + argument.offset + part * argument.perPart;
        if (dnnl_memory_set_data_handle(bound[i].memory, address) != dnnl_success)
          return faultError("oneDNN cannot be given the memory of a convolution");
      }
      dnnl_status_t status =
          dnnl_primitive_execute(step.primitive.get(), library().stream, static_cast<int>(bound.size()), bound.data());
      if (status != dnnl_success)
        return faultError("a convolution of oneDNN fails with status {}", int(status));
    }
    return {};
  }
};

LibraryConvolution::LibraryConvolution(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
LibraryConvolution::~LibraryConvolution() = default;

std::unique_ptr<LibraryConvolution> LibraryConvolution::create(const Convolution &convolution, int threads) {
  if (convolution.rounded_dtype() != DTYPE_INVALID || !getType(convolution.lhs_dtype()) ||
      convolution.lhs_dtype() != convolution.rhs_dtype() || !getType(convolution.out_dtype()))
    return nullptr;
  for (ConvolutionForm &form : getForms(convolution)) {
    auto implementation = std::make_unique<Implementation>();
    implementation->form = std::move(form);
    implementation->threads = threads;
    if (implementation->prepare())
      return std::unique_ptr<LibraryConvolution>(new LibraryConvolution(std::move(implementation)));
  }
  return nullptr;
}

int64_t LibraryConvolution::getNumParts() const { return implementation->numParts; }
uint64_t LibraryConvolution::getSharedBytes() const { return implementation->sharedBytes; }
uint64_t LibraryConvolution::getScratchBytes() const { return implementation->scratchBytes; }

Status LibraryConvolution::bind(std::byte *shared, std::span<std::byte *const> scratch) {
  implementation->shared = shared;
  implementation->scratch.assign(scratch.begin(), scratch.end());
  MW_TRY(implementation->bind(implementation->before, 1));
  MW_TRY(implementation->bind(implementation->after, 1));
  for (std::vector<Step> &steps : implementation->rowBlocks)
    MW_TRY(implementation->bind(steps, scratch.size()));
  MW_TRY(implementation->bind(implementation->whole, scratch.size()));
  return implementation->bind(implementation->last, scratch.size());
}

Status LibraryConvolution::begin(const Addresses &at) { return implementation->run(implementation->before, 0, at, 0); }

Status LibraryConvolution::runParts(size_t thread, const Addresses &at, int64_t from, int64_t to) {
  auto blocks = static_cast<int64_t>(implementation->rowBlocks.size());
  for (int64_t part = from; part != to; ++part) {
    if (blocks != 0) {
      MW_TRY(implementation->run(implementation->rowBlocks[part % blocks], thread, at, part / blocks));
      continue;
    }
    bool isLast = part + 1 == implementation->numParts && implementation->lastSize != implementation->partSize;
    MW_TRY(implementation->run(isLast ? implementation->last : implementation->whole, thread, at, part));
  }
  return {};
}

Status LibraryConvolution::end(const Addresses &at) {
  const Implementation &of = *implementation;
  if (of.sumBytes != 0) {
    constexpr int64_t size = sizeof(float);
    std::byte *sums = of.shared + of.sumsOffset;
    divide(of.threads, of.sumBytes / size, 1024, [&](int, int64_t from, int64_t to) {
      for (int64_t part = 1; part < of.numParts; ++part)
        addSums(F32, sums + part * of.sumBytes + from * size, sums + from * size, to - from);
    });
  }
  return implementation->run(implementation->after, 0, at, 0);
}
