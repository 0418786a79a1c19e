// ONNX models changed field by field.
#ifndef ASHLAR_TESTS_FUZZ_ONNX_MUTATION_H_
#define ASHLAR_TESTS_FUZZ_ONNX_MUTATION_H_

#include <random>
#include <string>
#include <vector>

namespace ashlar::testing {

// One field of one message set, cleared, doubled, swapped or removed. Texts become one of `words`.
// A file that is no model comes back with other bytes.
std::string WithChangedField(const std::string& file, const std::vector<std::string>& words,
                             std::mt19937_64& random);
// The texts of a model, which others may refer to.
std::vector<std::string> WordsOf(const std::string& file);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_FUZZ_ONNX_MUTATION_H_
