// A small network run on the emulated GPU.
#ifndef ASHLAR_TESTS_EMULATED_GPU_TESTS_INFERENCE_H_
#define ASHLAR_TESTS_EMULATED_GPU_TESTS_INFERENCE_H_

#include <memory>
#include <vector>

#include "runtime/session/session.h"
#include "tests/emulated_gpu/tests/emulated_gpu.h"

namespace ashlar::testing {

PlanRequest OnEmulatedGpu(DType precision = DType::kFloat32);

// SmallModel with its input, output and what the reference gives. Convolutions of another batch are
// other problems to the library.
class Inference {
 public:
  explicit Inference(int64_t batch = 2);
  const Graph& graph() const { return graph_; }
  absl::StatusOr<std::shared_ptr<const Executable>> Compile(
      const PlanRequest& request = OnEmulatedGpu()) const;
  // Binds and runs: first step by step, then as a recording.
  absl::Status Run(Session& session, int runs = 2);
  // All of it: compiles, makes a session, runs.
  absl::Status RunAnew(const PlanRequest& request = OnEmulatedGpu());
  // The largest difference of the last output, over the largest value.
  double Error() const;

 private:
  Graph graph_;
  HostTensor input_, output_, expected_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_EMULATED_GPU_TESTS_INFERENCE_H_
