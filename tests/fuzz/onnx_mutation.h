// Changes ONNX models field by field.
#ifndef ASHLAR_TESTS_FUZZ_ONNX_MUTATION_H_
#define ASHLAR_TESTS_FUZZ_ONNX_MUTATION_H_

#include <random>
#include <string>
#include <vector>

namespace ashlar::testing {

// Changes one field of one message: it is set, cleared, doubled, swapped or removed. Texts become
// one of `words`. If the file is no model, changes its bytes.
std::string WithChangedField(const std::string& file, const std::vector<std::string>& words,
                             std::mt19937_64& random);
// Returns the texts of a model, which other fields may refer to.
std::vector<std::string> WordsOf(const std::string& file);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_FUZZ_ONNX_MUTATION_H_
