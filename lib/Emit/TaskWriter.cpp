//===- TaskWriter.cpp - writes the instructions of a function -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates operations one by one into instructions over buffers. Operations that move nothing, such as reads and
// views, only say where their result is.
//
//===----------------------------------------------------------------------===//

#include "TaskWriter.h"
#include "ConvolutionWriter.h"
#include "Enumerations.h"
#include "EpilogueWriter.h"
#include "Names.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Memory/IterationBytes.h"
#include "meshwright/Support/Bytes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static RankedTensorType typeOf(Value value) { return dist::getTensorType(value.getType()); }

static bool isAbsent(Value value) { return isa_and_nonnull<dist::AbsentOp>(value.getDefiningOp()); }

Instruction *TaskWriter::startInstruction(Operation *op) {
  Instruction *instruction = task.add_instructions();
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

/// The power of two that the places of all arguments are multiples of, wherever they move.
int64_t TaskWriter::getAlignment(const Kernel &kernel) const {
  constexpr uint64_t kMost = 64;
  uint64_t places = kMost;
  for (uint32_t argument : kernel.arguments()) {
    const Buffer &buffer = program.buffers(static_cast<int>(argument));
    places |= buffer.offset() | buffer.slot_bytes();
    for (uint64_t bytes : buffer.iteration_bytes())
      places |= bytes;
  }
  return int64_t(1) << llvm::countr_zero(places);
}

void TaskWriter::addKernel(dist::KernelOp op, Instruction &instruction) {
  Kernel &kernel = *instruction.mutable_kernel();
  for (Value input : op.getInputs())
    kernel.add_arguments(buffers.get(input));
  for (Value result : op.getResults())
    kernel.add_arguments(buffers.get(result));
  kernel.set_outputs(op.getNumResults());
  kernel.set_symbol(tables.kernels.getSymbol(op, getAlignment(kernel)).str());
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

void TaskWriter::addMatmul(dist::MatmulOp op, Instruction &instruction) {
  Matmul &matmul = *instruction.mutable_matmul();
  matmul.set_lhs(buffers.getFrom(op.getLhs(), op.getLhsOffset()));
  matmul.set_rhs(buffers.getFrom(op.getRhs(), op.getRhsOffset()));
  matmul.set_out(buffers.get(op.getResult()));
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
  if (auto parts = net::kSumPartsAttr.get(op))
    matmul.set_parts(parts.getInt());
  instruction.set_flops(flops);
}

void TaskWriter::addCollective(dist::CollectiveOp op, Instruction &instruction) {
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
      part.set_in(buffers.get(input));
    if (result)
      part.set_out(buffers.get(result));
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
}

void TaskWriter::addHostCopy(dist::CopyOp op, Instruction &instruction) {
  Copy &copy = *instruction.mutable_copy();
  copy.set_from(buffers.get(op.getInput()));
  copy.set_to(buffers.get(op.getResult()));
  if (!op.isStart())
    return;
  copy.set_start(true);
  copy.set_tag(tags[op] = nextCopyTag++);
}

void TaskWriter::addWait(dist::WaitOp op, Instruction &instruction) {
  Operation *start = op.getHandles().front().getDefiningOp();
  if (isa<dist::CopyOp>(start)) {
    instruction.set_name(getTitle(start));
    instruction.mutable_copy_wait()->set_tag(tags.lookup(start));
  } else {
    instruction.mutable_wait()->set_tag(tags.lookup(start));
  }
}

/// Nothing where both are in the same place.
void TaskWriter::addCopy(Operation *op, uint32_t from, uint32_t to) {
  const Buffer &source = program.buffers(from), &target = program.buffers(to);
  bool moveAlike = llvm::equal(source.iteration_bytes(), target.iteration_bytes());
  if (source.memory() == target.memory() && source.offset() == target.offset() && moveAlike)
    return;
  Copy &copy = *startInstruction(op)->mutable_copy();
  copy.set_from(from);
  copy.set_to(to);
}

/// Copies come last: until the step ends the old value may be read, and the new one stays.
void TaskWriter::addAssign(net::AssignOp op) {
  addCopy(op, buffers.get(op.getValue()), buffers.getVariable(op.getVariableAttr().getAttr()));
}

void TaskWriter::addOutputs(func::ReturnOp op) {
  for (Value value : op.getOperands())
    program.add_output_buffers(isAbsent(value) ? -1 : buffers.get(value));
}

/// Puts what was made elsewhere where all variants have their results.
void TaskWriter::copyOutputs(func::ReturnOp op) {
  for (auto [index, value] : llvm::enumerate(op.getOperands()))
    if (!isAbsent(value))
      addCopy(op, buffers.get(value), program.output_buffers(index));
}

void TaskWriter::addCoordinate(dist::CoordinateOp op, uint32_t buffer) {
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
void TaskWriter::addLoop(net::LoopOp op) {
  for (Operation *inner = op; inner != nest.getEnd(op); inner = inner->getNextNode())
    if (auto carry = dyn_cast<net::CarryOp>(inner); carry && nest.getLoop(inner) == op)
      addCopy(carry, buffers.get(carry.getInit()), buffers.get(carry.getResult()));
  Loop &loop = *startInstruction(op)->mutable_loop();
  loop.set_count(op.getCount());
  loop.set_reverse(op.getReverse());
}

/// True if every iteration makes the stacked value in its place in the stack.
bool TaskWriter::isMadeInPlace(net::StackOp op) {
  uint64_t place = program.buffers(buffers.get(op.getValue())).offset();
  return place == program.buffers(buffers.get(op.getResult())).offset() &&
         schedule::getIterationBytes(op.getValue(), nest) ==
             schedule::getPartIterationBytes(op, op.getResult(), op.getValue(), nest);
}

LogicalResult TaskWriter::add(Operation &op) {
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    buffers.set(read.getResult(), buffers.getVariable(read.getVariableAttr().getAttr()));
  } else if (auto constant = dyn_cast<net::ConstantOp>(op)) {
    size_t known = buffers.getNumLeaves();
    uint32_t buffer = buffers.getLeaf(constant.getResult());
    // Another variant has stated it.
    if (buffers.getNumLeaves() == known)
      return success();
    Constant &entry = *program.add_constants();
    entry.set_buffer(buffer);
    entry.set_file_offset(tables.constants.add(constant.getValue()));
  } else if (auto coordinate = dyn_cast<dist::CoordinateOp>(op)) {
    uint32_t buffer = buffers.getLeaf(coordinate.getResult());
    addCoordinate(coordinate, buffer);
  } else if (auto kernel = dyn_cast<dist::KernelOp>(op)) {
    dist::MatmulOp product = lastProduct;
    addKernel(kernel, *startInstruction(&op));
    if (product && llvm::is_contained(kernel.getInputs(), product.getResult()))
      addEpilogue(
          product, kernel, nest, program, [&](Value value) { return buffers.get(value); },
          *task.mutable_instructions(task.instructions_size() - 2), tables.epilogues);
  } else if (auto matmul = dyn_cast<dist::MatmulOp>(op)) {
    addMatmul(matmul, *startInstruction(&op));
    lastProduct = matmul;
  } else if (auto convolution = dyn_cast<net::ConvolutionOp>(op)) {
    writeConvolution(convolution, buffers, *startInstruction(&op));
  } else if (auto collective = dyn_cast<dist::CollectiveOp>(op)) {
    addCollective(collective, *startInstruction(&op));
  } else if (auto copy = dyn_cast<dist::CopyOp>(op)) {
    addHostCopy(copy, *startInstruction(&op));
  } else if (auto wait = dyn_cast<dist::WaitOp>(op)) {
    addWait(wait, *startInstruction(&op));
  } else if (auto loop = dyn_cast<net::LoopOp>(op)) {
    addLoop(loop);
  } else if (isa<net::EndLoopOp>(op)) {
    startInstruction(&op)->mutable_end_loop();
  } else if (auto next = dyn_cast<net::NextOp>(op)) {
    addCopy(next, buffers.get(next.getValue()), buffers.get(next.getCarry()));
  } else if (auto take = dyn_cast<net::TakeOp>(op)) {
    if (!schedule::isReadInPlace(take))
      addCopy(take, buffers.getPart(take, take.getStack(), take.getResult()), buffers.get(take.getResult()));
  } else if (auto stack = dyn_cast<net::StackOp>(op)) {
    if (!isMadeInPlace(stack))
      addCopy(stack, buffers.get(stack.getValue()), buffers.getPart(stack, stack.getResult(), stack.getValue()));
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
