//===- FlightText.cpp - a rank's last events for people -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recordings as JSON (docs/reference/flight-recorder.md), and back: the first process reads the files of the other
// processes on its host, so that its report covers ranks that can no longer speak.
//
//===----------------------------------------------------------------------===//

#include "FlightText.h"
#include "meshwright/runtime/Agreement.h"
#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/Json.h"
#include <algorithm>
#include <thread>

using namespace meshwright;
using namespace meshwright::runtime;

using Kind = RankFlight::Kind;
using Event = RankFlight::Event;

/// The name of an instruction in messages: `kernel`, `c_allreduce`.
static std::string getInstructionKind(const Instruction &instruction) {
  switch (instruction.kind_case()) {
  case Instruction::kKernel:
    return "kernel";
  case Instruction::kMatmul:
    return "product";
  case Instruction::kConvolution:
    return "convolution";
  case Instruction::kCollective:
    return fmt::format("{}{}", getName(instruction.collective().kind()),
                       instruction.collective().start() ? " (start)" : "");
  case Instruction::kWait:
    return "wait";
  case Instruction::kCopy:
    return "copy";
  case Instruction::kCopyWait:
    return "wait for a copy";
  default:
    return "number";
  }
}

/// A place in a program's schedule.
struct Place {
  const Program &program;
  uint32_t item, number;

  const ScheduleItem &getItem() const { return program.schedule(static_cast<int>(item)); }
  const Task &getTask() const { return program.tasks(static_cast<int>(getItem().task())); }
  const Instruction &getInstruction() const { return getTask().instructions(static_cast<int>(number)); }
};

/// The instruction of an event, where it is there: a torn event may name one that is not.
static std::optional<Place> findPlace(const RankFlight &flight, const Event &event) {
  const Program *program = flight.getProgram();
  if (event.kind != Kind::Instruction || !program || event.item >= static_cast<uint32_t>(program->schedule_size()))
    return std::nullopt;
  Place place{*program, event.item, event.number};
  if (event.number >= static_cast<uint32_t>(place.getTask().instructions_size()))
    return std::nullopt;
  return place;
}

static const CollectiveCall *findCall(const RankFlight &flight, const Event &event) {
  bool isCollective = event.kind == Kind::Issue || event.kind == Kind::Start || event.kind == Kind::Wait ||
                      event.kind == Kind::Over || event.kind == Kind::Failed;
  return isCollective ? flight.findCollective(event.number) : nullptr;
}

static OrderedJson formatInstruction(const Place &place) {
  const Instruction &instruction = place.getInstruction();
  OrderedJson json = {{"task", place.getTask().name()},
                      {"micro_batch", place.getItem().micro_batch()},
                      {"instruction", getInstructionKind(instruction)},
                      {"name", instruction.name()},
                      {"location", instruction.location()}};
  if (instruction.has_collective())
    json["tag"] = instruction.collective().tag();
  if (instruction.has_wait())
    json["tag"] = instruction.wait().tag();
  return json;
}

static const char *getName(RankFlight::Kind kind) {
  switch (kind) {
  case RankFlight::Kind::Step:
    return "step";
  case RankFlight::Kind::Instruction:
    return "instruction";
  case RankFlight::Kind::Issue:
    return "collective issued";
  case RankFlight::Kind::Start:
    return "collective started";
  case RankFlight::Kind::Wait:
    return "collective waited for";
  case RankFlight::Kind::Over:
    return "collective over";
  case RankFlight::Kind::Failed:
    return "collective failed";
  case RankFlight::Kind::End:
    return "step over";
  }
  return "unknown";
}

static OrderedJson formatEvent(const RankFlight &flight, const Event &event, uint64_t firstStep, int64_t now) {
  OrderedJson json = {{"seconds", static_cast<double>(event.nanoseconds - now) * 1e-9},
                      {"event", getName(event.kind)},
                      {"step", firstStep + event.step}};
  if (std::optional<Place> place = findPlace(flight, event))
    json.update(formatInstruction(*place));
  if (const CollectiveCall *call = findCall(flight, event)) {
    json["collective"] = getName(call->kind);
    json["tag"] = call->tag;
    json["name"] = call->name;
    json["location"] = call->location;
    json["members"] = call->members;
  }
  return json;
}

/// The instructions after the last one that was begun, in the order of the step.
static OrderedJson formatNext(const RankFlight &flight, const std::vector<Event> &events) {
  constexpr size_t most = 5;
  OrderedJson next = OrderedJson::array();
  auto last = std::find_if(events.rbegin(), events.rend(), [&](const Event &event) {
    return event.kind == Kind::End || findPlace(flight, event).has_value();
  });
  if (last == events.rend() || last->kind == Kind::End)
    return next;
  Place place = *findPlace(flight, *last);
  for (++place.number; next.size() != most; ++place.number) {
    while (place.number >= static_cast<uint32_t>(place.getTask().instructions_size())) {
      uint32_t position = flight.getPosition();
      do {
        if (++place.item >= static_cast<uint32_t>(place.program.schedule_size()))
          return next;
      } while (position < place.getItem().first_step() || position >= place.getItem().end_step());
      place.number = 0;
    }
    next.push_back(formatInstruction(place));
  }
  return next;
}

