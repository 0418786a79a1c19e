// The caller's tensors of a session: from their names to the pointers of its steps.
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
  // Tensors that the caller binds: kernels work on them in the device's memory.
  enum class Memory { kHost, kDevice };

  struct Tensor {
    int64_t bytes = 0;
    bool bound = false;
    void* data = nullptr;  // where kernels find it
    // On devices with memory of their own: the caller's tensor on the host (null where the caller
    // bound the device's memory), and its place in the copies of all tensors there and here.
    void* host = nullptr;
    bool pinned = false;  // that tensor: the device copies from and to it
    int64_t offset = 0;
    // Of an input that is given up: where a run finds it, in the arena; `data` is there, too, where
    // the caller writes it there itself. Else null.
    void* place = nullptr;
  };

  // Both must outlive the binder.
  Binder(const Graph& graph, const Device& device);

  // Has `slot` point into a tensor, `offset` bytes behind its begin, as often as it is bound.
  void Follow(Side side, int binding, int64_t offset, const void** slot);
  void Follow(Side side, int binding, int64_t offset, void** slot);

  // Bytes that copies of all tensors take together, in the places that Tensor::offset says.
  int64_t copies_bytes() const { return copies_bytes_; }
  // The device's copies, without which the host's memory is the device's.
  void CopyTo(void* copies) { copies_ = static_cast<char*>(copies); }

  // An input that is given up: what is bound is copied to its place before each run.
  void Release(int input, void* place) { sides_[0].tensors[input].place = place; }
  // Where the caller writes that input for the next run, in place of what was bound. NotFound names
  // the inputs; InvalidArgument where it is not given up.
  absl::StatusOr<void*> PlaceOf(absl::string_view input);
  // Before a run: puts inputs that are given up in their places. What was written there is bound no
  // longer.
  void TakeReleased();

  // Says whether addresses or copies have changed. NotFound names the tensors that there are.
  absl::StatusOr<bool> Bind(Side side, absl::string_view name, void* data, int64_t bytes,
                            Memory memory);
  // FailedPrecondition, naming it, while a tensor is not bound.
  absl::Status CheckBound() const;

  // As Graph::inputs(), outputs().
  absl::Span<const Tensor> inputs() const { return sides_[0].tensors; }
  absl::Span<const Tensor> outputs() const { return sides_[1].tensors; }

 private:
  struct Slot {
    int binding = 0;
    int64_t offset = 0;
    const void** reader = nullptr;  // one of the two
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

  const Graph& graph_;
  const Device& device_;
  Bindings sides_[2];
  int64_t copies_bytes_ = 0;
  char* copies_ = nullptr;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_BINDER_H_
