#include "opr/resize.h"

#include "tests/cases/quantized.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {
namespace {

constexpr ResizeCoordinates kCoordinates[] = {
    ResizeCoordinates::kHalfPixel,        ResizeCoordinates::kHalfPixelSymmetric,
    ResizeCoordinates::kPytorchHalfPixel, ResizeCoordinates::kAlignCorners,
    ResizeCoordinates::kAsymmetric,       ResizeCoordinates::kTfHalfPixelForNn};
constexpr ResizeMode kResizeModes[] = {ResizeMode::kNearest, ResizeMode::kLinear,
                                       ResizeMode::kCubic};

HostTensor Scales(std::vector<float> values) {
  return HostTensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())},
                                       values);
}

ResizeParam Param(std::vector<int64_t> axes, ResizeMode mode,
                  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel,
                  ResizeRounding rounding = ResizeRounding::kPreferFloor) {
  ResizeParam param;
  param.axes = std::move(axes);
  param.mode = mode;
  param.coordinates = coordinates;
  param.rounding = rounding;
  return param;
}

// Adds images, resized to sizes and by scales.
void AddImages(Cases& cases) {
  for (const ResizeMode mode : kResizeModes) {
    for (const ResizeCoordinates coordinates : kCoordinates) {
      for (const Shape& shape : {Shape{2, 35, 5, 7}, Shape{1, 16, 6, 3}, Shape{1, 3, 9, 11}}) {
        for (const HostTensor& target :
             {Int64Vector({11, 13}), Int64Vector({3, 2}), Scales({2, 2}), Scales({0.6f, 1.7f})}) {
          KernelCase test{"resize",
                          Make<Resize>(Param({2, 3}, mode, coordinates)),
                          {cases.Tensor(shape), target}};
          cases.AddImages(test);
        }
      }
    }
  }
  for (const ResizeRounding rounding : {ResizeRounding::kPreferFloor, ResizeRounding::kPreferCeil,
                                        ResizeRounding::kFloor, ResizeRounding::kCeil}) {
    cases.AddImages(
        {"rounding",
         Make<Resize>(Param({2, 3}, ResizeMode::kNearest, ResizeCoordinates::kHalfPixel, rounding)),
         {cases.Tensor({1, 20, 4, 6}), Int32Vector({8, 3})}});
  }
}

void AddFilters(Cases& cases) {
  for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic}) {
    for (const bool antialias : {false, true}) {
      for (const bool exclude : {false, true}) {
        ResizeParam param = Param({2, 3}, mode);
        param.antialias = antialias;
        param.exclude_outside = exclude;
        param.cubic_a = -0.5;
        for (const HostTensor& target : {Scales({0.3f, 0.45f}), Scales({2.5f, 0.8f})}) {
          cases.AddImages({"filter", Make<Resize>(param), {cases.Tensor({1, 19, 13, 17}), target}});
        }
      }
    }
  }
}

// Adds axes of every position and number.
void AddAxes(Cases& cases) {
  const struct {
    Shape shape;
    std::vector<int64_t> axes;
    std::vector<int64_t> sizes;
  } kRows[] = {
      {{7}, {0}, {12}},
      {{5, 9}, {-1}, {4}},
      {{5, 9}, {0}, {8}},
      {{3, 6, 4}, {1}, {9}},
      {{3, 6, 4}, {2, 1}, {3, 9}},
      {{2, 3, 4, 5, 6}, {3, 4}, {7, 3}},
      {{1, 2, 4, 3, 5}, {2, 3, 4}, {6, 5, 4}},
      {{4, 3, 5, 6}, {0, 3}, {3, 8}},
  };
  for (const auto& row : kRows) {
    for (const ResizeMode mode : kResizeModes) {
      cases.Add({"axes",
                 Make<Resize>(Param(row.axes, mode)),
                 {cases.Tensor(row.shape), Int64Vector(row.sizes)}});
    }
  }
}

// Adds rounded sizes, and slices as tiling makes them: outputs, and the position of the given
// inputs in the whole input.
void AddParts(Cases& cases) {
  for (const ResizeMode mode : kResizeModes) {
    ResizeParam rounded = Param({2, 3}, mode);
    rounded.rounds_sizes = true;
    cases.AddImages(
        {"rounded", Make<Resize>(rounded), {cases.Tensor({1, 18, 6, 7}), Scales({0.75f, 0.75f})}});
    ResizeParam param = Param({2, 3}, mode);
    param.part = {4, 4, 1, 8, 2, 6, 0, 9};
    cases.AddImages(
        {"part", Make<Resize>(param), {cases.Tensor({1, 18, 6, 7}), Scales({1.5f, 1.5f})}});
  }
}

// Adds other dtypes than Float32, and points outside of the input.
void AddOthers(Cases& cases) {
  for (const DType dtype : {DType::kInt8, DType::kBool, DType::kFloat16, DType::kInt64}) {
    KernelCase test{"nearest",
                    Make<Resize>(Param({2, 3}, ResizeMode::kNearest)),
                    {cases.Tensor(dtype, {1, 3, 5, 4}, -50, 50), Int64Vector({7, 9})}};
    test.tolerance = 0;
    cases.Add(test);
  }
  for (const DType dtype : kBytes) {
    for (const Shape& shape : {Shape{2, 35, 5, 7}, Shape{1, 3, 9, 11}, Shape{1, 16, 6, 3}}) {
      for (const HostTensor& target :
           {Int64Vector({11, 13}), Scales({2, 2}), Scales({0.6f, 1.7f}), Scales({1, 3})}) {
        KernelCase test{"nearest",
                        Make<Resize>(Param({2, 3}, ResizeMode::kNearest,
                                           ResizeCoordinates::kAsymmetric, ResizeRounding::kFloor)),
                        {QuantizedTensor(cases, dtype, shape, {0.25f}, 5), target}};
        test.tolerance = 0;
        cases.Add(test);
        test.formats = {Format::kNHWC, Format::kDefault};
        test.output_format = Format::kNHWC;
        cases.Add(test);
      }
    }
  }
  for (const ResizeMode mode : kResizeModes) {
    ResizeParam param = Param({2, 3}, mode, ResizeCoordinates::kTfCropAndResize);
    param.extrapolation = 10;
    cases.Add(
        {"crop",
         Make<Resize>(param),
         {cases.Tensor({1, 2, 8, 9}), Int64Vector({5, 6}), Scales({0.4f, -0.2f, 1.3f, 0.9f})}});
    cases.Add(
        {"mirror",
         Make<Resize>(param),
         {cases.Tensor({1, 2, 8, 9}), Int64Vector({5, 1}), Scales({0.9f, 0.1f, 0.2f, 0.6f})}});
  }
}

}  // namespace

template <>
void AddCases<Resize>(Cases& cases) {
  AddImages(cases);
  AddFilters(cases);
  AddAxes(cases);
  AddParts(cases);
  AddOthers(cases);
}

}  // namespace ashlar::testing
