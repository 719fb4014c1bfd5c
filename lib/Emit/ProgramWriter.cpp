//===- ProgramWriter.cpp - writes the program of one rank -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates operations one by one into instructions over buffers, at the offsets that Schedule has assigned. Variants
// of a function for different times share the buffers of variables, constants, coordinates and results.
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"
#include "Enumerations.h"
#include "ScheduleWriter.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Kernels/PlannedKernel.h"
#include "meshwright/Memory/IterationBytes.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Schedule/Report.h"
#include "meshwright/Support/Bytes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static RankedTensorType typeOf(Value value) { return dist::getTensorType(value.getType()); }

/// The 8-bit float types of the schema.
static DType getFloat8(Type element) {
  return TypeSwitch<Type, DType>(element)
      .Case([](Float8E4M3FNType) { return F8E4M3FN; })
      .Case([](Float8E5M2Type) { return F8E5M2; })
      .Case([](Float8E4M3B11FNUZType) { return F8E4M3B11FNUZ; })
      .Case([](Float8E4M3FNUZType) { return F8E4M3FNUZ; })
      .Case([](Float8E5M2FNUZType) { return F8E5M2FNUZ; })
      .Case([](Float8E4M3Type) { return F8E4M3; })
      .Case([](Float8E3M4Type) { return F8E3M4; })
      .Default(DTYPE_INVALID);
}

DType emit::getDType(Type element) {
  if (element.isF32())
    return F32;
  if (element.isF64())
    return F64;
  if (element.isBF16())
    return BF16;
  if (element.isF16())
    return F16;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return getFloat8(element);
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return I1;
  case 8:
    return isUnsigned ? U8 : I8;
  case 16:
    return isUnsigned ? U16 : I16;
  case 32:
    return isUnsigned ? U32 : I32;
  case 64:
    return isUnsigned ? U64 : I64;
  default:
    return DTYPE_INVALID;
  }
}

std::string emit::getLocationText(Location location) {
  std::string text;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().getValue() + ":" + Twine(file.getLine())).str();
    return WalkResult::interrupt();
  });
  return text;
}

StringRef KernelTable::getSymbol(dist::KernelOp kernel) {
  auto [entry, isNew] = known.try_emplace(schedule::getKernelText(kernel), jobs.size());
  if (isNew) {
    // A number keeps names apart; the last operation says what it is about.
    std::string symbol = "k" + std::to_string(jobs.size());
    Block &body = kernel.getBody().front();
    if (body.getOperations().size() > 1)
      symbol += "_" + std::prev(body.end(), 2)->getName().stripDialect().str();
    jobs.push_back({kernel, symbol});
  }
  return jobs[entry->second].symbol;
}

uint64_t ConstantTable::add(ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string data;
  unsigned size = getElementBytes(type.getElementType());
  auto append = [&](APInt number) {
    number = number.zextOrTrunc(size * 8);
    for (unsigned byte = 0; byte < size; ++byte)
      data.push_back(static_cast<char>(number.extractBitsAsZExtValue(8, byte * 8)));
  };
  if (isa<FloatType>(type.getElementType()))
    for (APFloat number : value.getValues<APFloat>())
      append(number.bitcastToAPInt());
  else
    for (APInt number : value.getValues<APInt>())
      append(number);
  auto [entry, isNew] = known.try_emplace(data, 0);
  if (isNew) {
    bytes.resize(llvm::alignTo(bytes.size(), 64), '\0');
    entry->second = bytes.size();
    bytes += data;
  }
  return entry->second;
}

uint32_t ProgramWriter::addBuffer(RankedTensorType type, uint64_t offset, StringRef name, Memory memory) {
  Buffer &buffer = *program.add_buffers();
  buffer.set_offset(offset);
  buffer.set_bytes(getBytes(type));
  buffer.set_dtype(getDType(type.getElementType()));
  for (int64_t size : type.getShape())
    buffer.add_shape(size);
  buffer.set_name(name.str());
  buffer.set_memory(memory);
  // A buffer that shares memory with a variable has the variable's slots.
  auto region = slots.upper_bound(offset);
  if (memory == DEVICE && region != slots.begin() && offset < std::prev(region)->second.end) {
    buffer.set_slots(std::prev(region)->second.number);
    buffer.set_slot_bytes(std::prev(region)->second.bytes);
  }
  return program.buffers_size() - 1;
}

