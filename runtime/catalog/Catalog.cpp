//===- Catalog.cpp - the backends that a build has ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../backend/mpi/MpiWorld.h"
#include "../backend/tcp/TcpWorld.h"

using namespace meshwright::runtime;

Result<std::unique_ptr<World>> meshwright::runtime::openWorld(std::string_view name, const WorldOptions &options) {
  if (name == "inproc")
    return createLocalWorld();
  if (name == "mpi")
    return createMpiWorld();
  if (name == "tcp")
    return createTcpWorld(options);
  return usageError("there is no backend \"{}\"; there are inproc, tcp and mpi", name);
}

std::vector<std::string> meshwright::runtime::listBackends() {
  std::vector<std::string> backends = {"inproc", "tcp"};
  if (Result<std::string> version = getMpiVersion(); version.ok())
    backends.push_back(fmt::format("mpi ({})", *version));
  return backends;
}
