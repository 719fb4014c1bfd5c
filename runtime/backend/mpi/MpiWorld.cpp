//===- MpiWorld.cpp - processes that MPI has started ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of MPI on one communicator; why not communicators and collectives of MPI is in
// docs/decisions/0020-messages-not-collectives.md.
//
//===----------------------------------------------------------------------===//

#include "MpiWorld.h"
#include "../processes/ProcessWorld.h"
#include "MpiTransport.h"

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

/// Before there is a lifeline, where the first process listens is all that is said.
static Status tellAll(Transport &transport, std::string &text) {
  int tag = transport.getTag(0);
  auto complete = [&](Message message) -> Status {
    MW_TRY(transport.post(message, tag));
    Patience patience(true);
    while (true) {
      MW_TRY_ASSIGN(bool isOver, transport.test(message));
      if (isOver)
        return {};
      patience.wait();
    }
  };
  bool isFirst = transport.getProcess() == 0;
  auto tell = [&](std::byte *bytes, uint64_t size) -> Status {
    if (!isFirst)
      return complete({bytes, size, 0, false});
    for (int process = 1; process != transport.getNumProcesses(); ++process)
      MW_TRY(complete({bytes, size, process, true}));
    return {};
  };
  uint64_t size = text.size();
  MW_TRY(tell(reinterpret_cast<std::byte *>(&size), sizeof(size)));
  text.resize(size);
  return tell(reinterpret_cast<std::byte *>(text.data()), size);
}

/// The connections of the lifeline.
static Result<std::vector<Socket>> openSockets(Transport &transport) {
  std::vector<Socket> sockets(1);
  if (transport.getNumProcesses() == 1)
    return sockets;
  Address address;
  if (transport.getProcess() != 0) {
    std::string text;
    MW_TRY(tellAll(transport, text));
    MW_TRY_ASSIGN(sockets[0], connectToProcess(Address::unpack(text), transport.getProcess(), 0));
    return sockets;
  }
  MW_TRY_ASSIGN(Socket listener, listenForProcesses(address));
  std::string text = address.pack();
  MW_TRY(tellAll(transport, text));
  return acceptProcesses(listener, address, 1, transport.getNumProcesses() - 1);
}

Result<std::unique_ptr<World>> meshwright::runtime::createMpiWorld() {
  MW_TRY_ASSIGN(std::unique_ptr<mpi::MpiTransport> transport, mpi::MpiTransport::create());
  MW_TRY_ASSIGN(std::vector<Socket> sockets, openSockets(*transport));
  return ProcessWorld::create(std::move(transport), std::move(sockets));
}

Result<std::string> meshwright::runtime::getMpiVersion() {
  MW_TRY_ASSIGN(MwMpiFunctions functions, mpi::openPlugin());
  char text[128];
  functions.describeLibrary(text, sizeof(text));
  return std::string(text);
}
