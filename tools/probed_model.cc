// A model whose batch grows. All images are equal, so that the smallest batch gives the expected
// results.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/random.h"
#include "graph/status.h"
#include "tools/probe_subject.h"

namespace ashlar {
namespace {

// Relative to the largest result; another batch may use other kernels.
constexpr double kRelativeTolerance = 1e-3;
constexpr float kSmallRate = 1e-3F;

class GrowingModel final : public ProbeSubject {
 public:
  GrowingModel(Model model, const TrainingFlags& flags) : model_(std::move(model)), flags_(flags) {}

  int64_t unit() const override { return std::max<int64_t>(flags_.batch, 1); }

  absl::StatusOr<Graph> At(int64_t size) const override {
    TrainingFlags flags = flags_;
    flags.batch = size;
    Model model = model_;
    if (flags.train) {
      ASHLAR_ASSIGN_OR_RETURN(TrainingGraph graph, GraphToTrain(std::move(model), flags));
      return std::move(graph.step);
    }
    ASHLAR_ASSIGN_OR_RETURN(model, ModelToTrain(std::move(model), flags));
    return std::move(model.graph);
  }

  void Fill(absl::Span<const ProbeTensor> inputs) const override {
    for (const ProbeTensor& input : inputs) {
      const int64_t count = input.type.shape.num_elements();
      if (input.type.dtype != DType::kFloat32) {  // labels: all of the first class
        std::fill_n(static_cast<char*>(input.data), input.type.bytes(), '\0');
        if (input.name == TrainingGraph::kStep) *static_cast<int64_t*>(input.data) = 1;
      } else if (input.name == TrainingGraph::kRate) {
        std::fill_n(input.floats(), count, kSmallRate);
      } else {
        const int64_t image = count / input.type.shape[0];
        for (int64_t i = 0; i < count; ++i) {
          input.floats()[i] =
              i < image ? static_cast<float>(Random(static_cast<uint64_t>(i)).Uniform(-1, 1))
                        : input.floats()[i - image];
        }
      }
    }
  }

  absl::Status Check(absl::Span<const ProbeTensor> inputs,
                     absl::Span<const ProbeTensor> outputs) override {
    const int64_t batch = inputs[0].type.shape[0];
    for (const ProbeTensor& output : outputs) {
      if (output.type.dtype != DType::kFloat32) continue;
      const int64_t count = output.type.shape.num_elements();
      const bool by_image = output.type.shape.rank() > 0 && output.type.shape[0] == batch;
      const int64_t image = by_image ? count / batch : count;
      std::vector<float>& expected = of_smallest_[output.name];
      if (expected.empty()) expected.assign(output.floats(), output.floats() + image);
      float most = 0;
      for (const float element : expected) most = std::max(most, std::abs(element));
      for (int64_t i = 0; i < count; ++i) {
        const float got = output.floats()[i], wanted = expected[static_cast<size_t>(i % image)];
        if (std::abs(got - wanted) <= kRelativeTolerance * most) continue;
        return absl::FailedPreconditionError(absl::StrCat(output.name, "[", i, "] is ", got,
                                                          ", and of the smallest batch ", wanted));
      }
    }
    return absl::OkStatus();
  }

 private:
  const Model model_;
  const TrainingFlags flags_;
  std::map<std::string, std::vector<float>> of_smallest_;  // by output, the result for one image
};

}  // namespace

std::unique_ptr<ProbeSubject> ProbedModel(Model model, const TrainingFlags& flags) {
  return std::make_unique<GrowingModel>(std::move(model), flags);
}

}  // namespace ashlar