/// The user's name of `value`, where its operation states it.
static StringRef getName(Value value) {
  Operation *op = value.getDefiningOp();
  auto name = op ? net::kNameAttr.get(op) : StringAttr();
  return name && cast<OpResult>(value).getResultNumber() == 0 ? name.getValue() : StringRef();
}

uint32_t ProgramWriter::getBuffer(Value value) {
  auto known = buffers.find(value);
  if (known != buffers.end())
    return known->second;
  auto result = cast<OpResult>(value);
  auto offsets = dist::kOffsetsAttr.get(result.getOwner());
  bool onHost = dist::kInHostArenaAttr.isOn(result.getOwner());
  uint32_t buffer = addBuffer(typeOf(value), offsets[result.getResultNumber()], getName(value), onHost ? HOST : DEVICE);
  program.mutable_buffers(buffer)->set_content(schedule::isGradient(value)  ? Buffer::GRADIENT
                                               : schedule::isFetched(value) ? Buffer::FETCHED
                                                                            : Buffer::OTHER);
  for (int64_t bytes : schedule::getIterationBytes(value, nest))
    program.mutable_buffers(buffer)->add_iteration_bytes(bytes);
  return buffers[value] = buffer;
}

uint32_t ProgramWriter::getBufferFrom(Value value, int64_t offset) {
  uint32_t whole = getBuffer(value);
  if (offset == 0)
    return whole;
  RankedTensorType type = typeOf(value);
  uint64_t start = program.buffers(whole).offset() + offset * getElementBytes(type.getElementType());
  uint32_t part = addBuffer(type.clone({type.getNumElements() - offset}), start, "");
  *program.mutable_buffers(part)->mutable_iteration_bytes() = program.buffers(whole).iteration_bytes();
  return part;
}

/// The value's name, its scope, or what the operation is.
static std::string getTitle(Operation *op) {
  for (StringRef attribute : {StringRef(net::kNameAttr), StringRef(net::kScopeAttr)})
    if (auto name = op->getAttrOfType<StringAttr>(attribute))
      return name.str();
  return op->getName().stripDialect().str();
}

/// The user's name of the value that part `number` of a launch moves.
static std::string getPartName(dist::CollectiveOp op, unsigned number) {
  auto names = dist::kPartsAttr.get(op);
  auto name = names && number < names.size() ? dyn_cast<StringAttr>(names[number]) : StringAttr();
  return name ? name.str() : getTitle(op);
}

/// The location of part `number`: a launch of several parts has all their locations, in order.
static std::string getPartLocation(dist::CollectiveOp op, unsigned number) {
  auto fused = dyn_cast<FusedLoc>(op.getLoc());
  bool apart = fused && op.getNumParts() > 1 && fused.getLocations().size() == op.getNumParts();
  return getLocationText(apart ? fused.getLocations()[number] : Location(op.getLoc()));
}

Instruction *ProgramWriter::startInstruction(Operation *op) {
  Instruction *instruction = task->add_instructions();
  lastProduct = nullptr;
  instruction->set_name(getTitle(op));
  instruction->set_location(getLocationText(op->getLoc()));
  uint64_t traffic = 0;
  for (Value operand : op->getOperands())
    traffic += getBytes(typeOf(operand));
  for (Value result : op->getResults())
    traffic += getBytes(typeOf(result));
  instruction->set_traffic_bytes(traffic);
  return instruction;
}

