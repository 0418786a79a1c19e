// The self-test of a generated program: one input, and checksums of the results of each run.
#ifndef ASHLAR_CODEGEN_SELF_TEST_H_
#define ASHLAR_CODEGEN_SELF_TEST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/executable.h"

namespace ashlar {

// CRC-32 as in zlib and PNG.
uint32_t Crc32(const void* data, int64_t bytes);

// Returns the test's value for input `index`: floats in [-1, 1), Int32 and Int64 from 0 to 127,
// other integers with random bits. The generator restarts for each input.
HostTensor SelfTestInput(const TensorType& type, int index);

struct SelfTest {
  // The checksum of a tensor computed by a step of the order, in the storage format.
  struct Trace {
    int step = 0, output = 0;
    uint32_t crc = 0;
  };
  struct Run {
    bool resets = false;            // the states before
    std::vector<Trace> traces;      // in the order of computation
    std::vector<uint32_t> outputs;  // by output of the graph
    std::vector<HostTensor> output_values;
  };
  std::vector<HostTensor> inputs;  // of every run
  std::vector<Run> runs;
};

// Runs the program's kernels on this machine: once; with states between runs twice, and once more
// after a reset.
absl::StatusOr<SelfTest> MakeSelfTest(const std::shared_ptr<const Executable>& executable);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_SELF_TEST_H_
