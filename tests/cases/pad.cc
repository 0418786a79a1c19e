#include "opr/pad.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<Pad>(Cases& cases) {
  const struct {
    Shape shape;
    std::vector<int64_t> begin, end;
    bool image;    // rank 4, and channels stay: also in the formats of images
    bool repeats;  // for modes that repeat elements too
  } kRows[] = {
      {{2, 35, 5, 7}, {0, 0, 1, 2}, {0, 0, 3, 0}, true, true},
      {{1, 16, 6, 3}, {0, 0, 0, 2}, {0, 0, 0, 2}, true, true},
      {{2, 20, 6, 8}, {0, 0, -1, 3}, {0, 0, 2, -4}, true, true},
      {{1, 3, 9, 11}, {0, 0, -2, -3}, {0, 0, -4, 0}, true, true},
      {{1, 17, 4, 4}, {0, 0, 0, 0}, {0, 0, 0, 0}, true, true},
      {{1, 5, 4, 4}, {0, 0, 3, 9}, {0, 0, 7, 5}, true, true},  // more than the dimension has
      {{2, 3, 4, 5}, {1, 2, 0, 1}, {0, 1, 2, -1}, false, true},
      {{6}, {2}, {3}, false, true},
      {{1}, {2}, {3}, false, true},
      {{3, 4, 5}, {0, -1, 2}, {2, 1, -2}, false, true},
      {{2, 0, 3}, {0, 2, 1}, {0, 1, 0}, false, false},
      {{4, 3}, {-4, 1}, {2, 0}, false, false},  // one dimension becomes empty
      {{4, 3}, {-4, 1}, {0, 0}, false, false},
      {{}, {}, {}, false, true},
  };
  for (const auto& row : kRows) {
    for (const PadMode mode :
         {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
      if (mode != PadMode::kConstant && !row.repeats) continue;
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kBool}) {
        KernelCase test{"pad",
                        Make<Pad>({mode, row.begin, row.end, dtype == DType::kBool ? 1.0 : -3.0}),
                        {cases.Tensor(dtype, row.shape, -50, 50)}};
        test.tolerance = test.gpu_tolerance = 0;
        const bool image = row.image && dtype == DType::kFloat32;
        image ? cases.AddImages(test) : cases.Add(test);
      }
    }
  }
}

}  // namespace ashlar::testing
