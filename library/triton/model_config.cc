#include "library/triton/model_config.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "library/triton/errors.h"

namespace ashlar::triton {
namespace {

using Json = nlohmann::json;

struct DataType {
  ashlar_dtype dtype;
  TRITONSERVER_DataType type;
  const char* name;  // in configurations
};
constexpr DataType kDataTypes[] = {{ASHLAR_F32, TRITONSERVER_TYPE_FP32, "TYPE_FP32"},
                                   {ASHLAR_F16, TRITONSERVER_TYPE_FP16, "TYPE_FP16"},
                                   {ASHLAR_BF16, TRITONSERVER_TYPE_BF16, "TYPE_BF16"},
                                   {ASHLAR_I64, TRITONSERVER_TYPE_INT64, "TYPE_INT64"},
                                   {ASHLAR_I32, TRITONSERVER_TYPE_INT32, "TYPE_INT32"},
                                   {ASHLAR_I8, TRITONSERVER_TYPE_INT8, "TYPE_INT8"},
                                   {ASHLAR_U8, TRITONSERVER_TYPE_UINT8, "TYPE_UINT8"},
                                   {ASHLAR_BOOL, TRITONSERVER_TYPE_BOOL, "TYPE_BOOL"},
                                   {ASHLAR_F64, TRITONSERVER_TYPE_FP64, "TYPE_FP64"},
                                   {ASHLAR_U16, TRITONSERVER_TYPE_UINT16, "TYPE_UINT16"},
                                   {ASHLAR_I16, TRITONSERVER_TYPE_INT16, "TYPE_INT16"},
                                   {ASHLAR_U32, TRITONSERVER_TYPE_UINT32, "TYPE_UINT32"},
                                   {ASHLAR_U64, TRITONSERVER_TYPE_UINT64, "TYPE_UINT64"}};

const DataType& RowOf(int32_t dtype) {
  for (const DataType& row : kDataTypes) {
    if (row.dtype == dtype) return row;
  }
  throw Failure(TRITONSERVER_ERROR_UNSUPPORTED,
                "a tensor of dtype " + std::to_string(dtype) + " has no type in Triton");
}

int64_t WholeNumber(const std::string& name, std::string_view text, int64_t least) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    throw InvalidArgument("parameter " + name + ": '" + std::string(text) +
                          "' is no whole number from " + std::to_string(least) + " on");
  }
  return value;
}

std::vector<int64_t> BatchSizes(std::string_view text) {
  std::vector<int64_t> sizes;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    sizes.push_back(WholeNumber("batch", text.substr(0, comma), 1));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return sizes;
}

void SetParameter(const std::string& name, const std::string& value, ModelConfig& config) {
  if (name == "budget") {
    config.budget = value == "min" ? ASHLAR_LEAST : WholeNumber(name, value, 1);
  } else if (name == "threads") {
    config.threads = static_cast<int32_t>(std::min<int64_t>(WholeNumber(name, value, 1), 4096));
  } else if (name == "prefer") {
    if (value != "memory" && value != "speed") {
      throw InvalidArgument("parameter prefer: '" + value + "' is neither memory nor speed");
    }
    config.prefer_memory = value == "memory";
  } else if (name == "tile") {
    config.tile = value;
  } else if (name == "batch") {
    config.batch_sizes = BatchSizes(value);
  } else if (name == "shape") {
    config.shape = value;
  } else if (name == "states") {
    config.states = value;
  } else {
    throw InvalidArgument(
        "parameter " + name +
        " is not known; there are budget, threads, prefer, tile, batch, shape, states");
  }
}

// Uses powers of two if no sizes are given; the largest is max_batch_size.
void CompleteBatchSizes(ModelConfig& config) {
  std::vector<int64_t>& sizes = config.batch_sizes;
  if (config.max_batch_size == 0) {
    if (!sizes.empty()) throw InvalidArgument("parameter batch: max_batch_size is 0");
    return;
  }
  if (sizes.empty()) {
    for (int64_t size = 1; size < config.max_batch_size; size *= 2) sizes.push_back(size);
  }
  sizes.push_back(config.max_batch_size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.back() > config.max_batch_size) {
    throw InvalidArgument("parameter batch: " + std::to_string(sizes.back()) +
                          " is above max_batch_size");
  }
}

// Checks that an instance only gets requests of one sequence at a time, whose states it then has.
void CheckSequences(const Json& document, const ModelConfig& config) {
  if (config.max_batch_size > 0) {
    throw InvalidArgument(
        "parameter states: max_batch_size is not 0; an instance has one sequence");
  }
  if (!config.shape.empty()) {
    throw InvalidArgument("parameter states: with parameter shape each size would have its own");
  }
  const auto batching = document.find("sequence_batching");
  if (batching == document.end() || batching->contains("oldest")) {
    throw InvalidArgument(
        "parameter states: expected sequence_batching with the strategy direct, which gives an "
        "instance one sequence at a time");
  }
}

// `of`: Plan::Inputs or Plan::Outputs.
Json TensorsOf(const std::vector<Plan>& plans, List<ashlar_tensor> (Plan::*of)() const,
               bool batched) {
  Json list = Json::array();
  const List<ashlar_tensor> tensors = (plans[0].*of)();
  for (size_t t = 0; t < tensors.size(); ++t) {
    const ashlar_tensor& tensor = tensors[t];
    Json dims = Json::array();
    for (int i = batched ? 1 : 0; i < tensor.rank; ++i) {
      const bool varies = std::any_of(plans.begin(), plans.end(), [&](const Plan& plan) {
        return (plan.*of)()[t].shape[i] != tensor.shape[i];
      });
      dims.push_back(varies ? -1 : tensor.shape[i]);
    }
    list.push_back(
        {{"name", tensor.name}, {"data_type", RowOf(tensor.dtype).name}, {"dims", dims}});
  }
  return list;
}

}  // namespace

ashlar_plan_options ModelConfig::Options() const {
  auto options = Sized<ashlar_plan_options>();
  options.threads = threads;
  options.memory_budget = budget;
  options.prefer_memory = prefer_memory ? 1 : 0;
  if (!tile.empty()) options.tile = tile.c_str();
  return options;
}

ModelConfig ReadConfig(const std::string& json) {
  const Json document = Json::parse(json);
  ModelConfig config;
  const std::string file = document.value("default_model_filename", "");
  if (!file.empty()) config.file = file;
  config.max_batch_size = document.value("max_batch_size", int64_t{0});
  const Json parameters = document.value("parameters", Json::object());
  for (const auto& [name, value] : parameters.items()) {
    SetParameter(name, value.value("string_value", ""), config);
  }
  CompleteBatchSizes(config);
  if (!config.shape.empty() && config.max_batch_size > 0) {
    throw InvalidArgument("parameter shape: max_batch_size is not 0; a request runs by itself");
  }
  if (!config.states.empty()) CheckSequences(document, config);
  return config;
}

std::string CompletedConfig(const std::string& json, const std::vector<Plan>& plans) {
  Json document = Json::parse(json);
  const bool batched = document.value("max_batch_size", int64_t{0}) > 0;
  const auto complete = [&](const char* key, List<ashlar_tensor> (Plan::*of)() const) {
    if (!document.contains(key) || document[key].empty()) {
      document[key] = TensorsOf(plans, of, batched);
    }
  };
  complete("input", &Plan::Inputs);
  complete("output", &Plan::Outputs);
  return document.dump();
}

TRITONSERVER_DataType DataTypeOf(int32_t dtype) { return RowOf(dtype).type; }

}  // namespace ashlar::triton
