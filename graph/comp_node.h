// A comp node: a device and a stream on it, written "cpu0:0", "gpu0:0" or "mcu0:0".
#ifndef ASHLAR_GRAPH_COMP_NODE_H_
#define ASHLAR_GRAPH_COMP_NODE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ashlar {

struct CompNode {
  enum class Type { kCpu, kGpu, kMcu };  // kMcu: a processor that runs generated C
  Type type = Type::kCpu;
  int device = 0;
  int stream = 0;

  // Accepts "cpu0:0", "gpu1:0", "mcu0:0" and the short forms "cpu", "gpu", "mcu", "cuda", "cuda:1"
  // and "cpux:0" (any).
  static absl::StatusOr<CompNode> Parse(absl::string_view text);
  std::string ToString() const;
  friend bool operator==(const CompNode&, const CompNode&) = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_COMP_NODE_H_
