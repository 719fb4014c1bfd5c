//===- Rendezvous.cpp - how processes find each other ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources: torchrun's variables are those of PyTorch's documentation of torch.distributed ("Environment variable
// initialization"), Slurm's those of srun(1), "OUTPUT ENVIRONMENT VARIABLES".
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Rendezvous.h"
#include "meshwright/runtime/Files.h"
#include <charconv>
#include <cstring>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

Result<HostAndPort> HostAndPort::parse(const std::string &text) {
  HostAndPort place;
  size_t colon = text.rfind(':');
  if (colon != std::string::npos) {
    const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
    auto [rest, error] = std::from_chars(begin, end, place.port);
    place.host = text.substr(0, colon);
    if (place.host.size() > 2 && place.host.front() == '[' && place.host.back() == ']')
      place.host = place.host.substr(1, place.host.size() - 2);
    if (error == std::errc() && rest == end && place.port != 0 && !place.host.empty())
      return place;
  }
  return usageError("\"{}\" is not of the form HOST:PORT, with a port from 1 to 65535", text);
}

namespace {

/// The variables of one who starts processes.
class Variables {
public:
  explicit Variables(const Environment &environment) : environment(environment) {}

  bool has(const char *name) const { return environment(name) != nullptr; }
  std::string get(const char *name) const { return has(name) ? environment(name) : ""; }

  Result<int64_t> getNumber(const char *name, int64_t minimum, int64_t maximum) const {
    std::string text = get(name);
    int64_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < minimum || number > maximum)
      return usageError("the environment has {}=\"{}\", which is no number from {} to {}", name, text, minimum,
                        maximum);
    return number;
  }

  /// A process among others, by the names of the two variables.
  Result<Rendezvous> getProcess(const char *process, const char *processes) const {
    Rendezvous found;
    MW_TRY_ASSIGN(int64_t count, getNumber(processes, 1, 65536));
    MW_TRY_ASSIGN(int64_t number, getNumber(process, 0, count - 1));
    found.process = static_cast<int>(number);
    found.numProcesses = static_cast<int>(count);
    return found;
  }

private:
  const Environment &environment;
};

Result<Rendezvous> readLauncher(const Variables &variables) {
  MW_TRY_ASSIGN(Rendezvous found, variables.getProcess(kProcessVariable, kProcessesVariable));
  MW_TRY_ASSIGN(HostAndPort place, HostAndPort::parse(variables.get(kRendezvousVariable)));
  found.host = place.host;
  found.port = place.port;
  found.token = variables.get(kTokenVariable);
  if (found.token.empty())
    return usageError("the environment has {} but no {}", kProcessVariable, kTokenVariable);
  if (found.process == 0 && variables.has(kListenerVariable)) {
    MW_TRY_ASSIGN(int64_t listener, variables.getNumber(kListenerVariable, 0, INT32_MAX));
    found.listener = static_cast<int>(listener);
  }
  return found;
}

/// The secret of the environment, or else the name that its launcher gives the run.
Result<Rendezvous> useToken(Rendezvous found, const Variables &variables, std::string publicName) {
  found.isPublic = !variables.has(kTokenVariable);
  found.token = std::move(publicName);
  if (!found.isPublic) {
    MW_TRY_ASSIGN(found.token, checkToken(variables.get(kTokenVariable), kTokenVariable));
  }
  return found;
}

Result<Rendezvous> readTorchrun(const Variables &variables) {
  MW_TRY_ASSIGN(Rendezvous found, variables.getProcess("RANK", "WORLD_SIZE"));
  // Where torchrun's own agent listens at the port, the next one is taken.
  bool isTaken = variables.get("TORCHELASTIC_USE_AGENT_STORE") == "True";
  MW_TRY_ASSIGN(int64_t port, variables.getNumber("MASTER_PORT", 1, isTaken ? 65534 : 65535));
  found.host = variables.get("MASTER_ADDR");
  found.port = static_cast<uint16_t>(port + isTaken);
  return useToken(found, variables, variables.get("TORCHELASTIC_RUN_ID"));
}

Result<Rendezvous> readSlurm(const Variables &variables) {
  MW_TRY_ASSIGN(Rendezvous found, variables.getProcess("SLURM_PROCID", "SLURM_NTASKS"));
  MW_TRY_ASSIGN(int64_t job, variables.getNumber("SLURM_JOB_ID", 0, INT64_MAX / 64));
  int64_t step = 0;
  if (variables.has("SLURM_STEP_ID")) {
    MW_TRY_ASSIGN(step, variables.getNumber("SLURM_STEP_ID", 0, UINT32_MAX));
  }
  const char *nodes = variables.has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  found.host = getFirstHost(variables.get(nodes));
  if (found.host.empty())
    return usageError("the environment has {}=\"{}\", which names no host", nodes, variables.get(nodes));
  // All processes come to the same; below the ports that systems give away themselves.
  found.port = static_cast<uint16_t>(16384 + (job * 31 + step) % 16384);
  return useToken(found, variables, fmt::format("slurm-{}-{}", job, step));
}

} // namespace

Result<std::string> processes::checkToken(std::string token, const std::string &source) {
  constexpr size_t kFewestBytes = 16;
  while (!token.empty() && std::strchr(" \t\r\n", token.back()))
    token.pop_back();
  if (token.size() < kFewestBytes)
    return usageError("the token of {} has {} bytes where {} are the fewest; `openssl rand -hex 32` makes one", source,
                      token.size(), kFewestBytes);
  return token;
}

Result<std::string> processes::readToken(const std::string &path) {
  MW_TRY_ASSIGN(InputFile file, InputFile::open(path));
  std::span<const std::byte> bytes = file.bytes();
  return checkToken({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path);
}

std::string processes::getFirstHost(const std::string &nodes) {
  size_t bracket = nodes.find('['), comma = nodes.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return nodes.substr(0, comma);
  size_t end = nodes.find_first_of("-,]", bracket);
  if (end == std::string::npos)
    return "";
  size_t close = nodes.find(']', bracket);
  // Text after the numbers belongs to every name.
  size_t rest = close == std::string::npos ? nodes.size() : close + 1;
  return nodes.substr(0, bracket) + nodes.substr(bracket + 1, end - bracket - 1) +
         nodes.substr(rest, nodes.find(',', rest) - rest);
}

Result<std::optional<Rendezvous>> processes::findRendezvous(const Environment &environment) {
  Variables variables(environment);
  Result<Rendezvous> (*read)(const Variables &) = nullptr;
  if (variables.has(kProcessVariable))
    read = readLauncher;
  else if (variables.has("RANK") && variables.has("WORLD_SIZE") && variables.has("MASTER_ADDR"))
    read = readTorchrun;
  else if (variables.has("SLURM_PROCID") && variables.has("SLURM_JOB_ID"))
    read = readSlurm;
  if (!read)
    return std::optional<Rendezvous>();
  MW_TRY_ASSIGN(Rendezvous found, read(variables));
  return std::optional(std::move(found));
}
