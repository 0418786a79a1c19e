// Runs on the host: each kernel computes when it is called.
#include <utility>

#include "graph/status.h"
#include "runtime/device/allocation_origin.h"
#include "runtime/session/runner.h"
#include "runtime/session/steps.h"
#include "runtime/session/streamed_weights.h"

namespace ashlar {
namespace {

// A listener that does nothing, at no cost.
struct NoListener {
  void OnRunBegin() {}
  void OnStepBegin(int) {}
  void OnStepEnd(int) {}
  void OnRunEnd() {}
};

class HostRunner final : public Runner {
 public:
  HostRunner(const RunnerSite& site, std::vector<Step> steps)
      : planned_(site.executable.planned()),
        streamed_(site.executable.streamed()),
        binder_(site.binder),
        steps_(std::move(steps)) {}

  absl::Status Start(Runner* /*previous*/) override {
    NoListener listener;
    return Loop(listener);
  }
  absl::Status Wait() override { return absl::OkStatus(); }
  absl::Status Run(RunListener& listener) override { return Loop(listener); }
  absl::StatusOr<double> SecondsOfSteps(int /*repetitions*/) override {
    return absl::UnimplementedError("the host has no clock of a device's");
  }

 private:
  template <typename Listener>
  absl::Status Loop(Listener& listener) {
    ASHLAR_RETURN_IF_ERROR(binder_.CheckBound());
    binder_.TakeReleased();
    planned_.device->UseThreads(planned_.request.target.threads);
    const OriginScope scope(AllocationOrigin::kOwn);
    WeightsInRun weights(streamed_);
    ASHLAR_RETURN_IF_ERROR(weights.Begin());
    listener.OnRunBegin();
    for (size_t i = 0; i < steps_.size(); ++i) {
      const int step = static_cast<int>(i);
      absl::Status status = weights.WaitFor(step);
      listener.OnStepBegin(step);
      if (status.ok()) status = steps_[i].Run();
      if (!status.ok()) {
        return Annotate(status, Describe(planned_.graph.node(planned_.schedule.order[i])));
      }
      weights.Done(step);
      listener.OnStepEnd(step);
    }
    listener.OnRunEnd();
    return weights.End();
  }

  const PlannedGraph& planned_;
  StreamedWeights* const streamed_;  // null: all weights are in memory
  Binder& binder_;
  std::vector<Step> steps_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Runner>> MakeHostRunner(const RunnerSite& site) {
  ASHLAR_ASSIGN_OR_RETURN(
      std::vector<Step> steps,
      MakeSteps(site.executable, {site.arena, nullptr, site.state}, site.binder));
  return std::make_unique<HostRunner>(site, std::move(steps));
}

}  // namespace ashlar
