//===- Streams.cpp - streams are threads ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While a stream is captured what it is asked for is kept, as functions that issue it again. A stream is captured with
// another when it waits for an event of that one, and the capture ends well if the stream where it began has then
// waited for all that the others were asked for.
//
//===----------------------------------------------------------------------===//

#include "Stub.h"
#include <algorithm>

using namespace meshwright::stub;

Stream::Stream(uint64_t id, int device) : id(id), device(device), thread([this] { serve(); }) {}

Stream::~Stream() {
  {
    std::lock_guard held(mutex);
    isStopping = true;
  }
  changed.notify_all();
  thread.join();
}

void Stream::serve() {
  std::unique_lock held(mutex);
  while (true) {
    // As with the real ones, a stream that is destroyed does what it was asked for before.
    changed.wait(held, [&] { return isStopping || !queue.empty(); });
    if (queue.empty())
      return;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    isBusy = true;
    held.unlock();
    work();
    held.lock();
    isBusy = false;
    changed.notify_all();
  }
}

void Stream::pushNow(std::function<void()> work) {
  {
    std::lock_guard held(mutex);
    queue.push_back(std::move(work));
  }
  changed.notify_all();
}

void Stream::recordNow(const std::shared_ptr<Event::State> &event) {
  uint64_t number;
  {
    std::lock_guard held(event->mutex);
    number = ++event->recorded;
  }
  pushNow([event, number] {
    std::lock_guard held(event->mutex);
    event->reached = std::max(event->reached, number);
    event->time = std::chrono::steady_clock::now();
    event->done.notify_all();
  });
}

void Stream::waitNow(const std::shared_ptr<Event::State> &event) {
  uint64_t number;
  {
    std::lock_guard held(event->mutex);
    number = event->recorded;
  }
  pushNow([event, number] {
    std::unique_lock held(event->mutex);
    event->done.wait(held, [&] { return event->reached >= number; });
  });
}

StreamStatus Stream::synchronize() {
  if (graph)
    return StreamStatus::Capturing;
  std::unique_lock held(mutex);
  changed.wait(held, [&] { return queue.empty() && !isBusy; });
  return StreamStatus::Ok;
}

bool Stream::isIdle() {
  std::lock_guard held(mutex);
  return queue.empty() && !isBusy;
}

StreamStatus Stream::synchronize(Event &event) {
  Event::State &state = *event.state;
  std::unique_lock held(state.mutex);
  if (state.graph)
    return StreamStatus::Capturing;
  state.done.wait(held, [&] { return state.reached == state.recorded; });
  return StreamStatus::Ok;
}

std::optional<bool> Stream::isOver(Event &event) {
  std::lock_guard held(event.state->mutex);
  return event.state->graph ? std::nullopt : std::optional(event.state->reached == event.state->recorded);
}

std::chrono::steady_clock::time_point Stream::getTime(Event &event) {
  std::lock_guard held(event.state->mutex);
  return event.state->time;
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

void Stream::addToGraph(std::function<void()> issue) { graph->issues.push_back(std::move(issue)); }

void Stream::push(std::function<void()> work) {
  if (!graph)
    return pushNow(std::move(work));
  ++before[this];
  addToGraph([this, work = std::move(work)] { pushNow(work); });
}

StreamStatus Stream::record(Event &event) {
  const std::shared_ptr<Event::State> &state = event.state;
  {
    std::lock_guard held(state->mutex);
    state->graph = graph;
    state->before = before;
  }
  if (graph)
    addToGraph([this, state] { recordNow(state); });
  else
    recordNow(state);
  return StreamStatus::Ok;
}

StreamStatus Stream::waitFor(Event &event) {
  const std::shared_ptr<Event::State> &state = event.state;
  std::unique_lock held(state->mutex);
  // A graph cannot wait for an event that was recorded outside of it.
  if (graph && state->graph != graph)
    return StreamStatus::Isolated;
  if (state->graph && !graph) {
    graph = state->graph;
    graph->streams.push_back(this);
  }
  if (!graph) {
    held.unlock();
    waitNow(state);
    return StreamStatus::Ok;
  }
  for (auto [stream, count] : state->before)
    before[stream] = std::max(before[stream], count);
  addToGraph([this, state] { waitNow(state); });
  return StreamStatus::Ok;
}

StreamStatus Stream::beginCapture() {
  if (graph)
    return StreamStatus::Capturing;
  graph = new Graph;
  graph->origin = this;
  graph->streams.push_back(this);
  return StreamStatus::Ok;
}

StreamStatus Stream::endCapture(std::unique_ptr<Graph> &result) {
  if (!graph || graph->origin != this)
    return StreamStatus::NotCapturing;
  std::unique_ptr<Graph> captured(graph);
  bool isJoined = true;
  Clock end = before;
  for (Stream *stream : captured->streams) {
    isJoined &= end[stream] >= stream->before[stream];
    stream->graph = nullptr;
    stream->before.clear();
  }
  if (!isJoined)
    return StreamStatus::Unjoined;
  result = std::move(captured);
  return StreamStatus::Ok;
}