void ProgramWriter::addKernel(dist::KernelOp op, Instruction &instruction) {
  Kernel &kernel = *instruction.mutable_kernel();
  kernel.set_symbol(kernels.getSymbol(op).str());
  for (Value input : op.getInputs())
    kernel.add_arguments(getBuffer(input));
  for (Value result : op.getResults())
    kernel.add_arguments(getBuffer(result));
  kernel.set_outputs(op.getNumResults());
  double flops = 0;
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (auto cost = dyn_cast<dist::CostOpInterface>(inner))
      flops += cost.getFlops();
    else
      for (Value result : inner.getResults())
        flops += typeOf(result).getNumElements();
  }
  instruction.set_flops(flops);
}

void ProgramWriter::addMatmul(dist::MatmulOp op, Instruction &instruction) {
  Matmul &matmul = *instruction.mutable_matmul();
  matmul.set_lhs(getBufferFrom(op.getLhs(), op.getLhsOffset()));
  matmul.set_rhs(getBufferFrom(op.getRhs(), op.getRhsOffset()));
  matmul.set_out(getBuffer(op.getResult()));
  matmul.set_lhs_dtype(getDType(typeOf(op.getLhs()).getElementType()));
  matmul.set_rhs_dtype(getDType(typeOf(op.getRhs()).getElementType()));
  matmul.set_out_dtype(getDType(typeOf(op.getResult()).getElementType()));
  double flops = 2.0 * op.getM() * op.getN() * op.getK();
  for (int64_t size : op.getBatch()) {
    matmul.add_batch(size);
    flops *= size;
  }
  matmul.set_m(op.getM());
  matmul.set_n(op.getN());
  matmul.set_k(op.getK());
  matmul.mutable_lhs_strides()->Add(op.getLhsStrides().begin(), op.getLhsStrides().end());
  matmul.mutable_rhs_strides()->Add(op.getRhsStrides().begin(), op.getRhsStrides().end());
  matmul.mutable_out_strides()->Add(op.getOutStrides().begin(), op.getOutStrides().end());
  instruction.set_flops(flops);
}

LogicalResult ProgramWriter::addCollective(dist::CollectiveOp op, Instruction &instruction) {
  dist::MeshOp mesh = dist::findMesh(func->getParentOfType<ModuleOp>());
  Collective &collective = *instruction.mutable_collective();
  collective.set_kind(translate(op.getKind()));
  collective.set_reduction(translate(op.getReduction()));
  int64_t members = 1;
  for (StringRef name : op.getAxes().getAsValueRange<StringAttr>()) {
    dist::Axis axis = *mesh.getMesh().find(name);
    members *= mesh.getMesh().getSize(axis);
    collective.add_axes(axis);
  }
  collective.set_dtype(getDType(op.getElementType()));
  for (unsigned number = 0; number < op.getNumParts(); ++number) {
    Value input = op.getPartInput(number), result = op.getPartResult(number);
    CollectivePart &part = *collective.add_parts();
    // The smaller of the two sides is what one member brings or gets.
    bool splits = dist::getTraits(op.getKind()).hasOperandPerMember();
    int64_t count = dist::getTensorType((input ? input : result).getType()).getNumElements();
    part.set_count(splits ? count / members : count);
    if (input)
      part.set_in(getBuffer(input));
    if (result)
      part.set_out(getBuffer(result));
    if (op.getRoots())
      part.set_root((*op.getRoots())[number]);
    part.set_name(getPartName(op, number));
    part.set_location(getPartLocation(op, number));
  }
  if (op.getTo())
    collective.set_to(*op.getTo());
  collective.set_start(op.isStart() || dist::kStartsAttr.isOn(func));
  auto known = dist::kTagAttr.get(op);
  uint32_t tag = known ? known.getInt() : nextTag++;
  if (op.isStart())
    tags[op] = tag;
  collective.set_tag(tag);
  if (auto reason = dist::kReasonAttr.get(op))
    collective.set_reason(reason.str());
  return success();
}

void ProgramWriter::addHostCopy(dist::CopyOp op, Instruction &instruction) {
  Copy &copy = *instruction.mutable_copy();
  copy.set_from(getBuffer(op.getInput()));
  copy.set_to(getBuffer(op.getResult()));
  if (!op.isStart())
    return;
  copy.set_start(true);
  copy.set_tag(tags[op] = nextCopyTag++);
}

