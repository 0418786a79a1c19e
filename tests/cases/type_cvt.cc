#include "opr/type_cvt.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/cases/quantized.h"

namespace ashlar::testing {

void AddQuantizedConversions(Cases& cases) {
  for (const DType dtype : {DType::kQuantized8Asymm, DType::kQuantizedS8}) {
    for (const Shape& shape : {Shape{2, 19, 3, 5}, Shape{1, 16, 4, 4}, Shape{2, 33, 1, 1}}) {
      AddQuantized(cases,
                   {"quantise", Make<TypeCvt>({dtype, 0.25f, 7}), {cases.Tensor(shape, -40, 40)}},
                   {true});
      const HostTensor x = QuantizedTensor(cases, dtype, shape, {0.1f}, 100);
      AddQuantized(cases, {"dequantise", Make<TypeCvt>({DType::kFloat32}), {x}}, {true});
      AddQuantized(cases, {"the integers", Make<TypeCvt>({StoredAs(dtype)}), {x}}, {true});
      // From planes and blocks of channels to pixels and back.
      KernelCase test = {"format", Make<TypeCvt>({dtype, 0.25f, 7}), {cases.Tensor(shape, -9, 9)}};
      test.tolerance = 0;
      test.output_format = Format::kNHWC;
      for (const Format format : kFormats) {
        test.formats = {format};
        if (!cases.on_gpu()) cases.Add(test);
      }
      test.op = Make<TypeCvt>({DType::kFloat32});
      test.inputs = {x};
      test.formats = {Format::kNHWC};
      for (const Format format : kFormats) {
        test.output_format = format;
        if (!cases.on_gpu()) cases.Add(test);
      }
    }
  }
}

template <>
void AddCases<TypeCvt>(Cases& cases) {
  Cases apart = cases;  // with random numbers of their own
  AddQuantizedConversions(apart);
  const std::vector<double> values = {
      0,    1,    -1,    0.5,   -0.5, 1.5,   2.5,      127,      128,       -128,  -129,
      255,  256,  65504, 70000, 1e-5, 1e-30, 3e9,      -3e9,     1e19,      -1e19, 2147483647,
      1e-8, -0.1, 100.7, 33.3,  1e38, -7,    16777217, INFINITY, -INFINITY, NAN,   -0.0};
  for (const DType a : kPlainDTypes) {
    for (const DType b : kPlainDTypes) {
      if (a == DType::kByte || b == DType::kByte) continue;
      const bool doubles = a == DType::kFloat64 || b == DType::kFloat64;
      if (cases.on_gpu() && !(cases.Computes(a) && cases.Computes(b))) continue;
      const auto add = [&](HostTensor x) {
        KernelCase test{absl::StrCat(Name(a), " to ", Name(b)), Make<TypeCvt>({b}), {std::move(x)}};
        test.tolerance = test.gpu_tolerance = 0;
        // Images of integers are not converted to NHWC.
        if (!doubles && (cases.blocked() || (IsFloat(a) && IsFloat(b)))) {
          cases.AddImages(test);
        } else {
          cases.Add(test);
        }
        if (!doubles && IsFloat(a) && IsFloat(b)) cases.AddFormatPairs(test, {true}, false);
        return test;
      };
      HostTensor special = HostTensor::Zeros(a, {2, 19, 3, 5});
      for (int64_t i = 0; i < special.num_elements(); ++i) {
        special.Set(i, values[static_cast<size_t>(i) % values.size()]);
      }
      add(std::move(special));
      if (!IsFloat(a) && a != DType::kBool) add(cases.Integers(a, {2, 19, 3, 5}));
      for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 16, 4, 4}}) {
        add(cases.Tensor(a, shape, a == DType::kBool ? 0 : -100, 100));
      }
      if (!IsFloat(a) || !IsFloat(b) || doubles || cases.blocked()) continue;
      // From one format to the other: few channels, few pixels, many of both, and one of either.
      for (const Shape& shape : {Shape{2, 3, 15, 18}, Shape{3, 40, 2, 3}, Shape{2, 40, 5, 9},
                                 Shape{2, 8, 1, 1}, Shape{4, 1, 5, 3}}) {
        for (const bool to_image : {true, false}) {
          const Format image = cases.scope().images[0];
          KernelCase test = {absl::StrCat(Name(a), " to ", Name(b), ", format"),
                             Make<TypeCvt>({b}),
                             {cases.Tensor(a, shape, -100, 100)}};
          test.formats = {to_image ? Format::kDefault : image};
          test.output_format = to_image ? image : Format::kDefault;
          test.tolerance = test.gpu_tolerance = 0;
          cases.Add(test);
        }
      }
    }
  }
}

}  // namespace ashlar::testing
