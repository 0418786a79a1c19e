// Quantised models of ONNX, to the bit: golden data of integer references.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/cpu/cpu_device.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"
#include "serialization/crc32.h"
#include "serialization/npz.h"
#include "serialization/onnx/reader.h"
#include "tests/serialization/files.h"
#include "tests/support/operators.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using Tensors = absl::flat_hash_map<std::string, HostTensor>;

Tensors ReadArrays(const std::string& path) {
  const NamedTensors arrays = Value(ReadNpz(path));
  return {arrays.begin(), arrays.end()};
}

// Element `i` of the first axis.
HostTensor Slice(const HostTensor& all, int64_t i, const Shape& shape) {
  HostTensor slice = HostTensor::Zeros(all.dtype(), shape);
  const size_t bytes = static_cast<size_t>(slice.bytes());
  std::memcpy(slice.mutable_raw(), static_cast<const char*>(all.raw()) + i * bytes, bytes);
  return slice;
}

// How many elements differ.
int64_t Differing(const HostTensor& got, const HostTensor& want) {
  EXPECT_EQ(got.dtype(), want.dtype());
  EXPECT_EQ(got.num_elements(), want.num_elements());
  if (got.num_elements() != want.num_elements()) return want.num_elements();
  int64_t count = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) count += got.At(i) != want.At(i);
  return count;
}

// A model planned for the CPU.
class Model {
 public:
  explicit Model(const std::string& path, const OnnxReadOptions& options = {}) {
    cpu::RegisterDevice();
    executable_ = Value(Executable::Compile(Value(ReadOnnx(path, options)), PlanRequest()));
    session_ = Value(Session::Create(executable_));
  }

  const Graph& graph() const { return executable_->graph(); }
  std::vector<HostTensor> Run(const InputTensors& inputs) {
    std::vector<HostTensor> outputs = Value(BindTensors(*session_, inputs));
    EXPECT_TRUE(IsOk(session_->Run()));
    return outputs;
  }

 private:
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Session> session_;
};

TEST(QuantizedOnnx, NodesGiveTheBitsOfTheReference) {
  if (!HasSharedData("data/int8/nodes")) GTEST_SKIP() << "no ../shared/data/int8";
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/int8/nodes"))) {
    if (entry.path().extension() != ".onnx") continue;
    const std::string name = entry.path().stem();
    SCOPED_TRACE(name);
    ++cases;
    const Tensors arrays = ReadArrays(SharedData("data/int8/nodes/" + name + ".npz"));
    InputTensors inputs;
    for (const auto& [array, value] : arrays) {
      if (absl::StartsWith(array, "in_")) inputs[array.substr(3)] = value;
    }
    // Means of windows are summed in another order than the reference's.
    if (absl::StartsWith(name, "average_pool")) continue;
    const HostTensor& want = arrays.at("reference");
    const Graph graph = Value(ReadOnnx(entry.path()));
    const std::vector<HostTensor> on_host =
        Value(EvaluateGraph(graph, {inputs.begin(), inputs.end()}));
    EXPECT_EQ(Differing(on_host[0], want), 0) << "on the host";
    EXPECT_EQ(Differing(Model(entry.path()).Run(inputs)[0], want), 0) << "on the CPU";
    // All known: the same values are folded.
    OnnxReadOptions known;
    known.values.insert(inputs.begin(), inputs.end());
    const Graph folded = Value(ReadOnnx(entry.path(), known));
    EXPECT_EQ(Differing(Value(EvaluateGraph(folded, {}))[0], want), 0) << "folded";
  }
  EXPECT_EQ(cases, 38);
}

TEST(QuantizedOnnx, DigitsGiveTheLogitsOfTheReference) {
  if (!HasSharedData("data/int8/digits")) GTEST_SKIP() << "no ../shared/data/int8";
  const Tensors arrays = ReadArrays(SharedData("data/int8/digits/digits.npz"));
  const HostTensor& images = arrays.at("test_images");
  const float mean = arrays.at("mean").data<float>()[0], std = arrays.at("std").data<float>()[0];
  for (const std::string type : {"u8", "s8"}) {
    SCOPED_TRACE(type);
    Model model(SharedData("data/int8/digits/digits." + type + ".onnx"));
    int64_t differing = 0;
    for (int64_t i = 0; i < images.shape()[0]; ++i) {
      HostTensor image = HostTensor::Zeros(DType::kFloat32, {1, 1, 8, 8});
      for (int64_t j = 0; j < 64; ++j) {
        const float pixel = static_cast<float>(images.At(i * 64 + j));
        image.mutable_data<float>()[j] = (pixel / 255 - mean) / std;
      }
      const HostTensor want = Slice(arrays.at("logits_" + type), i, {1, 10});
      differing += Differing(model.Run({{"x", image}})[0], want);
    }
    EXPECT_EQ(differing, 0) << "of 4500 logits";
  }
}

TEST(QuantizedOnnx, TinyModelsGiveTheBitsOfTheReference) {
  if (!HasSharedData("data/int8/tiny")) GTEST_SKIP() << "no ../shared/data/int8";
  const nlohmann::json layers =
      nlohmann::json::parse(ReadWholeFile(SharedData("data/int8/tiny/layers.json")))["models"];
  for (const std::string name : {"ad", "ic", "kws", "vww"}) {
    SCOPED_TRACE(name);
    const std::string path = SharedData("data/int8/tiny/" + name + ".onnx");
    const Tensors arrays = ReadArrays(SharedData("data/int8/tiny/" + name + ".npz"));
    const HostTensor& x = arrays.at("x");
    const Shape shape(x.shape().dims().subspan(1));
    Model model(path);
    for (int64_t i = 0; i < x.shape()[0]; ++i) {
      const HostTensor got = model.Run({{"x", Slice(x, i, shape)}})[0];
      for (const char* const reference : {"y_reference", "y_litert"}) {
        EXPECT_EQ(Differing(got, Slice(arrays.at(reference), i, got.shape())), 0)
            << reference << " of input " << i;
      }
    }
    OnnxReadOptions inner;
    for (const auto& [tensor, about] : layers[name].items()) {
      if (tensor != "x") inner.outputs.push_back(tensor);
    }
    Model all(path, inner);
    const std::vector<HostTensor> tensors = all.Run({{"x", Slice(x, 0, shape)}});
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string& tensor = all.graph().outputs()[i].name;
      EXPECT_EQ(Crc32(0, tensors[i].raw(), static_cast<size_t>(tensors[i].bytes())),
                layers[name][tensor]["crc32"].get<uint32_t>())
          << tensor;
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
