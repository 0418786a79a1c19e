// Binds the caller's tensors of a session: maps their names to the pointers of its steps.
#ifndef ASHLAR_RUNTIME_SESSION_BINDER_H_
#define ASHLAR_RUNTIME_SESSION_BINDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/device/device.h"

namespace ashlar {

class Binder {
 public:
  enum class Side { kInput, kOutput };
  // The memory of the caller's tensor. Kernels use a copy in the device's memory if it is kHost.
  enum class Memory { kHost, kDevice };

  struct Tensor {
    int64_t bytes = 0;
    bool bound = false;
    void* data = nullptr;  // the address that kernels use
    // On devices with memory of their own. `host` is the caller's tensor on the host, or null if
    // the caller bound device memory. `offset` is the tensor's offset in the copies of all tensors,
    // on the device and on the host.
    void* host = nullptr;
    bool pinned = false;  // the host tensor is pinned: the device copies it directly
    int64_t offset = 0;
    // For a donated input: its address in the arena; otherwise null. `data` is equal to it if the
    // caller writes the input there.
    void* place = nullptr;
  };

  // Both must outlive the binder.
  Binder(const Graph& graph, const Device& device);

  // Registers `slot`: at every binding it is set to `offset` bytes after the tensor's begin.
  void Follow(Side side, int binding, int64_t offset, const void** slot);
  void Follow(Side side, int binding, int64_t offset, void** slot);

  // Returns the bytes of the copies of all tensors together, with the offsets of Tensor::offset.
  int64_t copies_bytes() const { return copies_bytes_; }
  // Sets the device's copies. Without them, the device uses the host's memory.
  void CopyTo(void* copies) { copies_ = static_cast<char*>(copies); }

  // Marks an input as donated: a bound tensor is copied to `place` before each run.
  void Release(int input, void* place) { sides_[0].tensors[input].place = place; }
  // Returns the address to which the caller writes that input for the next run, instead of binding
  // a tensor. NotFound names the inputs; InvalidArgument if the input is not donated.
  absl::StatusOr<void*> PlaceOf(absl::string_view input);
  // Copies donated inputs to their places before a run. Inputs that the caller wrote there become
  // unbound.
  void TakeReleased();

  // Binds a tensor. Returns whether addresses or copies have changed. NotFound names the existing
  // tensors.
  absl::StatusOr<bool> Bind(Side side, absl::string_view name, void* data, int64_t bytes,
                            Memory memory);
  // Returns FailedPrecondition, naming a tensor, if one is not bound; InvalidArgument if two
  // outputs overlap.
  absl::Status CheckBound();

  // In the order of Graph::inputs() and outputs().
  absl::Span<const Tensor> inputs() const { return sides_[0].tensors; }
  absl::Span<const Tensor> outputs() const { return sides_[1].tensors; }

 private:
  struct Slot {
    int binding = 0;
    int64_t offset = 0;
    const void** reader = nullptr;  // one of the two is set
    void** writer = nullptr;
  };
  struct Bindings {
    const char* kind;
    const std::vector<Binding>* names;
    std::vector<Tensor> tensors;
    std::vector<Slot> slots;
  };

  Bindings& at(Side side) { return sides_[side == Side::kInput ? 0 : 1]; }
  absl::StatusOr<int> Find(const Bindings& side, absl::string_view name) const;
  absl::Status CheckOutputsApart() const;

  const Graph& graph_;
  const Device& device_;
  Bindings sides_[2];
  bool checked_ = false;  // CheckOutputsApart, since the last binding
  int64_t copies_bytes_ = 0;
  char* copies_ = nullptr;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_BINDER_H_
