//===- CheckProgram.cpp - checks that a program can be executed -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks every index, offset, size and stride once, so that execution need not. The accesses of compiled kernels are
// unknown here; LoadedKernels checks them against the table that the kernels' library exports.
//
//===----------------------------------------------------------------------===//

#include "CheckCollectives.h"
#include "CheckEpilogue.h"
#include "meshwright/runtime/CollectiveTags.h"
#include "meshwright/runtime/ConvolutionProblem.h"
#include "meshwright/runtime/Slots.h"
#include <algorithm>
#include <bit>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

std::optional<uint64_t> meshwright::runtime::getLastElement(std::span<const int64_t> sizes,
                                                            std::span<const int64_t> strides) {
  uint64_t last = 0;
  for (size_t i = 0; i != sizes.size(); ++i) {
    uint64_t reach;
    if (strides[i] < 0 || sizes[i] < 1 ||
        __builtin_mul_overflow(static_cast<uint64_t>(sizes[i] - 1), static_cast<uint64_t>(strides[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last) || last > (uint64_t(1) << 60))
      return std::nullopt;
  }
  return last;
}

uint64_t meshwright::runtime::getArrayBytes(const Buffer &buffer) {
  return *getNumElements(std::span(buffer.shape().data(), buffer.shape().size())) * getSize(buffer.dtype());
}

/// More than any address says.
static constexpr uint64_t maxArenaBytes = uint64_t(1) << 60;
/// Bound on the slots of all buffers of a program; a small package could otherwise keep its reader busy for days.
static constexpr uint64_t maxSlots = uint64_t(1) << 24;
/// Bound on the padding at either end of a window's dimension.
static constexpr int64_t maxPadding = int64_t(1) << 60;

namespace {

class ProgramChecker {
public:
  ProgramChecker(const LoadedPackage &package, const Program &program, const Mesh &mesh, const ProgramLayouts &layouts,
                 std::span<const int64_t> ranks)
      : package(package), program(program), mesh(mesh), layouts(layouts), collectives(program, mesh, ranks) {}

  Status check() {
    for (uint64_t bytes : {program.arena_bytes(), program.host_arena_bytes()})
      if (bytes > maxArenaBytes)
        return inputError("an arena has {} bytes where {} can be addressed", bytes, maxArenaBytes);
    if (program.persistent_bytes() > program.arena_bytes())
      return inputError("the persistent part has {} bytes but the arena {}", program.persistent_bytes(),
                        program.arena_bytes());
    for (int i = 0; i != program.buffers_size(); ++i)
      MW_TRY(checkBuffer(program.buffers(i)).within(fmt::format("buffer {}", i)));
    for (int i = 0; i != program.constants_size(); ++i)
      MW_TRY(checkConstant(program.constants(i)).within(fmt::format("constant {}", i)));
    const meshwright::Package &message = package.message();
    MW_TRY(checkPlaces(program.variable_buffers(), message.variables(), layouts.variables, "variable"));
    MW_TRY(checkPlaces(program.input_buffers(), message.inputs(), layouts.inputs, "input"));
    MW_TRY(checkPlaces(program.output_buffers(), message.outputs(), layouts.outputs, "output"));
    MW_TRY(checkPersistent(DEVICE, program.persistent_bytes()));
    MW_TRY(checkPersistent(HOST, program.host_arena_bytes()));
    for (const Task &task : program.tasks())
      for (int i = 0; i != task.instructions_size(); ++i) {
        Status status = checkInstruction(task.instructions(i));
        if (status.ok() && task.instructions(i).matmul().has_epilogue())
          status = checkEpilogue(program, task, i);
        if (!status.ok())
          return status.within(describeInstruction(task, i));
      }
    MW_TRY(checkTags());
    MW_TRY(checkCopyTags());
    for (const StepVariant &variant : package.getVariants()) {
      MW_TRY(checkInFlight(program, variant.begin, package.getMicroBatches()));
      MW_TRY(checkSlots(program, variant.begin));
    }
    return {};
  }

private:
  Status checkBuffer(const Buffer &buffer) {
    if (!Memory_IsValid(buffer.memory()))
      return inputError("memory {} is unknown", static_cast<int>(buffer.memory()));
    uint64_t arena = buffer.memory() == HOST ? program.host_arena_bytes() : program.arena_bytes();
    if (buffer.offset() > arena || buffer.bytes() > arena - buffer.offset())
      return inputError("{} bytes at offset {} do not lie in the arena of {} bytes", buffer.bytes(), buffer.offset(),
                        arena);
    uint64_t size = getSize(buffer.dtype());
    if (size == 0 || (buffer.dtype() == RESIDUE && !package.isExact()))
      return inputError("element type {} is unknown", static_cast<int>(buffer.dtype()));
    if (buffer.offset() % size != 0)
      return inputError("the offset {} is no multiple of the {} bytes of an element", buffer.offset(), size);
    Shape shape(buffer.shape().begin(), buffer.shape().end());
    std::optional<uint64_t> elements = getNumElements(shape);
    if (!elements || *elements * size > buffer.bytes())
      return inputError("an array of {} does not fit {} bytes", toString(shape, buffer.dtype()), buffer.bytes());
    return checkPlaceOfSlots(buffer, arena);
  }

  /// Several slots do not overlap, and come after the persistent part.
  Status checkPlaceOfSlots(const Buffer &buffer, uint64_t arena) {
    if (buffer.slots() == 0)
      return {};
    uint64_t slots = buffer.slots(), bytes = buffer.slot_bytes();
    if (slots > package.getMicroBatches())
      return inputError("it has {} slots, but a step has {} micro-batches", slots, package.getMicroBatches());
    if (slots > 1 && (bytes % 64 != 0 || bytes < buffer.bytes() || bytes == 0))
      return inputError("its slots are {} bytes apart, which is no multiple of 64 that holds its {} bytes", bytes,
                        buffer.bytes());
    if (slots > 1 && (bytes > arena / slots || getExtent(buffer) > arena - buffer.offset()))
      return inputError("{} slots, {} bytes apart from offset {}, do not lie in the arena of {} bytes", slots, bytes,
                        buffer.offset(), arena);
    if (buffer.memory() == HOST || buffer.offset() < program.persistent_bytes())
      return inputError("it has {} slots in the persistent part of the arena", slots);
    if ((numSlots += slots) > maxSlots)
      return inputError("the buffers have {} slots, more than {}", numSlots, maxSlots);
    return {};
  }

  /// The index names a buffer that is in one place for all micro-batches.
  Status checkFixed(uint32_t index) const {
    uint32_t slots = program.buffers(static_cast<int>(index)).slots();
    return slots == 0 ? Status() : inputError("its buffer {} has {} slots, where it has one place", index, slots);
  }

  /// The index names a buffer.
  Status checkIndex(uint32_t index) const {
    if (index >= static_cast<uint32_t>(program.buffers_size()))
      return inputError("buffer {} is named but the program has {}", index, program.buffers_size());
    return {};
  }

  /// The index names a buffer in the memory of the device.
  Status checkOnDevice(uint32_t index) const {
    MW_TRY(checkIndex(index));
    if (program.buffers(static_cast<int>(index)).memory() != DEVICE)
      return inputError("buffer {} is in the memory of the host, from and to which only copies go", index);
    return {};
  }

  Status checkConstant(const Constant &constant) {
    MW_TRY(checkOnDevice(constant.buffer()));
    MW_TRY(checkFixed(constant.buffer()));
    uint64_t bytes = getArrayBytes(program.buffers(constant.buffer())), size = package.getConstants().size();
    if (constant.file_offset() > size || bytes > size - constant.file_offset())
      return inputError("{} bytes at offset {} do not lie in constants.bin of {} bytes", bytes, constant.file_offset(),
                        size);
    persistent.push_back(constant.buffer());
    return {};
  }

  /// Every value of the package has a place of its local shape, or none.
  template <typename Places, typename Values>
  Status checkPlaces(const Places &places, const Values &values, const std::vector<Layout> &valueLayouts,
                     const char *what) {
    if (places.size() != values.size())
      return inputError("the program gives places to {} {}s but the package has {}", places.size(), what,
                        values.size());
    for (int i = 0; i != places.size(); ++i) {
      if (places[i] == -1)
        continue;
      auto check = [&]() -> Status {
        bool mayBeOnHost = what[0] == 'v';
        MW_TRY(mayBeOnHost ? checkIndex(static_cast<uint32_t>(places[i]))
                           : checkOnDevice(static_cast<uint32_t>(places[i])));
        MW_TRY(checkFixed(static_cast<uint32_t>(places[i])));
        const Buffer &buffer = program.buffers(places[i]);
        const Shape &wanted = valueLayouts[i].getLocalShape();
        Shape found(buffer.shape().begin(), buffer.shape().end());
        if (buffer.dtype() != values[i].dtype() || found != wanted)
          return inputError("a rank holds {} of it but its buffer {} has {}", toString(wanted, values[i].dtype()),
                            places[i], toString(found, buffer.dtype()));
        return {};
      };
      MW_TRY(check().within(fmt::format("{} \"{}\"", what, values[i].name())));
      if (what[0] == 'v')
        persistent.push_back(places[i]);
    }
    return {};
  }

  /// Variables and constants in a memory lie in its persistent part, each in a place of its own.
  Status checkPersistent(Memory memory, uint64_t persistentBytes) {
    std::vector<const Buffer *> buffers;
    for (uint32_t index : persistent)
      if (program.buffers(static_cast<int>(index)).memory() == memory)
        buffers.push_back(&program.buffers(index));
    std::sort(buffers.begin(), buffers.end(),
              [](const Buffer *a, const Buffer *b) { return a->offset() < b->offset(); });
    uint64_t end = 0;
    for (const Buffer *buffer : buffers) {
      if (buffer->bytes() == 0)
        continue;
      if (buffer->offset() < end)
        return inputError("the variable or constant \"{}\" begins at offset {} but the one before it ends at {}",
                          buffer->name(), buffer->offset(), end);
      end = buffer->offset() + buffer->bytes();
      if (end > persistentBytes)
        return inputError("the variable or constant \"{}\" ends at offset {} but the persistent part at {}",
                          buffer->name(), end, persistentBytes);
    }
    return {};
  }

  Status checkInstruction(const Instruction &instruction) {
    switch (instruction.kind_case()) {
    case Instruction::kKernel:
      return checkKernel(instruction.kernel());
    case Instruction::kMatmul:
      return checkMatmul(instruction.matmul());
    case Instruction::kConvolution:
      return checkConvolution(instruction.convolution());
    case Instruction::kCollective:
      for (const CollectivePart &part : instruction.collective().parts()) {
        MW_TRY(part.has_in() ? checkOnDevice(part.in()) : Status());
        MW_TRY(part.has_out() ? checkOnDevice(part.out()) : Status());
      }
      return collectives.check(instruction.collective());
    case Instruction::kCopy:
      return checkCopy(instruction.copy());
    case Instruction::kCoordinate:
      return checkCoordinate(instruction.coordinate());
    case Instruction::kMicroBatch:
      return checkScalar(instruction.micro_batch().buffer(), "micro-batch");
    case Instruction::kWait:
    case Instruction::kCopyWait:
      return {};
    default:
      return inputError("the instruction is of a kind that this runtime does not know");
    }
  }

  /// A tag names one collective of a task, and a Wait one that is started, there or by one other action.
  Status checkTags() {
    CollectiveTags tags(program);
    for (int number = 0; number != program.tasks_size(); ++number) {
      const Task &task = program.tasks(number);
      std::set<uint32_t> own;
      for (const Instruction &instruction : task.instructions())
        if (instruction.has_collective() && !own.insert(instruction.collective().tag()).second)
          return inputError("two collectives have the tag {}", instruction.collective().tag());
      for (int i = 0; i != task.instructions_size(); ++i)
        if (task.instructions(i).has_wait())
          MW_TRY(checkWait(tags, number, task.instructions(i).wait().tag(), describeInstruction(task, i)));
    }
    return {};
  }

  Status checkWait(const CollectiveTags &tags, int task, uint32_t tag, const std::string &instruction) const {
    if (tags.findWaited(static_cast<uint32_t>(task), tag))
      return {};
    bool executed = false;
    for (const Instruction &other : program.tasks(task).instructions())
      executed |= other.has_collective() && other.collective().tag() == tag;
    size_t actions = tags.countActions(tag);
    return inputError("{} waits for collective #{}, which {}", instruction, tag,
                      actions != 0 ? fmt::format("{} actions start", actions)
                      : executed   ? "is not started but executed"
                                   : "no task starts for it");
  }

  /// A tag names one started copy of a task, and a CopyWait such a one.
  Status checkCopyTags() {
    for (const Task &task : program.tasks()) {
      std::set<uint32_t> started;
      for (int i = 0; i != task.instructions_size(); ++i) {
        const Instruction &instruction = task.instructions(i);
        if (instruction.copy().start() && !started.insert(instruction.copy().tag()).second)
          return inputError("two copies have the tag {}", instruction.copy().tag());
        if (instruction.has_copy_wait() && !started.contains(instruction.copy_wait().tag()))
          return inputError("{} waits for copy #{}, which is not started before it", describeInstruction(task, i),
                            instruction.copy_wait().tag());
      }
    }
    return {};
  }

  Status checkKernel(const Kernel &kernel) {
    for (uint32_t argument : kernel.arguments())
      MW_TRY(checkOnDevice(argument));
    if (kernel.outputs() > static_cast<uint32_t>(kernel.arguments_size()))
      return inputError("the kernel {} writes {} of its {} arguments", kernel.symbol(), kernel.outputs(),
                        kernel.arguments_size());
    return {};
  }

  Status checkOperand(uint32_t index, DType type, const std::vector<int64_t> &sizes,
                      const google::protobuf::RepeatedField<int64_t> &strides, const char *what) {
    MW_TRY(checkOnDevice(index));
    const Buffer &buffer = program.buffers(index);
    if (getSize(type) == 0)
      return inputError("element type {} of the {} is unknown", static_cast<int>(type), what);
    if (static_cast<size_t>(strides.size()) != sizes.size())
      return inputError("the {} has {} strides for {} dimensions", what, strides.size(), sizes.size());
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
      return {};
    std::optional<uint64_t> last = getLastElement(sizes, std::span(strides.data(), strides.size()));
    if (!last || (*last + 1) * getSize(type) > buffer.bytes())
      return inputError("the {} of {} with strides {} does not fit {} bytes", what, toString(sizes, type),
                        toString(std::span(strides.data(), strides.size())), buffer.bytes());
    return {};
  }

  /// Only products of a twin, which are of f64, are rounded to another type.
  Status checkRounding(DType rounded) {
    if (rounded != DTYPE_INVALID && !package.isTwin())
      return inputError("the result is rounded to {}, as in no package of a file", getName(rounded));
    return {};
  }

  Status checkMatmul(const Matmul &matmul) {
    std::vector<int64_t> batch(matmul.batch().begin(), matmul.batch().end());
    auto getSizes = [&](int64_t rows, int64_t columns) {
      std::vector<int64_t> sizes = batch;
      sizes.push_back(rows);
      sizes.push_back(columns);
      return sizes;
    };
    for (const std::vector<int64_t> &sizes :
         {getSizes(matmul.m(), matmul.k()), getSizes(matmul.k(), matmul.n()), getSizes(matmul.m(), matmul.n())})
      if (!getNumElements(sizes))
        return inputError("{} is no shape whose bytes can be counted", toString(sizes));
    MW_TRY(checkOperand(matmul.lhs(), matmul.lhs_dtype(), getSizes(matmul.m(), matmul.k()), matmul.lhs_strides(),
                        "left operand"));
    MW_TRY(checkOperand(matmul.rhs(), matmul.rhs_dtype(), getSizes(matmul.k(), matmul.n()), matmul.rhs_strides(),
                        "right operand"));
    MW_TRY(checkOperand(matmul.out(), matmul.out_dtype(), getSizes(matmul.m(), matmul.n()), matmul.out_strides(),
                        "result"));
    MW_TRY(checkDistinct(getSizes(matmul.m(), matmul.n()), matmul.out_strides()));
    MW_TRY(checkRounding(matmul.rounded_dtype()));
    for (uint32_t operand : {matmul.lhs(), matmul.rhs()})
      if (overlap(operand, matmul.out()))
        return inputError("the result in buffer {} overlaps the operand in buffer {}", matmul.out(), operand);
    bool floats = isFloat(matmul.out_dtype());
    if (isFloat(matmul.lhs_dtype()) != floats || isFloat(matmul.rhs_dtype()) != floats)
      return inputError("a product of {} and {} is no {}", getName(matmul.lhs_dtype()), getName(matmul.rhs_dtype()),
                        getName(matmul.out_dtype()));
    if (int64_t parts = matmul.parts(); parts != 0 && (!std::has_single_bit(matmul.parts()) || parts > matmul.k()))
      return inputError("the sums of the product have {} parts; it is a power of two up to their length {}", parts,
                        matmul.k());
    return {};
  }

  Status checkWindow(const Convolution &convolution) {
    if (convolution.window_size() > static_cast<int>(maxSpatialDims))
      return inputError("the convolution has {} spatial dimensions, more than {}", convolution.window_size(),
                        maxSpatialDims);
    for (const ConvolutionWindow &window : convolution.window()) {
      if (window.stride() < 1 || window.lhs_dilation() < 1 || window.rhs_dilation() < 1)
        return inputError("a window has stride {} and dilations {} and {}, which are positive", window.stride(),
                          window.lhs_dilation(), window.rhs_dilation());
      // Sizes of 0 reach no element; 1 keeps the check of strides simple.
      std::array<int64_t, 2> sizes = {std::max<int64_t>(window.out(), 1), std::max<int64_t>(window.size(), 1)};
      std::array<int64_t, 2> strides = {window.stride(), window.rhs_dilation()};
      if (!getLastElement(sizes, strides) || window.low() > maxPadding || window.low() < -maxPadding)
        return inputError(
            "a window of {} elements, {} apart, at {} places, {} apart, after {} of padding reaches too far",
            window.size(), window.rhs_dilation(), window.out(), window.stride(), window.low());
    }
    return {};
  }

  Status checkConvolution(const Convolution &convolution) {
    MW_TRY(checkWindow(convolution));
    std::vector<int64_t> lhs = {convolution.groups(), convolution.batch(), convolution.channels()};
    std::vector<int64_t> rhs = {convolution.groups(), convolution.channels(), convolution.features()};
    std::vector<int64_t> out = {convolution.groups(), convolution.batch(), convolution.features()};
    for (const ConvolutionWindow &window : convolution.window()) {
      lhs.push_back(window.in());
      rhs.push_back(window.size());
      out.push_back(window.out());
    }
    for (const std::vector<int64_t> &sizes : {lhs, rhs, out})
      if (!getNumElements(sizes))
        return inputError("{} is no shape whose bytes can be counted", toString(sizes));
    MW_TRY(checkOperand(convolution.lhs(), convolution.lhs_dtype(), lhs, convolution.lhs_strides(), "left operand"));
    MW_TRY(checkOperand(convolution.rhs(), convolution.rhs_dtype(), rhs, convolution.rhs_strides(), "right operand"));
    MW_TRY(checkOperand(convolution.out(), convolution.out_dtype(), out, convolution.out_strides(), "result"));
    MW_TRY(checkDistinct(out, convolution.out_strides()));
    MW_TRY(checkRounding(convolution.rounded_dtype()));
    for (uint32_t operand : {convolution.lhs(), convolution.rhs()})
      if (overlap(operand, convolution.out()))
        return inputError("the result in buffer {} overlaps the operand in buffer {}", convolution.out(), operand);
    for (DType type : {convolution.lhs_dtype(), convolution.rhs_dtype(), convolution.out_dtype()})
      if (!isFloat(type) || isFloat8(type))
        return inputError("a convolution is of floats of 16 bits or more, not of {}", getName(type));
    return {};
  }

  /// No two elements of the array are in one place: sorted by stride, each dimension steps over the one before.
  Status checkDistinct(const std::vector<int64_t> &sizes, const google::protobuf::RepeatedField<int64_t> &strides) {
    std::vector<std::pair<int64_t, int64_t>> dims;
    for (size_t i = 0; i != sizes.size(); ++i)
      if (sizes[i] > 1)
        dims.push_back({strides[i], sizes[i]});
    std::sort(dims.begin(), dims.end());
    int64_t reach = 0; // of the last element so far
    for (auto [stride, size] : dims) {
      if (stride <= reach)
        return inputError("elements of the result are in one place: a dimension of {} has stride {} where {} are taken",
                          size, stride, reach + 1);
      reach += (size - 1) * stride;
    }
    return {};
  }

  bool overlap(uint32_t a, uint32_t b) const {
    return runtime::overlap(program.buffers(static_cast<int>(a)), program.buffers(static_cast<int>(b)));
  }

  Status checkCopy(const Copy &copy) {
    MW_TRY(checkIndex(copy.from()));
    MW_TRY(checkIndex(copy.to()));
    uint64_t from = getArrayBytes(program.buffers(copy.from())), to = getArrayBytes(program.buffers(copy.to()));
    if (from != to)
      return inputError("buffer {} of {} bytes is copied to buffer {} of {} bytes", copy.from(), from, copy.to(), to);
    if (copy.start() && program.buffers(copy.from()).memory() == program.buffers(copy.to()).memory())
      return inputError("the copy of buffer {} to buffer {} is started, but both are in one memory", copy.from(),
                        copy.to());
    return {};
  }

  Status checkCoordinate(const Coordinate &coordinate) {
    if (coordinate.axis() >= mesh.getNumAxes())
      return inputError("the coordinate is of axis {} of a mesh with {} axes", coordinate.axis(), mesh.getNumAxes());
    return checkScalar(coordinate.buffer(), "coordinate");
  }

  Status checkScalar(uint32_t index, const char *what) const {
    MW_TRY(checkOnDevice(index));
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    if (buffer.dtype() != I32 || buffer.bytes() < 4)
      return inputError("the {} is written to buffer {} of {} bytes of {} where an i32 is wanted", what, index,
                        buffer.bytes(), getName(buffer.dtype()));
    return {};
  }

  const LoadedPackage &package;
  const Program &program;
  const Mesh &mesh;
  const ProgramLayouts &layouts;
  CollectiveChecker collectives;
  std::vector<uint32_t> persistent;
  uint64_t numSlots = 0;
};

} // namespace

Status meshwright::runtime::checkProgram(const LoadedPackage &package, const Program &program, const Mesh &mesh,
                                         const ProgramLayouts &layouts, std::span<const int64_t> ranks,
                                         const std::string &context) {
  return ProgramChecker(package, program, mesh, layouts, ranks).check().within(context);
}
