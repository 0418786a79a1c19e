// Quantises Float32 models to 8 bits, and compares the result with the original.
#include "quantization/quantize_model.h"

#include <gmock/gmock.h>

#include <cstring>

#include "graph/rewriter.h"
#include "opr/host_io.h"
#include "opr/matrix_mul.h"
#include "opr/type_cvt.h"
#include "quantization/graph_run.h"
#include "quantization/noise.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "serialization/input_shapes.h"
#include "serialization/native/reader.h"
#include "serialization/native/writer.h"
#include "serialization/npz.h"
#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/reader.h"
#include "tests/quantization/small_nets.h"
#include "tests/serialization/files.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using F = ScalarFunction;

class QuantizeModelTest : public ::testing::Test {
 protected:
  void SetUp() override { cpu::RegisterDevice(); }

  static std::vector<HostTensor> Run(const Graph& graph, const InputTensors& inputs,
                                     int threads = 1) {
    PlanTarget target;
    target.threads = threads;
    const auto run = Value(GraphRun::Create(graph, target, "all"));
    return *Value(run->Run(inputs, [](const Var&, const HostTensor&) { return absl::OkStatus(); }));
  }

  static bool SameBytes(const HostTensor& a, const HostTensor& b) {
    return a.bytes() == b.bytes() &&
           std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
  }

  static std::vector<std::string> TypesIn(const Graph& graph) { return ComputingTypes(graph); }

  static const QuantizedLayer& Layer(const QuantizedModel& model, const std::string& name) {
    for (const QuantizedLayer& layer : model.layers) {
      if (layer.name == name) return layer;
    }
    ADD_FAILURE() << "no layer " << name;
    return model.layers[0];
  }
};

QuantizeOptions With(RangeMethod method) {
  QuantizeOptions options;
  options.method = method;
  return options;
}

QuantizeOptions NotEqualised() {
  QuantizeOptions options;
  options.equalise = false;
  return options;
}

QuantizeOptions Keeping(std::vector<std::string> names, int worst) {
  QuantizeOptions options;
  options.keep = std::move(names);
  options.keep_worst = worst;
  return options;
}

// Every operator with an 8-bit version, in one network or another.
struct NetCase {
  const char* name;
  Graph (*make)(uint64_t seed);
  double least_db;
  int in_floats;  // operators that stay in floats
};

const Shape kImage = {2, 3, 12, 10};

