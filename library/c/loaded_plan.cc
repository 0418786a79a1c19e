#include "library/c/loaded_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/host_memory.h"
#include "graph/status.h"
#include "runtime/plan/stages/weights.h"

namespace ashlar::c {

absl::StatusOr<std::unique_ptr<LoadedPlan>> LoadedPlan::Make(std::unique_ptr<PlannedGraph> planned,
                                                             DoneWith done_with,
                                                             const LoadedPlan* other) {
  std::unique_ptr<LoadedPlan> made(new LoadedPlan());
  made->planned_ = std::move(planned);
  made->done_with_ = std::move(done_with);
  ASHLAR_RETURN_IF_ERROR(
      made->Join(other == nullptr ? std::make_shared<Family>() : other->family_));
  return made;
}

absl::StatusOr<std::unique_ptr<LoadedPlan>> LoadedPlan::MakePacked(
    std::shared_ptr<const Executable> packed, const LoadedPlan* other) {
  std::unique_ptr<LoadedPlan> made(new LoadedPlan());
  made->family_ = std::make_shared<Family>();
  made->executable_ = std::move(packed);
  made->in_file_ = true;
  if (other != nullptr && made->streamed() != nullptr) {
    ASHLAR_RETURN_IF_ERROR(made->JoinWindow(*other));
  }
  return made;
}

absl::Status LoadedPlan::JoinWindow(const LoadedPlan& other) {
  if (other.streamed() == nullptr) {
    return absl::InvalidArgumentError(
        "share: this plan streams its weights, and that plan has no window to share");
  }
  const int64_t before = other.streamed()->window_bytes();
  ASHLAR_RETURN_IF_ERROR(streamed()->ShareWindowOf(*other.streamed()));
  shared_bytes_ = std::min(executable_->planned().weights.memory_bytes(), before);
  return absl::OkStatus();
}

LoadedPlan::~LoadedPlan() {
  if (family_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(family_->mutex);
  const auto it = std::find(family_->waiting.begin(), family_->waiting.end(), this);
  if (it == family_->waiting.end()) return;
  family_->waiting.erase(it);
  family_->pool.reset();  // some of its entries refer to constants of this plan
}

absl::Status LoadedPlan::Join(std::shared_ptr<Family> family) {
  const std::lock_guard<std::mutex> lock(family->mutex);
  if (family->packed) {
    return absl::InvalidArgumentError(
        "share: the weights of that plan are in memory; share before its first session");
  }
  Device& device = *planned_->device;
  std::vector<LoadedPlan*>& waiting = family->waiting;
  if (!waiting.empty() && waiting[0]->planned_->device != &device) {
    return absl::InvalidArgumentError(absl::StrCat(
        "share: that plan is for ", waiting[0]->planned_->device->comp_node().ToString(),
        ", this one for ", device.comp_node().ToString()));
  }
  if (!waiting.empty()) {
    family->shared = true;
    if (!family->pool.has_value()) {
      family->pool.emplace(device.alignment());
      for (LoadedPlan* plan : waiting) {
        family->pool->Add({&plan->planned_->graph, &plan->planned_->weights});
      }
    }
    const int64_t before = family->pool->bytes();
    family->pool->Add({&planned_->graph, &planned_->weights});
    const int64_t added = family->pool->bytes() - before;
    shared_bytes_ = std::max<int64_t>(planned_->weights.bytes - added, 0);
  }
  waiting.push_back(this);
  family_ = std::move(family);
  return absl::OkStatus();
}

absl::Status LoadedPlan::PackAlone(bool measure) {
  ASHLAR_ASSIGN_OR_RETURN(
      executable_,
      Executable::FromPlan(std::move(planned_), {.measure = measure, .done_with = done_with_}));
  return absl::OkStatus();
}

absl::Status LoadedPlan::PackTogether(const std::vector<LoadedPlan*>& plans) {
  std::vector<std::unique_ptr<PlannedGraph>> planned;
  for (LoadedPlan* plan : plans) planned.push_back(std::move(plan->planned_));
  ASHLAR_ASSIGN_OR_RETURN(std::vector<std::shared_ptr<const Executable>> packed,
                          Executable::FromPlans(std::move(planned), plans[0]->done_with_));
  for (size_t i = 0; i < packed.size(); ++i) plans[i]->executable_ = std::move(packed[i]);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Executable>> LoadedPlan::Load(int64_t* written) {
  const std::lock_guard<std::mutex> lock(family_->mutex);
  if (written != nullptr) *written = in_file_ ? 0 : -1;
  if (executable_ != nullptr) return executable_;
  if (planned_ == nullptr) {
    return HostMemoryError("packing the weights failed before: memory did not suffice");
  }
  for (const LoadedPlan* plan : family_->waiting) {
    ASHLAR_RETURN_IF_ERROR(plan->planned_->ready());
  }
  const std::vector<LoadedPlan*> plans = std::exchange(family_->waiting, {});
  family_->pool.reset();
  family_->packed = true;
  ASHLAR_RETURN_IF_ERROR(family_->shared ? PackTogether(plans) : PackAlone(written != nullptr));
  for (LoadedPlan* plan : plans) plan->done_with_ = nullptr;
  if (!family_->shared && written != nullptr) *written = executable_->weights_written();
  return executable_;
}

}  // namespace ashlar::c
