//===- ActionSchedule.cpp - orders the actions of a pipeline's ranks ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes the task order of the mesh, adds the transfers between actions as `orderTransfers` places them, and writes one
// `dist.schedule` per set of ranks. The number of slots of a variable between actions follows from the same rows.
//
//===----------------------------------------------------------------------===//

#include "ActionSchedule.h"
#include <map>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// The items of the ranks at one coordinate, by the numbers of `actions`.
struct Row {
  struct Item {
    ActionIndex action;
    bool isWait;
    int64_t microBatch;
  };
  SmallVector<Item, 0> items;

  /// The positions at which an action starts and is over for a micro-batch; absent if this rank does not run it.
  std::map<std::pair<ActionIndex, int64_t>, std::pair<int64_t, int64_t>> places;

  void add(ActionIndex action, bool isWait, int64_t microBatch);
};

class Scheduler {
public:
  Scheduler(ModuleOp module, const PipelineAxis &pipeline, const Actions &actions, ArrayRef<Crossing> crossings)
      : module(module), pipeline(pipeline), actions(actions), crossings(crossings) {}

  void run();

private:
  void collectTransfers();
  void makeRows();
  void write(int64_t coordinate);
  int64_t countSlots(const Crossing &crossing, const Row &row) const;

  ModuleOp module;
  const PipelineAxis &pipeline;
  const Actions &actions;
  ArrayRef<Crossing> crossings;
  /// The transfers, and which actions they are.
  std::vector<Transfer> transfers;
  SmallVector<ActionIndex> actionOfTransfer;
  std::vector<Row> rows;
};

} // namespace

void Row::add(ActionIndex action, bool isWait, int64_t microBatch) {
  auto place = static_cast<int64_t>(items.size());
  auto [known, isNew] = places.try_emplace({action, microBatch}, place, place);
  known->second.second = place;
  items.push_back({action, isWait, microBatch});
}

/// Collects the transfers: sent value, making and reading actions.
void Scheduler::collectTransfers() {
  llvm::DenseMap<ActionIndex, size_t> known;
  for (auto [index, action] : llvm::enumerate(actions.get())) {
    if (action.kind != Action::Kind::Transfer)
      continue;
    auto send = cast<dist::CollectiveOp>(action.ops.front());
    known[index] = transfers.size();
    actionOfTransfer.push_back(index);
    transfers.push_back({std::nullopt, send.getRoots()->front(), static_cast<int64_t>(*send.getTo()), {}});
  }
  for (const Crossing &crossing : crossings) {
    const Action &maker = actions.get()[crossing.maker];
    for (ActionIndex reader : crossing.readers) {
      const Action &read = actions.get()[reader];
      if (maker.kind == Action::Kind::Task && read.kind == Action::Kind::Transfer)
        transfers[known[reader]].from = maker.task;
      if (maker.kind == Action::Kind::Transfer && read.kind == Action::Kind::Task)
        transfers[known[crossing.maker]].readers.push_back(read.task);
    }
  }
}

void Scheduler::makeRows() {
  TaskTimes times;
  auto items = orderTransfers(pipeline.order, simulate(pipeline.order, times), times, transfers);
  for (auto [rank, ofRank] : llvm::enumerate(items)) {
    Row &row = rows.emplace_back();
    if (!actions.get()[Actions::kBegin].ops.empty())
      row.add(Actions::kBegin, false, 0);
    for (const RankItem &item : ofRank) {
      if (item.kind != RankItem::Kind::Task) {
        row.add(actionOfTransfer[item.index], item.kind == RankItem::Kind::Wait, item.microBatch);
        continue;
      }
      Task task = pipeline.order.ranks[rank][item.index];
      ActionIndex action = *actions.find(StageTask{task.kind, task.stage});
      if (!actions.get()[action].ops.empty())
        row.add(action, false, task.microBatch);
    }
    row.add(Actions::kUpdate, false, pipeline.order.numMicroBatches - 1);
  }
}

void Scheduler::write(int64_t coordinate) {
  OpBuilder builder(module.getContext());
  llvm::MapVector<ActionIndex, int32_t> numbers;
  SmallVector<Attribute> names;
  SmallVector<int32_t> items;
  for (const Row::Item &item : rows[coordinate].items) {
    auto [known, isNew] = numbers.insert({item.action, names.size()});
    if (isNew)
      names.push_back(builder.getStringAttr(actions.get()[item.action].name));
    items.push_back(item.isWait ? -1 - known->second : known->second);
    items.push_back(static_cast<int32_t>(item.microBatch));
  }
  NamedAttribute on(pipeline.axis, builder.getDenseI64ArrayAttr(coordinate));
  builder.setInsertionPointToEnd(module.getBody());
  dist::ScheduleOp::create(builder, module.getLoc(), builder.getDictionaryAttr(on), builder.getArrayAttr(names),
                           builder.getDenseI32ArrayAttr(items));
}

/// The number of micro-batches whose values are alive at once, from each one's making to its last read.
int64_t Scheduler::countSlots(const Crossing &crossing, const Row &row) const {
  std::map<int64_t, int64_t> changes;
  for (int64_t microBatch = 0; microBatch < pipeline.order.numMicroBatches; ++microBatch) {
    auto made = row.places.find({crossing.maker, microBatch});
    if (made == row.places.end())
      continue;
    int64_t last = made->second.second;
    for (ActionIndex reader : crossing.readers)
      if (auto read = row.places.find({reader, microBatch}); read != row.places.end())
        last = std::max(last, read->second.second);
    ++changes[made->second.first];
    --changes[last + 1];
  }
  int64_t now = 0, most = 0;
  for (auto [place, change] : changes)
    most = std::max(most, now += change);
  return most;
}

void Scheduler::run() {
  collectTransfers();
  makeRows();
  for (int64_t coordinate = 0; coordinate < pipeline.order.getNumRanks(); ++coordinate)
    write(coordinate);
  for (const Crossing &crossing : crossings) {
    auto holders = crossing.on ? crossing.on.getAs<DenseI64ArrayAttr>(pipeline.axis) : DenseI64ArrayAttr();
    if (!holders || actions.isOnceAtBegin(crossing.maker))
      continue;
    int64_t slots = countSlots(crossing, rows[holders[0]]);
    Operation *variable = crossing.variable;
    dist::kSlotsAttr.set(variable, Builder(module.getContext()).getI64IntegerAttr(std::max<int64_t>(slots, 1)));
  }
}

void schedule::addSchedules(ModuleOp module, const PipelineAxis &pipeline, const Actions &actions,
                            ArrayRef<Crossing> crossings) {
  Scheduler(module, pipeline, actions, crossings).run();
}
