//===- mpi-faults.cpp - failures of processes -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpi-faults CASE [TIMEOUT]: does on the processes that mpirun has started what the case says, and prints the error
// that each of them sees. A process ends with the error's code, as dist-run does.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Catalog.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// One process with collectives of floats, told apart by tag and count.
class Run {
public:
  Run(World &world, double timeout) : world(world) { options.timeoutSeconds = timeout; }

  Status open() {
    options.numRanks = world.getNumProcesses();
    MW_TRY_ASSIGN(backend, world.createBackend(options));
    return {};
  }

  Status prepare(uint32_t tag, uint64_t count, bool isStarted = false) {
    std::vector<int64_t> all;
    for (int64_t rank = 0; rank != world.getNumProcesses(); ++rank)
      all.push_back(rank);
    return prepareBetween(std::move(all), tag, count, isStarted);
  }
  /// A broadcast over all ranks.
  Status prepareBroadcast(uint32_t tag, uint64_t count, uint32_t root) {
    CollectiveCall call;
    call.kind = Collective::BROADCAST;
    std::byte *buffer = reinterpret_cast<std::byte *>(buffers[tag % 4]);
    call.parts = {{count, world.getProcess() == root ? buffer : nullptr, buffer, root}};
    for (int64_t rank = 0; rank != world.getNumProcesses(); ++rank)
      call.members.push_back(rank);
    return prepare(std::move(call), tag);
  }
  Status prepareBetween(std::vector<int64_t> members, uint32_t tag, uint64_t count, bool isStarted = false) {
    CollectiveCall call;
    std::byte *buffer = reinterpret_cast<std::byte *>(buffers[tag % 4]);
    call.parts = {{count, buffer, buffer}};
    call.members = std::move(members);
    call.isStarted = isStarted;
    return prepare(std::move(call), tag);
  }

  template <typename Fn> Status step(Fn work) {
    backend->beginStep();
    Status status = work();
    getCommunicator().finishStep(status);
    return status;
  }
  Status connect() {
    return step([&] { return getCommunicator().connect(); });
  }
  Status execute(uint32_t tag) { return getCommunicator().execute(numbers.at(tag)); }
  Status start(uint32_t tag) { return getCommunicator().start(numbers.at(tag)); }
  Status wait(uint32_t tag) { return getCommunicator().wait(numbers.at(tag)); }

  World &world;

private:
  Status prepare(CollectiveCall call, uint32_t tag) {
    call.tag = tag;
    call.name = "grad/w";
    call.location = "model.mlir:88";
    MW_TRY_ASSIGN(numbers[tag], getCommunicator().prepare(std::move(call)));
    return {};
  }
  Communicator &getCommunicator() { return backend->getCommunicator(world.getProcess()); }

  BackendOptions options;
  std::unique_ptr<Backend> backend;
  std::map<uint32_t, uint32_t> numbers;
  float buffers[4][100000] = {};
};

/// Rank 1 brings another tag and another count.
Status disagree(Run &run) {
  bool isOther = run.world.getProcess() == 1;
  MW_TRY(run.prepare(isOther ? 8 : 7, isOther ? 3 : 2));
  MW_TRY(run.connect());
  return run.step([&] { return run.execute(isOther ? 8 : 7); });
}

/// Rank 1 does once more what all have done, where the others do something else for the first time.
Status disagreeLater(Run &run) {
  MW_TRY(run.prepare(7, 2));
  MW_TRY(run.prepare(8, 3));
  MW_TRY(run.connect());
  MW_TRY(run.step([&] { return run.execute(7); }));
  return run.step([&] { return run.execute(run.world.getProcess() == 1 ? 7 : 8); });
}

/// Rank 1 ends its step, and waits for the others to do so, too early.
Status stayAway(Run &run) {
  MW_TRY(run.prepare(7, 2));
  MW_TRY(run.connect());
  MW_TRY(run.step([&] { return run.world.getProcess() == 1 ? Status() : run.execute(7); }));
  return run.world.agree({});
}

/// Rank 1's process ends early, as if all were well.
Status leave(Run &run) {
  MW_TRY(run.prepare(7, 2));
  MW_TRY(run.connect());
  return run.step([&] { return run.world.getProcess() == 1 ? Status() : run.execute(7); });
}