const NetCase kNets[] = {
    {"Residual",
     [](uint64_t seed) {
       NetOfFloats net(seed, kImage);
       const int a = net.Apply(F::kRelu, {net.Conv(net.x(), 9)});
       const int b = net.Conv(net.Apply(F::kRelu, {net.Conv(a, 9)}), 9);
       const int c = net.Apply(F::kRelu, {net.Apply(F::kAdd, {a, b})});
       return std::move(net).Build(net.Conv(c, 4, 1));
     },
     27, 0},
    {"Separable",
     [](uint64_t seed) {
       NetOfFloats net(seed, kImage);
       const int a = net.Add<Elemwise>({F::kClamp, {0, 6}}, {net.Conv(net.x(), 16, 3, 2)});
       const int b = net.Add<Elemwise>({F::kClamp, {0, 6}}, {net.Depthwise(a)});
       return std::move(net).Build(net.Conv(b, 8, 1));
     },
     27, 0},
    {"Classifier",
     [](uint64_t seed) {
       NetOfFloats net(seed, kImage);
       const int a = net.Apply(F::kRelu, {net.Conv(net.x(), 8)});
       const int b = net.Pool(a, PoolingMode::kMax, 2, 2);
       const int c = net.Joined({net.Conv(b, 5, 1), net.Conv(b, 6), b});
       const int d = net.Apply(F::kHSwish, {c});
       const int mean = net.Pool(d, PoolingMode::kAverage, 6, 5);
       const int hidden = net.Apply(F::kRelu, {net.Dense(net.Flat(mean), 12)});
       return std::move(net).Build(net.Softmaxed(net.Dense(hidden, 7)));
     },
     25, 1},
    {"Neck",
     [](uint64_t seed) {
       NetOfFloats net(seed, kImage);
       const std::vector<int> a = net.Pieces(net.Apply(F::kRelu, {net.Conv(net.x(), 10)}), {6, 4});
       const int b = net.Apply(F::kRelu, {net.Conv(a[0], 5)});
       const int c = net.Conv(net.Doubled(net.Joined({b, a[1]})), 4, 1);
       return std::move(net).Build(c);
     },
     27, 0},
    {"Gates",  // squeeze and excitation, as MobileNetV3 has it, and a product with an image of one
               // channel
     [](uint64_t seed) {
       NetOfFloats net(seed, kImage);
       const int a = net.Apply(F::kRelu, {net.Conv(net.x(), 18)});
       const int mean = net.Pool(a, PoolingMode::kAverage, 12, 10);
       const int inner = net.Apply(F::kRelu, {net.Conv(mean, 8, 1)});
       const int gate = net.Apply(F::kSigmoid, {net.Conv(inner, 18, 1)});
       const int b = net.Apply(F::kSilu, {net.Conv(net.Apply(F::kMul, {gate, a}), 6, 1)});
       const int map = net.Apply(F::kSigmoid, {net.Conv(a, 1)});
       return std::move(net).Build(net.Conv(net.Apply(F::kMul, {b, map}), 4, 1));
     },
     25, 0},
    {"Norms",  // slopes, norms, factors and addends of channels
     [](uint64_t seed) {
       NetOfFloats net(seed, kImage);
       const int a = net.Conv(net.x(), 10);
       const int b = net.Apply(F::kPRelu, {a, net.PerChannel(a, 0, 0.5)});
       const int c = net.Conv(net.Normalised(net.Apply(F::kRelu, {net.Normalised(b)})), 9);
       const int d = net.Apply(F::kMax, {c, net.Apply(F::kMul, {c, net.PerChannel(c, 0.2, 1.5)})});
       const int e =
           net.Apply(F::kSub, {net.Pool(d, PoolingMode::kMax, 2, 2), net.PerChannel(d, -1, 1)});
       return std::move(net).Build(net.Conv(e, 4, 1));
     },
     25, 0},
    {"Means",
     [](uint64_t seed) {
       NetOfFloats net(seed, kImage);
       const int a = net.Conv(net.x(), 6);
       const int b = net.Pool(net.Apply(F::kSigmoid, {a}), PoolingMode::kAverage, 2, 2);
       return std::move(net).Build(net.Apply(F::kLeakyRelu, {net.Conv(b, 5)}));
     },
     27, 0},
};

class EveryNet : public QuantizeModelTest, public ::testing::WithParamInterface<NetCase> {};
INSTANTIATE_TEST_SUITE_P(Nets, EveryNet, ::testing::ValuesIn(kNets),
                         [](const auto& net) { return net.param.name; });

// 8-bit noise in a few layers is about 1/300 of the signal; a wrongly quantised operator causes at
// least a tenth. Each layer reports its own error, like the whole model.
TEST_P(EveryNet, ComputesAboutWhatFloatsDo) {
  for (const RangeMethod method : {RangeMethod::kMinMax, RangeMethod::kMse}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(absl::StrCat(kRangeMethodNames[static_cast<int>(method)], ", seed ", seed));
      const Graph graph = GetParam().make(seed);
      const QuantizedModel model =
          Value(QuantizeModel(graph, RandomData("x", kImage, 5), With(method)));
      int in_floats = 0;
      for (const QuantizedLayer& layer : model.layers) {
        in_floats += !layer.in_bytes;
        EXPECT_EQ(layer.reason.empty(), layer.in_bytes) << layer.name;
        if (layer.in_bytes && layer.sqnr_db) {
          EXPECT_GT(*layer.sqnr_db, 20) << layer.name;
        }
      }
      EXPECT_EQ(in_floats, GetParam().in_floats);
      EXPECT_GT(model.outputs.sqnr_db, GetParam().least_db);
      // With inputs that calibration did not use.
      std::mt19937_64 random(seed + 100);
      const InputTensors inputs = {{"x", RandomTensor(random, kImage)}};
      Noise noise;
      noise.Add(Run(graph, inputs)[0], Run(model.graph, inputs)[0]);
      EXPECT_GT(noise.sqnr_db(), GetParam().least_db - 2);
    }
  }
}

