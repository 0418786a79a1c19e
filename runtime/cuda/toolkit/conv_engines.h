// The engines that cuDNN has for a convolution.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_ENGINES_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_ENGINES_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/toolkit/conv_graph.h"
#include "runtime/cuda/toolkit/library_device.h"
#include "runtime/cuda/toolkit/stream.h"

namespace ashlar::cuda {

// From this slowdown on an engine is what the library has where nothing suits the graph.
inline constexpr double kLastResort = 1;

// An engine's plan for a graph: to run, or, without a device, to be asked for its workspace. It is
// prepared when it is first asked for, which takes a second where the library compiles its code.
class EnginePlan {
 public:
  // `graph` and `config` are what the plan refers to. The device has to outlive it.
  EnginePlan(std::shared_ptr<const ConvGraph> graph, Descriptor config, const LibraryDevice& device)
      : graph_(std::move(graph)), config_(std::move(config)), device_(device) {}

  const ConvGraph& graph() const { return *graph_; }
  // Bytes; kRefused where it cannot be had.
  int64_t workspace() const;
  // On the stream of the handle. Sessions share a plan, and no two threads may execute one.
  absl::Status Execute(const DeviceStream& stream, cudnnBackendDescriptor_t pack) const;

  // The bytes of workspace, where the caller holds the device's `planning`; Unavailable where there
  // was no memory to prepare it.
  absl::StatusOr<int64_t> Prepare() const;

 private:
  const std::shared_ptr<const ConvGraph> graph_;
  const Descriptor config_;
  const LibraryDevice& device_;
  // Under the device's `planning`: what preparing it came to, Unavailable as long as nobody tried.
  mutable absl::StatusOr<int64_t> workspace_ = absl::UnavailableError("an engine not prepared");
  mutable std::unique_ptr<const Descriptor> plan_;
  mutable std::mutex running_;
};

// More than any device has: where a plan is not to be had, its kernel never fits.
inline constexpr int64_t kRefused = int64_t{1} << 60;

struct ConvEngine {
  std::shared_ptr<const EnginePlan> plan;
  std::string name;     // "eng34{2=1,4=0}": with the values of its knobs; "eng8{}:compiled"
  double slowdown = 0;  // its expected time over that of the heuristics' first choice, less 1
};

// For the problem's graph with that tail: those that the library's heuristics name first and that
// round as the problem allows, and one without workspace to speak of (kNegligibleWorkspace), all
// prepared. Where all candidates are asked for, more of the first, none of which is prepared, those
// among them that the library compiles, as their names say: elsewhere these are left out. Empty
// where the library takes no such graph. What was found before is found at once. May be called by
// several threads.
std::shared_ptr<const std::vector<ConvEngine>> ConvEngines(const ConvProblem& problem,
                                                           GraphTail tail,
                                                           const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_ENGINES_H_
