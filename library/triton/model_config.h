// A model's configuration from Triton's JSON.
#ifndef ASHLAR_LIBRARY_TRITON_MODEL_CONFIG_H_
#define ASHLAR_LIBRARY_TRITON_MODEL_CONFIG_H_

#include <ashlar/ashlar.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "library/triton/api.h"

namespace ashlar::triton {

// The settings in the configuration's `parameters`: budget (bytes, or min), threads, prefer
// (memory), tile, batch ("1,4,8"), shape ("images=1x3x{224,320}x{224,320}"), states
// ("h_out=h_in c_out=c_in").
struct ModelConfig {
  std::string file = "model.ash";    // default_model_filename
  int64_t max_batch_size = 0;        // 0: requests have the shapes in the model's file
  std::vector<int64_t> batch_sizes;  // ascending, the last is the largest; empty if max_batch_size
                                     // is 0
  int32_t threads = 1;
  int64_t budget = 0;
  bool prefer_memory = false;
  std::string tile;
  std::string shape;   // the sizes of a family; empty: none
  std::string states;  // kept from request to request of a sequence; empty: none

  // Returns the options without shapes. They point into this configuration.
  ashlar_plan_options Options() const;
};

// Reads a configuration. A Failure names the wrong parameter.
ModelConfig ReadConfig(const std::string& json);

// Adds inputs and outputs to a configuration that has none. Dimensions that differ between the
// plans are -1.
std::string CompletedConfig(const std::string& json, const std::vector<Plan>& plans);

TRITONSERVER_DataType DataTypeOf(int32_t dtype);

}  // namespace ashlar::triton

#endif  // ASHLAR_LIBRARY_TRITON_MODEL_CONFIG_H_
