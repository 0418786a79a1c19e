// Operators, and operands on which their gradients are compared with differences.
#ifndef ASHLAR_TESTS_OPR_GRADIENTS_GRADIENT_CASES_H_
#define ASHLAR_TESTS_OPR_GRADIENTS_GRADIENT_CASES_H_

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "graph/operator.h"
#include "tests/support/gradcheck.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

struct GradientCase {
  OperatorPtr op;
  std::vector<HostTensor> inputs;  // the Float64 ones are differentiated
};

class GradientCases {
 public:
  explicit GradientCases(uint64_t seed) : random_(seed) {}

  template <typename Op>
  void Add(typename Op::Param param, std::vector<HostTensor> inputs) {
    cases_.push_back({std::make_shared<const Op>(std::move(param)), std::move(inputs)});
  }
  // Return Float64 values: Smooth for operators without comparisons, Distinct for others.
  HostTensor Smooth(const Shape& shape, double low = -1, double high = 1) {
    return RandomTensor(random_, DType::kFloat64, shape, low, high);
  }
  HostTensor Distinct(const Shape& shape, double low = -1, double high = 1) {
    return DistinctTensor(random_, shape, low, high);
  }
  HostTensor Indices(const Shape& shape, int64_t size) {
    return RandomTensor(random_, DType::kInt64, shape, 0, static_cast<double>(size) - 0.01);
  }
  std::mt19937_64& random() { return random_; }
  const std::vector<GradientCase>& all() const { return cases_; }

 private:
  std::mt19937_64 random_;
  std::vector<GradientCase> cases_;
};

// One function per family, like the operators' files.
void AddImageCases(GradientCases& cases);
void AddRowCases(GradientCases& cases);
void AddMovementCases(GradientCases& cases);
void AddScalarCases(GradientCases& cases);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_OPR_GRADIENTS_GRADIENT_CASES_H_
