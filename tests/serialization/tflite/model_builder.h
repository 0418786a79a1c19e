// Writes TensorFlow Lite files for tests.
#ifndef ASHLAR_TESTS_SERIALIZATION_TFLITE_MODEL_BUILDER_H_
#define ASHLAR_TESTS_SERIALIZATION_TFLITE_MODEL_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "serialization/tflite/schema_generated.h"

namespace ashlar::testing {

struct TfliteTensorSpec {
  std::vector<int32_t> shape;
  tflite::TensorType type = tflite::TensorType::FLOAT32;
  std::vector<uint8_t> bytes = {};  // of a constant
  std::vector<float> scales = {};
  int64_t zero_point = 0;
  int32_t axis = 0;                     // of several scales
  std::vector<int32_t> signature = {};  // of open dimensions
  flatbuffers::Offset<tflite::Sparsity> sparsity = 0;
};

// Returns the bytes of numbers.
template <typename T>
std::vector<uint8_t> BytesOfNumbers(const std::vector<T>& numbers) {
  const auto* const first = reinterpret_cast<const uint8_t*>(numbers.data());
  return {first, first + numbers.size() * sizeof(T)};
}

class TfliteBuilder {
 public:
  // Returns the number of a tensor.
  int Tensor(const std::string& name, const TfliteTensorSpec& spec) {
    uint32_t buffer = 0;
    if (!spec.bytes.empty()) {
      buffers_.push_back(tflite::CreateBuffer(builder_, builder_.CreateVector(spec.bytes)));
      buffer = static_cast<uint32_t>(buffers_.size());
    }
    flatbuffers::Offset<tflite::Quantization> quantization = 0;
    if (!spec.scales.empty()) {
      const std::vector<int64_t> zeros(spec.scales.size(), spec.zero_point);
      quantization = tflite::CreateQuantization(builder_, 0, 0, builder_.CreateVector(spec.scales),
                                                builder_.CreateVector(zeros), 0, spec.axis);
    }
    const auto signature = spec.signature.empty() ? 0 : builder_.CreateVector(spec.signature);
    tensors_.push_back(tflite::CreateTensor(builder_, builder_.CreateVector(spec.shape), spec.type,
                                            buffer, builder_.CreateString(name), quantization,
                                            false, spec.sparsity, signature));
    return static_cast<int>(tensors_.size()) - 1;
  }
  int Ints(const std::string& name, const std::vector<int32_t>& values) {
    return Tensor(
        name,
        {{static_cast<int32_t>(values.size())}, tflite::TensorType::INT32, BytesOfNumbers(values)});
  }
  int Floats(const std::string& name, const std::vector<int32_t>& shape,
             const std::vector<float>& values) {
    return Tensor(name, {shape, tflite::TensorType::FLOAT32, BytesOfNumbers(values)});
  }

  // Adds an operator without options, or with ones that `options` creates.
  void Operator(tflite::BuiltinOperator code, const std::vector<int32_t>& inputs,
                const std::vector<int32_t>& outputs,
                tflite::BuiltinOptions kind = tflite::BuiltinOptions::NONE,
                flatbuffers::Offset<void> options = 0) {
    codes_.push_back(tflite::CreateOperatorCode(
        builder_, static_cast<int8_t>(std::min(static_cast<int>(code), 127)), custom_, 1, code));
    operators_.push_back(tflite::CreateOperator(builder_, static_cast<uint32_t>(codes_.size()) - 1,
                                                builder_.CreateVector(inputs),
                                                builder_.CreateVector(outputs), kind, options));
  }
  void Custom(const std::string& name, const std::vector<int32_t>& inputs,
              const std::vector<int32_t>& outputs) {
    custom_ = builder_.CreateString(name);
    Operator(tflite::BuiltinOperator::CUSTOM, inputs, outputs);
    custom_ = 0;
  }
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

  // Returns the file.
  std::string Finish(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
    std::vector<flatbuffers::Offset<tflite::Buffer>> buffers = {tflite::CreateBuffer(builder_)};
    buffers.insert(buffers.end(), buffers_.begin(), buffers_.end());
    const auto graph = tflite::CreateSubGraph(
        builder_, builder_.CreateVector(tensors_), builder_.CreateVector(inputs),
        builder_.CreateVector(outputs), builder_.CreateVector(operators_));
    const std::vector<flatbuffers::Offset<tflite::SubGraph>> graphs = {graph};
    tflite::FinishModelBuffer(
        builder_,
        tflite::CreateModel(builder_, 3, builder_.CreateVector(codes_),
                            builder_.CreateVector(graphs), 0, builder_.CreateVector(buffers)));
    return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  flatbuffers::Offset<flatbuffers::String> custom_ = 0;
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tflite::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tflite::Operator>> operators_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_TFLITE_MODEL_BUILDER_H_