// Expects the same bytes from the host's reference and from the kernels, with any number of
// threads, from both file formats, and if quantised twice.
TEST_P(EveryNet, GivesTheSameBitsHoweverItIsRun) {
  const Graph graph = GetParam().make(7);
  const RandomData data("x", kImage, 3);
  const QuantizedModel model = Value(QuantizeModel(graph, data, {}));
  std::mt19937_64 random(5);
  const InputTensors inputs = {{"x", RandomTensor(random, kImage)}};
  const HostTensor expected = Run(model.graph, inputs)[0];

  // Sums in operators that stay in floats are rounded differently.
  const HostTensor reference = Value(EvaluateGraph(model.graph, {{"x", inputs.at("x")}}))[0];
  EXPECT_LE(LargestDifference(expected, reference), GetParam().in_floats == 0 ? 0 : 1e-6);
  EXPECT_TRUE(SameBytes(Run(model.graph, inputs, 3)[0], expected));
  const TempDir folder;
  ASSERT_TRUE(IsOk(WriteModel(model.graph, folder / "m.ash")));
  EXPECT_TRUE(SameBytes(Run(Value(ReadModel(folder / "m.ash")), inputs)[0], expected));
  ASSERT_TRUE(IsOk(WriteOnnx(model.graph, folder / "m.onnx")));
  const Graph onnx = Value(ReadOnnx(folder / "m.onnx"));
  EXPECT_TRUE(SameBytes(Run(onnx, inputs)[0], expected));
  EXPECT_EQ(Value(PlanGraph(onnx, {}))->plan.plan.arena,
            Value(PlanGraph(model.graph, {}))->plan.plan.arena);

  QuantizeOptions other;
  other.target.threads = 2;
  ASSERT_TRUE(
      IsOk(WriteModel(Value(QuantizeModel(graph, data, other)).graph, folder / "again.ash")));
  EXPECT_EQ(ReadWholeFile(folder / "again.ash"), ReadWholeFile(folder / "m.ash"));
}

TEST_P(EveryNet, TwinNeedsWhatTheQuantisedModelNeeds) {
  const Graph graph = GetParam().make(1);
  const Graph twin = Value(EightBitTwin(graph, {}));
  const QuantizedModel model = Value(QuantizeModel(graph, RandomData("x", kImage, 2), {}));
  PlanRequest request;
  const auto floats = Value(PlanGraph(graph, request)), of_twin = Value(PlanGraph(twin, request)),
             of_model = Value(PlanGraph(model.graph, request));
  EXPECT_EQ(of_twin->plan.plan.arena, of_model->plan.plan.arena);
  EXPECT_EQ(of_twin->weights.bytes, of_model->weights.bytes);
  EXPECT_LT(of_twin->plan.plan.arena * 2, floats->plan.plan.arena);
}

