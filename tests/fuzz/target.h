// The interface of a fuzz target: a reader and the steps after it, on files with any contents. Each
// target is one file here. It is linked with driver.cc for tests, and with libfuzzer.cc for long
// runs.
#ifndef ASHLAR_TESTS_FUZZ_TARGET_H_
#define ASHLAR_TESTS_FUZZ_TARGET_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace ashlar::testing {

struct FuzzTarget {
  // Returns small valid files.
  std::vector<std::string> (*seeds)();
  // Folders of the external data set with more valid files.
  std::vector<std::string> folders;
  // Reads the bytes of a file, and continues with the result. Errors are as good as success;
  // anything that must not happen ends the process.
  void (*run)(absl::Span<const uint8_t> file);
  // Returns the file with a change that keeps the format; null if only bytes can be changed.
  std::string (*mutate)(const std::string& file, std::mt19937_64& random);
};

// The target of this program.
extern const FuzzTarget kFuzzTarget;

// Returns another file, made from `file` by the format's own mutation, or by changed bytes.
std::string Mutated(const std::string& file, std::mt19937_64& random);
// Changes, removes or doubles a byte, some bytes, a number or a range.
std::string WithChangedBytes(std::string file, std::mt19937_64& random);
// Returns 0, 1, a power of two or a neighbour, with either sign; small ones more often.
int64_t EdgeNumber(std::mt19937_64& random);

// Ends the process if an error says that something internal is broken.
void ExpectAnError(const absl::Status& status);
// Ends the process if `holds` is false.
void Expect(bool holds, const char* what);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_FUZZ_TARGET_H_
