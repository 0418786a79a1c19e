// The identity of a model: its operators, and a CRC-32 over graph and weights.
#ifndef ASHLAR_SERIALIZATION_MODEL_IDENTITY_H_
#define ASHLAR_SERIALIZATION_MODEL_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace ashlar {

struct ModelIdentity {
  int64_t operators = 0;      // including inputs and constants
  int64_t weights_bytes = 0;  // of constants
  uint32_t crc32 = 0;         // of names, types, parameters, inputs and checksums of constants

  std::string ToString() const;  // "191 operators, 44640 bytes of weights, 5f3a0c11"
  friend bool operator==(const ModelIdentity&, const ModelIdentity&) = default;
};

// Checksums (serialization/checksum.h) of constants by the address of their bytes, e.g. as recorded
// in a file.
using ConstantChecksums = absl::flat_hash_map<const void*, uint64_t>;

// Computes the identity. Reads only constants without a known checksum.
ModelIdentity IdentityOf(const Graph& graph, const ConstantChecksums& known = {});

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MODEL_IDENTITY_H_
