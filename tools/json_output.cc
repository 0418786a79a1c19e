#include "tools/json_output.h"

#include <string>

namespace ashlar {

Json ShapeJson(const Shape& shape) {
  Json dims = Json::array();
  for (int64_t dim : shape.dims()) dims.push_back(dim);
  return dims;
}

Json BindingsJson(const Graph& graph, const std::vector<Binding>& bindings) {
  Json list = Json::array();
  for (const Binding& binding : bindings) {
    const TensorType& type = graph.var(binding.var).type;
    list.push_back({{"name", binding.name},
                    {"shape", ShapeJson(type.shape)},
                    {"dtype", std::string(Name(type.dtype))}});
  }
  return list;
}

}  // namespace ashlar
