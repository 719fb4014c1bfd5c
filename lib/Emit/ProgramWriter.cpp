//===- ProgramWriter.cpp - a scheduled function as a program --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWriter.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/Support.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Schedule/PlannedKernel.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static RankedTensorType typeOf(Value value) { return dist::getTensorType(value.getType()); }
static uint64_t getElementBytes(Type element) { return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8); }
static uint64_t getBytes(RankedTensorType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
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
    return DTYPE_INVALID;
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

uint32_t ProgramWriter::addBuffer(RankedTensorType type, uint64_t offset, StringRef name) {
  Buffer &buffer = *program.add_buffers();
  buffer.set_offset(offset);
  buffer.set_bytes(getBytes(type));
  buffer.set_dtype(getDType(type.getElementType()));
  for (int64_t size : type.getShape())
    buffer.add_shape(size);
  buffer.set_name(name.str());
  return program.buffers_size() - 1;
}

/// The user's name of `value`, where its operation states it.
static StringRef getName(Value value) {
  Operation *op = value.getDefiningOp();
  auto name = op ? op->getAttrOfType<StringAttr>(net::kNameAttr) : StringAttr();
  return name && cast<OpResult>(value).getResultNumber() == 0 ? name.getValue() : StringRef();
}

uint32_t ProgramWriter::getBuffer(Value value) {
  auto known = buffers.find(value);
  if (known != buffers.end())
    return known->second;
  auto result = cast<OpResult>(value);
  auto offsets = result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(schedule::kOffsetsAttr);
  return buffers[value] = addBuffer(typeOf(value), offsets[result.getResultNumber()], getName(value));
}

uint32_t ProgramWriter::getBufferFrom(Value value, int64_t offset) {
  uint32_t whole = getBuffer(value);
  if (offset == 0)
    return whole;
  RankedTensorType type = typeOf(value);
  uint64_t start = program.buffers(whole).offset() + offset * getElementBytes(type.getElementType());
  return addBuffer(type.clone({type.getNumElements() - offset}), start, "");
}

/// The value's name, its scope, or what the operation is.
static std::string getTitle(Operation *op) {
  for (StringRef attribute : {StringRef(net::kNameAttr), StringRef(net::kScopeAttr)})
    if (auto name = op->getAttrOfType<StringAttr>(attribute))
      return name.str();
  return op->getName().stripDialect().str();
}

/// What part `number` of a launch moves, by the user's name.
static std::string getPartName(dist::CollectiveOp op, unsigned number) {
  auto names = op->getAttrOfType<ArrayAttr>(dist::kPartsAttr);
  auto name = names && number < names.size() ? dyn_cast<StringAttr>(names[number]) : StringAttr();
  return name ? name.str() : getTitle(op);
}

/// Where part `number` comes from: a launch of several parts has all their locations, in their order.
static std::string getPartLocation(dist::CollectiveOp op, unsigned number) {
  auto fused = dyn_cast<FusedLoc>(op.getLoc());
  bool apart = fused && op.getNumParts() > 1 && fused.getLocations().size() == op.getNumParts();
  return getLocationText(apart ? fused.getLocations()[number] : Location(op.getLoc()));
}

Instruction *ProgramWriter::startInstruction(Operation *op) {
  Instruction *instruction = task->add_instructions();
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
  static constexpr Collective::Kind kinds[] = {Collective::ALL_REDUCE,     Collective::ALL_GATHER,
                                               Collective::REDUCE_SCATTER, Collective::ALL_TO_ALL,
                                               Collective::BROADCAST,      Collective::REDUCE};
  static constexpr Collective::Reduction reductions[] = {Collective::SUM, Collective::PRODUCT, Collective::MAX,
                                                         Collective::MIN, Collective::AND,     Collective::OR};
  dist::MeshOp mesh = dist::findMesh(func->getParentOfType<ModuleOp>());
  Collective &collective = *instruction.mutable_collective();
  collective.set_kind(kinds[static_cast<unsigned>(op.getKind())]);
  collective.set_reduction(reductions[static_cast<unsigned>(op.getReduction())]);
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
    bool splits = op.getKind() == dist::CollectiveKind::AllToAll || op.getKind() == dist::CollectiveKind::ReduceScatter;
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
  collective.set_start(op.isStart());
  auto known = op->getAttrOfType<IntegerAttr>(schedule::kTagAttr);
  uint32_t tag = known ? known.getInt() : nextTag++;
  if (op.isStart())
    tags[op] = tag;
  collective.set_tag(tag);
  if (auto reason = op->getAttrOfType<StringAttr>("dist.reason"))
    collective.set_reason(reason.str());
  return success();
}

void ProgramWriter::addWait(dist::WaitOp op, Instruction &instruction) {
  instruction.mutable_wait()->set_tag(tags.lookup(op.getFlights().front().getDefiningOp()));
}

/// Nothing where the value was computed in the variable's place. Copies come last: until the step ends the old value
/// may be read, and the new one stays.
void ProgramWriter::addAssign(net::AssignOp op) {
  uint32_t variable = variableBuffers[op.getVariableAttr().getAttr()], value = getBuffer(op.getValue());
  if (program.buffers(variable).offset() == program.buffers(value).offset())
    return;
  Copy &copy = *startInstruction(op)->mutable_copy();
  copy.set_from(value);
  copy.set_to(variable);
}

void ProgramWriter::addOutputs(func::ReturnOp op) {
  for (Value value : op.getOperands())
    program.add_output_buffers(isa_and_nonnull<dist::AbsentOp>(value.getDefiningOp()) ? -1 : getBuffer(value));
}

LogicalResult ProgramWriter::addInstruction(Operation &op) {
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    buffers[read.getResult()] = variableBuffers[read.getVariableAttr().getAttr()];
  } else if (auto constant = dyn_cast<net::ConstantOp>(op)) {
    Constant &entry = *program.add_constants();
    entry.set_buffer(getBuffer(constant.getResult()));
    entry.set_file_offset(constants.add(constant.getValue()));
  } else if (auto coordinate = dyn_cast<dist::CoordinateOp>(op)) {
    Coordinate &entry = *startInstruction(&op)->mutable_coordinate();
    dist::MeshOp mesh = dist::findMesh(func->getParentOfType<ModuleOp>());
    entry.set_axis(*mesh.getMesh().find(coordinate.getAxis()));
    entry.set_buffer(getBuffer(coordinate.getResult()));
  } else if (auto kernel = dyn_cast<dist::KernelOp>(op)) {
    addKernel(kernel, *startInstruction(&op));
  } else if (auto matmul = dyn_cast<dist::MatmulOp>(op)) {
    addMatmul(matmul, *startInstruction(&op));
  } else if (auto collective = dyn_cast<dist::CollectiveOp>(op)) {
    return addCollective(collective, *startInstruction(&op));
  } else if (auto wait = dyn_cast<dist::WaitOp>(op)) {
    addWait(wait, *startInstruction(&op));
  } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    for (auto assign : func.getBody().front().getOps<net::AssignOp>())
      addAssign(assign);
    addOutputs(ret);
  } else if (!isa<dist::ViewOp, dist::AbsentOp, net::AssignOp>(op)) {
    return op.emitError() << "operation " << op.getName() << " is not one that a package can hold";
  }
  return success();
}

