//===- Launch.cpp - starts the processes of a run -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After the first failure the other processes get some seconds to end by themselves, because the run's lifeline names
// the cause in that time; only then are they killed. Processes report through one pipe why they end, and the launcher
// prints one cause for all.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "RunEnd.h"
#include "meshwright/runtime/Rendezvous.h"
#include "meshwright/runtime/Sockets.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// When one process has failed, the others notice within a second or so; who does not by then is killed.
static constexpr std::chrono::seconds kGrace(10);

namespace {

class Launcher {
public:
  explicit Launcher(const Options &options) : options(options) {}

  Result<int> run(int argc, char **argv) {
    MW_TRY(openRendezvous());
    MW_TRY(openReports());
    makeArguments(argc, argv);
    // From here on signals are waited for.
    sigemptyset(&signals);
    for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP})
      sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (uint64_t local = 0; local != options.nproc; ++local)
      if (Status status = start(local); !status.ok()) {
        signalAll(SIGKILL);
        return status;
      }
    listener.close();
    return waitForAll();
  }

private:
  uint64_t getProcess(uint64_t local) const { return options.nodeRank * options.nproc + local; }

  /// The secret that processes prove to each other; that of a run on one host is made here.
  Status openToken() {
    const char *given = std::getenv(processes::kTokenVariable);
    if (!options.tokenFile.empty()) {
      MW_TRY_ASSIGN(token, processes::readToken(options.tokenFile));
    } else if (given) {
      MW_TRY_ASSIGN(token, processes::checkToken(given, processes::kTokenVariable));
    } else if (options.nnodes == 1) {
      uint64_t numbers[4];
      MW_TRY(processes::fillRandom(numbers, sizeof(numbers)));
      for (uint64_t number : numbers)
        token += fmt::format("{:016x}", number);
    } else {
      return usageError("--nnodes={} wants a secret that all hosts have, so that no other program can join: in "
                        "--token-file=FILE or in {}; `openssl rand -hex 32` makes one",
                        options.nnodes, processes::kTokenVariable);
    }
    return {};
  }

  /// On a single host, listens on a free port of its loopback.
  Status openRendezvous() {
    MW_TRY(openToken());
    place = options.rendezvous;
    if (options.nnodes != 1 || !place.empty())
      return {};
    MW_TRY_ASSIGN(processes::Listener opened, processes::listenAt({processes::kLoopback}));
    place = fmt::format("{}:{}", processes::kLoopback, opened.port);
    listener = std::move(opened.sockets[0]);
    // The first process inherits the listening descriptor.
    fcntl(listener.get(), F_SETFD, 0);
    return {};
  }

  /// On which the processes say why they end. None waits for room in it.
  Status openReports() {
    if (pipe2(reportPipe, O_NONBLOCK) != 0)
      return faultError("the system gives no pipe: {}", std::strerror(errno));
    fcntl(reportPipe[0], F_SETFD, FD_CLOEXEC);
    return {};
  }

  std::vector<EndReport> readReports() const {
    std::vector<EndReport> reports;
    EndReport report;
    while (read(reportPipe[0], &report, sizeof(report)) == sizeof(report))
      reports.push_back(report);
    return reports;
  }

  /// The command line without what is for this process.
  void makeArguments(int argc, char **argv) {
    auto isOurs = [](std::string_view name) {
      return name == "nproc" || name == "nnodes" || name == "node-rank" || name == "rendezvous" || name == "comm" ||
             name == "token-file";
    };
    for (int i = 0; i != argc; ++i) {
      std::string_view argument = argv[i];
      std::string_view name = argument.substr(std::min(argument.find_first_not_of('-'), argument.size()));
      size_t equals = name.find('=');
      if (i == 0 || !argument.starts_with("-") || !isOurs(name.substr(0, equals)))
        arguments.push_back(argv[i]);
      else if (equals == std::string_view::npos)
        ++i; // its value
    }
    arguments.push_back(comm.data());
    arguments.push_back(nullptr);
  }

  Status start(uint64_t local) {
    pid_t parent = getpid(), child = fork();
    if (child < 0)
      return faultError("process {} cannot be started: {}", getProcess(local), std::strerror(errno));
    if (child != 0) {
      children.push_back({child, getProcess(local)});
      return {};
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
      _exit(static_cast<int>(Code::Fault));
    sigprocmask(SIG_SETMASK, &before, nullptr);
    setenv(processes::kProcessVariable, std::to_string(getProcess(local)).c_str(), 1);
    setenv(processes::kProcessesVariable, std::to_string(options.nproc * options.nnodes).c_str(), 1);
    setenv(processes::kRendezvousVariable, place.c_str(), 1);
    setenv(processes::kTokenVariable, token.c_str(), 1);
    setenv(kReportVariable, std::to_string(reportPipe[1]).c_str(), 1);
    if (listener.isOpen() && local == 0)
      setenv(processes::kListenerVariable, std::to_string(listener.get()).c_str(), 1);
    else
      listener.close();
    execv("/proc/self/exe", arguments.data());
    fmt::print(stderr, "dist-run: error: cannot start itself: {}\n", std::strerror(errno));
    _exit(static_cast<int>(Code::Fault));
  }

  Result<int> waitForAll() {
    while (!children.empty()) {
      auto left =
          deadline ? std::max<Clock::duration>(*deadline - Clock::now(), Clock::duration(1)) : std::chrono::hours(1);
      auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
      timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
      int signal = sigtimedwait(&signals, nullptr, &time);
      if (signal > 0 && signal != SIGCHLD)
        signalAll(signal);
      reap();
      if (deadline && Clock::now() >= *deadline && !children.empty())
        killLate();
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    RunEnd end = judgeEnd(ended, readReports());
    if (!end.message.empty())
      fmt::print(stderr, "dist-run: error: {}\n", end.message);
    return end.code;
  }

  void reap() {
    int status;
    while (pid_t pid = waitpid(-1, &status, WNOHANG)) {
      if (pid < 0)
        return;
      auto child = std::find_if(children.begin(), children.end(), [&](const Child &c) { return c.pid == pid; });
      if (child == children.end())
        continue;
      noteEnd(*child, status);
      children.erase(child);
    }
  }

  struct Child {
    pid_t pid;
    uint64_t process;
  };

  void noteEnd(const Child &child, int status) {
    ended.push_back({static_cast<int64_t>(child.process), status, isKilling});
    bool isGood = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!isGood && !deadline)
      deadline = Clock::now() + kGrace;
  }

  void killLate() {
    for (const Child &child : children)
      fmt::print(stderr, "dist-run: process {} did not end within {} s after another one and is killed\n",
                 child.process, kGrace.count());
    isKilling = true;
    signalAll(SIGKILL);
    deadline.reset();
  }

  void signalAll(int signal) {
    for (const Child &child : children)
      kill(child.pid, signal);
  }

  using Clock = std::chrono::steady_clock;
  const Options &options;
  std::string place, token, comm = "--comm=tcp";
  processes::Socket listener;
  std::vector<char *> arguments;
  sigset_t signals, before;
  std::vector<Child> children;
  std::optional<Clock::time_point> deadline;
  bool isKilling = false;
  std::vector<EndedProcess> ended;
  int reportPipe[2] = {-1, -1};
};

} // namespace

Result<int> meshwright::tool::launch(const Options &options, int argc, char **argv) {
  return Launcher(options).run(argc, argv);
}
