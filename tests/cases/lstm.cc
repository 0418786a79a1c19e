#include "opr/lstm.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

// Composed on every device: tests/runtime/cpu compares the compositions.
template <>
void AddCases<LSTM>(Cases& cases) {
  for (const LstmDirection direction :
       {LstmDirection::kForward, LstmDirection::kReverse, LstmDirection::kBidirectional}) {
    const int64_t d = direction == LstmDirection::kBidirectional ? 2 : 1;
    const struct {
      int64_t steps, batch, inputs, hidden;
    } kRows[] = {{5, 2, 3, 4}, {1, 1, 1, 1}, {7, 1, 6, 5}};
    for (const auto& row : kRows) {
      const int64_t h = row.hidden, n = row.batch;
      KernelCase test{"lstm",
                      Make<LSTM>({direction}),
                      {cases.Tensor({row.steps, n, row.inputs}, -1, 1),
                       cases.Tensor({d, 4 * h, row.inputs}, -1, 1),
                       cases.Tensor({d, 4 * h, h}, -1, 1), cases.Tensor({d, 8 * h}, -1, 1),
                       cases.Tensor({d, n, h}, -1, 1), cases.Tensor({d, n, h}, -1, 1)}};
      test.tolerance = 1e-5;
      cases.Add(test);
    }
  }
}

}  // namespace ashlar::testing
