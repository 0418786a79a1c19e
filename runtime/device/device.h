// Devices: memory and kernels of a comp node.
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

// A block of memory, freed with the object.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 protected:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// A queue of work that a device does in order while the host continues. Errors may come from work
// enqueued earlier.
class Stream {
 public:
  virtual ~Stream() = default;
  // Enqueue copies between the device's memory and staging memory (Device::AllocateStaging).
  virtual absl::Status CopyIn(void* device, const void* staging, int64_t bytes) = 0;
  virtual absl::Status CopyOut(void* staging, const void* device, int64_t bytes) = 0;
  // Waits until all enqueued work is done; for the caller's stream, this includes the caller's
  // work.
  virtual absl::Status Wait() = 0;

  // Work enqueued between these two calls is recorded, not executed; a second recording replaces
  // the first.
  virtual absl::Status BeginRecording() = 0;
  virtual absl::Status EndRecording() = 0;
  // Enqueues the recording, in one call.
  virtual absl::Status Replay() = 0;

  // Measure times on the device's clock: create `count` marks, set a mark (in a recording: in each
  // replay), and return the seconds between two marks after both were passed.
  virtual absl::Status MakeMarks(int count) = 0;
  virtual absl::Status Mark(int index) = 0;
  virtual absl::StatusOr<double> SecondsBetween(int first, int second) = 0;
  // Makes work enqueued from now on begin after the device has passed mark `index` of `other`, as
  // last set; immediately if it was never set. Both streams belong to one device.
  virtual absl::Status WaitForMark(Stream& other, int index) = 0;
  // Waits until the device has passed mark `index`, as last set.
  virtual absl::Status WaitUntilPassed(int index) = 0;

  // Use the caller's events, of the device's own type (cudaEvent_t). Work enqueued from now on
  // begins after `event` of WaitForEvent, as last recorded. RecordEvent records after all work so
  // far. Unimplemented if the device has no events.
  virtual absl::Status WaitForEvent(void* event);
  virtual absl::Status RecordEvent(void* event);
};

// The purpose of a stream.
struct StreamUse {
  // The caller's stream, of the device's own type (cudaStream_t), which does the work; it must
  // outlive this one. Null: a new stream.
  void* callers = nullptr;
  // Streams with the same arena never work at the same time: they share memory that libraries keep
  // for their work. Null: shares with no other.
  const void* arena = nullptr;
};

// Bytes of a device's memory.
struct MemoryState {
  int64_t free = 0;
  int64_t total = 0;
};

// A device. The defaults fit a device whose memory is the host's and whose kernels run on the
// calling thread.
class Device {
 public:
  virtual ~Device() = default;
  virtual CompNode comp_node() const = 0;
  // Returns the reason if the device is missing; then it can only be planned for.
  virtual absl::Status ready() { return absl::OkStatus(); }
  // Alignment of chunks inside an arena, bytes.
  virtual int64_t alignment() const = 0;
  // The same in arenas of plans for `processor`, if it differs among the processors of this device.
  virtual int64_t arena_alignment(const Processor& /*processor*/) const { return alignment(); }
  // The alignment of every tensor's address, bytes; also for views.
  virtual int64_t tensor_alignment() const { return 1; }
  // The format of images inside a graph.
  virtual Format image_format() const { return Format::kNCHW16c; }
  // Returns whether images of an untiled graph should stay in NCHW, the caller's format.
  virtual bool leaves_images(DType /*precision*/, const KernelPolicy& /*policy*/) const {
    return false;
  }
  // Returns whether its convolutions read row-major images of few channels, such as the caller's,
  // in place. With images in blocks of channels they always do.
  virtual bool reads_planes() const { return false; }
  // Returns whether it has kernels for the operators that the pass `chain` makes.
  virtual bool runs_chains() const { return false; }
  // Returns whether its 8-bit convolutions can add a tensor, as the pass `sum` requires.
  virtual bool adds_quantized() const { return false; }
  // Returns whether its copies of one run of bytes (Aliasing::Move) may overlap their source.
  virtual bool moves_overlapping() const { return false; }
  virtual const KernelRegistry& kernels() const = 0;
  // The processor that its kernels are chosen for if a plan names none; for devices with the host's
  // memory.
  virtual Processor processor() const { return {}; }
  // Returns the names of the hardware and libraries that measured times of kernels for `processor`
  // depend on; "" if nothing can be measured.
  virtual std::string measured_as(const Processor& /*processor*/) const { return ""; }
  // Allocates a block. ResourceExhausted if the device has less memory in total; Unavailable if too
  // little is free now, or if the device is missing and can only be planned for.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) = 0;
  // Called on a thread before it creates or runs kernels with `threads` threads.
  virtual void UseThreads(int threads) = 0;

  // Returns whether its memory is the host's, and kernels run on the calling thread.
  virtual bool is_host() const { return true; }

  // Allocates host memory that the device's streams copy from and to.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateStaging(int64_t bytes) {
    return Allocate(bytes);
  }
  // Pin the caller's host memory, so that streams copy from and to it like staging memory until it
  // is unpinned. InvalidArgument if it overlaps pinned memory, or is not host memory. They do
  // nothing if the device's memory is the host's.
  virtual absl::Status Pin(void* data, int64_t bytes);
  virtual absl::Status Unpin(void* data);
  // Returns whether all these bytes are pinned.
  virtual bool IsPinned(const void* /*data*/, int64_t /*bytes*/) const { return false; }
  // Copy or fill synchronously. No stream may be using that memory.
  virtual absl::Status CopyIn(void* device, const void* host, int64_t bytes);
  virtual absl::Status CopyOut(void* host, const void* device, int64_t bytes);
  virtual absl::Status Fill(void* device, uint8_t pattern, int64_t bytes);
  // Returns a queue for one session; null on the host.
  virtual absl::StatusOr<std::unique_ptr<Stream>> NewStream(const StreamUse& /*use*/) {
    return std::unique_ptr<Stream>();
  }
  // nullopt if unknown, or if the memory is the host's.
  virtual std::optional<MemoryState> memory() { return std::nullopt; }
  // Returns names and values for `ashlar doctor`.
  virtual std::vector<std::pair<std::string, std::string>> facts() { return {}; }
};

// Opens devices of one type. Backends register at program start; devices live forever.
using DeviceOpener = std::function<absl::StatusOr<Device*>(const CompNode&)>;
// Returns the previous opener of this type; empty if there was none.
DeviceOpener RegisterDeviceType(CompNode::Type type, DeviceOpener opener);
absl::StatusOr<Device*> OpenDevice(const CompNode& comp_node);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_DEVICE_H_
