#include "opr/lrn_backward.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<LRNBackward>(Cases& cases) {
  for (const Shape& shape : {Shape{2, 35, 5, 7}, Shape{1, 3, 1, 2}, Shape{2, 13, 10, 13}}) {
    for (const int64_t size : {1, 2, 5, 16, 100}) {
      for (const double beta : {0.75, 1.0}) {
        KernelCase test{"lrn_grad",
                        Make<LRNBackward>({size, 0.5, beta, 1.5}),
                        {cases.Tensor(shape, -3, 3), cases.Tensor(shape)}};
        test.large = shape.num_elements() > 3000;
        cases.Add(test);
        test.threads = 2;
        cases.Add(test);
      }
    }
  }
  cases.Reject({{Make<LRNBackward>({}), {{1, 3, 2, 2}, {1, 3, 2, 1}}, "diff is Float32{1,3,2,1}"},
                {Make<LRNBackward>({}), {{3, 2}, {3, 2}}, "expected rank 4"}});
}

}  // namespace ashlar::testing
