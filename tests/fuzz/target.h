// What is fuzzed: a reader and what follows it, on files that may hold anything. A target is one
// file here; it is linked with driver.cc for tests, and with libfuzzer.cc for long runs.
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
  // Small files that are right.
  std::vector<std::string> (*seeds)();
  // Folders of the outside data set that hold more of them.
  std::vector<std::string> folders;
  // Reads the bytes of a file, and goes on with what was read. Errors are as good as success;
  // anything that must not happen ends the process.
  void (*run)(absl::Span<const uint8_t> file);
  // The same format with something changed; null where bytes are all that can be changed.
  std::string (*mutate)(const std::string& file, std::mt19937_64& random);
};

// Of the program.
extern const FuzzTarget kFuzzTarget;

// Another file, made of `file` in the format's own way, or by changed bytes.
std::string Mutated(const std::string& file, std::mt19937_64& random);
// A byte, some bytes, a number or a stretch changed, removed, or doubled.
std::string WithChangedBytes(std::string file, std::mt19937_64& random);
// 0, 1, powers of two and their neighbours, with either sign; small ones more often.
int64_t EdgeNumber(std::mt19937_64& random);

// Ends the process where an error says that something inside is broken.
void ExpectAnError(const absl::Status& status);
// Ends the process unless it holds.
void Expect(bool holds, const char* what);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_FUZZ_TARGET_H_
