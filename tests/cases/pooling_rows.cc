#include "opr/pooling_rows.h"

#include <cmath>
#include <utility>

#include "tests/cases/quantized.h"

namespace ashlar::testing {
namespace {

constexpr PoolingMode kModes[] = {PoolingMode::kMax, PoolingMode::kAverage,
                                  PoolingMode::kAverageCountExcludePadding};

OperatorPtr Rows(PoolingMode mode, int64_t rows, const OutputType& output = {}) {
  return Make<PoolingRows>({mode, rows, output});
}

void AddFloats(Cases& cases) {
  for (const PoolingMode mode : kModes) {
    for (const Shape& shape : {Shape{2, 19, 3, 5}, {1, 32, 1, 7}, {1, 5, 4, 1}}) {
      const HostTensor strip = cases.Tensor(shape);
      const HostTensor before = cases.Tensor({shape[0], shape[1], 1, 1});
      cases.AddImages({"first", Rows(mode, 0), {strip}});
      cases.AddImages({"only", Rows(mode, shape[2]), {strip}});
      // The image may be a row-major one, of few channels, and the results in blocks.
      cases.AddFormatPairs({"first from planes", Rows(mode, 0), {strip}}, {true}, true);
      for (const int64_t rows : {int64_t{0}, shape[2] + 2}) {
        KernelCase test{"next", Rows(mode, rows), {strip, before}};
        cases.AddImages(test, {true, true});
        cases.AddFormatPairs(test, {true, true}, true);
        test.in_place = 1;
        cases.AddImages(test, {true, true});
      }
    }
  }
  HostTensor special = cases.Tensor({1, 2, 2, 2});
  special.Set(1, NAN);
  special.Set(6, -INFINITY);
  cases.AddImages({"special", Rows(PoolingMode::kMax, 0), {std::move(special)}});
}

void AddBytes(Cases& cases) {
  for (const DType dtype : kBytes) {
    for (const PoolingMode mode : kModes) {
      const HostTensor strip = QuantizedTensor(cases, dtype, {2, 19, 3, 5}, {0.15f}, -3 & 0x7f);
      const bool maxima = mode == PoolingMode::kMax;
      HostTensor before = QuantizedTensor(cases, dtype, {2, 19, 1, 1}, {0.15f}, -3 & 0x7f);
      if (!maxima) {
        const bool exact = mode == PoolingMode::kAverage;
        before = exact ? cases.Tensor(DType::kInt32, {2, 19, 1, 1}, -900, 900)
                       : cases.Tensor({2, 19, 1, 1}, -90, 90);
      }
      const OutputType output = maxima ? OutputType{} : OutputType{dtype, 0.2, 5};
      AddQuantized(cases, {"first", Rows(mode, 0), {strip}}, {true});
      AddQuantized(cases, {"only", Rows(mode, 3, output), {strip}}, {true});
      AddQuantized(cases, {"next", Rows(mode, 0), {strip, before}}, {true, false});
      AddQuantized(cases, {"last", Rows(mode, 5, output), {strip, before}}, {true, false});
    }
  }
}

// By hand, of two strips: sums of 1..4 and 5, 6 are 10 and 11, and the mean of all is 3.5.
void AddByHand(Cases& cases) {
  const auto floats = [](const Shape& shape, std::vector<float> values) {
    return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
  };
  KernelCase first{"by hand", Rows(PoolingMode::kAverage, 0), {floats({1, 1, 2, 2}, {1, 2, 3, 4})}};
  first.expected = {floats({1, 1, 1, 1}, {10})};
  cases.AddKnown(first);
  KernelCase last{"by hand",
                  Rows(PoolingMode::kAverage, 3),
                  {floats({1, 1, 1, 2}, {5, 6}), floats({1, 1, 1, 1}, {10})}};
  last.expected = {floats({1, 1, 1, 1}, {3.5})};
  cases.AddKnown(last);
}

}  // namespace

template <>
void AddCases<PoolingRows>(Cases& cases) {
  AddFloats(cases);
  AddBytes(cases);
  AddByHand(cases);
  const Shape strip = {1, 2, 3, 4}, sums = {1, 2, 1, 1};
  const OutputType bytes = {DType::kQuantizedS8, 1, 0};
  cases.Reject({
      {Rows(PoolingMode::kMax, 0), {{2, 3}}, "the strip"},
      {Rows(PoolingMode::kAverage, 0), {strip, strip}, "the result before"},
      {Rows(PoolingMode::kAverage, 0), {strip, sums, sums}, "3 inputs"},
      {Rows(PoolingMode::kAverage, 3), {strip, sums}, "rows is 3, expected at least 4"},
      {Rows(PoolingMode::kAverage, 3, bytes), {strip}, "scale is for quantised images"},
      {Rows(PoolingMode::kAverage, 0, bytes), {strip}, "scale is for the last strip"},
  });
}

}  // namespace ashlar::testing
