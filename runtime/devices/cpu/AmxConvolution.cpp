//===- AmxConvolution.cpp - f32 convolutions of bf16 tiles ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tiles are those of AmxMatmul.cpp, of planes of bf16. A convolution has two arrays of images:
//
//               forward   gradient of data   gradient of weights
//   source      src       dst                src
//   target      dst       src                dst
//
// Images are divided into planes once, not once for each element of the window. Positions of an image, and zeros
// between its rows, are lines of a plane one after the other. So 16 neighbours are a tile, wherever they begin, and an
// element of the window is a distance in lines, its shift:
//
//      columns     zeros           lines of 32 channels
//     +-----------+----+          +--------------------+
//     | 0 1 ... 7 | 8  |       0  |                    |   lines 0 to 15 are a tile
//     | 9 ... 16  | 17 |   ->  :  |                    |
//     | 18 ...    |    |       9  |                    |   lines 9 to 24 are the one that an element of the window
//     +-----------+----+       :  |                    |   reads which is one row below
//
// Zeros at the end of a row are also those before the next one. Where rows are shorter than tiles, lines of several
// images alternate.
//
// With a stride s, src is divided into phases: every s-th row and column from the first, the second and so on. Position
// i of a phase of the target meets position i + shift of a phase of the source.
//
// Forward and in the gradient of data, a tile of lines is the left operand and weights are the right one. A result is
// the sum of its terms: all elements of the window and blocks of 32 channels. The gradient of weights sums over
// positions. A pair is a position and another one a fixed distance after it, which is about half of all:
//
//   left operand    tiles of 16 channels by 16 pairs of positions of the source, transposed
//   right operand   lines of 16 channels of the target, one for each pair, which a tile reads by its shift before
//
// Sums that are NaN or infinite are left to another way, as they may be so in planes alone.
//
//===----------------------------------------------------------------------===//

#include "AmxConvolution.h"
#include "AmxPlanes.h"
#include "DividedProduct.h"
#include "PatchBlocks.h"
#include "Threads.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>

using namespace meshwright;
using namespace meshwright::runtime;

#if defined(__x86_64__) && defined(__linux__)

/// Bytes of the planes that a thread makes at once, and that all threads make together: a quarter and a half of a
/// second-level cache. Large weights allow more, and so does a single row of an image, up to the most.
static constexpr int64_t usualPartBytes = 512 << 10, usualChunkBytes = 1 << 20, mostBytes = 4 << 20;

