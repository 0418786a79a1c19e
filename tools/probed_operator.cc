// One operator on an image, with or without its gradients. The incoming gradient is zero except in
// patches at two corners. So all results of a run follow from the parts of the image under these
// patches.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/differentiate.h"
#include "graph/graph_builder.h"
#include "graph/random.h"
#include "graph/status.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/immutable_tensor.h"
#include "opr/pooling.h"
#include "opr/table.h"
#include "tools/host_evaluation.h"
#include "tools/probe_subject.h"

namespace ashlar {
namespace {

constexpr int64_t kChannels = 16;
constexpr int64_t kPatch = 4;  // rows and columns of a patch of outputs
constexpr double kTolerance = 1e-4;

struct OperatorOfProbe {
  const char* name;
  int64_t window, stride;
  float least;  // lower bound of the image's elements, which are below `least` + 2
  absl::StatusOr<int> (*add)(GraphBuilder& builder, int x, std::vector<int>& weights);
};

absl::StatusOr<int> AddNode(GraphBuilder& builder, OperatorPtr op, std::vector<int> inputs) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                          builder.Add(std::move(op), std::move(inputs)));
  return made[0];
}

absl::StatusOr<int> AddWeight(GraphBuilder& builder, const Shape& shape, uint64_t seed) {
  Random random(seed);
  HostTensor value = HostTensor::Zeros(DType::kFloat32, shape);
  for (int64_t i = 0; i < value.num_elements(); ++i) value.Set(i, random.Uniform(-0.1, 0.1));
  return AddNode(builder, std::make_shared<const ImmutableTensor>(std::move(value)), {});
}

absl::StatusOr<int> AddFunction(GraphBuilder& builder, ScalarFunction mode,
                                std::vector<int> inputs) {
  return AddNode(builder, std::make_shared<const Elemwise>(ElemwiseParam{mode}), std::move(inputs));
}

absl::StatusOr<int> AddConvolution(GraphBuilder& builder, int x, std::vector<int>& weights) {
  ASHLAR_ASSIGN_OR_RETURN(const int filter,
                          AddWeight(builder, {kChannels, kChannels, 3, 3}, /*seed=*/1));
  ASHLAR_ASSIGN_OR_RETURN(const int bias, AddWeight(builder, {1, kChannels, 1, 1}, /*seed=*/2));
  weights = {filter, bias};
  ASHLAR_ASSIGN_OR_RETURN(
      const int sums,
      AddNode(builder, std::make_shared<const ConvolutionForward>(ConvolutionParam()),
              {x, filter}));
  return AddFunction(builder, ScalarFunction::kAdd, {sums, bias});
}

absl::StatusOr<int> AddPooling(GraphBuilder& builder, int x, std::vector<int>&) {
  PoolingParam param;
  param.window_h = param.window_w = param.stride_h = param.stride_w = 3;
  return AddNode(builder, std::make_shared<const PoolingForward>(param), {x});
}

template <ScalarFunction kFunction>
absl::StatusOr<int> AddPointwise(GraphBuilder& builder, int x, std::vector<int>&) {
  return AddFunction(builder, kFunction, {x});
}

constexpr OperatorOfProbe kOperators[] = {
    {"conv", 3, 1, -1, AddConvolution},
    {"pool", 3, 3, -1, AddPooling},
    {"log", 1, 1, 0.5F, AddPointwise<ScalarFunction::kLog>},
    {"relu", 1, 1, -1, AddPointwise<ScalarFunction::kRelu>},
};

absl::StatusOr<int> AddInput(GraphBuilder& builder, const char* name, const Shape& shape) {
  GraphBuilder::NodeOptions options;
  options.name = options.binding = name;
  InputParam param{DType::kFloat32, {shape.dims().begin(), shape.dims().end()}};
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> made,
      builder.Add(std::make_shared<const Host2DeviceCopy>(std::move(param)), {}, options));
  return made[0];
}

