//===- Access.cpp - bytes that an instruction reads and writes ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier's own reading of the package schema: for each instruction the bytes that it reads and writes. It shares
// no code or table with the compiler and the runtime, so that a mistake in theirs is not repeated here.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include <algorithm>
#include <fmt/format.h>

using namespace meshwright;
using namespace meshwright::verify;

uint64_t verify::getElementBytes(DType type) {
  switch (type) {
  case F64:
  case I64:
  case U64:
    return 8;
  case F32:
  case I32:
  case U32:
    return 4;
  case F16:
  case BF16:
  case I16:
  case U16:
    return 2;
  case I1:
  case I8:
  case U8:
  case F8E4M3FN:
  case F8E5M2:
  case F8E4M3B11FNUZ:
  case F8E4M3FNUZ:
  case F8E5M2FNUZ:
  case F8E4M3:
  case F8E3M4:
    return 1;
  default:
    return 0;
  }
}

bool verify::countBytes(const google::protobuf::RepeatedField<int64_t> &shape, DType type, uint64_t &bytes) {
  bytes = getElementBytes(type);
  if (bytes == 0 || std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }))
    return false;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    bytes = 0;
    return true;
  }
  for (int64_t size : shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) || bytes >> 60 != 0)
      return false;
  return true;
}

bool verify::isReducing(Collective::Kind kind) {
  return kind == Collective::ALL_REDUCE || kind == Collective::REDUCE_SCATTER || kind == Collective::REDUCE;
}
bool verify::isRooted(Collective::Kind kind) {
  return kind == Collective::BROADCAST || kind == Collective::REDUCE || kind == Collective::SEND;
}

