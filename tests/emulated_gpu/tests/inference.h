// Runs a small network on the emulated GPU.
#ifndef ASHLAR_TESTS_EMULATED_GPU_TESTS_INFERENCE_H_
#define ASHLAR_TESTS_EMULATED_GPU_TESTS_INFERENCE_H_

#include <memory>
#include <vector>

#include "runtime/session/session.h"
#include "tests/emulated_gpu/tests/emulated_gpu.h"

namespace ashlar::testing {

PlanRequest OnEmulatedGpu(DType precision = DType::kFloat32);

// SmallModel with an input and the reference's output. To the library, convolutions of another
// batch are different problems.
class Inference {
 public:
  explicit Inference(int64_t batch = 2);
  const Graph& graph() const { return graph_; }
  absl::StatusOr<std::shared_ptr<const Executable>> Compile(
      const PlanRequest& request = OnEmulatedGpu()) const;
  // Binds and runs: first step by step, then as a recording.
  absl::Status Run(Session& session, int runs = 2);
  // Compiles, makes a session and runs.
  absl::Status RunAnew(const PlanRequest& request = OnEmulatedGpu());
  // Returns the largest difference of the last output, relative to the largest value.
  double Error() const;

 private:
  Graph graph_;
  HostTensor input_, output_, expected_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_EMULATED_GPU_TESTS_INFERENCE_H_
