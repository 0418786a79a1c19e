#include "opr/lrn.h"

#include "tests/cases/doubles.h"

namespace ashlar::testing {

template <>
void AddCases<LRN>(Cases& cases) {
  Cases apart = cases;  // with random numbers of their own
  for (const Shape& shape :
       {Shape{2, 35, 5, 7}, Shape{1, 64, 20, 20}, Shape{1, 3, 1, 2}, Shape{2, 13, 4, 5}}) {
    for (const int64_t size : {1, 2, 3, 4, 5, 7, 16, 33, 40, 100}) {
      for (const double beta : {0.75, 1.0, 0.3}) {
        for (const DType dtype : cases.scope().floats) {
          KernelCase test{
              "lrn", Make<LRN>({size, 0.5, beta, 1.5}), {cases.Tensor(dtype, shape, -3, 3)}};
          test.large = shape.num_elements() > 20000;
          cases.AddImages(test);
        }
        AddOfDoubles(apart,
                     {"lrn of doubles",
                      Make<LRN>({size, 0.5, beta, 1.5}),
                      {apart.Tensor(DType::kFloat64, shape, -3, 3)}},
                     1e-13);
      }
    }
  }
  for (const Shape& shape : {Shape{2, 3, 9, 13}, Shape{1, 16, 1, 5}, Shape{2, 35, 7, 6}}) {
    for (const int64_t size : {5, 40}) {  // in groups of pixels, and in any window
      for (const double beta : {0.75, 0.4}) {
        // Without a bias the padding of channels would be 0/0.
        KernelCase test{"lrn", Make<LRN>({size, 0.3, beta, 0}), {cases.Tensor(shape, 0.5, 3)}};
        test.tolerance = 1e-5;
        cases.AddFormatPairs(test, {true}, true);
      }
    }
  }
}

}  // namespace ashlar::testing
