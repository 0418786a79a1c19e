// Devices: memory and kernels behind a comp node.
#ifndef ASHLAR_RUNTIME_DEVICE_DEVICE_H_
#define ASHLAR_RUNTIME_DEVICE_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/comp_node.h"
#include "runtime/device/kernel.h"
#include "runtime/device/processor.h"

namespace ashlar {

// One block of memory, freed with the object.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 protected:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// A queue of work that a device takes up in order while the host goes on. Errors may be those of
// work handed over earlier.
class Stream {
 public:
  virtual ~Stream() = default;
  // Between the device's memory and staging memory (Device::AllocateStaging).
  virtual absl::Status CopyIn(void* device, const void* staging, int64_t bytes) = 0;
  virtual absl::Status CopyOut(void* staging, const void* device, int64_t bytes) = 0;
  // Until all that was handed over is done. Of a stream of the caller's: the caller's own, too.
  virtual absl::Status Wait() = 0;

  // Work handed over between these two is not executed but recorded; a second recording takes
  // the place of the first.
  virtual absl::Status BeginRecording() = 0;
  virtual absl::Status EndRecording() = 0;
  // Hands over the recording, in one call.
  virtual absl::Status Replay() = 0;

  // Times, on the device's clock: makes `count` marks, sets one (in a recording: in each replay),
  // and the seconds from one mark to another once both were passed.
  virtual absl::Status MakeMarks(int count) = 0;
  virtual absl::Status Mark(int index) = 0;
  virtual absl::StatusOr<double> SecondsBetween(int first, int second) = 0;
  // Work handed over from now on begins after the device has passed mark `index` of `other`, as
  // it was set last; at once where it was not. Both streams are of one device.
  virtual absl::Status WaitForMark(Stream& other, int index) = 0;
  // Until the device has passed mark `index`, as it was set last.
  virtual absl::Status WaitUntilPassed(int index) = 0;

  // Events of the caller's, of the device's own kind (cudaEvent_t). Work handed over from now on
  // begins after the event, as it was recorded last; the event is recorded behind all work up to
  // now. Unimplemented where the device has none.
  virtual absl::Status WaitForEvent(void* event);
  virtual absl::Status RecordEvent(void* event);
};

// What a stream is for.
struct StreamUse {
  // A stream of the caller's, of the device's own kind (cudaStream_t), that takes the work; it must
  // outlive this one. Null: one of its own.
  void* callers = nullptr;
  // Streams with the same arena are never at work at once: they share what libraries keep for
  // their work. Null: with no other.
  const void* arena = nullptr;
};

// Bytes of a device's memory.
struct MemoryState {
  int64_t free = 0;
  int64_t total = 0;
};

// The defaults are of a device whose memory is the host's and whose kernels run on
// the calling thread.
class Device {
 public:
  virtual ~Device() = default;
  virtual CompNode comp_node() const = 0;
  // Why it can only be planned for, where it is not there.
  virtual absl::Status ready() { return absl::OkStatus(); }
  // Alignment of chunks inside an arena, bytes.
  virtual int64_t alignment() const = 0;
  // The alignment of every tensor's address, bytes; of views too.
  virtual int64_t tensor_alignment() const { return 1; }
  // How images lie inside a graph.
  virtual Format image_format() const { return Format::kNCHW16c; }
  // Whether images of a graph that is executed whole are better left in NCHW, as the caller has
  // them.
  virtual bool leaves_images(DType /*precision*/, const KernelPolicy& /*policy*/) const {
    return false;
  }
  // Whether its convolutions read row-major images of few channels, such as the caller's, in place;
  // where images lie in blocks of channels they always do.
  virtual bool reads_planes() const { return false; }
  // Whether it has kernels for the operators that the pass `chain` makes.
  virtual bool runs_chains() const { return false; }
  // Whether its convolutions of 8 bits add a tensor, as the pass `sum` asks.
  virtual bool adds_quantized() const { return false; }
  virtual const KernelRegistry& kernels() const = 0;
  // The processor that its kernels are chosen for, where a plan names no other; where the memory is
  // the host's.
  virtual Processor processor() const { return {}; }
  // Names the hardware and the libraries, as far as measured times of kernels for `processor`
  // depend on them; "" where there is nothing to measure.
  virtual std::string measured_as(const Processor& /*processor*/) const { return ""; }
  // ResourceExhausted where the device has not that much; Unavailable where it has but not now, or
  // where the device itself is not there and can only be planned for.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) = 0;
  // Called on a thread before it makes kernels or runs them with that many threads.
  virtual void UseThreads(int threads) = 0;

  // Whether its memory is the host's, and kernels run on the calling thread.
  virtual bool is_host() const { return true; }

  // Host memory that the device's streams copy from and to.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateStaging(int64_t bytes) {
    return Allocate(bytes);
  }
  // Host memory of the caller's that streams copy from and to, as if it were staging memory, until
  // it is unpinned; InvalidArgument where it overlaps other such memory, or is none. Nothing has to
  // be done where memory is the host's.
  virtual absl::Status Pin(void* data, int64_t bytes);
  virtual absl::Status Unpin(void* data);
  // Whether all of it is pinned.
  virtual bool IsPinned(const void* /*data*/, int64_t /*bytes*/) const { return false; }
  // Copies and fills that are done when they return. No stream may be busy with that memory.
  virtual absl::Status CopyIn(void* device, const void* host, int64_t bytes);
  virtual absl::Status CopyOut(void* host, const void* device, int64_t bytes);
  virtual absl::Status Fill(void* device, uint8_t pattern, int64_t bytes);
  // A queue for one session; null on the host.
  virtual absl::StatusOr<std::unique_ptr<Stream>> NewStream(const StreamUse& /*use*/) {
    return std::unique_ptr<Stream>();
  }
  // nullopt where it is not known, and where the memory is the host's.
  virtual std::optional<MemoryState> memory() { return std::nullopt; }
  // Names and values for `ashlar doctor`.
  virtual std::vector<std::pair<std::string, std::string>> facts() { return {}; }
};

// Backends register at program start; devices live for ever.
using DeviceOpener = std::function<absl::StatusOr<Device*>(const CompNode&)>;
// Returns what opened devices of this type until now; empty where nothing did.
DeviceOpener RegisterDeviceType(CompNode::Type type, DeviceOpener opener);
absl::StatusOr<Device*> OpenDevice(const CompNode& comp_node);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_DEVICE_H_
