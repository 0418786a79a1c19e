// The tensors of a program's caller: their names in C, and what its header says of them.
#ifndef ASHLAR_CODEGEN_C_BORDER_H_
#define ASHLAR_CODEGEN_C_BORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

struct CTensor {
  std::string name;   // of the parameter: "input", "in_left"
  std::string macro;  // its macros begin with it: "NET_INPUT", "NET_INPUT_LEFT"
  std::string model_name;
  TensorType type;
  Quantization quantization;  // of the integers; empty where they stand for themselves
  int64_t offset = -1;        // in the arena, of an input that is given up; else -1
};

struct CBorder {
  std::vector<CTensor> inputs, outputs;  // as the graph has them
};

CBorder BorderOf(const PlannedGraph& planned, const std::string& program);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_BORDER_H_
