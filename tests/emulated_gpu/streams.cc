// Streams, captures, graphs and events. Work is done when a stream is waited for, not before. If
// the machine has a seed for the order, it may be done at any time until then.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/emulated_gpu/device_memory.h"
#include "tests/emulated_gpu/emulation.h"
#include "tests/emulated_gpu/runtime.h"

namespace ashlar::emulated {
namespace {

enum class EventState { kNew, kPending, kDone, kCaptured };

// One recording of an event.
struct Record {
  EventState state = EventState::kNew;
  double time = 0;                // microseconds
  CUstream_st* stream = nullptr;  // while it is pending
};

struct Work {
  double microseconds;
  std::function<void()> run;
  std::shared_ptr<Record> after = nullptr;  // not before this; null: at once

  // A dead device skips its work, so nothing has to wait.
  bool is_ready() const {
    return after == nullptr || after->state != EventState::kPending || TheMachine().dead_of != 0;
  }
};
using WorkList = std::deque<Work>;

int64_t created = 0;  // streams

}  // namespace
}  // namespace ashlar::emulated

struct CUstream_st {
  const int64_t number = ++ashlar::emulated::created;
  const int device = ashlar::emulated::CurrentDevice();
  ashlar::emulated::WorkList pending{}, captured{};
  bool capturing = false, spoilt = false;
  std::thread::id capturer{};
  std::optional<ashlar::emulated::Counted> counted{};  // unless it is the default stream
};

struct CUevent_st {
  // Pending work keeps the record alive.
  std::shared_ptr<ashlar::emulated::Record> record = std::make_shared<ashlar::emulated::Record>();
  ashlar::emulated::Counted counted{"events"};
};

struct CUgraph_st {
  ashlar::emulated::WorkList work;
  ashlar::emulated::Counted counted{"graphs"};
};

struct CUgraphExec_st {
  ashlar::emulated::WorkList work;
  ashlar::emulated::Counted counted{"executable graphs"};
};