// Returns a net whose inner channels are scaled by 2^-6 to 2^6, and scaled back in the next layer.
// In floats both functions are the same to the bit.
Graph SkewedNet(bool skewed) {
  std::vector<int> up, down;
  for (int c = 0; c < 16 && skewed; ++c) {
    up.push_back(c * 5 % 13 - 6);
    down.push_back(-up.back());
  }
  NetOfFloats net(3, kImage);
  const int a = net.Apply(F::kRelu, {net.Conv(net.x(), 16, 3, 1, {up, {}})});
  const int pooled = net.Pool(a, PoolingMode::kMax, 2, 2);
  const int b = net.Apply(F::kRelu, {net.Conv(pooled, 16, 3, 1, {up, down})});
  const int c = net.Conv(b, 16, 3, 1, {up, down});
  return std::move(net).Build(net.Conv(net.Apply(F::kAdd, {b, c}), 8, 1, 1, {{}, down}));
}

TEST_F(QuantizeModelTest, ChannelsThatDifferAreEqualised) {
  std::mt19937_64 random(5);
  const InputTensors inputs = {{"x", RandomTensor(random, kImage)}};
  const Graph plain = SkewedNet(false), skewed = SkewedNet(true);
  ASSERT_TRUE(SameBytes(Run(plain, inputs)[0], Run(skewed, inputs)[0]));
  const RandomData data("x", kImage, 4);
  const double as_it_was = Value(QuantizeModel(plain, data, {})).outputs.sqnr_db;
  const QuantizedModel equalised = Value(QuantizeModel(skewed, data, {}));
  EXPECT_EQ(equalised.scaled_tensors, 2);
  EXPECT_GT(equalised.outputs.sqnr_db, as_it_was - 2);
  EXPECT_LT(Value(QuantizeModel(skewed, data, NotEqualised())).outputs.sqnr_db, as_it_was - 10);
}

// Bias correction subtracts each channel's mean error. A network whose channels are off by a
// fraction of a step is then more accurate, on new inputs too.
TEST_F(QuantizeModelTest, CorrectedBiasesTakeTheMeanError) {
  NetOfFloats net(4, kImage);
  const std::vector<int> apart = {3, 0, 1, 0, 2, 0, 3, 0, 1, 0, 2, 0};
  const int a = net.Apply(F::kRelu, {net.Conv(net.x(), 12, 3, 1, {apart, {}})});
  const int mean = net.Pool(net.Apply(F::kRelu, {net.Conv(a, 12)}), PoolingMode::kAverage, 6, 5);
  const Graph graph = std::move(net).Build(net.Dense(net.Flat(mean), 6));
  const RandomData data("x", kImage, 20);
  const auto error_of = [&](const Graph& bytes) {
    std::vector<double> sums(6, 0);
    for (uint64_t seed = 101; seed <= 130; ++seed) {
      std::mt19937_64 random(seed);
      const InputTensors inputs = {{"x", RandomTensor(random, kImage)}};
      const HostTensor floats = Run(graph, inputs)[0], made = Run(bytes, inputs)[0];
      for (int64_t i = 0; i < floats.num_elements(); ++i) {
        sums[static_cast<size_t>(i % 6)] += made.At(i) - floats.At(i);
      }
    }
    double error = 0;
    for (const double sum : sums) error += std::abs(sum) / 60;
    return error;
  };
  for (const bool by_channel : {true, false}) {
    QuantizeOptions options = NotEqualised();
    options.weights_by_channel = by_channel;
    const QuantizedModel plain = Value(QuantizeModel(graph, data, options));
    options.bias_correction = true;
    const QuantizedModel corrected = Value(QuantizeModel(graph, data, options));
    EXPECT_EQ(plain.corrected_biases, 0);
    EXPECT_EQ(corrected.corrected_biases, 3);
    EXPECT_LT(error_of(corrected.graph), 0.7 * error_of(plain.graph)) << by_channel;
    EXPECT_GE(corrected.outputs.sqnr_db, plain.outputs.sqnr_db);
  }
}

// Regression: the view of an input had no range, so a flattened input was rounded to integers.
TEST_F(QuantizeModelTest, ViewsOfInputsHaveRanges) {
  NetOfFloats net(5, kImage);
  const int hidden = net.Apply(F::kRelu, {net.Dense(net.Flat(net.x()), 12)});
  const Graph graph = std::move(net).Build(net.Dense(hidden, 7));
  EXPECT_GT(Value(QuantizeModel(graph, RandomData("x", kImage, 8), {})).outputs.sqnr_db, 25);
}

