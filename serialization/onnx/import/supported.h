// Lists the ONNX operators that can be read.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_SUPPORTED_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_SUPPORTED_H_

#include <string>
#include <vector>

namespace ashlar {

struct SupportedOnnx {
  std::string type;
  std::string domain;
  std::string operator_sets;  // "all", "from 13", "1 to 10"
  bool at_run_time = false;   // otherwise constants only
  std::string limits;         // the supported subset; empty: all
};

// Returns the table of operators that can be imported, by domain and type.
std::vector<SupportedOnnx> SupportedOnnxOperators();

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_SUPPORTED_H_
