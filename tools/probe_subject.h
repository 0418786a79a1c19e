// The subject of `ashlar probe`, in growing sizes: one operator on an image, or a model.
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

// A tensor of a run, row-major, in memory of the host.
struct ProbeTensor {
  std::string name;
  TensorType type;
  void* data = nullptr;

  float* floats() const { return static_cast<float*>(data); }
};

class ProbeSubject {
 public:
  virtual ~ProbeSubject() = default;
  // Returns the unit that sizes are multiples of.
  virtual int64_t unit() const = 0;
  virtual absl::StatusOr<Graph> At(int64_t size) const = 0;
  virtual void Fill(absl::Span<const ProbeTensor> inputs) const = 0;
  // Checks the outputs of a run on inputs filled by Fill. FailedPrecondition, naming an element,
  // got and expected, if one is wrong.
  virtual absl::Status Check(absl::Span<const ProbeTensor> inputs,
                             absl::Span<const ProbeTensor> outputs) = 0;
};

// Returns the operators of the recorded run, on {1, 16, size, size}: "conv" (16 to 16 channels, 3 x
// 3, with bias, no padding), "pool" (maxima of 3 x 3, stride 3), "log" and "relu".
std::vector<std::string> ProbedOperators();
// Returns a graph with output y of x; in training also dx, dw and db of the gradient g. In runs g
// is zero except at two corners, so that each gradient can be compared with the host's, computed on
// cut-outs there.
std::unique_ptr<ProbeSubject> ProbedOperator(const std::string& name, bool train);

// Returns a model whose batch grows by `flags.batch` images (0: 1); with `flags.train` a step of
// its training. All images are equal, and therefore all results must be equal, at all sizes.
std::unique_ptr<ProbeSubject> ProbedModel(Model model, const TrainingFlags& flags);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PROBE_SUBJECT_H_