// Regression: the zero of a convolution without bias was read as one bias for each channel.
TEST_F(QuantizeModelTest, ConvolutionsWithoutBiasAreNotCorrected) {
  for (const int64_t channels : {4, 16, 20}) {
    NetOfFloats net(5, kImage);
    const Graph graph = std::move(net).Build(
        net.ConvWithoutBias(net.Apply(F::kRelu, {net.Conv(net.x(), 8)}), channels));
    const RandomData data("x", kImage, 8);
    QuantizeOptions options;
    options.bias_correction = true;
    const QuantizedModel corrected = Value(QuantizeModel(graph, data, options));
    EXPECT_EQ(corrected.corrected_biases, 1) << channels;
    EXPECT_GE(corrected.outputs.sqnr_db, Value(QuantizeModel(graph, data, {})).outputs.sqnr_db - 1)
        << channels;
  }
}

TEST_F(QuantizeModelTest, UnknownNamesAreRefused) {
  EXPECT_TRUE(FailsWith(
      QuantizeModel(kNets[0].make(1), RandomData("x", kImage, 1), Keeping({"conv1", "none"}, 0))
          .status(),
      "no operator 'none'"));
}

TEST_F(QuantizeModelTest, ModelsWithoutWeightsAreRefused) {
  NetOfFloats net(1, kImage);
  const Graph graph = std::move(net).Build(net.Apply(F::kRelu, {net.x()}));
  EXPECT_TRUE(FailsWith(QuantizeModel(graph, RandomData("x", kImage, 1), {}).status(),
                        "no operator can compute with 8 bits"));
  EXPECT_TRUE(FailsWith(QuantizeModel(kNets[0].make(1), RandomData("x", kImage, 0), {}).status(),
                        "no calibration data"));
}

class DataOfNothing final : public CalibrationData {
 public:
  int64_t runs() const override { return 1; }
  absl::StatusOr<CalibrationRun> Run(int64_t) const override {
    CalibrationRun run;
    HostTensor x = HostTensor::Zeros(DType::kFloat32, kImage);
    x.Set(5, std::numeric_limits<double>::quiet_NaN());
    run.inputs["x"] = std::move(x);
    return run;
  }
};

TEST_F(QuantizeModelTest, ValuesThatAreNoNumbersAreRefusedByName) {
  EXPECT_TRUE(
      FailsWith(QuantizeModel(kNets[0].make(1), DataOfNothing(), {}).status(), "'x' has values"));
}

TEST_F(QuantizeModelTest, KeptOperatorsStayInFloats) {
  const RandomData data("x", kImage, 2);
  const QuantizedModel all = Value(QuantizeModel(kNets[2].make(1), data, {}));
  const QuantizedModel kept = Value(QuantizeModel(kNets[2].make(1), data, Keeping({"fc9"}, 1)));
  EXPECT_TRUE(Layer(all, "fc9").in_bytes);
  EXPECT_EQ(Layer(kept, "fc9").reason, "kept in floats");
  int floats = 0;
  for (const QuantizedLayer& layer : kept.layers) floats += layer.reason == "kept in floats";
  EXPECT_EQ(floats, 2);
  EXPECT_GT(kept.outputs.sqnr_db, all.outputs.sqnr_db);
}

// A ReLU after a sum needs no operator: the sum's type has no negative numbers.
TEST_F(QuantizeModelTest, ClampsAreWhatTypesSaturateTo) {
  const QuantizedModel model =
      Value(QuantizeModel(kNets[0].make(1), RandomData("x", kImage, 2), {}));
  EXPECT_THAT(
      TypesIn(model.graph),
      ::testing::ElementsAre("TypeCvt", "ConvBiasForward", "ConvBiasForward", "ConvBiasForward",
                             "ElemwiseMultiType", "ConvBiasForward", "TypeCvt"));
  for (const QuantizedLayer& layer : model.layers) {
    if (layer.type == "Elemwise") {
      EXPECT_EQ(layer.zero_point, 0) << layer.name;
    }
  }
}

