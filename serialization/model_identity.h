// What tells one model from another: its operators, and a CRC-32 over graph and weights.
#ifndef ASHLAR_SERIALIZATION_MODEL_IDENTITY_H_
#define ASHLAR_SERIALIZATION_MODEL_IDENTITY_H_

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace ashlar {

struct ModelIdentity {
  int64_t operators = 0;      // nodes, inputs and constants too
  int64_t weights_bytes = 0;  // of constants
  uint32_t crc32 = 0;         // of names, types, parameters, inputs and the bytes of constants

  std::string ToString() const;  // "191 operators, 44640 bytes of weights, 5f3a0c11"
  friend bool operator==(const ModelIdentity&, const ModelIdentity&) = default;
};

// Reads all weights once.
ModelIdentity IdentityOf(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MODEL_IDENTITY_H_
