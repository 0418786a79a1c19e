// The engines that cuDNN has for a convolution.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_ENGINES_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_ENGINES_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/toolkit/conv_graph.h"
#include "runtime/cuda/toolkit/library_device.h"

namespace ashlar::cuda {

// From this slowdown on an engine is what the library has where nothing suits the graph.
inline constexpr double kLastResort = 1;

// An engine that was prepared for a graph: to run, or, without a device, to be asked for its
// workspace.
struct ConvEngine {
  std::shared_ptr<const ConvGraph> graph;
  std::shared_ptr<const Descriptor> config;  // that the plan refers to
  std::shared_ptr<const Descriptor> plan;
  // Held while the plan is executed: it is shared by sessions, and no two threads may execute one.
  std::shared_ptr<std::mutex> running;
  std::string name;       // "eng34{2=1,4=0}": with the values of its knobs
  int64_t workspace = 0;  // bytes
  double slowdown = 0;    // its expected time over that of the heuristics' first choice, less 1
};

// For the problem's graph with that tail: those that the library's heuristics name first and that
// round as the problem allows, and one without workspace to speak of (kNegligibleWorkspace). Empty
// where the library takes no such graph. What was found before is not prepared again. May be called
// by several threads.
std::shared_ptr<const std::vector<ConvEngine>> ConvEngines(const ConvProblem& problem,
                                                           GraphTail tail,
                                                           const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_ENGINES_H_
