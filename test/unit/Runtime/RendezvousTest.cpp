//===- RendezvousTest.cpp - rendezvous of processes -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Rendezvous.h"
#include <gtest/gtest.h>
#include <map>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

namespace {

using Variables = std::map<std::string, std::string>;

Result<std::optional<Rendezvous>> find(const Variables &variables) {
  return findRendezvous([&](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string getError(const Variables &variables) { return find(variables).status().message(); }

// Tests that hosts are taken out of Slurm's short form of a list.
TEST(RendezvousTest, FirstHost) {
  EXPECT_EQ(getFirstHost("login1"), "login1");
  EXPECT_EQ(getFirstHost("a,b"), "a");
  EXPECT_EQ(getFirstHost("gpu[03-05,9],login1"), "gpu03");
  EXPECT_EQ(getFirstHost("gpu[7,03-05]"), "gpu7");
  EXPECT_EQ(getFirstHost("gpu[12]-ib,x[1-2]"), "gpu12-ib");
  EXPECT_EQ(getFirstHost("a,gpu[1-2]"), "a");
  EXPECT_EQ(getFirstHost(""), "");
  EXPECT_EQ(getFirstHost("gpu["), "");
}

// Tests that a host and its port are told apart, of both families.
TEST(RendezvousTest, HostAndPort) {
  auto plain = HostAndPort::parse("node-7:29500");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->host, "node-7");
  EXPECT_EQ(plain->port, 29500);
  auto bracketed = HostAndPort::parse("[fe80::1]:1");
  ASSERT_TRUE(bracketed.ok());
  EXPECT_EQ(bracketed->host, "fe80::1");
  for (const char *wrong : {"", "node", "node:", ":1", "node:0", "node:65536", "node:1x", "node:-1"})
    EXPECT_EQ(HostAndPort::parse(wrong).status().message(),
              "\"" + std::string(wrong) + "\" is not of the form HOST:PORT, with a port from 1 to 65535");
}

// Tests that torchrun, Slurm, the launcher and none of them are distinguished, the launcher first.
TEST(RendezvousTest, Environments) {
  auto none = find({{"RANK", "0"}, {"SLURM_PROCID", "0"}});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());

  Variables torchrun = {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
  auto found = find(torchrun);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->process, 3);
  EXPECT_EQ((*found)->numProcesses, 8);
  EXPECT_EQ((*found)->host, "n0");
  EXPECT_EQ((*found)->port, 29500);
  torchrun["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ((*find(torchrun))->port, 29501);

  Variables slurm = {{"SLURM_PROCID", "1"},
                     {"SLURM_NTASKS", "2"},
                     {"SLURM_JOB_ID", "123456"},
                     {"SLURM_STEP_ID", "2"},
                     {"SLURM_STEP_NODELIST", "gpu[08-09]"}};
  auto step = find(slurm);
  ASSERT_TRUE(step.ok() && step->has_value());
  EXPECT_EQ((*step)->host, "gpu08");
  EXPECT_EQ((*step)->port, 16384 + (123456 * 31 + 2) % 16384);
  EXPECT_EQ((*step)->token, "slurm-123456-2");
  EXPECT_TRUE((*step)->isPublic);
  // A secret of the user's own comes before a name that others know.
  slurm[kTokenVariable] = "sixteen bytes...";
  EXPECT_EQ((*find(slurm))->token, "sixteen bytes...");
  EXPECT_FALSE((*find(slurm))->isPublic);
  slurm[kTokenVariable] = "sixteen bytes..";
  EXPECT_EQ(getError(slurm),
            "the token of MESHWRIGHT_TOKEN has 15 bytes where 16 are the fewest; `openssl rand -hex 32` "
            "makes one");

  Variables launcher = torchrun;
  launcher.insert({{kProcessVariable, "0"},
                   {kProcessesVariable, "2"},
                   {kRendezvousVariable, "127.0.0.1:4000"},
                   {kTokenVariable, "secret"},
                   {kListenerVariable, "7"}});
  auto own = find(launcher);
  ASSERT_TRUE(own.ok() && own->has_value());
  EXPECT_EQ((*own)->numProcesses, 2);
  EXPECT_EQ((*own)->listener, 7);
  EXPECT_EQ((*own)->token, "secret");
  // The socket is the first process's alone.
  launcher[kProcessVariable] = "1";
  EXPECT_EQ((*find(launcher))->listener, -1);
}

// Tests that what is there but wrong is named with its value.
TEST(RendezvousTest, WrongEnvironments) {
  Variables torchrun = {{"RANK", "8"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(getError(torchrun), "the environment has RANK=\"8\", which is no number from 0 to 7");
  torchrun["RANK"] = "0";
  torchrun["MASTER_PORT"] = "65536";
  EXPECT_EQ(getError(torchrun), "the environment has MASTER_PORT=\"65536\", which is no number from 1 to 65535");
  torchrun["WORLD_SIZE"] = "0";
  EXPECT_EQ(getError(torchrun), "the environment has WORLD_SIZE=\"0\", which is no number from 1 to 65536");
  EXPECT_EQ(getError({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "1"}}),
            "the environment has SLURM_JOB_NODELIST=\"\", which names no host");
  EXPECT_EQ(getError({{kProcessVariable, "0"}, {kProcessesVariable, "2"}}),
            "\"\" is not of the form HOST:PORT, with a port from 1 to 65535");
  EXPECT_EQ(getError({{kProcessVariable, "0"}, {kProcessesVariable, "2"}, {kRendezvousVariable, "a:1"}}),
            "the environment has MESHWRIGHT_PROCESS but no MESHWRIGHT_TOKEN");
}

} // namespace
