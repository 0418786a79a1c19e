#include "opr/bit_cast.h"

#include "absl/strings/str_cat.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<BitCast>(Cases& cases) {
  cases.Reject({{Make<BitCast>({DType::kInt64}), {{2}}, "expected dtypes of one size"}});
  const auto add = [&](HostTensor x, DType to) {
    KernelCase test{absl::StrCat("to ", Name(to)), Make<BitCast>({to}), {std::move(x)}};
    test.tolerance = test.gpu_tolerance = 0;
    cases.Add(test);
  };
  for (const Shape& shape : {Shape{3, 7, 33}, Shape{}}) {
    add(cases.Tensor(shape), DType::kInt32);
    add(cases.Tensor(DType::kInt32, shape, 0, 1e9), DType::kFloat32);
    add(cases.Integers(DType::kInt8, shape), DType::kUint8);
    if (cases.on_gpu()) continue;
    add(cases.Tensor(DType::kFloat64, shape), DType::kInt64);
    add(cases.Tensor(DType::kFloat16, shape), DType::kUint16);
  }
  // One bit of the sign, and the exponent of 1.
  KernelCase one{"one",
                 Make<BitCast>({DType::kInt32}),
                 {HostTensor::FromValues<float>(DType::kFloat32, {2}, {1, -1})}};
  one.expected = {HostTensor::FromValues<int32_t>(DType::kInt32, {2}, {0x3f800000, -0x40800000})};
  one.tolerance = one.gpu_tolerance = 0;
  cases.AddKnown(one);
}

}  // namespace ashlar::testing
