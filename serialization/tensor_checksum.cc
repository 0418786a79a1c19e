#include "serialization/tensor_checksum.h"

#include "graph/stored_tensor.h"
#include "serialization/checksum.h"

namespace ashlar {

uint64_t ChecksumOf(const HostTensor& tensor, const DoneWith& done_with) {
  RunningChecksum checksum;
  ForPieces(tensor, [&](const HostTensor& piece) {
    checksum.Add(piece.raw(), static_cast<size_t>(piece.bytes()));
    if (done_with) done_with(piece.source().raw(), piece.source().bytes());
    return absl::OkStatus();
  }).IgnoreError();
  return checksum.Value();
}

}  // namespace ashlar
