//===- Cores.cpp - processors that a process may use ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linux: Documentation/admin-guide/cgroup-v2.rst (`cpu.max`) and scheduler/sched-bwc.rst (`cpu.cfs_quota_us`).
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Cores.h"
#include <algorithm>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <sstream>
#include <thread>

using namespace meshwright::runtime;

static std::string readText(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The limit of one group, in processors: quota and period in microseconds, `max` or −1 where there is none.
static std::optional<double> parseLimit(const std::string &text) {
  std::istringstream stream(text);
  double quota, period;
  if (!(stream >> quota >> period) || quota <= 0 || period <= 0)
    return std::nullopt;
  return quota / period;
}

std::optional<double> meshwright::runtime::readCoreLimit(const std::string &root, std::string_view membership) {
  std::optional<double> least;
  auto add = [&](const std::string &text) {
    if (std::optional<double> limit = parseLimit(text); limit && (!least || *limit < *least))
      least = limit;
  };
  std::istringstream lines{std::string(membership)};
  // `0::/a/b` in the second version, `4:cpu,cpuacct:/a/b` in the first.
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",", group = line.substr(second + 1);
    bool isSecondVersion = line.starts_with("0::");
    if (!group.starts_with('/') || (!isSecondVersion && controllers.find(",cpu,") == std::string::npos))
      continue;
    // A container sees its own group as the root, whatever its name is outside.
    for (;;) {
      while (!group.empty() && group.back() == '/')
        group.pop_back();
      if (isSecondVersion)
        add(readText(root + group + "/cpu.max"));
      else
        add(readText(root + "/cpu" + group + "/cpu.cfs_quota_us") + " " +
            readText(root + "/cpu" + group + "/cpu.cfs_period_us"));
      if (group.empty())
        break;
      group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
  }
  return least;
}

unsigned meshwright::runtime::getNumCores() {
  static const unsigned cores = [] {
    cpu_set_t set;
    int named = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
    unsigned count = named > 0 ? static_cast<unsigned>(named) : std::max(1u, std::thread::hardware_concurrency());
    std::optional<double> limit = readCoreLimit("/sys/fs/cgroup", readText("/proc/self/cgroup"));
    return limit ? std::clamp(static_cast<unsigned>(std::min(*limit, 1e6)), 1u, count) : count;
  }();
  return cores;
}
