//===- ConvertPackage.cpp - a package with other numbers for floats -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every byte of an arena gets `scale` bytes, in the same order, so that launches, copies, slots and the places that
// buffers share stay as they are. An element of w bytes has a place of scale · w bytes, of which it uses the first: all
// 8 of a residue or an f64, or the w of an integer. To the rest of the runtime a place is an array: each shape gets a
// last dimension of as many elements as fit the place, and strides and counts are multiplied by their number.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Package.h"
#include <bit>
#include <cstring>
#include <map>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr uint64_t kWordBytes = 8;

namespace {

class Converter {
public:
  /// `number` stands for floats: RESIDUE or F64.
  Converter(DType number, uint64_t scale, std::span<const std::byte> constants)
      : number(number), scale(scale), constants(constants) {}

  Status convert(meshwright::Package &package) {
    for (Variable &variable : *package.mutable_variables())
      MW_TRY(convertValue(variable));
    for (Port &port : *package.mutable_inputs())
      MW_TRY(convertValue(port));
    for (Port &port : *package.mutable_outputs())
      MW_TRY(convertValue(port));
    for (Program &program : *package.mutable_programs())
      MW_TRY(convertProgram(program));
    return package.has_serial() ? convertProgram(*package.mutable_serial()) : Status();
  }
  std::string takeConstants() { return std::move(blob); }

private:
  DType convertType(DType type) const { return isFloat(type) ? number : type; }

  /// The elements that fit the place of one.
  int64_t getLanes(DType type) const {
    return static_cast<int64_t>(isFloat(type) ? scale * getSize(type) / kWordBytes : scale);
  }

  Status check(DType type) const {
    if (isFloat(type) && scale * getSize(type) % kWordBytes != 0)
      return inputError("its kernels have {} bytes for an element of {}, fewer than the {} of a {}",
                        scale * getSize(type), getName(type), kWordBytes, getName(number));
    return {};
  }

  template <typename Value> Status convertValue(Value &value) {
    MW_TRY(check(value.dtype()));
    value.add_shape(getLanes(value.dtype()));
    value.mutable_placement()->add_dims();
    value.set_dtype(convertType(value.dtype()));
    return {};
  }

  Status convertProgram(Program &program) {
    program.set_arena_bytes(program.arena_bytes() * scale);
    program.set_persistent_bytes(program.persistent_bytes() * scale);
    program.set_host_arena_bytes(program.host_arena_bytes() * scale);
    for (Constant &constant : *program.mutable_constants())
      addConstant(constant, program.buffers(static_cast<int>(constant.buffer())));
    for (Buffer &buffer : *program.mutable_buffers())
      MW_TRY(convertBuffer(buffer));
    for (Task &task : *program.mutable_tasks())
      for (Instruction &instruction : *task.mutable_instructions())
        convertInstruction(instruction);
    return {};
  }

  Status convertBuffer(Buffer &buffer) {
    MW_TRY(check(buffer.dtype()));
    buffer.set_offset(buffer.offset() * scale);
    buffer.set_bytes(buffer.bytes() * scale);
    buffer.set_slot_bytes(buffer.slot_bytes() * scale);
    buffer.add_shape(getLanes(buffer.dtype()));
    buffer.set_dtype(convertType(buffer.dtype()));
    return {};
  }

  /// Writes the elements in their places, once for all programs that have the constant.
  void addConstant(Constant &constant, const Buffer &buffer) {
    uint64_t bytes = getArrayBytes(buffer), size = getSize(buffer.dtype());
    auto [known, isNew] = written.try_emplace({constant.file_offset(), bytes, buffer.dtype()}, blob.size());
    if (isNew) {
      blob.resize(blob.size() + bytes * scale);
      char *to = blob.data() + known->second;
      for (uint64_t at = 0; at != bytes; at += size) {
        const std::byte *from = constants.data() + constant.file_offset() + at;
        if (isFloat(buffer.dtype())) {
          double value = loadAsDouble(buffer.dtype(), from);
          uint64_t word = number == RESIDUE ? Residue(value).getBits() : std::bit_cast<uint64_t>(value);
          std::memcpy(to + at * scale, &word, sizeof(word));
        } else {
          std::memcpy(to + at * scale, from, size);
        }
      }
    }
    constant.set_file_offset(known->second);
  }

