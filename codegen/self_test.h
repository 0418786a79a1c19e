// The self-test of a generated program: one input, and checksums of what is computed from it.
#ifndef ASHLAR_CODEGEN_SELF_TEST_H_
#define ASHLAR_CODEGEN_SELF_TEST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/executable.h"

namespace ashlar {

// CRC-32 as zlib and PNG have it.
uint32_t Crc32(const void* data, int64_t bytes);

// The input that the test fills input `index` with: floats in [-1, 1), Int32 and Int64 from 0 to
// 127, other integers of any bits, by a generator that starts anew for each input.
HostTensor SelfTestInput(const TensorType& type, int index);

struct SelfTest {
  // A tensor that a step of the order makes, in the storage format.
  struct Trace {
    int step = 0, output = 0;
    uint32_t crc = 0;
  };
  std::vector<Trace> traces;      // as they are made
  std::vector<uint32_t> outputs;  // by output of the graph
  std::vector<HostTensor> inputs, output_values;
};

// Runs the program's kernels on this machine.
absl::StatusOr<SelfTest> MakeSelfTest(const std::shared_ptr<const Executable>& executable);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_SELF_TEST_H_