/// The collective in which the rank's own thread is.
static const CollectiveCall *findWaiting(const RankFlight &flight, const std::vector<Event> &events) {
  if (events.empty())
    return nullptr;
  Kind kind = events.back().kind;
  return kind == Kind::Issue || kind == Kind::Wait || kind == Kind::Failed ? findCall(flight, events.back()) : nullptr;
}

static std::string describeLast(const RankFlight &flight, const std::vector<Event> &events) {
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->kind == Kind::End)
      return "the end of the step";
    if (std::optional<Place> place = findPlace(flight, *event)) {
      const Instruction &instruction = place->getInstruction();
      return fmt::format("{} \"{}\"{} of task \"{}\", micro-batch {}", getInstructionKind(instruction),
                         instruction.name(),
                         instruction.location().empty() ? "" : fmt::format(" ({})", instruction.location()),
                         place->getTask().name(), place->getItem().micro_batch());
    }
  }
  return "nothing";
}

FlightState meshwright::runtime::getFlightState(const RankFlight &flight, uint64_t firstStep) {
  std::vector<Event> events = flight.getEvents();
  FlightState state;
  state.rank = flight.getRank();
  state.step = firstStep + (events.empty() ? 0 : events.back().step);
  state.doing = describeLast(flight, events);
  if (const CollectiveCall *call = findWaiting(flight, events)) {
    state.collective = describe(*call);
    state.members = call->members;
  }
  return state;
}

std::string meshwright::runtime::formatFlight(const RankFlight &flight, uint64_t firstStep, const Status &reason) {
  std::vector<Event> events = flight.getEvents();
  int64_t now = TimeRange::now();
  FlightState state = getFlightState(flight, firstStep);
  OrderedJson json = {{"version", 1},
                      {"rank", state.rank},
                      {"reason", reason.message()},
                      {"step", state.step},
                      {"last", state.doing},
                      {"waits_in", state.collective},
                      {"members", state.members},
                      {"waiting_seconds", flight.getWaitingSeconds()},
                      {"next", formatNext(flight, events)},
                      {"events", OrderedJson::array()}};
  for (const Event &event : events)
    json["events"].push_back(formatEvent(flight, event, firstStep, now));
  // An event on a line, so that the file reads from top to bottom.
  std::string text = "{\n";
  for (auto entry = json.begin(); entry != json.end(); ++entry) {
    text += fmt::format("{}\"{}\": ", entry == json.begin() ? "" : ",\n", entry.key());
    if (!entry.value().is_array() || entry.value().empty() || !entry.value()[0].is_object()) {
      text += toText(entry.value());
      continue;
    }
    for (size_t i = 0; i != entry.value().size(); ++i)
      text += (i == 0 ? "[\n  " : ",\n  ") + toText(entry.value()[i]);
    text += "\n]";
  }
  return text + "\n}\n";
}

/// The place of the rank according to its recording; nothing where the text is no recording.
static std::optional<FlightState> parseState(std::string_view text) {
  auto json = parseJson(text);
  if (!json.ok() || !json->is_object())
    return std::nullopt;
  auto isText = [&](const char *key) { return json->contains(key) && (*json)[key].is_string(); };
  auto isNumber = [&](const char *key) { return json->contains(key) && (*json)[key].is_number_unsigned(); };
  if (!isNumber("rank") || !isNumber("step") || !isText("waits_in") || !isText("last") || !json->contains("members") ||
      !(*json)["members"].is_array())
    return std::nullopt;
  FlightState state;
  for (const Json &member : (*json)["members"]) {
    if (!member.is_number_unsigned())
      return std::nullopt;
    state.members.push_back(member.get<int64_t>());
  }
  state.rank = (*json)["rank"].get<int64_t>();
  state.step = (*json)["step"].get<uint64_t>();
  state.collective = (*json)["waits_in"].get<std::string>();
  state.doing = (*json)["last"].get<std::string>();
  return state;
}

/// The state in a file that was written since `begin`; nothing where there is none.
static std::optional<FlightState> readState(const std::string &path, std::filesystem::file_time_type begin) {
  std::error_code error;
  if (std::filesystem::last_write_time(path, error) < begin || error)
    return std::nullopt;
  auto file = InputFile::open(path);
  if (!file.ok())
    return std::nullopt;
  return parseState({reinterpret_cast<const char *>(file->bytes().data()), file->bytes().size()});
}

void meshwright::runtime::addFlightStates(const std::string &folder, std::filesystem::file_time_type begin,
                                          int64_t numRanks, double seconds, std::vector<FlightState> &states) {
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    std::string path = fmt::format("{}/flight-{}.json", folder, rank);
    bool isKnown = std::any_of(states.begin(), states.end(), [&](const FlightState &s) { return s.rank == rank; });
    for (; !isKnown && seconds > 0; seconds -= 0.05) {
      if (std::optional<FlightState> state = readState(path, begin); state && state->rank == rank) {
        states.push_back(std::move(*state));
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

Result<size_t> FlightRecorder::write(const std::string &folder, const Status &reason) const {
  std::lock_guard lock(mutex);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return inputError("cannot make the folder {}: {}", folder, error.message());
  for (const std::unique_ptr<RankFlight> &flight : flights) {
    MW_TRY_ASSIGN(OutputFile file, OutputFile::create(fmt::format("{}/flight-{}.json", folder, flight->getRank())));
    MW_TRY(file.write(formatFlight(*flight, firstStep, reason)));
    MW_TRY(file.commit());
  }
  return flights.size();
}