absl::Status AddOutput(GraphBuilder& builder, const char* name, int var) {
  GraphBuilder::NodeOptions options;
  options.binding = name;
  return builder.Add(std::make_shared<const OutputCallback>(OutputParam()), {var}, options)
      .status();
}

// A square region of an image, in all channels.
struct Patch {
  int64_t begin = 0, size = 0;  // rows, and columns
  bool Holds(int64_t y, int64_t x) const {
    return y >= begin && y < begin + size && x >= begin && x < begin + size;
  }
};

// Copies the region of all channels: [channel][y][x].
HostTensor Cut(const ProbeTensor& image, const Patch& patch) {
  const int64_t side = image.type.shape[2];
  HostTensor cut = HostTensor::Zeros(DType::kFloat32, {1, kChannels, patch.size, patch.size});
  float* to = cut.mutable_data<float>().data();
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t y = 0; y < patch.size; ++y) {
      const float* const from = image.floats() + (c * side + patch.begin + y) * side + patch.begin;
      to = std::copy(from, from + patch.size, to);
    }
  }
  return cut;
}

// Returns a value in [0, 1), far from neighbouring ones: multiplicative hashing (Knuth 1973, volume
// 3, section 6.4).
float ElementAt(int64_t index) {
  constexpr uint32_t kGolden = 2654435761;
  return static_cast<float>((static_cast<uint32_t>(index) * kGolden) >> 8) * 0x1p-24F;
}

class SingleOperator final : public ProbeSubject {
 public:
  SingleOperator(const OperatorOfProbe& row, bool train) : row_(row), train_(train) {}

  int64_t unit() const override { return 5; }

