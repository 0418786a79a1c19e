// cuDNN's engines for a convolution.
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

// Engines with this slowdown or more are the library's fallback if nothing suits the graph.
inline constexpr double kLastResort = 1;

// An engine's plan for a graph. It runs the graph, or without a device only tells its workspace. It
// is prepared on first use, which takes a second if the library compiles the code.
class EnginePlan {
 public:
  // The plan refers to `graph` and `config`. The device must outlive the plan.
  EnginePlan(std::shared_ptr<const ConvGraph> graph, Descriptor config, const LibraryDevice& device)
      : graph_(std::move(graph)), config_(std::move(config)), device_(device) {}

  const ConvGraph& graph() const { return *graph_; }
  // Returns bytes, or kRefused if the plan cannot be prepared.
  int64_t workspace() const;
  // Executes on the stream of the handle. Sessions share a plan, but only one thread at a time may
  // execute it.
  absl::Status Execute(const DeviceStream& stream, cudnnBackendDescriptor_t pack) const;

  // Returns the bytes of workspace, or Unavailable if there was no memory to prepare the plan. The
  // caller must hold the device's `planning`.
  absl::StatusOr<int64_t> Prepare() const;

 private:
  const std::shared_ptr<const ConvGraph> graph_;
  const Descriptor config_;
  const LibraryDevice& device_;
  // The result of preparing the plan; Unavailable until somebody tries. Guarded by the device's
  // `planning`.
  mutable absl::StatusOr<int64_t> workspace_ = absl::UnavailableError("an engine not prepared");
  mutable std::unique_ptr<const Descriptor> plan_;
  mutable std::mutex running_;
};

// More than any device has: a kernel whose plan is not available never fits.
inline constexpr int64_t kRefused = int64_t{1} << 60;

struct ConvEngine {
  std::shared_ptr<const EnginePlan> plan;
  // "eng34{2=1,4=0}", with the values of its knobs. ":transforms" follows if it computes by
  // Winograd's algorithm or Fourier transforms, ":compiled" if cuDNN compiles it.
  std::string name;
  double slowdown = 0;  // expected time relative to the heuristics' first choice, minus 1
};

// Returns engines for the problem's graph with that tail, or none if the library does not take the
// graph:
// - the first choices of the library's heuristics whose rounding the problem allows;
// - one that needs almost no workspace (kNegligibleWorkspace).
// All of them are prepared. If all candidates are requested, the list has more of the first
// choices, and none is prepared. Only that list includes engines that the library compiles, as
// their names say. Results are cached. May be called from several threads.
std::shared_ptr<const std::vector<ConvEngine>> ConvEngines(const ConvProblem& problem,
                                                           GraphTail tail,
                                                           const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_ENGINES_H_
