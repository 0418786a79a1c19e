// BatchNorm, LRN and Softmax.
#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "opr/batch_norm.h"
#include "opr/lrn.h"
#include "opr/softmax.h"
#include "tests/runtime/cpu/kernel_harness.h"

namespace ashlar::cpu {
namespace {

TEST(BatchNormTest, EveryFormatOutOfPlaceAndIn) {
  for (const Shape& shape :
       {Shape{2, 35, 5, 7}, Shape{1, 64, 40, 40}, Shape{3, 5}, Shape{2, 3, 4, 2, 3}}) {
    for (const bool four_dimensional_parameters : {false, true}) {
      for (const Format format : kFormats) {
        if (shape.rank() != 4 && (IsBlocked(format) || four_dimensional_parameters)) continue;
        std::mt19937_64 random(1);
        KernelCase test;
        test.op = std::make_shared<const BatchNorm>(BatchNormParam{1e-3});
        const Shape channels =
            four_dimensional_parameters ? Shape{1, shape[1], 1, 1} : Shape{shape[1]};
        test.inputs = {RandomTensor(random, DType::kFloat32, shape, -3, 3)};
        for (int i = BatchNorm::kScale; i <= BatchNorm::kVariance; ++i) {
          const double low = i == BatchNorm::kVariance ? 0.01 : -2;
          test.inputs.push_back(RandomTensor(random, DType::kFloat32, channels, low, 2));
        }
        test.formats.assign(5, Format::kDefault);
        test.formats[0] = format;
        test.output_format = format;
        for (test.threads = 1; test.threads <= 2; ++test.threads) {
          test.unaligned = test.threads == 2;
          test.in_place = std::nullopt;
          CheckKernels(test, 1e-6);
          test.in_place = BatchNorm::kX;
          CheckKernels(test, 1e-6);
        }
      }
    }
  }
}

TEST(LrnTest, EveryWindowAndFormat) {
  for (const Shape& shape : {Shape{2, 35, 5, 7}, Shape{1, 64, 20, 20}, Shape{1, 3, 1, 2}}) {
    for (const int64_t size : {1, 2, 3, 4, 5, 7, 16, 33, 100}) {
      for (const double beta : {0.75, 1.0, 0.3}) {
        for (const Format format : kFormats) {
          std::mt19937_64 random(size);
          KernelCase test;
          test.op = std::make_shared<const LRN>(LRNParam{size, 0.3, beta, 1.5});
          test.inputs = {RandomTensor(random, DType::kFloat32, shape, -3, 3)};
          test.formats = {format};
          test.output_format = format;
          for (test.threads = 1; test.threads <= 2; ++test.threads) {
            test.unaligned = test.threads == 2;
            CheckKernels(test, 2e-6);
          }
        }
      }
    }
  }
}

TEST(SoftmaxTest, EveryAxisOutOfPlaceAndIn) {
  for (const Shape& shape :
       {Shape{10, 1000}, Shape{7}, Shape{2, 5, 70, 3}, Shape{300, 300}, Shape{1, 1}}) {
    for (int axis = -1; axis < shape.rank(); ++axis) {
      std::mt19937_64 random(1);
      KernelCase test;
      test.op = std::make_shared<const Softmax>(SoftmaxParam{axis});
      test.inputs = {RandomTensor(random, DType::kFloat32, shape, 82, 98)};
      test.floor = 1e-30;
      for (test.threads = 1; test.threads <= 2; ++test.threads) {
        test.in_place = std::nullopt;
        CheckKernels(test, 2e-6);
        test.in_place = 0;
        test.unaligned = !test.unaligned;
        CheckKernels(test, 2e-6);
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