// scikit-learn's digits. In the second model each channel is scaled by 2^-6 to 2^6, and both models
// are the same function. Other quantisers then classify three of ten correctly.
class DigitsModel : public QuantizeModelTest, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, DigitsModel, ::testing::Values("digits", "digits_skewed"));

class DigitsData final : public CalibrationData {
 public:
  DigitsData(const NamedTensors& arrays, const std::string& which) {
    double mean = 0, std = 1;
    for (const auto& [name, array] : arrays) {
      if (name == which + "_images") images_ = array;
      if (name == which + "_labels") labels_ = array;
      if (name == "mean") mean = array.At(0);
      if (name == "std") std = array.At(0);
    }
    mean_ = mean;
    std_ = std;
  }
  void For(const Binding& input) { input_ = input.name; }
  int64_t runs() const override { return images_.shape()[0]; }
  absl::StatusOr<CalibrationRun> Run(int64_t index) const override {
    HostTensor image = HostTensor::Zeros(DType::kFloat32, {1, 1, 8, 8});
    for (int64_t i = 0; i < 64; ++i) {
      image.Set(i, (images_.At(index * 64 + i) / 255 - mean_) / std_);
    }
    CalibrationRun run;
    run.inputs[input_] = std::move(image);
    run.labels = {static_cast<int32_t>(labels_.At(index))};
    return run;
  }

 private:
  HostTensor images_, labels_;
  double mean_ = 0, std_ = 1;
  std::string input_;
};

TEST_P(DigitsModel, KeepsItsAccuracy) {
  const std::string folder = "data/int8/digits/";
  const Graph graph = Value(ReadOnnx(SharedData(folder + GetParam() + ".onnx")));
  const NamedTensors arrays = Value(ReadNpz(SharedData(folder + "digits.npz")));
  DigitsData calibration(arrays, "calibration"), test(arrays, "test");
  calibration.For(graph.inputs()[0]);
  test.For(graph.inputs()[0]);
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kMse, RangeMethod::kEntropy}) {
    SCOPED_TRACE(kRangeMethodNames[static_cast<int>(method)]);
    QuantizeOptions options = With(method);
    options.bias_correction = method == RangeMethod::kMse || method == RangeMethod::kEntropy;
    const QuantizedModel model = Value(QuantizeModel(graph, calibration, options));
    EXPECT_EQ(model.outputs.rows, 100);
    OutputNoise noise;
    const auto none = [](const Var&, const HostTensor&) { return absl::OkStatus(); };
    const auto floats = Value(GraphRun::Create(graph, {}, "all"));
    const auto bytes = Value(GraphRun::Create(model.graph, {}, "all"));
    for (int64_t i = 0; i < test.runs(); ++i) {
      const CalibrationRun run = Value(test.Run(i));
      noise.Add((*Value(floats->Run(run.inputs, none)))[0],
                (*Value(bytes->Run(run.inputs, none)))[0], run);
    }
    const QuantizedOutputs result = noise.Result();
    EXPECT_EQ(result.rows, 450);
    EXPECT_GE(*result.accuracy_after, 0.9911);
    EXPECT_GE(*result.agreement, 0.995);
    if (method == RangeMethod::kMse || method == RangeMethod::kMinMax) {
      EXPECT_GE(result.sqnr_db, 36);
    }
  }
}

