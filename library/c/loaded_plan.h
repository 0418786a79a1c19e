// Plans that are packed when the first session of one of them comes up, together where they share
// their weights.
#ifndef ASHLAR_LIBRARY_C_LOADED_PLAN_H_
#define ASHLAR_LIBRARY_C_LOADED_PLAN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/shared_pool.h"
#include "runtime/session/executable.h"

namespace ashlar::c {

// The caller reads copies of a plan, made when it was planned: packing changes the graph.
class LoadedPlan {
 public:
  // Shares with `other` and all that it shares with, unless it is null. InvalidArgument where
  // that has weights in memory, or is on another device.
  static absl::StatusOr<std::unique_ptr<LoadedPlan>> Make(std::unique_ptr<PlannedGraph> planned,
                                                          DoneWith done_with,
                                                          const LoadedPlan* other);
  // Of weights that lie in the file, and are shared with nothing else.
  explicit LoadedPlan(std::shared_ptr<const Executable> packed);
  ~LoadedPlan();

  // Packs where that was not done yet. `written`: the highest byte that packing wrote, where the
  // caller wants it measured; -1 where that is too late, or several are packed; 0 where the file
  // has the weights packed.
  absl::StatusOr<std::shared_ptr<const Executable>> Load(int64_t* written = nullptr);

  // Bytes of its weights that plans which it shares with had before it came.
  int64_t shared_bytes() const { return shared_bytes_; }

 private:
  // Plans that share. None is in it whose weights are in memory, or that was released.
  struct Family {
    std::mutex mutex;
    std::vector<LoadedPlan*> waiting;
    std::optional<SharedPool> pool;  // as `waiting` will have it; nothing where that is to be found
    bool shared = false;             // there were several
    bool packed = false;             // or that was tried
  };

  LoadedPlan() = default;
  absl::Status Join(std::shared_ptr<Family> family);
  static absl::Status PackTogether(const std::vector<LoadedPlan*>& plans);
  absl::Status PackAlone(bool measure);

  std::shared_ptr<Family> family_;
  std::unique_ptr<PlannedGraph> planned_;  // until it is packed
  DoneWith done_with_;
  std::shared_ptr<const Executable> executable_;
  bool in_file_ = false;
  int64_t shared_bytes_ = 0;
};

}  // namespace ashlar::c

#endif  // ASHLAR_LIBRARY_C_LOADED_PLAN_H_
