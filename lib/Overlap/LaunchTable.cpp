//===- LaunchTable.cpp - launches of a step and their members -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchTable.h"
#include "Launches.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

using Purpose = Traffic::Purpose;

Launch &LaunchTable::create(Purpose purpose) {
  Launch &launch = launches.emplace_back();
  launch.purpose = purpose;
  launch.number = launches.size();
  return launch;
}

void LaunchTable::add(Launch &launch, dist::CollectiveOp op) {
  launch.members.push_back(op);
  launchOf[op] = &launch;
  if (dist::CollectiveOp next = traffic.getNext(op)) {
    launch.nexts.push_back(next);
    launchOf[next] = &launch;
    // Views between the two are replaced with the results.
    for (Operation *between = next.getInputs().front().getDefiningOp(); between != op.getOperation();
         between = between->getOperand(0).getDefiningOp())
      launchOf[between] = &launch;
  }
  launch.bytes += getLaunchBytes(op);
}

Attribute LaunchTable::getKey(dist::CollectiveOp op) const {
  Builder builder(op.getContext());
  auto orNothing = [&](Attribute attribute) { return attribute ? attribute : Attribute(builder.getUnitAttr()); };
  SmallVector<Attribute> key = {
      getLaunchKey(op),
      orNothing(dist::kSegmentAttr.get(op)),
      orNothing(dist::kFetchAtAttr.get(op)),
      builder.getI64IntegerAttr(static_cast<int64_t>(traffic.getPurpose(op))),
  };
  // Gradients are made by all segments of backward.
  if (traffic.getPurpose(op) == Purpose::Gradient)
    key[1] = builder.getUnitAttr();
  if (dist::CollectiveOp next = traffic.getNext(op))
    key.push_back(getKey(next));
  return builder.getArrayAttr(key);
}

Launch &LaunchTable::getBucket(dist::CollectiveOp op) {
  Launch *&bucket = buckets[getKey(op)];
  if (!bucket) {
    bucket = &create(traffic.getPurpose(op));
    unsent.push_back(bucket);
  }
  return *bucket;
}

void LaunchTable::close(Launch &launch) {
  for (auto &[key, bucket] : buckets)
    if (bucket == &launch)
      bucket = nullptr;
}

void LaunchTable::start(Launch &launch) {
  llvm::erase(unsent, &launch);
  close(launch);
}
