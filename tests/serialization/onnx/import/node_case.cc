#include "tests/serialization/onnx/import/node_case.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/session/executable.h"
#include "runtime/session/session.h"
#include "serialization/counted_results.h"
#include "serialization/onnx/import/reader.h"
#include "serialization/onnx/tensors.h"
#include "tests/serialization/files.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Returns inputs that state a result's shape, or parameters of a constant result; old operator
// versions have some of them as attributes.
const std::set<std::string>& ShapeArguments() {
  static const auto* const names = new std::set<std::string>{"shape",
                                                             "axes",
                                                             "axis",
                                                             "starts",
                                                             "ends",
                                                             "steps",
                                                             "pads",
                                                             "sizes",
                                                             "split",
                                                             "k",
                                                             "K",
                                                             "repeats",
                                                             "scales",
                                                             "roi",
                                                             "depth",
                                                             "min",
                                                             "max",
                                                             "limit",
                                                             "start",
                                                             "delta",
                                                             "indices",
                                                             "tiles",
                                                             "const_slice",
                                                             "new_shape",
                                                             "training_mode",
                                                             "r",
                                                             "t",
                                                             "output_shape",
                                                             "block_shape",
                                                             "image_shape",
                                                             "size",
                                                             "condition",
                                                             "sequence_lens",
                                                             "max_output_boxes_per_class",
                                                             "iou_threshold",
                                                             "score_threshold",
                                                             "frame_step",
                                                             "frame_length",
                                                             "num_mel_bins",
                                                             "dft_length",
                                                             "sample_rate",
                                                             "lower_edge_hertz",
                                                             "upper_edge_hertz",
                                                             "trip_count"};
  return *names;
}

// The same with names that other cases have for tensors.
bool IsShapeArgument(const std::string& test, const std::string& input) {
  constexpr std::pair<const char*, const char*> kOfCases[] = {
      {"test_constantofshape", "x"}, {"test_tile", "y"},       {"test_blackmanwindow", "x"},
      {"test_hammingwindow", "x"},   {"test_hannwindow", "x"},
  };
  for (const auto& [prefix, name] : kOfCases) {
    if (absl::StartsWith(test, prefix) && input == name) return true;
  }
  return ShapeArguments().count(input) != 0;
}

absl::StatusOr<HostTensor> ReadTensorFile(const std::string& path, int* type) {
  onnx::TensorProto tensor;
  if (!tensor.ParseFromString(ReadWholeFile(path))) {
    return absl::UnimplementedError(absl::StrCat(path, " is no tensor"));
  }
  *type = tensor.data_type();
  ExternalData external(path, false);
  ASHLAR_ASSIGN_OR_RETURN(const HostTensor value, ReadTensor(tensor, external));
  return InDType(value, DeclaredAs(*type, value.dtype()));
}

// Returns the relative tolerance of each element. 16-bit floats are computed in 32 bits; their
// expected values have steps of 2^-11 and 2^-8.
double ToleranceOf(int type) {
  if (type == onnx::TensorProto::BFLOAT16) return 2e-2;
  return type == onnx::TensorProto::FLOAT16 ? 2e-3 : 1e-3;
}

absl::Status Same(const HostTensor& got, const HostTensor& want, double tolerance) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return absl::InternalError(absl::StrCat(Name(got.dtype()), got.shape().ToString(), " for ",
                                            Name(want.dtype()), want.shape().ToString()));
  }
  // Expected sums, like those in transforms, have the rounding error of the largest one.
  double largest = 1;
  for (int64_t i = 0; IsFloat(want.dtype()) && i < want.num_elements(); ++i) {
    if (std::abs(want.At(i)) < 100) largest = std::max(largest, std::abs(want.At(i)));
  }
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const double a = got.At(i), b = want.At(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                      std::abs(a - b) <= 1e-7 * largest + tolerance * std::abs(b);
    if (!same) return absl::InternalError(absl::StrCat("element ", i, ": ", a, " for ", b));
  }
  return absl::OkStatus();
}

// Whether a case's numbers come from a generator that ONNX does not name.
bool DrawsNumbers(const std::string& test) {
  const bool keeps_all = absl::StrContains(test, "zero_ratio");
  return absl::StartsWith(test, "test_bernoulli") ||
         (absl::StartsWith(test, "test_training_dropout") && !keeps_all);
}

// Compares drawn numbers by rules that hold for every generator: each is 0 or one other value,
// which has a probability. The number of others is within five standard deviations.
absl::Status Plausible(const HostTensor& got, const HostTensor& want, bool mask,
                       const InputTensors& inputs) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) return Same(got, want, 0);
  const HostTensor& x = inputs.at("x");
  const auto ratio = inputs.find("r");
  const bool dropout = ratio != inputs.end();
  const double stays = dropout ? 1 - ratio->second.At(0) : 0;
  double found = 0, expected = 0, variance = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const double probability = dropout ? stays : x.At(i);
    const double other = dropout && !mask ? x.At(i) / stays : 1;
    if (got.At(i) != 0 && std::abs(got.At(i) - other) > 1e-6 * std::abs(other)) {
      return absl::InternalError(absl::StrCat("element ", i, ": ", got.At(i), " for 0 or ", other));
    }
    found += got.At(i) != 0;
    expected += probability;
    variance += probability * (1 - probability);
  }
  if (std::abs(found - expected) <= 5 * std::sqrt(variance)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(found, " elements are not 0, expected about ", expected));
}

