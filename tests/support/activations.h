// The scalar functions that may follow a convolution, IDENTITY among them.
#ifndef ASHLAR_TESTS_SUPPORT_ACTIVATIONS_H_
#define ASHLAR_TESTS_SUPPORT_ACTIVATIONS_H_

#include <vector>

#include "opr/base/scalar_functions.h"

namespace ashlar::testing {

inline const std::vector<ScalarFunction>& Activations() {
  static const auto* const activations = [] {
    auto* found = new std::vector<ScalarFunction>();
    for (size_t i = 0; i < kNumScalarFunctions; ++i) {
      const auto function = static_cast<ScalarFunction>(i);
      if (RowOf(function).activation) found->push_back(function);
    }
    return found;
  }();
  return *activations;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_ACTIVATIONS_H_
