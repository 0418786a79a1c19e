#include "opr/attention.h"

#include <limits>

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<Attention>(Cases& cases) {
  const struct {
    Shape queries, keys, values, mask;  // an empty mask: no mask
    bool causal;
    int64_t offset = 0;
  } kRows[] = {
      {{2, 3, 17, 8}, {2, 3, 17, 8}, {2, 3, 17, 8}, {}, false},
      {{1, 2, 197, 64}, {1, 2, 197, 64}, {1, 2, 197, 64}, {}, false},
      {{1, 4, 5, 16}, {1, 2, 70, 16}, {1, 2, 70, 33}, {}, false},  // heads share keys
      {{2, 2, 9, 7}, {2, 2, 9, 7}, {2, 2, 9, 5}, {}, true},
      {{1, 2, 100, 8}, {1, 2, 130, 8}, {1, 2, 130, 8}, {}, true, 30},
      {{1, 1, 7, 4}, {1, 1, 3, 4}, {1, 1, 3, 4}, {}, true, -4},  // the first queries see no key
      {{2, 3, 6, 8}, {2, 3, 90, 8}, {2, 3, 90, 8}, {6, 90}, false},
      {{2, 3, 6, 8}, {2, 3, 10, 8}, {2, 3, 10, 8}, {2, 1, 1, 10}, false},
      {{2, 3, 6, 8}, {2, 3, 10, 8}, {2, 3, 10, 8}, {2, 3, 6, 1}, true},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {}, false},
  };
  for (const auto& row : kRows) {
    for (const DType dtype : cases.scope().floats) {
      KernelCase test{"attention",
                      Make<Attention>({0.7, row.causal, row.offset}),
                      {cases.Tensor(dtype, row.queries), cases.Tensor(dtype, row.keys),
                       cases.Tensor(dtype, row.values)}};
      test.tolerance = 1e-5;
      test.large = row.queries.num_elements() > 2000;
      if (row.mask.rank() > 0) {
        test.inputs.push_back(cases.Tensor(dtype, row.mask));
        cases.Add(test);
        // Hides every second key, and all keys of some rows.
        HostTensor& mask = test.inputs.back();
        HostTensor hides = HostTensor::Zeros(dtype, row.mask);
        const int64_t columns = row.mask[row.mask.rank() - 1];
        for (int64_t i = 0; i < hides.num_elements(); ++i) {
          const bool hidden = i % columns % 2 == 1 || i / columns == 1;
          hides.Set(i, hidden ? -std::numeric_limits<double>::infinity() : mask.At(i));
        }
        mask = hides;
      }
      cases.Add(test);
    }
  }
  // The first of three queries, and a key of the second image, are not numbers.
  for (const DType dtype : cases.scope().floats) {
    KernelCase test{"attention of NaN",
                    Make<Attention>({.scale = 0.7, .zero_nan = true}),
                    {cases.Tensor(dtype, {2, 1, 3, 8}), cases.Tensor(dtype, {2, 1, 40, 8}),
                     cases.Tensor(dtype, {2, 1, 40, 5})}};
    test.tolerance = 1e-5;
    test.inputs[0].Set(3, std::numeric_limits<double>::quiet_NaN());
    test.inputs[1].Set(40 * 8 + 77, std::numeric_limits<double>::quiet_NaN());
    cases.Add(test);
  }
}

}  // namespace ashlar::testing