void ProgramWriter::addWait(dist::WaitOp op, Instruction &instruction) {
  Operation *start = op.getHandles().front().getDefiningOp();
  if (isa<dist::CopyOp>(start)) {
    instruction.set_name(getTitle(start));
    instruction.mutable_copy_wait()->set_tag(tags.lookup(start));
  } else {
    instruction.mutable_wait()->set_tag(tags.lookup(start));
  }
}

/// Nothing where both are in the same place.
void ProgramWriter::addCopy(Operation *op, uint32_t from, uint32_t to) {
  const Buffer &source = program.buffers(from), &target = program.buffers(to);
  bool moveAlike = llvm::equal(source.iteration_bytes(), target.iteration_bytes());
  if (source.memory() == target.memory() && source.offset() == target.offset() && moveAlike)
    return;
  Copy &copy = *startInstruction(op)->mutable_copy();
  copy.set_from(from);
  copy.set_to(to);
}

/// Copies come last: until the step ends the old value may be read, and the new one stays.
void ProgramWriter::addAssign(net::AssignOp op) {
  addCopy(op, getBuffer(op.getValue()), variableBuffers[op.getVariableAttr().getAttr()]);
}

static bool isAbsent(Value value) { return isa_and_nonnull<dist::AbsentOp>(value.getDefiningOp()); }

void ProgramWriter::addOutputs(func::ReturnOp op) {
  for (Value value : op.getOperands())
    program.add_output_buffers(isAbsent(value) ? -1 : getBuffer(value));
}

/// Puts what was made elsewhere where all variants have their results.
void ProgramWriter::copyOutputs(func::ReturnOp op) {
  for (auto [index, value] : llvm::enumerate(op.getOperands()))
    if (!isAbsent(value))
      addCopy(op, getBuffer(value), program.output_buffers(index));
}

/// The buffer of a constant or coordinate, whatever variants have it.
uint32_t ProgramWriter::getLeafBuffer(Value value) {
  auto offsets = dist::kOffsetsAttr.get(value.getDefiningOp());
  // A value without elements has no bytes of its own, so the type distinguishes it from the next buffer.
  std::pair<int64_t, Type> key = {offsets[0], value.getType()};
  if (auto known = leafBuffers.find(key); known != leafBuffers.end())
    return buffers[value] = known->second;
  return leafBuffers[key] = getBuffer(value);
}

void ProgramWriter::addCoordinate(dist::CoordinateOp op, uint32_t buffer) {
  dist::Mesh mesh = dist::getMesh(func);
  dist::Axis axis = *mesh.find(op.getAxis());
  if (mesh.getKind(axis) == dist::AxisKind::Slices) {
    startInstruction(op)->mutable_micro_batch()->set_buffer(buffer);
    return;
  }
  Coordinate &entry = *startInstruction(op)->mutable_coordinate();
  entry.set_axis(axis);
  entry.set_buffer(buffer);
}

/// Begins a loop: what is carried is put where it is carried first.
void ProgramWriter::addLoop(net::LoopOp op) {
  for (Operation *inner = op; inner != nest.getEnd(op); inner = inner->getNextNode())
    if (auto carry = dyn_cast<net::CarryOp>(inner); carry && nest.getLoop(inner) == op)
      addCopy(carry, getBuffer(carry.getInit()), getBuffer(carry.getResult()));
  Loop &loop = *startInstruction(op)->mutable_loop();
  loop.set_count(op.getCount());
  loop.set_reverse(op.getReverse());
}

/// The part of `stack` that belongs to the iteration, in which `part` is or will be stored.
uint32_t ProgramWriter::getPart(Operation *op, Value stack, Value part) {
  uint32_t whole = getBuffer(stack);
  uint32_t buffer = addBuffer(typeOf(part), program.buffers(whole).offset(), "");
  for (int64_t bytes : schedule::getPartIterationBytes(op, stack, part, nest))
    program.mutable_buffers(buffer)->add_iteration_bytes(bytes);
  return buffer;
}