/// Every rank has a collective with the next one first, and with the one before it then.
Status waitInCircle(Run &run) {
  int64_t n = run.world.getNumProcesses(), me = run.world.getProcess(), last = (me + n - 1) % n;
  auto prepare = [&](int64_t first) {
    return run.prepareBetween({std::min(first, (first + 1) % n), std::max(first, (first + 1) % n)},
                              static_cast<uint32_t>(first), 2);
  };
  MW_TRY(prepare(std::min(me, last)));
  MW_TRY(prepare(std::max(me, last)));
  MW_TRY(run.connect());
  return run.step([&]() -> Status {
    MW_TRY(run.execute(static_cast<uint32_t>(me)));
    return run.execute(static_cast<uint32_t>(last));
  });
}

/// Rank 1's step fails while the others wait for it.
Status failStep(Run &run) {
  MW_TRY(run.prepare(7, 2));
  MW_TRY(run.connect());
  return run.step([&] { return run.world.getProcess() == 1 ? faultError("rank 1: a kernel failed") : run.execute(7); });
}

/// Rank 1's process fails between steps, while the others are in one.
Status failBetween(Run &run) {
  MW_TRY(run.prepare(7, 2));
  MW_TRY(run.connect());
  if (run.world.getProcess() == 1)
    return inputError("step-3.safetensors: no such file");
  return run.step([&] { return run.execute(7); });
}

/// All but rank 1 compute for longer than anybody waits.
Status compute(Run &run) {
  MW_TRY(run.prepare(7, 2));
  MW_TRY(run.connect());
  return run.step([&] {
    if (run.world.getProcess() == 1)
      ::raise(SIGKILL);
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return run.execute(7);
  });
}

/// Prints a line, from which the test takes time.
void say(const Run &run, const char *line) {
  if (!run.world.isFirst())
    return;
  std::printf("%s\n", line);
  std::fflush(stdout);
}

/// Broadcasts over a tree, and in slices, until a process is killed.
Status broadcast(Run &run) {
  MW_TRY(run.prepareBroadcast(16, 1, 0));
  MW_TRY(run.prepareBroadcast(17, 100000, 1));
  MW_TRY(run.connect());
  say(run, "runs");
  while (true) {
    MW_TRY(run.step([&]() -> Status {
      MW_TRY(run.execute(16));
      return run.execute(17);
    }));
  }
}

/// Steps with an asynchronous collective, until a process is killed.
Status goOn(Run &run) {
  MW_TRY(run.prepare(16, 100000, true));
  MW_TRY(run.prepare(17, 1));
  MW_TRY(run.connect());
  say(run, "runs");
  while (true) {
    MW_TRY(run.step([&]() -> Status {
      MW_TRY(run.start(16));
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      MW_TRY(run.wait(16));
      return run.execute(17);
    }));
  }
}

Status runCase(World &world, const std::string &name, double timeout) {
  const std::map<std::string, Status (*)(Run &)> cases = {
      {"disagree", disagree},  {"disagree-later", disagreeLater}, {"stay-away", stayAway}, {"leave", leave},
      {"fail-step", failStep}, {"fail-between", failBetween},     {"go-on", goOn},         {"circle", waitInCircle},
      {"compute", compute},    {"broadcast", broadcast}};
  auto found = cases.find(name);
  if (found == cases.end())
    return usageError("there is no case {}", name);
  auto run = std::make_unique<Run>(world, timeout);
  MW_TRY(run->open());
  say(*run, "begins");
  Status status = found->second(*run);
  if (!status.ok())
    world.abort(status);
  return status;
}

} // namespace

int main(int argc, char **argv) {
  // As in dist-run, which ends its step: mpirun asks the others to end before it says why.
  std::signal(SIGTERM, [](int) {});
  auto world = openWorld("mpi");
  Status status = world.status();
  int64_t process = world.ok() ? (*world)->getProcess() : 0;
  if (status.ok())
    status = runCase(**world, argc > 1 ? argv[1] : "", argc > 2 ? std::strtod(argv[2], nullptr) : 600);
  if (!status.ok())
    fmt::print(stderr, "mpi-faults (process {}): error: {}\n", process, status.message());
  return static_cast<int>(status.code());
}
