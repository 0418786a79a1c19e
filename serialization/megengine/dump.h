// A profile dump, as written by MegEngine or profile_dump.h: parsed and checked, but not yet a
// graph.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_DUMP_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_DUMP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/params.h"
#include "graph/shape.h"

namespace ashlar {

struct DumpVar {
  std::string name;
  std::vector<std::string> flags;
  // Device addresses [begin, end) in the last run; both 0 if it had none.
  int64_t begin = 0, end = 0;
  std::optional<DType> dtype;                // from mem_plan, which is null for freed memory
  std::optional<Shape> shape;                // inferred, or from mem_plan
  std::optional<std::vector<double>> value;  // inferred; short ones only
  int forwarded_from = -1;                   // the var whose memory it shares; -1: none
  int producer = 0;                          // operator id
  int output_index = 0;                      // among the producer's outputs

  bool Has(absl::string_view flag) const;
  // Whether the run allocated bytes for it. Weights do not count: they exist before.
  bool HasDynamicMemory() const { return begin != 0 && !Has("PERSISTENT_DEVICE_VALUE"); }
};

struct DumpFootprint {
  int64_t memory = 0;       // bytes
  int64_t computation = 0;  // scalar operations; null is 0
  std::vector<std::vector<int64_t>> in_shapes, out_shapes;
  ParamList params;
};

// The time of an operator in seconds. With several comp nodes or threads, the longest.
struct DumpTime {
  double total = 0;   // from the operator's start to its end
  double kernel = 0;  // from the start of its kernels
};

struct DumpOperator {
  std::string name, type;
  std::vector<int> inputs, outputs;  // var ids
  int priority = 0;
  int input_update_time = -1;  // -1: was never scheduled
  std::optional<DumpFootprint> footprint;
  std::optional<DumpTime> device, host;
};

// A checked dump: every var has one producer, and every input is a var.
struct ProfileRecording {
  std::vector<int> comp_seq;              // operator ids, producers first
  std::map<int, DumpOperator> operators;  // by id
  std::map<int, DumpVar> vars;            // by id
};

// Returns InvalidArgument, naming the file and the place: "profile.json:
// graph_exec.operator.621.input[1]: var 9999 is not in graph_exec.var".
absl::StatusOr<ProfileRecording> ReadProfileDump(const std::string& path);
absl::StatusOr<ProfileRecording> ParseProfileDump(absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_DUMP_H_
