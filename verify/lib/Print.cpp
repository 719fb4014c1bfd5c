//===- Print.cpp - reports for people and for programs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/verify/Verify.h"
#include <algorithm>
#include <fmt/format.h>

using namespace meshwright::verify;

/// A place as text: `program 0 (ranks 0-3), step 1, task "step", instruction 12 ("h.0.out", gpt2.mlir:88), micro-batch
/// 2`.
static std::string formatWhere(const Where &where) {
  std::string text = where.program;
  if (!where.ranks.empty())
    text += fmt::format(" (ranks {})", where.ranks);
  if (!where.program.empty())
    text += fmt::format(", step {}", where.position);
  if (!where.task.empty())
    text += fmt::format(", task \"{}\"", where.task);
  if (where.instruction >= 0)
    text += fmt::format(", instruction {} (\"{}\"{}{}), micro-batch {}", where.instruction, where.name,
                        where.location.empty() ? "" : ", ", where.location, where.microBatch);
  else if (!where.name.empty())
    text += fmt::format(", {}", where.name);
  return text;
}

static std::string formatPeak(const char *arena, const Peak &peak) {
  std::string text = fmt::format("  {}: arena {} bytes, highest byte used {}, most live at once {}", arena, peak.arena,
                                 peak.highest, peak.live);
  if (peak.where.instruction >= 0)
    text += fmt::format(" at step {}, task \"{}\", instruction {} (\"{}\"), micro-batch {}", peak.where.position,
                        peak.where.task, peak.where.instruction, peak.where.name, peak.where.microBatch);
  return text + "\n";
}

static std::string formatProgram(const ProgramReport &program) {
  std::string text = program.name;
  if (!program.ranks.empty())
    text += fmt::format(" (ranks {})", program.ranks);
  text += fmt::format(": {} instructions, {} reads, {} writes, {} launches in flight\n", program.instructions,
                      program.reads, program.writes, program.launches);
  text += formatPeak("device", program.device);
  if (program.host.arena != 0)
    text += formatPeak("host", program.host);
  if (!program.unread.empty())
    text += fmt::format("  note: {} instructions have results that nothing reads or keeps, the first at {}\n",
                        program.unread.size(), formatWhere(program.unread.front()));
  if (!program.assumed.empty())
    text +=
        fmt::format("  assumed: {} instructions read what an earlier step left in memory that goes on from slice to "
                    "slice, and make nothing of it, the first at {}\n",
                    program.assumed.size(), formatWhere(program.assumed.front()));
  return text;
}

/// The verdict on a property: `refused` if it has findings, `open` if findings of another property kept it from being
/// checked, else `proved`.
static const char *getVerdict(const Report &report, Property property) {
  if (report.byProperty[static_cast<size_t>(property)] != 0)
    return "refused";
  // Programs that cannot be followed leave everything open, and waits without meaning the order.
  bool isOpen = report.byProperty[static_cast<size_t>(Property::Structure)] != 0 ||
                (property == Property::Order && report.byProperty[static_cast<size_t>(Property::Flight)] != 0);
  return isOpen ? "open" : "proved";
}

std::string meshwright::verify::formatText(const Report &report) {
  std::string text;
  for (const Finding &finding : report.findings) {
    std::string where = formatWhere(finding.where);
    text += fmt::format("refused: {}: {}{}{}\n", getName(finding.property), where, where.empty() ? "" : ": ",
                        finding.message);
  }
  if (report.numFindings > report.findings.size())
    text += fmt::format("and {} more findings\n", report.numFindings - report.findings.size());
  for (const ProgramReport &program : report.programs)
    text += formatProgram(program);
  text += fmt::format("{}: every byte that is read was written before, for the value that is meant where buffers say "
                      "which\n",
                      getVerdict(report, Property::Definition));
  text += fmt::format("{}: nothing touches what is in flight\n", getVerdict(report, Property::Flight));
  text += fmt::format("{}: {} ranks issue the same in their groups and come to the end of {} variants of the step; {} "
                      "collectives took place\n",
                      getVerdict(report, Property::Order), report.ranks, report.variants, report.collectives);
  text += "not proved: kernels read and write the arguments that the package states, and compute what they should; "
          "which of several live values of one type an operand is; only running shows that\n";
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static std::string quote(const std::string &text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", static_cast<char>(c));
    else if (c < 0x20 || c >= 0x7f)
      quoted += fmt::format("\\u{:04x}", c);
    else
      quoted += static_cast<char>(c);
  }
  return quoted + "\"";
}

static std::string formatJson(const Where &where) {
  return fmt::format("{{\"program\": {}, \"ranks\": {}, \"step\": {}, \"task\": {}, \"instruction\": {}, \"name\": {}, "
                     "\"location\": {}, \"micro_batch\": {}}}",
                     quote(where.program), quote(where.ranks), where.position, quote(where.task), where.instruction,
                     quote(where.name), quote(where.location), where.microBatch);
}

static std::string formatJson(const Peak &peak) {
  return fmt::format("{{\"arena\": {}, \"highest\": {}, \"live\": {}, \"where\": {}}}", peak.arena, peak.highest,
                     peak.live, formatJson(peak.where));
}

std::string meshwright::verify::formatJson(const Report &report, const std::string &folder) {
  std::string text =
      fmt::format("{{\"package\": {}, \"ok\": {}, \"ranks\": {}, \"variants\": {}, \"collectives\": {}, "
                  "\"num_findings\": {},\n \"proved\": {{",
                  quote(folder), report.ok(), report.ranks, report.variants, report.collectives, report.numFindings);
  for (Property property : {Property::Definition, Property::Flight, Property::Order})
    text += fmt::format("{}\"{}\": {}", property == Property::Definition ? "" : ", ", getName(property),
                        *getVerdict(report, property) == 'p');
  text += "},\n \"findings\": [";
  for (size_t i = 0; i != report.findings.size(); ++i)
    text += fmt::format("{}\n  {{\"property\": \"{}\", \"where\": {}, \"message\": {}}}", i == 0 ? "" : ",",
                        getName(report.findings[i].property), ::formatJson(report.findings[i].where),
                        quote(report.findings[i].message));
  text += "],\n \"programs\": [";
  for (size_t i = 0; i != report.programs.size(); ++i) {
    const ProgramReport &program = report.programs[i];
    text += fmt::format("{}\n  {{\"name\": {}, \"ranks\": {}, \"instructions\": {}, \"reads\": {}, \"writes\": {}, "
                        "\"launches\": {}, \"unread\": {}, \"assumed\": {}, \"device\": {}, \"host\": {}}}",
                        i == 0 ? "" : ",", quote(program.name), quote(program.ranks), program.instructions,
                        program.reads, program.writes, program.launches, program.unread.size(), program.assumed.size(),
                        ::formatJson(program.device), ::formatJson(program.host));
  }
  return text + "]}\n";
}
