//===- MpiWorld.cpp - processes that MPI has started ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of MPI on one communicator; why not communicators and collectives of MPI is in
// docs/decisions/0020-messages-not-collectives.md.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MpiWorld.h"
#include "MpiTransport.h"
#include "meshwright/runtime/Meeting.h"
#include "meshwright/runtime/ProcessWorlds.h"
#include <cstring>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

namespace {

/// Reports MPI's own errors before there is a lifeline.
class Setup {
public:
  explicit Setup(Transport &transport) : transport(transport) {}

  /// The connections of the lifeline: at the addresses that the first process says, with the key that it says.
  Result<std::vector<Socket>> run() {
    std::vector<Socket> sockets(1);
    if (transport.getNumProcesses() == 1)
      return sockets;
    MW_TRY_ASSIGN(bool isOneHost, tellHosts());
    Party party{{}, Purpose::Lifeline, transport.getProcess(), transport.getNumProcesses()};
    std::string text;
    if (!isFirst()) {
      MW_TRY(tellAll(text));
      if (text.size() < party.key.size())
        return faultError("the first process says something else than its address");
      std::memcpy(party.key.data(), text.data(), party.key.size());
      MW_TRY_ASSIGN(Address address, Address::unpack(std::string_view(text).substr(party.key.size())));
      MW_TRY_ASSIGN(Greeted first, connectToProcess(address, party, 0));
      sockets[0] = std::move(first.socket);
      return sockets;
    }
    MW_TRY(fillRandom(party.key.data(), party.key.size()));
    // Which of its addresses others reach, MPI does not say.
    Address address{getHostIdentity(), std::string(kNonceBytes, '\0'), 0, {kLoopback}};
    if (!isOneHost)
      for (const std::string &own : getOwnAddresses())
        address.addresses.push_back(own);
    MW_TRY_ASSIGN(Listener listener, listenAt(address.addresses));
    address.port = listener.port;
    text = std::string(toBytes(party.key)) + address.pack();
    MW_TRY(tellAll(text));
    MW_TRY_ASSIGN(std::vector<Greeted> others, acceptProcesses(listener, party, 1, transport.getNumProcesses() - 1));
    sockets.clear();
    for (Greeted &other : others)
      sockets.push_back(std::move(other.socket));
    return sockets;
  }

private:
  bool isFirst() const { return transport.getProcess() == 0; }

  Status complete(Message message) {
    MW_TRY(transport.post(message, transport.getTag(0)));
    Patience patience(true);
    while (true) {
      MW_TRY_ASSIGN(bool isOver, transport.test(message));
      if (isOver)
        return {};
      patience.wait();
    }
  }

  /// The first process learns whether all are on its host; the others get false.
  Result<bool> tellHosts() {
    std::string host = getHostIdentity();
    Digest mine = Sha256().add(host).finish(), theirs = mine;
    auto *bytes = reinterpret_cast<std::byte *>(theirs.data());
    if (!isFirst()) {
      MW_TRY(complete({bytes, theirs.size(), 0, true}));
      return false;
    }
    bool isOneHost = true;
    for (int process = 1; process != transport.getNumProcesses(); ++process) {
      MW_TRY(complete({bytes, theirs.size(), process, false}));
      isOneHost &= theirs == mine;
    }
    return isOneHost;
  }

  Status tell(std::byte *bytes, uint64_t size) {
    if (!isFirst())
      return complete({bytes, size, 0, false});
    for (int process = 1; process != transport.getNumProcesses(); ++process)
      MW_TRY(complete({bytes, size, process, true}));
    return {};
  }

  /// Gives the text of the first process to all.
  Status tellAll(std::string &text) {
    uint64_t size = text.size();
    MW_TRY(tell(reinterpret_cast<std::byte *>(&size), sizeof(size)));
    if (size > SignedTexts::kMaxBytes)
      return faultError("the first process says {} bytes where its address is wanted", size);
    text.resize(size);
    return tell(reinterpret_cast<std::byte *>(text.data()), size);
  }

  Transport &transport;
};

} // namespace

static Result<std::unique_ptr<World>> openMpiWorld(const WorldOptions &) {
  MW_TRY_ASSIGN(std::unique_ptr<mpi::MpiTransport> transport, mpi::MpiTransport::create());
  MW_TRY_ASSIGN(std::vector<Socket> sockets, Setup(*transport).run());
  return createProcessWorld(std::move(transport), std::move(sockets));
}

static Result<std::string> findMpi() {
  MW_TRY_ASSIGN(MwMpiFunctions functions, mpi::openPlugin());
  char text[128];
  functions.describeLibrary(text, sizeof(text));
  return std::string(text);
}

const WorldKind meshwright::runtime::mpiKind = {"mpi", "processes with MPI, started by mpirun", false, openMpiWorld,
                                                findMpi};
