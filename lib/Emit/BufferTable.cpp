//===- BufferTable.cpp - the memory of a program's values -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedule has assigned the offsets. A value has one buffer, and views of it that instructions read have buffers of
// their own at the same place.
//
//===----------------------------------------------------------------------===//

#include "BufferTable.h"
#include "Enumerations.h"
#include "Names.h"
#include "dialects/Dist/Support.h"
#include "meshwright/Memory/IterationBytes.h"
#include "meshwright/Schedule/Report.h"
#include "meshwright/Support/Bytes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static RankedTensorType typeOf(Value value) { return dist::getTensorType(value.getType()); }

uint32_t BufferTable::add(RankedTensorType type, uint64_t offset, StringRef name, Memory memory) {
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

uint32_t BufferTable::get(Value value) {
  auto known = buffers.find(value);
  if (known != buffers.end())
    return known->second;
  auto result = cast<OpResult>(value);
  auto offsets = dist::kOffsetsAttr.get(result.getOwner());
  bool onHost = dist::kInHostArenaAttr.isOn(result.getOwner());
  uint32_t buffer = add(typeOf(value), offsets[result.getResultNumber()], getName(value), onHost ? HOST : DEVICE);
  program.mutable_buffers(buffer)->set_content(schedule::isGradient(value)  ? Buffer::GRADIENT
                                               : schedule::isFetched(value) ? Buffer::FETCHED
                                                                            : Buffer::OTHER);
  for (int64_t bytes : schedule::getIterationBytes(value, *nest))
    program.mutable_buffers(buffer)->add_iteration_bytes(bytes);
  return buffers[value] = buffer;
}

uint32_t BufferTable::getFrom(Value value, int64_t offset) {
  uint32_t whole = get(value);
  if (offset == 0)
    return whole;
  RankedTensorType type = typeOf(value);
  uint64_t start = program.buffers(whole).offset() + offset * getElementBytes(type.getElementType());
  uint32_t part = add(type.clone({type.getNumElements() - offset}), start, "");
  *program.mutable_buffers(part)->mutable_iteration_bytes() = program.buffers(whole).iteration_bytes();
  return part;
}

uint32_t BufferTable::getLeaf(Value value) {
  auto offsets = dist::kOffsetsAttr.get(value.getDefiningOp());
  // A value without elements has no bytes of its own, so the type distinguishes it from the next buffer.
  std::pair<int64_t, Type> key = {offsets[0], value.getType()};
  if (auto known = leafBuffers.find(key); known != leafBuffers.end())
    return buffers[value] = known->second;
  return leafBuffers[key] = get(value);
}

uint32_t BufferTable::getPart(Operation *op, Value stack, Value part) {
  uint32_t whole = get(stack);
  uint32_t buffer = add(typeOf(part), program.buffers(whole).offset(), "");
  for (int64_t bytes : schedule::getPartIterationBytes(op, stack, part, *nest))
    program.mutable_buffers(buffer)->add_iteration_bytes(bytes);
  return buffer;
}

FailureOr<int64_t> BufferTable::addVariable(func::FuncOp func, net::VariableOp variable) {
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
             add(variable.getTensorType(), offset.getInt(), variable.getSymName(),
                 dist::isOnHost(variable) ? HOST : DEVICE);
}
