//===- Describe.cpp - collectives as bytes --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

std::string processes::pack(const CollectiveCall &call) {
  Instruction message;
  message.set_name(call.name);
  message.set_location(call.location);
  Collective &collective = *message.mutable_collective();
  collective.set_kind(call.kind);
  collective.set_reduction(call.reduction);
  collective.set_dtype(call.type);
  collective.set_tag(call.tag);
  for (const CallPart &part : call.parts) {
    CollectivePart &packed = *collective.add_parts();
    packed.set_count(part.count);
    packed.set_root(part.root);
  }
  return message.SerializeAsString();
}

CollectiveCall processes::unpack(const std::string &bytes) {
  Instruction message;
  // A message that another process of this run has made.
  (void)message.ParseFromString(bytes);
  CollectiveCall call;
  call.name = message.name();
  call.location = message.location();
  call.kind = message.collective().kind();
  call.reduction = message.collective().reduction();
  call.type = message.collective().dtype();
  call.tag = message.collective().tag();
  for (const CollectivePart &part : message.collective().parts())
    call.parts.push_back({part.count(), nullptr, nullptr, part.root()});
  return call;
}

static Status exchangeText(Post &post, const CollectiveCall &call, int peer, bool isSend, int tag, std::string &text) {
  uint64_t size = text.size();
  Message message{reinterpret_cast<std::byte *>(&size), sizeof(size), peer, isSend};
  MW_TRY(post.exchange(std::span(&message, 1), tag, &call));
  text.resize(size);
  message = {reinterpret_cast<std::byte *>(text.data()), size, peer, isSend};
  return post.exchange(std::span(&message, 1), tag, &call);
}

Result<std::vector<CollectiveCall>> processes::gatherCalls(Post &post, const CollectiveCall &call, uint64_t member,
                                                           int tag) {
  std::vector<CollectiveCall> calls;
  if (member != 0) {
    std::string text = pack(call);
    MW_TRY(exchangeText(post, call, static_cast<int>(call.members[0]), true, tag, text));
    return calls;
  }
  calls.push_back(call);
  for (size_t i = 1; i != call.members.size(); ++i) {
    std::string text;
    MW_TRY(exchangeText(post, call, static_cast<int>(call.members[i]), false, tag, text));
    calls.push_back(unpack(text));
  }
  return calls;
}
