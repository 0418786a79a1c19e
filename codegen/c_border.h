// The tensors of a program's caller: their C names and their description in the header.
#ifndef ASHLAR_CODEGEN_C_BORDER_H_
#define ASHLAR_CODEGEN_C_BORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

struct CTensor {
  std::string name;   // of the parameter: "input", "in_left"
  std::string macro;  // prefix of its macros: "NET_INPUT", "NET_INPUT_LEFT"
  std::string model_name;
  TensorType type;
  Quantization quantization;  // of the integers; empty if they are plain integers
  // In the arena, for a donated input; in the memory of the states, for a state; otherwise -1.
  int64_t offset = -1;
};

struct CBorder {
  std::vector<CTensor> inputs, outputs;  // in the graph's order
  std::vector<CTensor> states;           // in the order of StatePool::entries
};

CBorder BorderOf(const PlannedGraph& planned, const std::string& program);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_BORDER_H_