std::string verify::getName(Collective::Kind kind) {
  std::string name = Collective::Kind_Name(kind);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

uint64_t Access::countRuns() const {
  uint64_t runs = 1;
  for (const Dim &dim : dims)
    if (__builtin_mul_overflow(runs, dim.count, &runs))
      return UINT64_MAX;
  return runs;
}

namespace {

class AccessLister {
public:
  AccessLister(const Program &program, uint64_t members, std::vector<Access> &accesses)
      : program(program), members(members), accesses(accesses) {}

  std::string list(const Instruction &instruction) {
    switch (instruction.kind_case()) {
    case Instruction::kKernel:
      return listKernel(instruction.kernel());
    case Instruction::kMatmul:
      return listMatmul(instruction.matmul());
    case Instruction::kConvolution:
      return listConvolution(instruction.convolution());
    case Instruction::kCollective:
      return listCollective(instruction.collective());
    case Instruction::kCopy:
      return listCopy(instruction.copy());
    case Instruction::kCoordinate:
      return addBytes(instruction.coordinate().buffer(), 4, true);
    case Instruction::kMicroBatch:
      return addBytes(instruction.micro_batch().buffer(), 4, true);
    case Instruction::KIND_NOT_SET:
      return "the instruction is of no known kind";
    default:
      return "";
    }
  }

private:
  const Buffer &getBuffer(uint32_t index) const { return program.buffers(static_cast<int>(index)); }

  std::string add(Access access) {
    const Buffer &buffer = getBuffer(access.buffer);
    if (access.bytes.end > buffer.bytes())
      return fmt::format("{} bytes [{}, {}) of buffer {}, which has {}", access.isWrite ? "writes" : "reads",
                         access.bytes.begin, access.bytes.end, access.buffer, buffer.bytes());
    if (!access.bytes.isEmpty())
      accesses.push_back(std::move(access));
    return "";
  }
  std::string addBytes(uint32_t buffer, uint64_t bytes, bool isWrite) { return add({buffer, isWrite, {0, bytes}}); }
  std::string addArray(uint32_t index, bool isWrite) {
    uint64_t bytes = 0;
    countBytes(getBuffer(index).shape(), getBuffer(index).dtype(), bytes);
    return addBytes(index, bytes, isWrite);
  }

  std::string listKernel(const Kernel &kernel) {
    if (kernel.outputs() > static_cast<uint32_t>(kernel.arguments_size()))
      return fmt::format("the kernel writes {} of its {} arguments", kernel.outputs(), kernel.arguments_size());
    int firstOutput = kernel.arguments_size() - static_cast<int>(kernel.outputs());
    for (int i = 0; i != kernel.arguments_size(); ++i)
      if (std::string error = addArray(kernel.arguments(i), i >= firstOutput); !error.empty())
        return error;
    return "";
  }

  using Strides = google::protobuf::RepeatedField<int64_t>;

  /// The runs of a strided array.
  std::string addStrided(uint32_t buffer, DType type, const std::vector<int64_t> &sizes, const Strides &strides,
                         bool isWrite) {
    uint64_t size = getElementBytes(type);
    if (size == 0)
      return fmt::format("element type {} is unknown", static_cast<int>(type));
    if (static_cast<size_t>(strides.size()) != sizes.size())
      return fmt::format("an operand has {} strides for {} dimensions", strides.size(), sizes.size());
    Access access{buffer, isWrite, {0, size}};
    for (size_t i = 0; i != sizes.size(); ++i) {
      if (sizes[i] < 0 || strides[static_cast<int>(i)] < 0)
        return "an operand has a negative size or stride";
      if (sizes[i] == 0)
        return "";
      uint64_t count = static_cast<uint64_t>(sizes[i]), bytes, reach;
      if (__builtin_mul_overflow(static_cast<uint64_t>(strides[static_cast<int>(i)]), size, &bytes) ||
          __builtin_mul_overflow(bytes, count - 1, &reach) ||
          __builtin_add_overflow(access.bytes.end, reach, &access.bytes.end) || access.bytes.end >> 60 != 0)
        return "an operand has more bytes than can be counted";
      // An operand that repeats reads the same again.
      if (count > 1 && bytes != 0)
        access.dims.push_back({count, bytes});
    }
    std::sort(access.dims.begin(), access.dims.end(),
              [](const Access::Dim &a, const Access::Dim &b) { return a.stride > b.stride; });
    for (access.run = size; !access.dims.empty() && access.dims.back().stride <= access.run; access.dims.pop_back())
      access.run += (access.dims.back().count - 1) * access.dims.back().stride;
    return add(std::move(access));
  }

  std::string listMatmul(const Matmul &matmul) {
    auto getSizes = [&](int64_t rows, int64_t columns) {
      std::vector<int64_t> sizes(matmul.batch().begin(), matmul.batch().end());
      sizes.insert(sizes.end(), {rows, columns});
      return sizes;
    };
    std::string error =
        addStrided(matmul.lhs(), matmul.lhs_dtype(), getSizes(matmul.m(), matmul.k()), matmul.lhs_strides(), false);
    if (error.empty())
      error =
          addStrided(matmul.rhs(), matmul.rhs_dtype(), getSizes(matmul.k(), matmul.n()), matmul.rhs_strides(), false);
    // The device may add the bias with the product.
    if (error.empty() && matmul.epilogue().has_bias())
      error = addArray(matmul.epilogue().bias(), false);
    return error.empty() ? addStrided(matmul.out(), matmul.out_dtype(), getSizes(matmul.m(), matmul.n()),
                                      matmul.out_strides(), true)
                         : error;
  }

  std::string listConvolution(const Convolution &convolution) {
    std::vector<int64_t> lhs = {convolution.groups(), convolution.batch(), convolution.channels()};
    std::vector<int64_t> rhs = {convolution.groups(), convolution.channels(), convolution.features()};
    std::vector<int64_t> out = {convolution.groups(), convolution.batch(), convolution.features()};
    for (const ConvolutionWindow &window : convolution.window()) {
      lhs.push_back(window.in());
      rhs.push_back(window.size());
      out.push_back(window.out());
    }
    std::string error = addStrided(convolution.lhs(), convolution.lhs_dtype(), lhs, convolution.lhs_strides(), false);
    if (error.empty())
      error = addStrided(convolution.rhs(), convolution.rhs_dtype(), rhs, convolution.rhs_strides(), false);
    return error.empty() ? addStrided(convolution.out(), convolution.out_dtype(), out, convolution.out_strides(), true)
                         : error;
  }

  std::string listCollective(const Collective &collective) {
    Collective::Kind kind = collective.kind();
    bool manyIn = kind == Collective::REDUCE_SCATTER || kind == Collective::ALL_TO_ALL;
    bool manyOut = kind == Collective::ALL_GATHER || kind == Collective::ALL_TO_ALL;
    uint64_t size = getElementBytes(collective.dtype());
    if (size == 0)
      return fmt::format("element type {} is unknown", static_cast<int>(collective.dtype()));
    for (bool isWrite : {false, true})
      for (const CollectivePart &part : collective.parts()) {
        if (!(isWrite ? part.has_out() : part.has_in()))
          continue;
        uint64_t bytes;
        if (__builtin_mul_overflow(part.count(), size * ((isWrite ? manyOut : manyIn) ? members : 1), &bytes))
          return fmt::format("{} elements are more than can be counted", part.count());
        if (std::string error = addBytes(isWrite ? part.out() : part.in(), bytes, isWrite); !error.empty())
          return error;
      }
    return "";
  }

  std::string listCopy(const Copy &copy) {
    uint64_t from = 0, to = 0;
    countBytes(getBuffer(copy.from()).shape(), getBuffer(copy.from()).dtype(), from);
    countBytes(getBuffer(copy.to()).shape(), getBuffer(copy.to()).dtype(), to);
    if (from != to)
      return fmt::format("{} bytes of buffer {} are copied to {} bytes of buffer {}", from, copy.from(), to, copy.to());
    std::string error = addBytes(copy.from(), from, false);
    return error.empty() ? addBytes(copy.to(), to, true) : error;
  }

  const Program &program;
  uint64_t members;
  std::vector<Access> &accesses;
};

} // namespace

std::string verify::listAccesses(const Program &program, const Instruction &instruction, uint64_t members,
                                 std::vector<Access> &accesses) {
  return AccessLister(program, members, accesses).list(instruction);
}
