#include "opr/resize_bytes.h"

#include "tests/cases/quantized.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {
namespace {

constexpr ResizeCoordinates kBytesCoordinates[] = {ResizeCoordinates::kHalfPixel,
                                                   ResizeCoordinates::kAlignCorners,
                                                   ResizeCoordinates::kAsymmetric};

void AddBytes(Cases& cases, const ResizeParam& param, DType dtype, const Shape& shape,
              const HostTensor& target) {
  KernelCase test{"resize",
                  Make<ResizeBytes>(param),
                  {QuantizedTensor(cases, dtype, shape, {0.25f}, 5), target}};
  test.tolerance = 0;
  cases.Add(test);
  test.formats = {Format::kNHWC, Format::kDefault};
  test.output_format = Format::kNHWC;
  cases.Add(test);
}

}  // namespace

template <>
void AddCases<ResizeBytes>(Cases& cases) {
  const HostTensor scales = HostTensor::FromValues<float>(DType::kFloat32, {2}, {{0.6f, 1.7f}});
  for (const ResizeCoordinates coordinates : kBytesCoordinates) {
    ResizeParam param;
    param.axes = {2, 3};
    param.mode = ResizeMode::kLinear;
    param.coordinates = coordinates;
    for (const DType dtype : kBytes) {
      for (const Shape& shape : {Shape{2, 35, 5, 7}, Shape{1, 3, 9, 11}, Shape{1, 16, 6, 3}}) {
        for (const HostTensor& target :
             {Int64Vector({11, 13}), Int64Vector({3, 2}), Int64Vector({1, 40}), scales}) {
          AddBytes(cases, param, dtype, shape, target);
        }
      }
      // A slice, as tiling makes it: outputs, and the position of the given inputs in the whole.
      ResizeParam part = param;
      part.part = {4, 4, 1, 8, 2, 6, 0, 9};
      AddBytes(cases, part, dtype, {1, 18, 6, 7}, Int64Vector({12, 13}));
    }
  }
}

}  // namespace ashlar::testing