// Returns the graph with an input by another operator; if its dtype is not Float32, it is
// converted.
template <typename Input>
Graph WithInputBy(const Graph& graph, DType dtype) {
  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() != Role::kInput) {
      EXPECT_TRUE(IsOk(rewriter.Copy(node)));
      continue;
    }
    const absl::Span<const int64_t> dims = graph.var(node.outputs[0]).type.shape.dims();
    const InputParam param = {dtype, {dims.begin(), dims.end()}};
    GraphBuilder::NodeOptions named;
    named.name = named.binding = node.binding;
    int input = Value(rewriter.builder().Add(std::make_shared<Input>(param), {}, named))[0];
    if (dtype != DType::kFloat32) {
      input = Value(rewriter.builder().Add(std::make_shared<TypeCvt>(TypeCvtParam{DType::kFloat32}),
                                           {input}))[0];
    }
    rewriter.Replace(node.outputs[0], input);
  }
  return Value(std::move(rewriter).Finish());
}

// An input of 16-bit floats was "not of floats".
TEST_F(QuantizeModelTest, BytesStandForFloatsOfAnyWidth) {
  const Graph graph = kNets[0].make(3);
  QuantizeOptions options;
  options.input = ByteInput{128, 1.0f / 127};
  const QuantizedModel expected = Value(QuantizeModel(graph, RandomData("x", kImage, 4), options));
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
    SCOPED_TRACE(Name(dtype));
    const QuantizedModel model = Value(QuantizeModel(WithInputBy<Host2DeviceCopy>(graph, dtype),
                                                     RandomData("x", kImage, 4, dtype), options));
    EXPECT_EQ(model.graph.var(model.graph.inputs()[0].var).type.dtype, DType::kUint8);
    EXPECT_EQ(TypesIn(model.graph), TypesIn(expected.graph)) << "no conversion to floats";
    EXPECT_GT(model.outputs.sqnr_db, 25);
  }
  const absl::Status status = QuantizeModel(WithInputBy<Host2DeviceCopy>(graph, DType::kInt32),
                                            RandomData("x", kImage, 4, DType::kInt32), options)
                                  .status();
  EXPECT_THAT(status.message(), ::testing::HasSubstr("input 'x' is Int32"));
  EXPECT_THAT(status.message(), ::testing::HasSubstr("expected floats"));
}

// The inputs of models from `ashlar zoo` and MegEngine have a second output, a marker.
TEST_F(QuantizeModelTest, BytesReplaceInputsOfEveryOperator) {
  const Graph graph = kNets[0].make(3);
  QuantizeOptions options;
  options.input = ByteInput{128, 1.0f / 127};
  const QuantizedModel expected = Value(QuantizeModel(graph, RandomData("x", kImage, 4), options));
  const Graph marked = WithInputBy<InputCallback>(graph, DType::kFloat32);
  const QuantizedModel model = Value(QuantizeModel(marked, RandomData("x", kImage, 4), options));
  const Binding& input = model.graph.inputs()[0];
  EXPECT_EQ(model.graph.node(input.node).op->type(), InputCallback::kType);
  EXPECT_EQ(model.graph.var(input.var).type.dtype, DType::kUint8);
  EXPECT_EQ(TypesIn(model.graph), TypesIn(expected.graph));
  EXPECT_EQ(model.outputs.sqnr_db, expected.outputs.sqnr_db);
}