  static void multiply(google::protobuf::RepeatedField<int64_t> &numbers, int64_t factor) {
    // A stride along a dimension of one element may be any number.
    for (int64_t &number : numbers)
      number = static_cast<int64_t>(static_cast<uint64_t>(number) * static_cast<uint64_t>(factor));
  }

  /// The parts of a product or convolution that both have.
  template <typename Operation> void convertStrides(Operation &operation) {
    multiply(*operation.mutable_lhs_strides(), getLanes(operation.lhs_dtype()));
    multiply(*operation.mutable_rhs_strides(), getLanes(operation.rhs_dtype()));
    multiply(*operation.mutable_out_strides(), getLanes(operation.out_dtype()));
    if (number == F64 && isFloat(operation.out_dtype()))
      operation.set_rounded_dtype(operation.out_dtype());
    operation.set_lhs_dtype(convertType(operation.lhs_dtype()));
    operation.set_rhs_dtype(convertType(operation.rhs_dtype()));
    operation.set_out_dtype(convertType(operation.out_dtype()));
  }

  void convertInstruction(Instruction &instruction) {
    if (instruction.has_matmul()) {
      // The kernel after the product computes what the epilogue would.
      instruction.mutable_matmul()->clear_epilogue();
      convertStrides(*instruction.mutable_matmul());
    } else if (instruction.has_convolution()) {
      convertStrides(*instruction.mutable_convolution());
    } else if (instruction.has_collective()) {
      Collective &collective = *instruction.mutable_collective();
      for (CollectivePart &part : *collective.mutable_parts())
        part.set_count(part.count() * static_cast<uint64_t>(getLanes(collective.dtype())));
      collective.set_dtype(convertType(collective.dtype()));
    }
  }

  DType number;
  uint64_t scale;
  std::span<const std::byte> constants;
  std::string blob;
  /// By offset, bytes and type the place in the blob.
  std::map<std::tuple<uint64_t, uint64_t, DType>, uint64_t> written;
};

const KernelLibrary *findLibrary(const meshwright::Package &package, uint32_t (KernelLibrary::*getScale)() const) {
  for (const KernelLibrary &library : package.libraries())
    if ((library.*getScale)() != 0)
      return &library;
  return nullptr;
}

} // namespace

bool LoadedPackage::hasTwin() const {
  return content->has_serial() && findLibrary(*content, &KernelLibrary::twin_scale) != nullptr;
}

Result<LoadedPackage> LoadedPackage::createExact() const {
  const KernelLibrary *library = findLibrary(*content, &KernelLibrary::exact_scale);
  if (!library)
    return inputError("the package has no kernels for an exact check; dist-opt makes them with \"exact\" among its "
                      "targets");
  return convert(RESIDUE, *library, library->exact_scale());
}

Result<LoadedPackage> LoadedPackage::createTwin() const {
  const KernelLibrary *library = findLibrary(*content, &KernelLibrary::twin_scale);
  if (!library)
    return inputError("the package has no kernels for a twin of its serial program; dist-opt makes them with \"twin\" "
                      "among its targets");
  return convert(F64, *library, library->twin_scale());
}

Result<LoadedPackage> LoadedPackage::convert(DType number, const KernelLibrary &library, uint64_t scale) const {
  if (scale > kWordBytes || kWordBytes % scale != 0)
    return inputError("the kernels of {} have {} bytes for each byte, which is none of 1, 2, 4 and 8", library.target(),
                      scale);
  LoadedPackage converted;
  converted.content = std::make_unique<meshwright::Package>(*content);
  meshwright::Package &message = *converted.content;
  message.clear_evaluation();
  message.clear_metrics();
  KernelLibrary only = library;
  message.clear_libraries();
  *message.add_libraries() = std::move(only);
  Converter converter(number, scale, getConstants());
  MW_TRY(converter.convert(message));
  converted.folder = folder;
  converted.constants =
      std::make_shared<const InputFile>(InputFile::fromText("constants.bin", converter.takeConstants()));
  converted.number = number;
  MW_TRY(converted.check());
  return converted;
}
