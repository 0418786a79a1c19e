// The subject that `ashlar probe` makes larger and larger: one operator on an image, or a model.
#ifndef ASHLAR_TOOLS_PROBE_SUBJECT_H_
#define ASHLAR_TOOLS_PROBE_SUBJECT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "tools/training_flags.h"

namespace ashlar {

// A tensor of a run, row-major, where the host reads and writes it.
struct ProbeTensor {
  std::string name;
  TensorType type;
  void* data = nullptr;

  float* floats() const { return static_cast<float*>(data); }
};

class ProbeSubject {
 public:
  virtual ~ProbeSubject() = default;
  // Sizes are multiples of this.
  virtual int64_t unit() const = 0;
  virtual absl::StatusOr<Graph> At(int64_t size) const = 0;
  virtual void Fill(absl::Span<const ProbeTensor> inputs) const = 0;
  // Whether a run made the right outputs of inputs that Fill filled. FailedPrecondition, naming an
  // element, got and expected.
  virtual absl::Status Check(absl::Span<const ProbeTensor> inputs,
                             absl::Span<const ProbeTensor> outputs) = 0;
};

// The operators of the recorded run, on {1, 16, size, size}: "conv" (16 to 16 channels, 3 x 3, with
// bias, no padding), "pool" (maxima of 3 x 3, stride 3), "log" and "relu".
std::vector<std::string> ProbedOperators();
// Output y of x; in training dx, dw and db of the gradient g, too. In runs g is zero but at two
// corners, so that each gradient can be compared with the host's of parts cut out there.
std::unique_ptr<ProbeSubject> ProbedOperator(const std::string& name, bool train);

// A model of which the batch grows, by the images that `flags.batch` says (0: 1); with
// `flags.train` a step of its training. All images are alike, and so have to be their results, at
// all sizes.
std::unique_ptr<ProbeSubject> ProbedModel(Model model, const TrainingFlags& flags);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PROBE_SUBJECT_H_