// (byte - 128) / 127: the model takes bytes, which its first layer reads without a conversion. It
// computes the result of the floats that they represent, from both file formats.
TEST_F(QuantizeModelTest, AnInputOfBytesStandsForFloats) {
  const Graph graph = kNets[0].make(3);
  QuantizeOptions options;
  options.input = ByteInput{128, 1.0f / 127};
  const QuantizedModel model = Value(QuantizeModel(graph, RandomData("x", kImage, 4), options));
  const TensorType& type = model.graph.var(model.graph.inputs()[0].var).type;
  EXPECT_EQ(type.dtype, DType::kUint8);
  EXPECT_EQ(type.shape, kImage);
  EXPECT_GT(model.outputs.sqnr_db, 25);

  std::mt19937_64 random(11);
  const HostTensor bytes = RandomTensor(random, DType::kUint8, kImage, 0, 255);
  HostTensor floats = HostTensor::Zeros(DType::kFloat32, kImage);
  for (int64_t i = 0; i < floats.num_elements(); ++i) floats.Set(i, (bytes.At(i) - 128) / 127);
  const HostTensor expected = Run(model.graph, {{"x", bytes}})[0];
  Noise noise;
  noise.Add(Run(graph, {{"x", floats}})[0], expected);
  EXPECT_GT(noise.sqnr_db(), 27);
  const TempDir folder;
  ASSERT_TRUE(IsOk(WriteModel(model.graph, folder / "m.ash")));
  EXPECT_TRUE(SameBytes(Run(Value(ReadModel(folder / "m.ash")), {{"x", bytes}})[0], expected));
  ASSERT_TRUE(IsOk(WriteOnnx(model.graph, folder / "m.onnx")));
  EXPECT_TRUE(SameBytes(Run(Value(ReadOnnx(folder / "m.onnx")), {{"x", bytes}})[0], expected));
}

// Regression: the reshapes around a product fixed its number of rows.
TEST_F(QuantizeModelTest, ProductsKeepTheNumberOfImagesOpen) {
  Shape images = {1, 3, 4, 5};
  NetOfFloats net(5, images);
  const Graph graph = std::move(net).Build(net.Dense(net.Flat(net.x()), 6));
  const Graph model = Value(QuantizeModel(graph, RandomData("x", images, 4), {})).graph;
  std::mt19937_64 random(7);
  const HostTensor one = RandomTensor(random, images, -1, 1);
  const HostTensor expected = Run(model, {{"x", one}})[0];
  images[0] = 3;
  const Graph three = Value(WithInputShapes(model, {{"x", images}}));
  HostTensor several = HostTensor::Zeros(DType::kFloat32, images);
  for (int64_t i = 0; i < several.num_elements(); ++i) {
    several.Set(i, one.At(i % one.num_elements()));
  }
  const HostTensor rows = Run(three, {{"x", several}})[0];
  ASSERT_EQ(rows.num_elements(), 3 * expected.num_elements());
  for (int64_t i = 0; i < rows.num_elements(); ++i) {
    EXPECT_EQ(rows.At(i), expected.At(i % expected.num_elements())) << i;
  }
}

// Regression: rows of another length were taken for more images, with wrong values.
TEST_F(QuantizeModelTest, ProductsOfSeveralDimensionsKeepAllOpen) {
  const Shape rows = {1, 4, 8};
  std::mt19937_64 random(3);
  GraphMaker make;
  const int x = make.Input("x", rows);
  const int weights = make.Constant(RandomTensor(random, {8, 6}));
  make.Output(make.Add<MatrixMul>({}, {x, weights}, "y"));
  const Graph model =
      Value(QuantizeModel(std::move(make).Build(), RandomData("x", rows, 4), {})).graph;
  for (const Shape& other : {Shape{1, 8, 8}, Shape{3, 4, 8}, Shape{2, 5, 8}}) {
    const Graph at = Value(WithInputShapes(model, {{"x", other}}));
    const HostTensor given = RandomTensor(random, other, -1, 1);
    const HostTensor got = Run(at, {{"x", given}})[0];
    ASSERT_EQ(got.shape(), (Shape{other[0], other[1], 6})) << other.ToString();
    HostTensor part = HostTensor::Zeros(DType::kFloat32, rows);  // the last four rows
    for (int64_t i = 0; i < 32; ++i) part.Set(i, given.At(given.num_elements() - 32 + i));
    const HostTensor expected = Run(model, {{"x", part}})[0];
    for (int64_t i = 0; i < 24; ++i) {
      EXPECT_EQ(got.At(got.num_elements() - 24 + i), expected.At(i)) << other.ToString() << i;
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
