// The digits of the scikit-learn data set (UCI, CC BY 4.0), and the nets that the reference run
// trains on them: training/digits_reference.npz of the external data set.
#ifndef ASHLAR_TESTS_SUPPORT_COMMAND_DIGITS_H_
#define ASHLAR_TESTS_SUPPORT_COMMAND_DIGITS_H_

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "serialization/npz.h"

namespace ashlar::testing {

inline constexpr char kDigits[] = "data/training/digits_reference.npz";

// The arrays of the file by name.
class Digits {
 public:
  Digits();
  const HostTensor& array(const std::string& name) const { return arrays_.at(name); }
  // Returns images {count, 1, 8, 8} of values 0 to 1, and their labels; `index` is an array of the
  // file.
  NamedTensors Split(const std::string& index) const;

 private:
  std::map<std::string, HostTensor> arrays_;
};

// Returns a net with the reference's initial weights; without `digits`, with seeded ones. "bn":
// conv 1-16, batch norm, ReLU, conv 16-32, batch norm, ReLU, max pool, fully connected 512-10,
// softmax. "plain": biases in place of batch norms.
Graph DigitsNet(const std::string& kind, const Digits* digits, int64_t batch);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_COMMAND_DIGITS_H_
