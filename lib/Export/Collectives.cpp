//===- Collectives.cpp - forms of communication and of the rank -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives are those on contiguous memory (`dist.collective`): the members of a group exchange whole parts along a
// first dimension. In a manual region every collective has a channel, and numbers its ranks as partitions; replicas
// have neither.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Collectives.h"
#include "Forms.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;
using dist::CollectiveKind;

namespace {

/// Writes one collective.
class CollectiveForm {
public:
  CollectiveForm(dist::CollectiveOp op, Writer &writer) : op(op), writer(writer), mesh(writer.getMesh()) {
    for (StringRef name : op.getAxes().getAsValueRange<StringAttr>())
      axes.push_back(*mesh.find(name));
    size = mesh.getGroupSize(axes);
  }

  Term write(const Term &input, RankedTensorType type);

private:
  Term writeGather(const Term &input);
  Term writeReduction(StringRef name, const Term &input, RankedTensorType type, const Twine &properties);
  Term writeExchange(const Term &input);
  Term writeFromRoot(const Term &input);
  Term writeSend(const Term &input);
  std::string getChannel(bool isGlobal);

  dist::CollectiveOp op;
  Writer &writer;
  const dist::Mesh &mesh;
  SmallVector<dist::Axis> axes;
  int64_t size;
};

} // namespace

/// The properties that name the channel and, if `isGlobal`, say that groups consist of partitions.
std::string CollectiveForm::getChannel(bool isGlobal) {
  if (writer.getForm() == ModuleForm::Replicas)
    return "";
  return "channel_handle = #stablehlo.channel_handle<handle = " + std::to_string(writer.makeChannel()) +
         ", type = 1>, " + (isGlobal ? "use_global_device_ids, " : "");
}

static SmallVector<int64_t> withFirst(int64_t first, ArrayRef<int64_t> rest) {
  SmallVector<int64_t> shape = {first};
  shape.append(rest.begin(), rest.end());
  return shape;
}

Term CollectiveForm::writeGather(const Term &input) {
  Term part = writer.reshape(input, withFirst(1, input.getShape()));
  return writer
      .generic("stablehlo.all_gather", part, {part.type.clone(withFirst(size, input.getShape()))},
               getChannel(true) + "all_gather_dim = 0 : i64, replica_groups = " + writer.getGroups(axes))
      .front();
}

Term CollectiveForm::writeReduction(StringRef name, const Term &input, RankedTensorType type, const Twine &properties) {
  auto writeBody = [&] { writer.writeReducer(Writer::getCombiner(op.getReduction()), input.getElementType()); };
  return writer
      .generic(name, input, {type}, getChannel(true) + properties + "replica_groups = " + writer.getGroups(axes),
               {writeBody})
      .front();
}

Term CollectiveForm::writeExchange(const Term &input) {
  SmallVector<int64_t> part = {input.type.getNumElements() / size};
  Term parts = writer.reshape(input, withFirst(size, part));
  return writer
      .generic("stablehlo.all_to_all", parts, {parts.type},
               getChannel(false) + "concat_dimension = 0 : i64, replica_groups = " + writer.getGroups(axes) +
                   ", split_count = " + std::to_string(size) + " : i64, split_dimension = 0 : i64")
      .front();
}

/// The groups begin with their roots.
Term CollectiveForm::writeFromRoot(const Term &input) {
  return writer
      .generic("stablehlo.collective_broadcast", input, {input.type},
               getChannel(false) + "replica_groups = " + writer.getGroups(axes, op.getRoots()->front()))
      .front();
}

Term CollectiveForm::writeSend(const Term &input) {
  return writer
      .generic("stablehlo.collective_permute", input, {input.type},
               getChannel(false) +
                   "source_target_pairs = " + writer.getPairs(axes, op.getRoots()->front(), *op.getTo()))
      .front();
}

Term CollectiveForm::write(const Term &input, RankedTensorType type) {
  switch (op.getKind()) {
  case CollectiveKind::AllGather:
    return writer.reshape(writeGather(input), type.getShape());
  // Only the root reads the sum.
  case CollectiveKind::Reduce:
  case CollectiveKind::AllReduce:
    return writer.reshape(writeReduction("stablehlo.all_reduce", input, input.type, ""), type.getShape());
  case CollectiveKind::ReduceScatter: {
    SmallVector<int64_t> part(type.getShape());
    Term parts = writer.reshape(input, withFirst(size, part));
    Term sum = writeReduction("stablehlo.reduce_scatter", parts, parts.type.clone(withFirst(1, part)),
                              "scatter_dimension = 0 : i64, ");
    return writer.reshape(sum, type.getShape());
  }
  case CollectiveKind::AllToAll:
    return writer.reshape(writeExchange(input), type.getShape());
  case CollectiveKind::Broadcast:
    return writer.reshape(writeFromRoot(input), type.getShape());
  case CollectiveKind::Send:
    return writer.reshape(writeSend(input), type.getShape());
  }
  llvm_unreachable("all kinds are covered");
}

static Terms writeCollective(dist::CollectiveOp op, Writer &writer) {
  Terms results;
  CollectiveForm form(op, writer);
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    results.push_back(form.write(writer.get(input), cast<RankedTensorType>(result.getType())));
  return results;
}

static Terms writeCoordinate(dist::CoordinateOp op, Writer &writer) {
  return {writer.coordinate(*writer.getMesh().find(op.getAxis()))};
}

/// Selects by the coordinates of the rank.
static Terms writeEither(dist::EitherOp op, Writer &writer) {
  Term holds;
  for (NamedAttribute holder : op.getHolders()) {
    Term coordinate = writer.coordinate(*writer.getMesh().find(holder.getName().getValue())), isOne;
    for (int64_t place : cast<DenseI64ArrayAttr>(holder.getValue()).asArrayRef()) {
      Term isHere = writer.compare("EQ", coordinate, writer.integer(coordinate.getElementType(), place));
      isOne = isOne.type ? writer.binary("stablehlo.or", isOne, isHere) : isHere;
    }
    holds = holds.type ? writer.binary("stablehlo.and", holds, isOne) : isOne;
  }
  Term held = writer.get(op.getHeld());
  return {writer.select(holds, held, writer.get(op.getOther()))};
}

/// The sum over the steps so far, which the first step begins. Sums by a tree are refused before.
static Terms writeAccumulate(dist::AccumulateOp op, Writer &writer) {
  Term step = writer.coordinate(*writer.getMesh().find(op.getAxis()));
  Term isFirst = writer.compare("EQ", step, writer.integer(step.getElementType(), 0));
  Term addend = writer.get(op.getAddend()), sum = writer.binary("stablehlo.add", writer.get(op.getBefore()), addend);
  return {writer.select(isFirst, addend, sum)};
}

void exporter::attachCollectives(MLIRContext *context) {
  attachForm<dist::AccumulateOp, writeAccumulate>(context);
  attachForm<dist::CollectiveOp, writeCollective>(context);
  attachForm<dist::CoordinateOp, writeCoordinate>(context);
  attachForm<dist::EitherOp, writeEither>(context);
}