namespace {

/// Calls work(thread, i) for so many i, divided among threads. False if one call returns false.
template <typename Work> bool forEach(int threads, int64_t count, Work &&work) {
  std::atomic<bool> isTrue = true;
  divide(threads, count, 1, [&](int thread, int64_t begin, int64_t end) {
    for (int64_t at = begin; at != end; ++at)
      if (!work(thread, at))
        isTrue = false;
  });
  return isTrue;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Rounds down, also below zero.
constexpr int64_t divideDown(int64_t value, int64_t by) { return value < 0 ? -((-value - 1) / by) - 1 : value / by; }

/// An element of the window along one axis, `element` of the array of weights.
struct Tap {
  int64_t element, sourcePhase, targetPhase, shift;
};

/// An image along one axis, with as many phases as its stride.
struct Side {
  int64_t size, stride;

  /// Positions of a phase, of which the first has most.
  int64_t count(int64_t phase) const { return divideUp(size - phase, stride); }
};

/// One spatial dimension.
struct Axis {
  Side source, target;
  std::vector<Tap> taps;
  int64_t minShift, maxShift;

  Axis(const FormDim &dim, bool isData)
      : source(isData ? Side{dim.dst, 1} : Side{dim.src, dim.stride}),
        target(isData ? Side{dim.src, dim.stride} : Side{dim.dst, 1}) {
    for (int64_t k = 0; k != dim.kernel; ++k) {
      int64_t at = k - dim.low, shift = divideDown(at, dim.stride), phase = at - shift * dim.stride;
      int64_t element = dim.flipped ? dim.kernel - 1 - k : k;
      taps.push_back(isData ? Tap{element, 0, phase, -shift} : Tap{element, phase, 0, shift});
    }
    auto [least, most] = std::ranges::minmax(taps, {}, &Tap::shift);
    minShift = least.shift;
    maxShift = most.shift;
  }

  /// Positions of a row and zeros after it, so many that no shift leads from a row into another one.
  int64_t getWidth() const {
    int64_t sources = source.count(0), targets = target.count(0);
    return std::max({sources, targets, sources - minShift, targets + maxShift});
  }
};

/// The positions of images beside each other.
struct Grid {
  int64_t width, images;

  /// The position of an element of the first image.
  int64_t at(int64_t row, int64_t column) const { return (row * width + column) * images; }
};

/// Distances of elements in memory.
struct Strides {
  int64_t image, row, column;
};

Strides getStrides(const FormImages &array) {
  return {array.image, array.spatial[0], array.spatial.size() == 2 ? array.spatial[1] : 0};
}

/// A phase of some images in memory; strides are between its own elements.
template <typename Float> struct Field {
  Float *first;
  Strides strides;
  int64_t images, rows, columns;
};

/// Walks over the positions of a grid.
template <typename Float> class Cursor {
public:
  /// Begins so many positions after the first of a row, or before it.
  Cursor(const Field<Float> &field, const Grid &grid, int64_t row, int64_t position) : field(field), grid(grid) {
    int64_t all = divideDown(position, grid.images), down = divideDown(all, grid.width);
    this->row = row + down;
    column = all - down * grid.width;
    image = position - all * grid.images;
  }

  /// The first channel of the element here, or null if there is none.
  Float *get() const {
    if (image >= field.images || column >= field.columns || row < 0 || row >= field.rows)
      return nullptr;
    return field.first + image * field.strides.image + row * field.strides.row + column * field.strides.column;
  }
  void advance() {
    if (++image != grid.images)
      return;
    image = 0;
    if (++column != grid.width)
      return;
    column = 0;
    ++row;
  }

private:
  const Field<Float> &field;
  const Grid &grid;
  int64_t row, column, image;
};

/// Up to 16 neighbouring positions, which are a tile.
struct Block {
  int64_t position, count;
};

/// The number of blocks for so many rows: row by row, or of all rows as one, whichever are fewer.
int64_t countBlocks(const Grid &grid, int64_t rows, int64_t columns) {
  return std::min(rows * divideUp(columns * grid.images, tileLines), divideUp(grid.at(rows - 1, columns), tileLines));
}

std::vector<Block> listBlocks(const Grid &grid, int64_t rows, int64_t columns) {
  int64_t ofRow = columns * grid.images;
  bool isByRow = countBlocks(grid, rows, columns) == rows * divideUp(ofRow, tileLines);
  int64_t runs = isByRow ? rows : 1, ofRun = isByRow ? ofRow : grid.at(rows - 1, columns);
  std::vector<Block> blocks;
  for (int64_t run = 0; run != runs; ++run)
    for (int64_t i = 0; i < ofRun; i += tileLines)
      blocks.push_back({grid.at(run, 0) + i, std::min(ofRun - i, tileLines)});
  return blocks;
}

struct Phase {
  int64_t row, column;
};

/// A convolution as both ways see it. A single dimension is that of rows.
struct Geometry {
  Axis rows, columns;
  int64_t images, sourceChannels, targetChannels;
  Strides source, target;
  /// Distances in the array of weights, of channels of the source and the target, and of elements of the window.
  int64_t sourceChannel, targetChannel;
  Strides window;
  /// The phases of the source that elements of the window meet.
  std::vector<Phase> phases;

  explicit Geometry(const ConvolutionForm &form)
      : Geometry(form, form.kind == ConvolutionForm::Data, form.dims.size() == 2) {}

  /// Where the weights of an element of the window begin.
  int64_t getWeight(const Tap &row, const Tap &column) const {
    return row.element * window.row + column.element * window.column;
  }

  int64_t countPhases() const { return static_cast<int64_t>(phases.size()); }
  /// The number of the phase that an element of the window meets.
  int64_t findPhase(const Tap &row, const Tap &column) const {
    return std::ranges::find_if(
               phases,
               [&](const Phase &phase) { return phase.row == row.sourcePhase && phase.column == column.sourcePhase; }) -
           phases.begin();
  }

  /// A phase of so many images from `image` on.
  template <typename Float>
  Field<Float> getSource(Float *array, const Phase &phase, int64_t image, int64_t count) const {
    return getField(array, source, rows.source, columns.source, phase, image, count);
  }
  template <typename Float>
  Field<Float> getTarget(Float *array, const Phase &phase, int64_t image, int64_t count) const {
    return getField(array, target, rows.target, columns.target, phase, image, count);
  }

private:
  Geometry(const ConvolutionForm &form, bool isData, bool hasColumns)
      : rows(form.dims[0], isData), columns(hasColumns ? form.dims[1] : FormDim{1, 1, 1, 1, 1, 0, 0, false}, isData),
        images(form.images), sourceChannels(isData ? form.outputs : form.inputs),
        targetChannels(isData ? form.inputs : form.outputs), source(getStrides(isData ? form.dst : form.src)),
        target(getStrides(isData ? form.src : form.dst)),
        sourceChannel(isData ? form.weights.output : form.weights.input),
        targetChannel(isData ? form.weights.input : form.weights.output),
        window{0, form.weights.spatial[0], hasColumns ? form.weights.spatial[1] : 0} {
    for (const Tap &row : rows.taps)
      for (const Tap &column : columns.taps)
        if (findPhase(row, column) == countPhases())
          phases.push_back({row.sourcePhase, column.sourcePhase});
  }

  template <typename Float>
  static Field<Float> getField(Float *array, const Strides &strides, const Side &rows, const Side &columns,
                               const Phase &phase, int64_t image, int64_t count) {
    return {array + image * strides.image + phase.row * strides.row + phase.column * strides.column,
            {strides.image, strides.row * rows.stride, strides.column * columns.stride},
            count,
            rows.count(phase.row),
            columns.count(phase.column)};
  }
};

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// 16 channels of a position from `channel` on; zeros are beyond all channels, and where there is no element.
TARGET_AMX_INLINE __m512 loadChannels(const float *position, int64_t channel, int64_t channels) {
  if (!position || channel >= channels)
    return _mm512_setzero_ps();
  return _mm512_maskz_loadu_ps(maskOf(std::min(channels - channel, tileLines)), position + channel);
}

/// Packs lines of so many positions. For each block of channels, each plane has one, and is `plane` bytes after the
/// plane before. A block is 32 channels of `first`, in pairs of one and the 16th after it, or 16 channels of both
/// positions.
template <bool isPaired>
TARGET_AMX void packLines(Cursor<const float> first, Cursor<const float> second, int64_t count, int64_t channels,
                          std::byte *to, int64_t plane) {
  constexpr int64_t block = isPaired ? tileLines : tileDepth;
  for (; count != 0; --count, to += lineBytes, first.advance(), second.advance()) {
    const float *one = first.get(), *other = isPaired ? second.get() : one;
    std::byte *line = to;
    for (int64_t channel = 0; channel < channels; channel += block, line += numPlanes * plane)
      writePlanes(loadChannels(one, channel, channels),
                  loadChannels(other, isPaired ? channel : channel + tileLines, channels), line, plane);
  }
}

/// Packs tiles of channels by up to 16 pairs of positions for the left operand. Those of 32 channels are `blockBytes`
/// after those before.
TARGET_AMX void packTransposed(Cursor<const float> first, Cursor<const float> second, int64_t count, int64_t channels,
                               std::byte *to, int64_t blockBytes) {
  const float *ones[tileLines] = {}, *others[tileLines] = {};
  for (int64_t i = 0; i != count; ++i, first.advance(), second.advance()) {
    ones[i] = first.get();
    others[i] = second.get();
  }
  for (int64_t channel = 0; channel < channels; channel += tileLines) {
    __m512 lines[tileLines], otherLines[tileLines];
    for (int i = 0; i != tileLines; ++i) {
      lines[i] = loadChannels(ones[i], channel, channels);
      otherLines[i] = loadChannels(others[i], channel, channels);
    }
    transpose(lines);
    transpose(otherLines);
    std::byte *tile = to + channel / tileDepth * blockBytes + channel % tileDepth / tileLines * tileBytes;
    for (int i = 0; i != tileLines; ++i)
      writePlanes(lines[i], otherLines[i], tile + i * lineBytes);
  }
}

/// Packs up to 32 x 32 weights for the right operand.
void packWeights(const float *from, int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride,
                 std::byte *to) {
  alignas(64) float gathered[squareSize];
  if (rowStride != 1 && columnStride != 1) {
    for (int64_t row = 0; row != rows; ++row)
      for (int64_t column = 0; column != columns; ++column)
        gathered[row * sliverLines + column] = from[row * rowStride + column * columnStride];
    from = gathered;
    rowStride = sliverLines;
    columnStride = 1;
  }
  for (int64_t column = 0; column < columns; column += tileLines, to += tileBytes)
    packTile<false>(from + column * columnStride, std::min(columns - column, tileLines), rows, columnStride, rowStride,
                    to);
}

//===----------------------------------------------------------------------===//
// Forward and the gradient of data
//===----------------------------------------------------------------------===//

/// The sums of terms for 16 or 32 positions, whose lines of a term are so many bytes after `first` and `second`. The
/// weights of terms are one after the other.
template <int rowTiles, int columnTiles>
TARGET_AMX void sumTerms(const std::byte *first, const std::byte *second, int64_t plane,
                         std::span<const int64_t> offsets, const std::byte *weights, float *sums) {
  loadSums<rowTiles, columnTiles>(nullptr);
  for (int64_t offset : offsets) {
    multiplyStep<rowTiles, columnTiles>({first + offset, second + offset, plane},
                                        {weights, weights + tileBytes, planeBytes});
    weights += stepBytes;
  }
  storeSums<rowTiles, columnTiles>(sums);
}

/// Images are written. A part is some images beside each other, or some rows of one. The planes of its source are
/// [phase][32 channels][plane][line]. Threads take parts with all weights, or, where weights are larger than planes, 32
/// channels of the target with all parts.
class ImagesConvolution final : public AmxConvolution {
public:
  ImagesConvolution(const ConvolutionForm &form, int threads)
      : geometry(form), threads(threads),
        sourceArray(form.kind == ConvolutionForm::Data ? form.dst.array : form.src.array),
        channelBlocks(divideUp(geometry.sourceChannels, tileDepth)),
        columnBlocks(divideUp(geometry.targetChannels, sliverLines)) {
    listTerms();
    choosePart();
    findOffsets();
  }

  uint64_t getScratchBytes() const override {
    return byColumns ? countParts() * getPlanesBytes(grid, partRows) + threads * getWeightsBytes(1)
                     : threads * getPlanesBytes(grid, partRows) + getWeightsBytes(columnBlocks);
  }

  /// See `getVectorCost`.
  double getCost() const {
    int64_t lines = countLines(grid, partRows) * geometry.countPhases() * channelBlocks;
    int64_t tiles = static_cast<int64_t>(blocks.size()) * divideUp(geometry.targetChannels, tileLines);
    constexpr int64_t ofTerm = 30, ofSums = 70, ofLine = 10, ofWeights = 150;
    int64_t ofTile = countTerms() * ofTerm + static_cast<int64_t>(targetPhases.size()) * ofSums;
    return static_cast<double>(countParts() * (tiles * ofTile + lines * ofLine) +
                               columnBlocks * countTerms() * ofWeights);
  }
  int64_t getPlanesBytes() const { return getPlanesBytes(grid, partRows); }

  bool execute(const std::byte *lhs, const std::byte *rhs, std::byte *out, std::byte *scratch) override {
    bool readsLhs = sourceArray == ConvolutionArray::Lhs;
    source = reinterpret_cast<const float *>(readsLhs ? lhs : rhs);
    weights = reinterpret_cast<const float *>(readsLhs ? rhs : lhs);
    target = reinterpret_cast<float *>(out);
    int64_t planesBytes = getPlanesBytes(grid, partRows);
    std::byte *packed = scratch + (byColumns ? countParts() : threads) * planesBytes;
    return byColumns ? executeColumns(scratch, planesBytes, packed) : executeParts(scratch, planesBytes, packed);
  }

private:
  /// An element of the window and a block of 32 channels of the source.
  struct Term {
    Tap row, column;
    int64_t block;
  };
  /// A phase of the target and the range of its terms.
  struct TargetPhase {
    Phase phase;
    size_t begin, end;
  };

  int64_t countTerms() const { return static_cast<int64_t>(terms.size()); }
  /// The packed weights of so many blocks of 32 channels of the target.
  int64_t getWeightsBytes(int64_t blocks) const { return blocks * countTerms() * stepBytes; }
  int64_t countRowParts() const { return divideUp(geometry.rows.target.count(0), partRows); }
  int64_t countParts() const { return divideUp(geometry.images, grid.images) * countRowParts(); }

  /// Elements of a row of the window follow each other, as they read nearly the same lines.
  void listTerms() {
    for (int64_t row = 0; row != geometry.rows.target.stride; ++row)
      for (int64_t column = 0; column != geometry.columns.target.stride; ++column) {
        size_t begin = terms.size();
        for (const Tap &y : geometry.rows.taps)
          for (int64_t block = 0; y.targetPhase == row && block != channelBlocks; ++block)
            for (const Tap &x : geometry.columns.taps)
              if (x.targetPhase == column)
                terms.push_back({y, x, block});
        targetPhases.push_back({{row, column}, begin, terms.size()});
      }
  }

  /// Lines before those of the first row, for shifts to the left.
  int64_t getLead(const Grid &of) const { return of.at(0, std::max<int64_t>(-geometry.columns.minShift, 0)); }

  /// Lines that terms read for so many rows of the target.
  int64_t countLines(const Grid &of, int64_t rows) const {
    const Axis &y = geometry.rows, &x = geometry.columns;
    return roundUp(of.at(rows, 0), tileLines) + of.at(y.maxShift - y.minShift, x.maxShift) + getLead(of) + tileLines;
  }
  int64_t getPlanesBytes(const Grid &of, int64_t rows) const {
    return geometry.countPhases() * channelBlocks * numPlanes * countLines(of, rows) * lineBytes;
  }

  /// As many images as make short rows fill tiles and as share what weights cost to be read, or as many rows as fit.
  void choosePart() {
    int64_t rows = geometry.rows.target.count(0), columns = geometry.columns.target.count(0);
    int64_t allWeights = getWeightsBytes(columnBlocks);
    byColumns = columnBlocks >= threads &&
                geometry.images * getPlanesBytes({geometry.columns.getWidth(), 1}, rows) < allWeights;
    // Cycles for a tile of lines, and to read weights that no cache of a core holds.
    double tileCost = 192.0 * static_cast<double>(columnBlocks * countTerms());
    double weightsCost = byColumns || allWeights <= usualPartBytes ? 0 : static_cast<double>(allWeights) / 8;
    double least = INFINITY;
    for (int64_t count = 1; count <= divideUp(geometry.images, threads); ++count) {
      Grid several = {geometry.columns.getWidth(), count};
      if (count > 1 && getPlanesBytes(several, rows) > std::clamp(allWeights / 2, usualPartBytes, mostBytes))
        break;
      double cost = (static_cast<double>(countBlocks(several, rows, columns)) * tileCost + weightsCost) *
                    static_cast<double>(divideUp(geometry.images, count));
      if (cost < 0.99 * least) {
        grid = several;
        least = cost;
      }
    }
    int64_t parts = divideUp(threads, geometry.images);
    partRows = divideUp(rows, parts);
    while (grid.images == 1 && partRows > 1 && getPlanesBytes(grid, partRows) > usualPartBytes)
      partRows = divideUp(rows, ++parts);
    blocks = listBlocks(grid, partRows, columns);
  }

  /// The distance in bytes from the line with the number of a position to the one that each term reads for it.
  void findOffsets() {
    plane = countLines(grid, partRows) * lineBytes;
    for (const Term &term : terms) {
      int64_t line = grid.at(term.row.shift - geometry.rows.minShift, term.column.shift) + getLead(grid);
      int64_t phase = geometry.findPhase(term.row, term.column);
      offsets.push_back((phase * channelBlocks + term.block) * numPlanes * plane + line * lineBytes);
    }
  }

  /// Threads take parts. False if some sum is not finite.
  bool executeParts(std::byte *planes, int64_t planesBytes, std::byte *packed) const {
    forEach(threads, columnBlocks * countTerms(), [&](int, int64_t at) {
      packTerm(at / countTerms(), at % countTerms(), packed + at * stepBytes);
      return true;
    });
    return forEach(threads, countParts(), [&](int thread, int64_t part) {
      std::byte *own = planes + thread * planesBytes;
      packPart(part, own);
      bool isFinite = true;
      for (int64_t block = 0; block != columnBlocks; ++block)
        isFinite &= runPart(part, block, own, packed + block * getWeightsBytes(1));
      return isFinite;
    });
  }

  /// Threads take channels of the target. False if some sum is not finite.
  bool executeColumns(std::byte *planes, int64_t planesBytes, std::byte *packed) const {
    forEach(threads, countParts(), [&](int, int64_t part) {
      packPart(part, planes + part * planesBytes);
      return true;
    });
    return forEach(threads, columnBlocks, [&](int thread, int64_t block) {
      std::byte *own = packed + thread * getWeightsBytes(1);
      for (int64_t term = 0; term != countTerms(); ++term)
        packTerm(block, term, own + term * stepBytes);
      bool isFinite = true;
      for (int64_t part = 0; part != countParts(); ++part)
        isFinite &= runPart(part, block, planes + part * planesBytes, own);
      return isFinite;
    });
  }

  void packTerm(int64_t columnBlock, int64_t number, std::byte *to) const {
    const Term &term = terms[number];
    int64_t channel = term.block * tileDepth, column = columnBlock * sliverLines;
    packWeights(weights + geometry.getWeight(term.row, term.column) + channel * geometry.sourceChannel +
                    column * geometry.targetChannel,
                std::min(geometry.sourceChannels - channel, tileDepth),
                std::min(geometry.targetChannels - column, sliverLines), geometry.sourceChannel, geometry.targetChannel,
                to);
  }

  /// The images and the rows of the target of a part.
  struct Part {
    int64_t image, images, row, rows;
  };
  Part getPart(int64_t number) const {
    int64_t image = number / countRowParts() * grid.images, row = number % countRowParts() * partRows;
    return {image, std::min(grid.images, geometry.images - image), row,
            std::min(partRows, geometry.rows.target.count(0) - row)};
  }

  void packPart(int64_t number, std::byte *planes) const {
    Part part = getPart(number);
    for (int64_t i = 0; i != geometry.countPhases(); ++i) {
      auto field = geometry.getSource(source, geometry.phases[i], part.image, part.images);
      Cursor<const float> begin(field, grid, part.row + geometry.rows.minShift, -getLead(grid));
      packLines<false>(begin, begin, countLines(grid, part.rows), geometry.sourceChannels,
                       planes + i * channelBlocks * numPlanes * plane, plane);
    }
  }

  /// Computes up to 32 channels of a part. False if some sum is not finite.
  TARGET_AMX bool runPart(int64_t number, int64_t columnBlock, const std::byte *planes, const std::byte *packed) const {
    static constexpr TileConfiguration configuration;
    Part part = getPart(number);
    int64_t channels = std::min(geometry.targetChannels - columnBlock * sliverLines, sliverLines);
    bool isFinite = true;
    _tile_loadconfig(&configuration);
    for (const TargetPhase &phase : targetPhases) {
      auto field = geometry.getTarget(target, phase.phase, part.image, part.images);
      field.first += columnBlock * sliverLines;
      field.rows = std::min(field.rows, part.row + part.rows);
      for (size_t i = 0; i < blocks.size() && blocks[i].position < grid.at(part.rows, 0); i += 2)
        isFinite &= runBlocks(phase, field, part.row, i, channels, planes, packed);
    }
    _tile_release();
    return isFinite;
  }

  /// Computes channels of one or two blocks. False if some sum is not finite.
  TARGET_AMX bool runBlocks(const TargetPhase &phase, const Field<float> &field, int64_t row, size_t block,
                            int64_t channels, const std::byte *planes, const std::byte *packed) const {
    alignas(64) float sums[squareSize];
    bool isPair = block + 1 != blocks.size(), isWide = channels > tileLines;
    auto sum = isPair ? (isWide ? sumTerms<2, 2> : sumTerms<2, 1>) : (isWide ? sumTerms<1, 2> : sumTerms<1, 1>);
    sum(planes + blocks[block].position * lineBytes, planes + blocks[block + isPair].position * lineBytes, plane,
        std::span(offsets).subspan(phase.begin, phase.end - phase.begin),
        packed + static_cast<int64_t>(phase.begin) * stepBytes, sums);
    bool isFinite = true;
    for (int64_t i = 0; i <= isPair; ++i) {
      Cursor<float> to(field, grid, row, blocks[block + i].position);
      const float *line = sums + i * lowerSums;
      for (int64_t left = blocks[block + i].count; left != 0; --left, line += sliverLines, to.advance())
        if (float *position = to.get())
          isFinite &= copySums(line, 1, channels, position, 0);
    }
    return isFinite;
  }

  Geometry geometry;
  int threads;
  ConvolutionArray sourceArray;
  int64_t channelBlocks, columnBlocks;
  std::vector<TargetPhase> targetPhases;
  std::vector<Term> terms;
  std::vector<int64_t> offsets;
  /// Whether threads take channels of the target with all parts.
  bool byColumns = false;
  Grid grid = {};
  /// Rows of the target that a part has, and bytes of one of its planes.
  int64_t partRows = 0, plane = 0;
  std::vector<Block> blocks;
  /// The operands and the result of an execution.
  const float *source = nullptr, *weights = nullptr;
  float *target = nullptr;
};

//===----------------------------------------------------------------------===//
// The gradient of weights
//===----------------------------------------------------------------------===//

/// Adds the products of some blocks of pairs of positions to sums, or to zeros. The lines of a block are so many bytes
/// after `first` and `second`.
template <int rowTiles, int columnTiles>
TARGET_AMX void sumPositions(const std::byte *tiles, const std::byte *first, const std::byte *second, int64_t plane,
                             std::span<const int64_t> offsets, const float *before, float *after) {
  loadSums<rowTiles, columnTiles>(before);
  for (int64_t offset : offsets) {
    multiplyStep<rowTiles, columnTiles>({tiles, tiles + tileBytes, planeBytes},
                                        {first + offset, second + offset, plane});
    tiles += stepBytes;
  }
  storeSums<rowTiles, columnTiles>(after);
}

/// Weights are written. Images are divided into chunks: some images beside each other, or some rows of the source of
/// one. An item of a chunk is an element of the window, 32 channels of the source and 32 of the target. Where weights
/// are small, threads take parts, which are some chunks each with sums of their own, and these are added in order. Else
/// threads divide a chunk into planes together, and then take its items.
class WeightsConvolution final : public AmxConvolution {
public:
  WeightsConvolution(const ConvolutionForm &form, int threads)
      : geometry(form), threads(threads), sourceArray(form.src.array),
        sourceBlocks(divideUp(geometry.sourceChannels, sliverLines)),
        targetBlocks(divideUp(geometry.targetChannels, sliverLines)) {
    chooseChunk();
  }

  uint64_t getScratchBytes() const override {
    int64_t sums = countParts() > 1 ? countParts() * getSumsBytes() : countChunks() > 1 ? getSumsBytes() : 0;
    return (countParts() > 1 ? threads : 1) * getPlanesBytes() + sums;
  }

  /// See `getVectorCost`.
  double getCost() const {
    int64_t rows = divideUp(geometry.sourceChannels, tileLines), columns = divideUp(geometry.targetChannels, tileLines);
    // Tiles are loaded from the second-level cache, whose rate is the limit where a step has fewer than four.
    constexpr int64_t ofTile = 26, ofSums = 28, ofTransposed = 180, ofLine = 10;
    int64_t tiles = (rows * targetBlocks + columns * sourceBlocks) * countBlocks();
    return static_cast<double>(countChunks() * (countTaps() * (tiles * ofTile + rows * columns * ofSums) +
                                                geometry.countPhases() * rows * countBlocks() * ofTransposed +
                                                columns * countLines(chunk) * ofLine));
  }
  int64_t getPlanesBytes() const { return getPlanesBytes(chunk); }

  bool execute(const std::byte *lhs, const std::byte *rhs, std::byte *out, std::byte *scratch) override {
    bool readsLhs = sourceArray == ConvolutionArray::Lhs;
    source = reinterpret_cast<const float *>(readsLhs ? lhs : rhs);
    target = reinterpret_cast<const float *>(readsLhs ? rhs : lhs);
    weights = reinterpret_cast<float *>(out);
    return countParts() > 1 ? executeParts(scratch) : executeTogether(scratch);
  }

private:
  /// Images beside each other and rows of the source. The pair of a position of a block is `distance` after it.
  struct Chunk {
    Grid grid;
    int64_t rows, distance;
    std::vector<Block> blocks;
  };

  /// An element of the window, the first channels of the source and the target, and how many there are.
  struct Item {
    const Tap &row, &column;
    int64_t source, target, inputs, outputs;
  };
  /// Elements of the window follow each other, as they read the same planes.
  Item getItem(int64_t number) const {
    int64_t tap = number % countTaps(), ofRow = static_cast<int64_t>(geometry.columns.taps.size());
    int64_t source = number / countTaps() / targetBlocks * sliverLines,
            target = number / countTaps() % targetBlocks * sliverLines;
    return {geometry.rows.taps[tap / ofRow],
            geometry.columns.taps[tap % ofRow],
            source,
            target,
            std::min(geometry.sourceChannels - source, sliverLines),
            std::min(geometry.targetChannels - target, sliverLines)};
  }

  int64_t countTaps() const { return static_cast<int64_t>(geometry.rows.taps.size() * geometry.columns.taps.size()); }
  int64_t countItems() const { return countTaps() * sourceBlocks * targetBlocks; }
  int64_t getSumsBytes() const { return countItems() * squareSize * static_cast<int64_t>(sizeof(float)); }
  int64_t countRowChunks() const { return divideUp(geometry.rows.source.count(0), chunk.rows); }
  int64_t countChunks() const { return divideUp(geometry.images, chunk.grid.images) * countRowChunks(); }
  int64_t getMostParts() const { return std::clamp<int64_t>(usualChunkBytes / getSumsBytes(), 1, 8); }
  /// The chunks of a part.
  int64_t countOfPart() const { return divideUp(countChunks(), getMostParts()); }
  int64_t countParts() const { return divideUp(countChunks(), countOfPart()); }

  /// [phase][32 channels][block][plane], two tiles each.
  int64_t getSourceBytes(const Chunk &of) const {
    return geometry.countPhases() * sourceBlocks * static_cast<int64_t>(of.blocks.size()) * stepBytes;
  }
  /// Lines before those of the first position.
  int64_t getMostShift(const Grid &grid) const { return grid.at(geometry.rows.maxShift, geometry.columns.maxShift); }
  int64_t countLines(const Chunk &of) const {
    return of.blocks.back().position + tileLines + getMostShift(of.grid) -
           of.grid.at(geometry.rows.minShift, geometry.columns.minShift);
  }
  /// [16 channels][plane][line].
  int64_t getTargetBytes(const Chunk &of) const {
    return divideUp(geometry.targetChannels, tileLines) * numPlanes * countLines(of) * lineBytes;
  }

  Chunk makeChunk(int64_t images, int64_t rows) const {
    Grid grid = {geometry.columns.getWidth(), images};
    int64_t half = divideUp(rows, 2), columns = geometry.columns.source.count(0);
    Chunk made = {grid, rows, grid.at(half, 0), listBlocks(grid, half, columns)};
    // Half of all positions may be fewer than those of half of the rows.
    int64_t count = divideUp(grid.at(rows - 1, columns), 2 * tileLines);
    if (count < static_cast<int64_t>(made.blocks.size())) {
      made.distance = count * tileLines;
      made.blocks.clear();
      for (int64_t i = 0; i != count; ++i)
        made.blocks.push_back({i * tileLines, tileLines});
    }
    return made;
  }
  int64_t getPlanesBytes(const Chunk &of) const { return getSourceBytes(of) + getTargetBytes(of); }

  /// As many images as make short rows fill tiles and as share what sums cost to be read and written, or as many rows
  /// as fit.
  void chooseChunk() {
    int64_t rows = geometry.rows.source.count(0);
    int64_t most = std::clamp(2 * getSumsBytes(), usualChunkBytes, mostBytes);
    // Enough for a few threads, where they take parts.
    int64_t fewParts = std::min<int64_t>(getMostParts(), 4);
    double least = INFINITY;
    for (int64_t images = 1; images <= divideUp(geometry.images, fewParts); ++images) {
      Chunk several = makeChunk(images, rows);
      if (images > 1 && getPlanesBytes(several) > most)
        break;
      // Cycles for an element of the window and 32 x 32 channels.
      constexpr double blockCost = 384, sumsCost = 1000;
      double cost = (static_cast<double>(several.blocks.size()) * blockCost + sumsCost) *
                    static_cast<double>(divideUp(geometry.images, images));
      if (cost < 0.99 * least) {
        chunk = several;
        least = cost;
      }
    }
    for (int64_t parts = 2; chunk.rows > 1 && getPlanesBytes(chunk) > most; ++parts)
      chunk = makeChunk(1, divideUp(rows, parts));
    for (const Block &block : chunk.blocks)
      offsets.push_back(block.position * lineBytes);
  }

  //===--------------------------------------------------------------------===//
  // Execution
  //===--------------------------------------------------------------------===//

  int64_t countBlocks() const { return static_cast<int64_t>(chunk.blocks.size()); }
  /// The blocks of each phase of the source, and after them those of the lines of the target.
  int64_t countPackages() const {
    return geometry.countPhases() * countBlocks() + divideUp(countLines(chunk), tileLines);
  }

  /// Threads take parts. False if some sum is not finite.
  bool executeParts(std::byte *scratch) const {
    auto *sums = reinterpret_cast<float *>(scratch + threads * getPlanesBytes());
    int64_t ofPart = countItems() * squareSize;
    forEach(threads, countParts(), [&](int thread, int64_t part) {
      std::byte *planes = scratch + thread * getPlanesBytes();
      int64_t begin = part * countOfPart(), end = std::min(begin + countOfPart(), countChunks());
      for (int64_t number = begin; number != end; ++number) {
        for (int64_t package = 0; package != countPackages(); ++package)
          pack(number, package, planes);
        for (int64_t item = 0; item != countItems(); ++item)
          runItem(item, planes, number == begin, sums + part * ofPart + item * squareSize);
      }
      return true;
    });
    return forEach(threads, countItems(), [&](int, int64_t item) {
      float *all = sums + item * squareSize;
      for (int64_t part = 1; part != countParts(); ++part)
        addSums(F32, reinterpret_cast<const std::byte *>(all + part * ofPart), reinterpret_cast<std::byte *>(all),
                squareSize);
      return writeItem(item, all);
    });
  }

  /// Threads take items of one chunk after the other. False if some sum is not finite.
  bool executeTogether(std::byte *planes) const {
    auto *sums = reinterpret_cast<float *>(planes + getPlanesBytes());
    bool isFinite = true;
    for (int64_t number = 0; number != countChunks(); ++number) {
      forEach(threads, countPackages(), [&](int, int64_t package) {
        pack(number, package, planes);
        return true;
      });
      isFinite &= forEach(threads, countItems(), [&](int, int64_t item) {
        alignas(64) float own[squareSize];
        float *square = countChunks() == 1 ? own : sums + item * squareSize;
        runItem(item, planes, number == 0, square);
        return number + 1 != countChunks() || writeItem(item, square);
      });
    }
    return isFinite;
  }

  /// Divides a block of a chunk into planes.
  void pack(int64_t number, int64_t package, std::byte *planes) const {
    int64_t image = number / countRowChunks() * chunk.grid.images, row = number % countRowChunks() * chunk.rows;
    int64_t images = std::min(chunk.grid.images, geometry.images - image);
    auto makeCursors = [&](const Field<const float> &field, int64_t position) {
      return std::pair(Cursor(field, chunk.grid, row, position),
                       Cursor(field, chunk.grid, row, position + chunk.distance));
    };
    int64_t phase = package / countBlocks(), count = geometry.countPhases();
    if (phase < count) {
      int64_t block = package % countBlocks();
      auto field = geometry.getSource(source, geometry.phases[phase], image, images);
      field.rows = std::min(field.rows, row + chunk.rows);
      auto [first, second] = makeCursors(field, chunk.blocks[block].position);
      packTransposed(first, second, chunk.blocks[block].count, geometry.sourceChannels,
                     planes + (phase * sourceBlocks * countBlocks() + block) * stepBytes, countBlocks() * stepBytes);
    } else {
      int64_t line = (package - count * countBlocks()) * tileLines;
      auto field = geometry.getTarget(target, Phase{}, image, images);
      auto [first, second] = makeCursors(field, line - getMostShift(chunk.grid));
      packLines<true>(first, second, std::min(tileLines, countLines(chunk) - line), geometry.targetChannels,
                      planes + getSourceBytes(chunk) + line * lineBytes, countLines(chunk) * lineBytes);
    }
  }

  /// Adds an item of a chunk to its sums, or begins with it.
  TARGET_AMX void runItem(int64_t item, const std::byte *planes, bool isFirst, float *sums) const {
    static constexpr TileConfiguration configuration;
    Item of = getItem(item);
    auto sum = of.inputs > tileLines ? (of.outputs > tileLines ? sumPositions<2, 2> : sumPositions<2, 1>)
                                     : (of.outputs > tileLines ? sumPositions<1, 2> : sumPositions<1, 1>);
    int64_t plane = countLines(chunk) * lineBytes,
            shift = getMostShift(chunk.grid) - chunk.grid.at(of.row.shift, of.column.shift);
    int64_t phase = geometry.findPhase(of.row, of.column), block = phase * sourceBlocks + of.source / sliverLines;
    const std::byte *lines =
        planes + getSourceBytes(chunk) + of.target / tileLines * numPlanes * plane + shift * lineBytes;
    _tile_loadconfig(&configuration);
    sum(planes + block * countBlocks() * stepBytes, lines, lines + numPlanes * plane, plane, offsets,
        isFirst ? nullptr : sums, sums);
    _tile_release();
  }

  /// Writes the weights of an item. False if some are not finite.
  TARGET_AMX bool writeItem(int64_t item, const float *sums) const {
    Item of = getItem(item);
    float *to = weights + geometry.getWeight(of.row, of.column) + of.source * geometry.sourceChannel +
                of.target * geometry.targetChannel;
    if (geometry.targetChannel == 1)
      return copySums(sums, of.inputs, of.outputs, to, geometry.sourceChannel);
    bool isFinite = true;
    for (int64_t input = 0; input != of.inputs; ++input)
      for (int64_t output = 0; output != of.outputs; ++output) {
        float value = sums[input * sliverLines + output];
        to[input * geometry.sourceChannel + output * geometry.targetChannel] = value;
        isFinite &= std::isfinite(value);
      }
    return isFinite;
  }

  Geometry geometry;
  int threads;
  ConvolutionArray sourceArray;
  int64_t sourceBlocks, targetBlocks;
  Chunk chunk = {};
  /// The distance in bytes from the first line to that of each block.
  std::vector<int64_t> offsets;
  /// The operands and the result of an execution.
  const float *source = nullptr, *target = nullptr;
  float *weights = nullptr;
};

/// True if tiles have a way to compute the convolution.
bool isPossible(const ConvolutionForm &form) {
  auto isF32 = [](const auto &array) { return array.type == F32; };
  auto hasNeighbours = [](const FormImages &array, int64_t channels) { return channels == 1 || array.channel == 1; };
  return isF32(form.src) && isF32(form.dst) && isF32(form.weights) && form.groups == 1 && !form.dims.empty() &&
         form.dims.size() <= 2 && hasNeighbours(form.src, form.inputs) && hasNeighbours(form.dst, form.outputs) &&
         std::ranges::all_of(form.dims, [](const FormDim &dim) { return dim.dilation == 1; });
}

/// Nanoseconds that another way takes, with vectors of channels of the target. `getCost` says how many a way of tiles
/// takes; both as measured on one core.
double getVectorCost(const ConvolutionForm &form) {
  bool isData = form.kind == ConvolutionForm::Data;
  double products = static_cast<double>(form.images) * static_cast<double>(isData ? form.outputs : form.inputs) *
                    static_cast<double>(roundUp(isData ? form.inputs : form.outputs, tileLines));
  for (const FormDim &dim : form.dims)
    products *= static_cast<double>(dim.dst * dim.kernel);
  constexpr double ofProduct = 0.0105;
  return products * ofProduct;
}

template <typename Way> std::unique_ptr<AmxConvolution> createWay(const ConvolutionForm &form, int threads) {
  // The choice is that of one thread, as bits must not depend on their number.
  Way alone(form, 1);
  if (alone.getCost() >= getVectorCost(form) || alone.getPlanesBytes() > mostBytes)
    return nullptr;
  return std::make_unique<Way>(form, threads);
}

} // namespace

std::unique_ptr<AmxConvolution> AmxConvolution::create(const ConvolutionForm &form, int threads) {
  if (!isPossible(form))
    return nullptr;
  return form.kind == ConvolutionForm::Weights ? createWay<WeightsConvolution>(form, threads)
                                               : createWay<ImagesConvolution>(form, threads);
}

#else

std::unique_ptr<AmxConvolution> AmxConvolution::create(const ConvolutionForm &, int) { return nullptr; }

#endif
