#include "serialization/model_identity.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "serialization/crc32.h"
#include "serialization/tensor_checksum.h"

namespace ashlar {

std::string ModelIdentity::ToString() const {
  return absl::StrFormat("%d operators, %d bytes of weights, %08x", operators, weights_bytes,
                         crc32);
}

ModelIdentity IdentityOf(const Graph& graph, const ConstantChecksums& known) {
  ModelIdentity identity;
  for (const OperatorNode& node : graph.nodes()) {
    ++identity.operators;
    std::string text =
        absl::StrCat(node.id, " ", node.name, " ", node.op->type(), " ", node.binding, " ",
                     ToString(node.op->params()), " ", absl::StrJoin(node.inputs, ","));
    for (const TensorType& type : graph.OutputTypes(node)) {
      absl::StrAppend(&text, " ", type.ToString());
    }
    identity.crc32 = Crc32(identity.crc32, text.data(), text.size());
    const HostTensor* const value = node.constant.get();
    if (value == nullptr || !value->has_data()) continue;
    identity.weights_bytes += value->bytes();
    // A deferred value has other bytes than its source, which is in the file.
    const auto it = &value->source() == value ? known.find(value->raw()) : known.end();
    const uint64_t checksum =
        it != known.end() && value->bytes() > 0 ? it->second : ChecksumOf(*value);
    identity.crc32 = Crc32(identity.crc32, &checksum, sizeof(checksum));
  }
  return identity;
}

}  // namespace ashlar
