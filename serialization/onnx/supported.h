// Which operators of ONNX can be read, for listings.
#ifndef ASHLAR_SERIALIZATION_ONNX_SUPPORTED_H_
#define ASHLAR_SERIALIZATION_ONNX_SUPPORTED_H_

#include <string>
#include <vector>

namespace ashlar {

struct SupportedOnnx {
  std::string type;
  std::string domain;
  std::string operator_sets;  // "all", "from 13", "1 to 10"
  bool at_run_time = false;   // else of constants only
  std::string limits;         // the supported part; empty: all
};

// From the table of operators that come in, by domain and type.
std::vector<SupportedOnnx> SupportedOnnxOperators();

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_SUPPORTED_H_
