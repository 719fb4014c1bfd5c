//===- Launch.cpp - starts the processes of a run -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "backend/processes/Sockets.h"
#include "backend/tcp/Rendezvous.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/random.h>
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

  /// Where there is one host, a port that nobody else has, and a token that nobody else knows.
  Status openRendezvous() {
    place = options.rendezvous;
    const char *given = std::getenv(tcp::kTokenVariable);
    token = given ? given : "";
    if (options.nnodes != 1 || !place.empty())
      return {};
    processes::Address address;
    MW_TRY_ASSIGN(listener, processes::listenForProcesses(address));
    place = fmt::format("127.0.0.1:{}", address.port);
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
      return faultError("the system gives no random numbers: {}", std::strerror(errno));
    token = fmt::format("{:016x}", number);
    // Of the first process, whose descriptors are this one's.
    fcntl(listener.get(), F_SETFD, 0);
    return {};
  }

  /// The command line without what is for this process.
  void makeArguments(int argc, char **argv) {
    auto isOurs = [](std::string_view name) {
      return name == "nproc" || name == "nnodes" || name == "node-rank" || name == "rendezvous" || name == "comm";
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
    setenv(tcp::kProcessVariable, std::to_string(getProcess(local)).c_str(), 1);
    setenv(tcp::kProcessesVariable, std::to_string(options.nproc * options.nnodes).c_str(), 1);
    setenv(tcp::kRendezvousVariable, place.c_str(), 1);
    setenv(tcp::kTokenVariable, token.c_str(), 1);
    if (listener.isOpen() && local == 0)
      setenv(tcp::kListenerVariable, std::to_string(listener.get()).c_str(), 1);
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
    return code;
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
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      return;
    if (WIFSIGNALED(status) && !isKilling)
      fmt::print(stderr, "dist-run: process {} was ended by signal {} ({})\n", child.process, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    if (code == 0)
      code = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(Code::Fault);
    if (!deadline)
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
  int code = 0;
};

} // namespace

Result<int> meshwright::tool::launch(const Options &options, int argc, char **argv) {
  return Launcher(options).run(argc, argv);
}