  absl::StatusOr<Graph> At(int64_t size) const override {
    GraphBuilder builder;
    std::vector<int> weights;
    ASHLAR_ASSIGN_OR_RETURN(const int x, AddInput(builder, "x", {1, kChannels, size, size}));
    ASHLAR_ASSIGN_OR_RETURN(const int y, row_.add(builder, x, weights));
    ASHLAR_RETURN_IF_ERROR(AddOutput(builder, "y", y));
    if (train_) {
      const Shape shape = builder.graph().var(y).type.shape;
      ASHLAR_ASSIGN_OR_RETURN(const int g, AddInput(builder, "g", shape));
      std::vector<int> wrt = {x};
      wrt.insert(wrt.end(), weights.begin(), weights.end());
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<std::optional<int>> gradients,
                              BackPropagate(builder, y, g, wrt, Operators()));
      constexpr const char* kNames[] = {"dx", "dw", "db"};
      for (size_t i = 0; i < gradients.size(); ++i) {
        ASHLAR_RETURN_IF_ERROR(AddOutput(builder, kNames[i], *gradients[i]));
      }
    }
    return std::move(builder).Build();
  }

  void Fill(absl::Span<const ProbeTensor> inputs) const override {
    const ProbeTensor& x = inputs[0];
    const int64_t count = x.type.shape.num_elements();
    for (int64_t i = 0; i < count; ++i) x.floats()[i] = row_.least + 2 * ElementAt(i);
    if (!train_) return;
    const ProbeTensor& g = inputs[1];
    const int64_t side = g.type.shape[2];
    std::fill_n(g.floats(), g.type.shape.num_elements(), 0.0F);
    for (const Patch& patch : PatchesOf(side)) {
      for (int64_t row = 0; row < kChannels * patch.size; ++row) {
        const int64_t c = row / patch.size, y = patch.begin + row % patch.size;
        const int64_t first = (c * side + y) * side + patch.begin;
        for (int64_t i = first; i < first + patch.size; ++i) {
          g.floats()[i] = 2 * ElementAt(i) - 1;
        }
      }
    }
  }

  absl::Status Check(absl::Span<const ProbeTensor> inputs,
                     absl::Span<const ProbeTensor> outputs) override {
    const ProbeTensor& y = outputs[0];
    std::vector<HostTensor> dw(2);  // gradients of filter and bias, over all patches
    std::vector<std::pair<Patch, HostTensor>> dx;
    for (const Patch& patch : PatchesOf(y.type.shape[2])) {
      const Patch under = {patch.begin * row_.stride, (patch.size - 1) * row_.stride + row_.window};
      InputTensors cut = {{"x", Cut(inputs[0], under)}};
      if (train_) cut["g"] = Cut(inputs[1], patch);
      ASHLAR_ASSIGN_OR_RETURN(const Graph graph, At(under.size));
      ASHLAR_ASSIGN_OR_RETURN(NamedTensors expected, EvaluateOnHost(graph, cut));
      ASHLAR_RETURN_IF_ERROR(Compare(Cut(y, patch), expected[0].second, "y"));
      if (!train_) continue;
      dx.emplace_back(under, std::move(expected[1].second));
      for (size_t i = 2; i < expected.size(); ++i) Accumulate(expected[i].second, dw[i - 2]);
    }
    for (size_t i = 2; i < outputs.size(); ++i) {
      const ProbeTensor& made = outputs[i];
      ASHLAR_RETURN_IF_ERROR(
          Compare(HostTensor::FromValues<float>(
                      DType::kFloat32, made.type.shape,
                      {made.floats(), static_cast<size_t>(made.type.shape.num_elements())}),
                  dw[i - 2], made.name));
    }
    return train_ ? CheckImageGradient(outputs[1], dx) : absl::OkStatus();
  }

 private:
  // Returns the patches of an output, or its gradient: two corners, or the whole image if they
  // would touch.
  static std::vector<Patch> PatchesOf(int64_t side) {
    if (side < 3 * kPatch) return {{0, side}};
    return {{0, kPatch}, {side - kPatch, kPatch}};
  }

  static bool IsNear(double got, double expected) {
    return std::abs(got - expected) <= kTolerance * std::max(1.0, std::abs(expected));
  }

  static absl::Status Differs(absl::string_view name, int64_t index, double got, double expected) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, "[", index, "] is ", got, ", expected ", expected));
  }

  static absl::Status Compare(const HostTensor& got, const HostTensor& expected,
                              absl::string_view name) {
    for (int64_t i = 0; i < expected.num_elements(); ++i) {
      if (!IsNear(got.At(i), expected.At(i))) {
        return Differs(name, i, got.At(i), expected.At(i));
      }
    }
    return absl::OkStatus();
  }

  static void Accumulate(const HostTensor& part, HostTensor& sum) {
    if (sum.shape() != part.shape()) sum = HostTensor::Zeros(part.dtype(), part.shape());
    for (int64_t i = 0; i < part.num_elements(); ++i) sum.Set(i, sum.At(i) + part.At(i));
  }

  // Checks that dx is as expected under the patches, and zero elsewhere.
  static absl::Status CheckImageGradient(
      const ProbeTensor& dx, const std::vector<std::pair<Patch, HostTensor>>& expected) {
    const int64_t side = dx.type.shape[2];
    for (const auto& [under, part] : expected) {
      ASHLAR_RETURN_IF_ERROR(Compare(Cut(dx, under), part, "dx"));
    }
    for (int64_t i = 0; i < dx.type.shape.num_elements(); ++i) {
      if (dx.floats()[i] == 0) continue;
      const bool known = std::any_of(expected.begin(), expected.end(), [&](const auto& part) {
        return part.first.Holds(i / side % side, i % side);
      });
      if (!known) return Differs("dx", i, dx.floats()[i], 0);
    }
    return absl::OkStatus();
  }

  const OperatorOfProbe& row_;
  const bool train_;
};

}  // namespace

std::vector<std::string> ProbedOperators() {
  std::vector<std::string> names;
  for (const OperatorOfProbe& row : kOperators) names.push_back(row.name);
  return names;
}

std::unique_ptr<ProbeSubject> ProbedOperator(const std::string& name, bool train) {
  for (const OperatorOfProbe& row : kOperators) {
    if (name == row.name) return std::make_unique<SingleOperator>(row, train);
  }
  return nullptr;
}

}  // namespace ashlar