/// True if every iteration makes the stacked value in its place in the stack.
bool ProgramWriter::isMadeInPlace(net::StackOp op) {
  uint64_t place = program.buffers(getBuffer(op.getValue())).offset();
  return place == program.buffers(getBuffer(op.getResult())).offset() &&
         schedule::getIterationBytes(op.getValue(), nest) ==
             schedule::getPartIterationBytes(op, op.getResult(), op.getValue(), nest);
}

LogicalResult ProgramWriter::addInstruction(Operation &op) {
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    buffers[read.getResult()] = variableBuffers[read.getVariableAttr().getAttr()];
  } else if (auto constant = dyn_cast<net::ConstantOp>(op)) {
    size_t known = leafBuffers.size();
    uint32_t buffer = getLeafBuffer(constant.getResult());
    // Another variant has stated it.
    if (leafBuffers.size() == known)
      return success();
    Constant &entry = *program.add_constants();
    entry.set_buffer(buffer);
    entry.set_file_offset(constants.add(constant.getValue()));
  } else if (auto coordinate = dyn_cast<dist::CoordinateOp>(op)) {
    uint32_t buffer = getLeafBuffer(coordinate.getResult());
    addCoordinate(coordinate, buffer);
  } else if (auto kernel = dyn_cast<dist::KernelOp>(op)) {
    dist::MatmulOp product = lastProduct;
    addKernel(kernel, *startInstruction(&op));
    if (product && llvm::is_contained(kernel.getInputs(), product.getResult()))
      addEpilogue(
          product, kernel, nest, program, [&](Value value) { return getBuffer(value); },
          *task->mutable_instructions(task->instructions_size() - 2), epilogues);
  } else if (auto matmul = dyn_cast<dist::MatmulOp>(op)) {
    addMatmul(matmul, *startInstruction(&op));
    lastProduct = matmul;
  } else if (auto convolution = dyn_cast<net::ConvolutionOp>(op)) {
    addConvolution(convolution, *startInstruction(&op));
  } else if (auto collective = dyn_cast<dist::CollectiveOp>(op)) {
    return addCollective(collective, *startInstruction(&op));
  } else if (auto copy = dyn_cast<dist::CopyOp>(op)) {
    addHostCopy(copy, *startInstruction(&op));
  } else if (auto wait = dyn_cast<dist::WaitOp>(op)) {
    addWait(wait, *startInstruction(&op));
  } else if (auto loop = dyn_cast<net::LoopOp>(op)) {
    addLoop(loop);
  } else if (isa<net::EndLoopOp>(op)) {
    startInstruction(&op)->mutable_end_loop();
  } else if (auto next = dyn_cast<net::NextOp>(op)) {
    addCopy(next, getBuffer(next.getValue()), getBuffer(next.getCarry()));
  } else if (auto take = dyn_cast<net::TakeOp>(op)) {
    if (!schedule::hasAlignedParts(take.getResult()))
      addCopy(take, getPart(take, take.getStack(), take.getResult()), getBuffer(take.getResult()));
  } else if (auto stack = dyn_cast<net::StackOp>(op)) {
    if (!isMadeInPlace(stack))
      addCopy(stack, getBuffer(stack.getValue()), getPart(stack, stack.getResult(), stack.getValue()));
  } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    for (auto assign : func.getBody().front().getOps<net::AssignOp>())
      addAssign(assign);
    if (dist::kOutputsAttr.isOn(func))
      copyOutputs(ret);
    else
      addOutputs(ret);
  } else if (!isa<dist::ViewOp, dist::AbsentOp, net::AssignOp, net::CarryOp>(op)) {
    return op.emitError() << "operation " << op.getName() << " is not one that a package can hold";
  }
  return success();
}