// Whether the mask (output 1) is where output 0 is not 0.
absl::Status MaskAgrees(const NamedTensors& got) {
  for (int64_t i = 0; got.size() > 1 && i < got[0].second.num_elements(); ++i) {
    if ((got[0].second.At(i) != 0) == (got[1].second.At(i) != 0)) continue;
    return absl::InternalError(absl::StrCat("element ", i, " of the mask: ", got[1].second.At(i)));
  }
  return absl::OkStatus();
}

absl::Status Compare(const std::vector<HostTensor>& results, const Graph& graph,
                     const NodeCase& test) {
  NamedTensors got;
  for (size_t i = 0; i < results.size(); ++i) {
    got.emplace_back(graph.outputs()[i].name, results[i]);
  }
  got = CutToCounts(std::move(got), graph);
  const bool drawn = DrawsNumbers(test.name);
  for (size_t o = 0; o < test.outputs.size(); ++o) {
    const auto& [name, want] = test.outputs[o];
    absl::Status status = absl::InternalError("is not there");
    for (const auto& [given, value] : got) {
      if (given != name) continue;
      status = drawn ? Plausible(value, want, /*mask=*/o > 0, test.inputs)
                     : Same(value, want, test.tolerances[o]);
    }
    ASHLAR_RETURN_IF_ERROR(Annotate(status, absl::StrCat("output ", name)));
  }
  return drawn ? MaskAgrees(got) : absl::OkStatus();
}

absl::Status OnTheCpu(const Graph& graph, const InputTensors& inputs, const NodeCase& test) {
  cpu::RegisterDevice();
  PlanRequest request;
  ASHLAR_ASSIGN_OR_RETURN(const auto executable, Executable::Compile(graph, request));
  ASHLAR_ASSIGN_OR_RETURN(const auto session, Session::Create(executable));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs, BindTensors(*session, inputs));
  ASHLAR_RETURN_IF_ERROR(session->Run());
  return Compare(outputs, executable->graph(), test);
}

absl::Status Run(const NodeCase& test, KnownInputs known) {
  OnnxReadOptions options;
  InputTensors inputs;
  for (const auto& [name, value] : test.inputs) {
    if (known == KnownInputs::kAll || IsShapeArgument(test.name, name)) {
      options.values[name] = value;
    } else {
      options.shapes[name] = value.shape();
      inputs[name] = value;
    }
  }
  ASHLAR_ASSIGN_OR_RETURN(const Graph graph, ReadOnnx(test.model, options));
  const absl::StatusOr<std::vector<HostTensor>> outputs =
      EvaluateGraph(graph, {inputs.begin(), inputs.end()});
  if (!outputs.ok()) return Annotate(outputs.status(), "on the host");
  ASHLAR_RETURN_IF_ERROR(Annotate(Compare(*outputs, graph, test), "on the host"));
  return Annotate(OnTheCpu(graph, inputs, test), "on the CPU");
}

}  // namespace

absl::StatusOr<NodeCase> ReadNodeCase(const std::string& folder) {
  NodeCase test;
  test.name = std::filesystem::path(folder).filename();
  test.model = folder + "/model.onnx";
  onnx::ModelProto model;
  if (!model.ParseFromString(ReadWholeFile(test.model))) {
    return absl::InternalError(absl::StrCat(test.model, ": no model"));
  }
  const auto file = [&](const char* what, int i) {
    return absl::StrCat(folder, "/test_data_set_0/", what, "_", i, ".pb");
  };
  int type = 0;
  std::set<std::string> weights;
  for (const auto& tensor : model.graph().initializer()) weights.insert(tensor.name());
  int next = 0;
  for (const auto& input : model.graph().input()) {
    if (weights.count(input.name()) != 0 || !std::filesystem::exists(file("input", next))) continue;
    ASHLAR_ASSIGN_OR_RETURN(test.inputs[input.name()],
                            ReadTensorFile(file("input", next++), &type));
  }
  for (int i = 0; i < model.graph().output_size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(HostTensor value, ReadTensorFile(file("output", i), &type));
    test.outputs.emplace_back(model.graph().output(i).name(), std::move(value));
    test.tolerances.push_back(ToleranceOf(type));
  }
  return test;
}

NodeResult RunNodeCase(const NodeCase& test, KnownInputs known) {
  const absl::Status status = Run(test, known);
  if (status.ok()) return {};
  return {absl::IsUnimplemented(status) ? Outcome::kRefused : Outcome::kWrong,
          std::string(status.message())};
}

}  // namespace ashlar::testing