LogicalResult ProgramWriter::write(ArrayRef<net::VariableOp> variables) {
  auto arena = func->getAttrOfType<IntegerAttr>(schedule::kArenaBytesAttr);
  auto persistent = func->getAttrOfType<IntegerAttr>(schedule::kPersistentBytesAttr);
  auto places = func->getAttrOfType<DictionaryAttr>(schedule::kVariablesAttr);
  if (!arena || !persistent || !places)
    return func.emitError() << "function has no places in an arena; it has not been through Schedule";
  program.set_arena_bytes(arena.getInt());
  program.set_persistent_bytes(persistent.getInt());
  for (net::VariableOp variable : variables) {
    auto kept = variable->getAttrOfType<dist::MappingAttr>(dist::kMappingAttr);
    if (kept && !dist::holds(func, kept.getSupport())) {
      program.add_variable_buffers(-1);
      continue;
    }
    auto offset = places.getAs<IntegerAttr>(variable.getSymNameAttr());
    if (!offset)
      return variable.emitError() << "variable has no place in the arena";
    uint32_t buffer = addBuffer(variable.getTensorType(), offset.getInt(), variable.getSymName());
    variableBuffers[variable.getSymNameAttr()] = buffer;
    program.add_variable_buffers(buffer);
  }
  for (BlockArgument argument : func.getArguments()) {
    if (!dist::holds(func, dist::getOn(argument))) {
      program.add_input_buffers(-1);
      continue;
    }
    auto offset = func.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), schedule::kOffsetAttr);
    auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), net::kNameAttr);
    buffers[argument] = addBuffer(typeOf(argument), offset.getInt(), name ? name.getValue() : StringRef());
    program.add_input_buffers(buffers[argument]);
  }
  task = program.add_tasks();
  // Programs of other ranks have other names; the step is one.
  task->set_name(dist::getOn(func.getOperation()) ? "step" : func.getSymName().str());
  for (Operation &op : func.getBody().front())
    if (failed(addInstruction(op)))
      return failure();
  ScheduleItem &item = *program.add_schedule();
  item.set_task(0);
  item.set_first_step(0);
  item.set_end_step(1);
  return success();
}