/// The number of the buffer of `variable`; -1 where these ranks do not keep it.
FailureOr<int64_t> ProgramWriter::addVariable(net::VariableOp variable) {
  auto kept = dist::kMappingAttr.get(variable);
  if (kept && !dist::holds(func, kept.getSupport()))
    return -1;
  auto offset = dist::kVariablesAttr.get(func).getAs<IntegerAttr>(variable.getSymNameAttr());
  if (!offset)
    return variable.emitError() << "variable has no place in the arena";
  if (auto number = dist::kSlotsAttr.get(variable)) {
    uint64_t start = offset.getInt(), bytes = getSlotBytes(variable.getTensorType());
    slots[start] = {start + bytes, static_cast<uint32_t>(number.getInt()), bytes};
  }
  return variableBuffers[variable.getSymNameAttr()] =
             addBuffer(variable.getTensorType(), offset.getInt(), variable.getSymName(),
                       dist::isOnHost(variable) ? HOST : DEVICE);
}

LogicalResult ProgramWriter::addVariables(ArrayRef<net::VariableOp> variables) {
  for (net::VariableOp variable : variables) {
    FailureOr<int64_t> buffer = addVariable(variable);
    if (failed(buffer))
      return failure();
    program.add_variable_buffers(*buffer);
  }
  // Variables that do not outlive the step are memory of the program, not variables of the package.
  for (auto variable : func->getParentOfType<ModuleOp>().getOps<net::VariableOp>())
    if (dist::kWithinStepAttr.isOn(variable) && failed(addVariable(variable)))
      return failure();
  return success();
}

void ProgramWriter::addInputs() {
  for (BlockArgument argument : func.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!dist::holds(func, dist::getOn(argument))) {
      program.add_input_buffers(-1);
      continue;
    }
    auto offset = dist::kOffsetAttr.getOfArgument(func, number);
    auto name = net::kNameAttr.getOfArgument(func, number);
    uint32_t buffer = addBuffer(typeOf(argument), offset.getInt(), name ? name.getValue() : StringRef());
    program.add_input_buffers(buffer);
    for (func::FuncOp variant : variants)
      buffers[variant.getArgument(number)] = buffer;
  }
}

/// Programs for several times have common, fixed places for their results.
void ProgramWriter::addFixedOutputs() {
  func::FuncOp last = dist::getResultFunction(variants);
  auto places = dist::kOutputsAttr.get(last);
  for (auto [index, type] : llvm::enumerate(last.getResultTypes())) {
    auto name = net::kNameAttr.getOfResult(last, index);
    program.add_output_buffers(places[index] < 0 ? -1
                                                 : addBuffer(cast<RankedTensorType>(type), places[index],
                                                             name ? name.getValue() : StringRef()));
  }
}

LogicalResult ProgramWriter::addTask() {
  task = program.add_tasks();
  lastProduct = nullptr;
  task->set_name(getTaskName(func));
  FailureOr<net::LoopNest> found = net::LoopNest::find(func.getBody().front());
  if (failed(found))
    return failure();
  nest = std::move(*found);
  for (Operation &op : func.getBody().front())
    if (failed(addInstruction(op)))
      return failure();
  return success();
}

LogicalResult ProgramWriter::write(ArrayRef<net::VariableOp> variables) {
  auto arena = dist::kArenaBytesAttr.get(func);
  auto persistent = dist::kPersistentBytesAttr.get(func);
  if (!arena || !persistent || !dist::kVariablesAttr.isOn(func))
    return func.emitError() << "function has no places in an arena; it has not been through Schedule";
  program.set_arena_bytes(arena.getInt());
  program.set_persistent_bytes(persistent.getInt());
  if (auto host = dist::kHostArenaBytesAttr.get(func))
    program.set_host_arena_bytes(host.getInt());
  if (failed(addVariables(variables)))
    return failure();
  addInputs();
  if (dist::kOutputsAttr.isOn(func))
    addFixedOutputs();
  for (func::FuncOp variant : variants) {
    func = variant;
    nextTag = nextCopyTag = 0;
    tags.clear();
    if (failed(addTask()))
      return failure();
  }
  return writeSchedule(variants, program);
}