namespace ashlar::emulated {
namespace {

std::set<CUstream_st*> streams;
std::set<CUevent_st*> events;
std::set<CUgraph_st*> graphs;
std::set<CUgraphExec_st*> executables;
double now = 0;  // microseconds, on the device's clock

template <typename T>
bool Exists(const Call& call, const std::set<T*>& all, T* one, const char* kind) {
  if (all.count(one) > 0) return true;
  call.Misuse(std::string("no such ") + kind);
  return false;
}

// Returns the device's default stream if a call names it, otherwise the stream itself. Null, its
// other name, is accepted only if the test means it: elsewhere a stream was forgotten.
CUstream_st* Of(cudaStream_t stream) {
  static auto* const by_default = new std::map<int, CUstream_st*>();
  if (stream != cudaStreamLegacy) return stream;
  CUstream_st*& place = (*by_default)[CurrentDevice()];
  if (place == nullptr) place = new CUstream_st();
  streams.insert(place);
  return place;
}

// Destroys the object, even if the call reports a failure.
template <typename T>
cudaError_t Destroy(const Call& call, std::set<T*>& all, T* one) {
  all.erase(one);
  delete one;
  return call.fails() ? Failed(cudaErrorUnknown) : cudaSuccess;
}

// Returns whether the thread may wait for the stream; spoils the capture if not.
bool MayWait(const Call& call, CUstream_st* stream) {
  if (!stream->capturing) return true;
  call.Misuse("the stream is capturing");
  stream->spoilt = true;
  return false;
}

void ExecuteNext(CUstream_st* stream) {
  const Work next = std::move(stream->pending.front());
  stream->pending.pop_front();
  if (!BeginWork()) return;
  next.run();
  now += next.microseconds;
}

// The random choices of the machine's seed. ExecuteAny does the next work of any stream.
std::mt19937_64& Dice() {
  static int64_t seed = 0;
  static std::mt19937_64 dice;
  if (seed != TheMachine().order) dice.seed(static_cast<uint64_t>(seed = TheMachine().order));
  return dice;
}
bool ExecuteAny() {
  std::vector<CUstream_st*> ready;
  for (CUstream_st* stream : streams) {
    if (!stream->pending.empty() && stream->pending.front().is_ready()) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  std::sort(ready.begin(), ready.end(),
            [](const auto* a, const auto* b) { return a->number < b->number; });
  ExecuteNext(ready[Dice()() % ready.size()]);
  return true;
}

// Does the next work of the stream, or work that must come before it.
void Advance(CUstream_st* stream) {
  if (TheMachine().order != 0) {
    ExecuteAny();
  } else if (stream->pending.front().is_ready()) {
    ExecuteNext(stream);
  } else {
    Advance(stream->pending.front().after->stream);
  }
}

void Execute(CUstream_st* stream) {
  const DeviceWork work;
  while (!stream->pending.empty()) Advance(stream);
}

void ExecuteUntil(const Record& record) {
  const DeviceWork work;
  while (record.state == EventState::kPending && TheMachine().dead_of == 0) Advance(record.stream);
}

// Does the device's work while the host continues: by the seed nothing, some or most of it.
void ExecuteMeanwhile() {
  if (TheMachine().order == 0) return;
  const auto speed = static_cast<uint64_t>(TheMachine().order % 3) * 3 + 1;
  const DeviceWork work;
  for (uint64_t left = Dice()() % speed; left > 0 && ExecuteAny(); --left) {
  }
}

void Append(CUstream_st* stream, Work work) {
  if (stream->capturing) {
    stream->captured.push_back(std::move(work));
    return;
  }
  stream->pending.push_back(std::move(work));
  ExecuteMeanwhile();
}

// Enqueues work that must not begin before an event; null: at once.
cudaError_t EnqueueAfter(const Call& call, CUstream_st* stream, double microseconds,
                         std::function<void()> work, std::shared_ptr<Record> after) {
  if (!Exists(call, streams, stream, "stream")) return cudaErrorInvalidResourceHandle;
  if (stream->device != CurrentDevice()) {
    call.Misuse("the stream is another device's than the thread's");
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->spoilt) return cudaErrorStreamCaptureInvalidated;
  Append(stream, {microseconds, std::move(work), std::move(after)});
  return cudaSuccess;
}

}  // namespace

bool IsCapturing(const Call& call) {
  bool any = false;
  for (CUstream_st* stream : streams) {
    if (!stream->capturing || stream->capturer != std::this_thread::get_id()) continue;
    stream->spoilt = true;
    any = true;
  }
  if (any) call.Misuse("this thread captures a stream");
  return any;
}

bool IsCaptured(cudaStream_t stream) { return streams.count(stream) > 0 && stream->capturing; }

void FinishDefaultStream() { Execute(Of(cudaStreamLegacy)); }

cudaError_t Enqueue(const Call& call, cudaStream_t given, double microseconds,
                    std::function<void()> work) {
  return EnqueueAfter(call, Of(given), microseconds, std::move(work), nullptr);
}

bool AreCopied(const Call& call, const void* to, const void* from, int64_t bytes,
               cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const auto fits = [&](const void* data, bool device, const char* what) {
    const Place place = Find(data, bytes);
    if (place != Place::kNowhere && (place == Place::kDevice) == device) return true;
    call.Misuse(std::string("the ") + what + " is not " + std::to_string(bytes) + " bytes of " +
                (device ? "the device" : "the host"));
    return false;
  };
  return fits(to, to_device, "target") && fits(from, from_device, "source");
}

}  // namespace ashlar::emulated

using namespace ashlar::emulated;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Call call("cudaStreamCreateWithFlags");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (flags != cudaStreamNonBlocking) {
    call.Misuse("a stream that the default stream blocks is not emulated");
    return Failed(cudaErrorInvalidValue);
  }
  if (IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  if (FreeMemory() < kOwnMemory) return Failed(cudaErrorMemoryAllocation);
  *stream = new CUstream_st();
  (*stream)->counted.emplace("streams");
  streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call("cudaStreamDestroy");
  if (!Exists(call, streams, stream, "stream")) return Failed(cudaErrorInvalidResourceHandle);
  if (stream->capturing) call.Misuse("the stream is capturing");
  Execute(stream);
  streams.erase(stream);
  delete stream;
  return call.fails() ? Failed(cudaErrorUnknown) : cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t given) {
  const Call call("cudaStreamSynchronize");
  if (call.fails()) return Failed(cudaErrorUnknown);
  CUstream_st* const stream = Of(given == nullptr ? cudaStreamLegacy : given);
  if (given != stream && IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  if (!Exists(call, streams, stream, "stream")) return Failed(cudaErrorInvalidResourceHandle);
  if (!MayWait(call, stream)) return Failed(cudaErrorStreamCaptureUnsupported);
  Execute(stream);
  return TheMachine().dead_of == 0 ? cudaSuccess : Failed(cudaErrorUnknown);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Call call("cudaMemcpyAsync");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (!AreCopied(call, to, from, static_cast<int64_t>(size), kind)) {
    return Failed(cudaErrorInvalidValue);
  }
  for (const void* const data : {static_cast<const void*>(to), from}) {
    if (Find(data, 1) != Place::kPageable) continue;
    // Allowed, but the host waits for it, and nothing here should wait.
    call.Misuse("host memory that is not pinned");
  }
  const void* const host = kind == cudaMemcpyHostToDevice ? from : to;
  const Place place = Find(host, 1);
  const cudaError_t error = Enqueue(call, stream, 2, [=] {
    // A graph may do it when the memory is no longer pinned.
    if (Find(host, static_cast<int64_t>(size)) != place) {
      NoteMisuse("cudaMemcpyAsync: the host's memory is not what it was when this was captured");
    }
    std::memcpy(to, from, size);
  });
  return error == cudaSuccess ? error : Failed(error);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Call call("cudaStreamBeginCapture");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (stream == nullptr || stream == cudaStreamLegacy) {
    call.Misuse("the default stream cannot be captured");
    return Failed(cudaErrorStreamCaptureUnsupported);
  }
  if (!Exists(call, streams, stream, "stream")) return Failed(cudaErrorInvalidResourceHandle);
  if (stream->capturing || mode != cudaStreamCaptureModeThreadLocal) {
    call.Misuse(stream->capturing ? "the stream is capturing" : "the mode is not emulated");
    return Failed(cudaErrorIllegalState);
  }
  stream->capturing = true;
  stream->capturer = std::this_thread::get_id();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Call call("cudaStreamEndCapture");
  *graph = nullptr;
  if (!Exists(call, streams, stream, "stream")) return Failed(cudaErrorInvalidResourceHandle);
  if (!stream->capturing) {
    call.Misuse("the stream is not capturing");
    return Failed(cudaErrorIllegalState);
  }
  if (stream->capturer != std::this_thread::get_id()) {
    call.Misuse("another thread began the capture");
    return Failed(cudaErrorStreamCaptureWrongThread);
  }
  stream->capturing = false;
  WorkList captured = std::exchange(stream->captured, {});
  if (std::exchange(stream->spoilt, false)) return Failed(cudaErrorStreamCaptureInvalidated);
  if (call.fails()) return Failed(cudaErrorUnknown);
  *graph = new CUgraph_st{std::move(captured)};
  graphs.insert(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  const Call call("cudaGraphInstantiate");
  *executable = nullptr;
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (!Exists(call, graphs, graph, "graph") || flags != 0) return Failed(cudaErrorInvalidValue);
  if (FreeMemory() < kOwnMemory) return Failed(cudaErrorMemoryAllocation);
  *executable = new CUgraphExec_st{graph->work};
  executables.insert(*executable);
  return cudaSuccess;
}

// Accepts a graph of as many nodes that take as long. The caller must know that they do the same
// work.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  const Call call("cudaGraphExecUpdate");
  *info = {};
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (!Exists(call, executables, executable, "executable graph") ||
      !Exists(call, graphs, graph, "graph")) {
    return Failed(cudaErrorInvalidValue);
  }
  const auto same = [](const Work& a, const Work& b) { return a.microseconds == b.microseconds; };
  if (!std::equal(executable->work.begin(), executable->work.end(), graph->work.begin(),
                  graph->work.end(), same)) {
    info->result = cudaGraphExecUpdateErrorTopologyChanged;
    return Failed(cudaErrorGraphExecUpdateFailure);
  }
  executable->work = graph->work;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  const Call call("cudaGraphUpload");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (!Exists(call, executables, executable, "executable graph")) {
    return Failed(cudaErrorInvalidValue);
  }
  const cudaError_t error = Enqueue(call, stream, 1, [] {});
  return error == cudaSuccess ? error : Failed(error);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Call call("cudaGraphLaunch");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (!Exists(call, executables, executable, "executable graph")) {
    return Failed(cudaErrorInvalidValue);
  }
  if (const int64_t keeps = TheMachine().keeps; keeps > 0) {
    static std::vector<std::unique_ptr<char[]>> kept;
    kept.push_back(std::make_unique<char[]>(static_cast<size_t>(keeps)));
  }
  for (const Work& work : executable->work) {
    const cudaError_t error = Enqueue(call, stream, work.microseconds, work.run);
    if (error != cudaSuccess) return Failed(error);
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Call call("cudaGraphDestroy");
  if (!Exists(call, graphs, graph, "graph")) return Failed(cudaErrorInvalidValue);
  return Destroy(call, graphs, graph);
}

// Work that was launched is still done, as the runtime documents.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const Call call("cudaGraphExecDestroy");
  if (!Exists(call, executables, executable, "executable graph")) {
    return Failed(cudaErrorInvalidValue);
  }
  return Destroy(call, executables, executable);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  const Call call("cudaEventCreate");
  if (call.fails()) return Failed(cudaErrorUnknown);
  *event = new CUevent_st();
  events.insert(*event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Call call("cudaEventDestroy");
  if (!Exists(call, events, event, "event")) return Failed(cudaErrorInvalidResourceHandle);
  return Destroy(call, events, event);
}

// A captured event marks a place in the graph, and the host cannot wait for it. An event recorded
// as external is set whenever the graph reaches it.
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t given, unsigned flags) {
  const Call call("cudaEventRecordWithFlags");
  CUstream_st* const stream = Of(given);
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (!Exists(call, events, event, "event")) return Failed(cudaErrorInvalidResourceHandle);
  const bool capturing = streams.count(stream) > 0 && stream->capturing;
  const bool external = flags == cudaEventRecordExternal;
  if ((external && !capturing) || (!external && flags != cudaEventRecordDefault)) {
    call.Misuse("an external record outside of a capture");
    return Failed(cudaErrorInvalidValue);
  }
  event->record = std::make_shared<Record>();
  if (capturing && !external) {
    event->record->state = EventState::kCaptured;
    return cudaSuccess;
  }
  if (!capturing) event->record->state = EventState::kPending;
  event->record->stream = stream;
  const cudaError_t error = Enqueue(call, stream, 0, [record = event->record] {
    record->state = EventState::kDone;
    record->time = now;
  });
  return error == cudaSuccess ? error : Failed(error);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t given, cudaEvent_t event, unsigned flags) {
  const Call call("cudaStreamWaitEvent");
  CUstream_st* const stream = Of(given);
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (!Exists(call, events, event, "event") || flags != 0) {
    return Failed(cudaErrorInvalidResourceHandle);
  }
  if (streams.count(stream) > 0 && stream->capturing) {
    call.Misuse("a capture that depends on what is outside of it");
    stream->spoilt = true;
    return Failed(cudaErrorStreamCaptureIsolation);
  }
  const cudaError_t error = EnqueueAfter(
      call, stream, 0, [] {}, event->record);
  return error == cudaSuccess ? error : Failed(error);
}

// Does the stream's work up to the event; an event that was never recorded is not waited for.
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call("cudaEventSynchronize");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (!Exists(call, events, event, "event")) return Failed(cudaErrorInvalidResourceHandle);
  if (IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  const std::shared_ptr<Record> record = event->record;
  if (record->state == EventState::kCaptured) return Failed(cudaErrorCapturedEvent);
  ExecuteUntil(*record);
  return TheMachine().dead_of == 0 ? cudaSuccess : Failed(cudaErrorUnknown);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const Call call("cudaEventElapsedTime");
  if (call.fails()) return Failed(cudaErrorUnknown);
  for (cudaEvent_t event : {start, end}) {
    if (!Exists(call, events, event, "event")) return Failed(cudaErrorInvalidResourceHandle);
    switch (event->record->state) {
      case EventState::kDone:
        continue;
      case EventState::kNew:
        call.Misuse("the event was never recorded");
        return Failed(cudaErrorInvalidResourceHandle);
      case EventState::kCaptured:
        call.Misuse("the event was recorded into a capture");
        return Failed(cudaErrorCapturedEvent);
      case EventState::kPending:
        call.Misuse("the event's stream was not waited for");
        return Failed(cudaErrorNotReady);
    }
  }
  *milliseconds = static_cast<float>((end->record->time - start->record->time) / 1000);
  return cudaSuccess;
}
