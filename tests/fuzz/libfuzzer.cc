// Runs a target under libFuzzer: coverage decides which files are mutated.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "tests/fuzz/target.h"

using ashlar::testing::kFuzzTarget;

extern "C" {

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kFuzzTarget.run({data, size});
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::mt19937_64 random(seed);
  if (kFuzzTarget.mutate == nullptr || random() % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string file =
      kFuzzTarget.mutate(std::string(reinterpret_cast<const char*>(data), size), random);
  const size_t kept = std::min(file.size(), most);
  std::memcpy(data, file.data(), kept);
  return kept;
}

}  // extern "C"
