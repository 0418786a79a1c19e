// The operators that an ONNX model needs and Ashlar lacks, reported together.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_MISSING_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_MISSING_H_

#include <map>
#include <string>
#include <tuple>

#include "absl/status/status.h"

namespace ashlar {

class MissingOperators {
 public:
  struct Operator {
    std::string domain, type;
    int64_t version = 0;   // of the operator set
    bool folding = false;  // needed for a value before the run, not at run time
    std::string why;       // the missing part; empty: all
    friend auto operator<=>(const Operator&, const Operator&) = default;
  };
  void Add(Operator op, const std::string& node);

  bool empty() const { return found_.empty(); }
  // Returns Unimplemented, with a line for each operator: its number of nodes, and the first of
  // them.
  absl::Status ToStatus() const;

 private:
  struct Nodes {
    int count = 0;
    std::string first;
  };
  std::map<Operator, Nodes> found_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_MISSING_H_
