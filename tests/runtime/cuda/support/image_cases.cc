// Pooling, LRN and batch normalisation.
#include <cmath>

#include "opr/batch_norm.h"
#include "opr/lrn.h"
#include "opr/pooling.h"
#include "tests/runtime/cuda/support/case_list.h"

namespace ashlar::testing {

// Windows and numbers of outputs for which threads share the work in every way.
void CaseList::AddLargePools() {
  for (const DType dtype : kReals) {
    const auto add = [&](const Shape& shape, const PoolingParam& param) {
      KernelCase& added = Add("large pooling", Make<PoolingForward>(param), {Tensor(dtype, shape)});
      added.tolerance = ToleranceOf(dtype);
      AddLast(KernelCase(added), {true});
    };
    for (const PoolingMode mode :
         {PoolingMode::kMax, PoolingMode::kAverage, PoolingMode::kAverageCountExcludePadding}) {
      for (const int64_t channels : {72, 10, 3}) {
        add({2, channels, 7, 7}, {.mode = mode, .window_h = 7, .window_w = 7});
      }
      add({1, 24, 11, 20}, {.mode = mode,
                            .window_h = 5,
                            .window_w = 9,
                            .stride_h = 3,
                            .stride_w = 8,
                            .pad_h = 2,
                            .pad_w = 4});
      // Cropped, and windows of one column.
      add({1, 8, 40, 3},
          {.mode = mode, .window_h = 20, .window_w = 1, .stride_h = 5, .stride_w = 2, .pad_h = -4});
    }
    // Enough outputs for whole packs, with teams and without.
    const int64_t pack = 16 / SizeOf(dtype);
    const auto add_last = [&](const Shape& shape, const PoolingParam& param) {
      KernelCase added{"many outputs", Make<PoolingForward>(param), {Tensor(dtype, shape)}};
      added.tolerance = ToleranceOf(dtype);
      AddLast(added, {true});
    };
    if (dtype == DType::kBFloat16) continue;
    add_last({1, 4096 * pack, 4, 4}, {.mode = PoolingMode::kAverage, .window_h = 4, .window_w = 4});
    add_last({1, 8 * pack, 65, 65}, {.mode = PoolingMode::kMax, .stride_h = 1, .stride_w = 1});
  }
  for (const PoolingMode mode : {PoolingMode::kMax, PoolingMode::kAverage}) {
    for (const float special : {NAN, INFINITY, -INFINITY}) {
      HostTensor image = Tensor({1, 3, 7, 7});
      image.Set(48, special);
      image.Set(50, special);
      const KernelCase added =
          Add("special", Make<PoolingForward>({.mode = mode, .window_h = 7, .window_w = 7}),
              {std::move(image)});
      AddLast(added, {true});
    }
  }
}

void CaseList::AddImages() {
  for (const DType dtype : kReals) {
    for (const Shape& shape : {Shape{2, 16, 9, 8}, Shape{1, 5, 7, 6}}) {
      for (const PoolingMode mode :
           {PoolingMode::kMax, PoolingMode::kAverage, PoolingMode::kAverageCountExcludePadding}) {
        for (const PoolingParam& param :
             {PoolingParam{.mode = mode, .window_h = 3, .window_w = 3, .pad_h = 1, .pad_w = 1},
              PoolingParam{.mode = mode,
              .window_h = 2,
              .window_w = 3,
              .stride_h = 1,
              .stride_w = 2,
              .pad_h_end = 1,
              .pad_w_end = 2},
              PoolingParam{.mode = mode,
              .window_h = 3,
              .window_w = 2,
              .stride_h = 1,
              .stride_w = 1,
              .pad_h = -2,
              .pad_w = 1,
              .pad_h_end = -1,
              .pad_w_end = -3},
              PoolingParam{.mode = mode, .window_h = shape[2], .window_w = shape[3]}}) {
          KernelCase& added = Add("pooling", Make<PoolingForward>(param), {Tensor(dtype, shape)});
          added.tolerance = ToleranceOf(dtype);
          AddLast(KernelCase(added), {true});
        }
      }
    }
  }
  AddLargePools();
  for (const int64_t size : {1, 4, 5, 40}) {
    for (const DType dtype : kReals) {
      const double beta = size % 2 == 0 ? 0.7 : 0.75;
      KernelCase& added =
          Add("lrn", Make<LRN>({.size = size, .alpha = 0.5, .beta = beta, .bias = 1.5}),
              {Tensor(dtype, {2, 13, 4, 5})});
      added.tolerance = ToleranceOf(dtype);
      AddLast(KernelCase(added), {true});
    }
  }
  std::vector<HostTensor> inputs = {Tensor({2, 6, 4, 5})};
  for (int i = 0; i < 4; ++i) inputs.push_back(Tensor(DType::kFloat32, {6}, 0.5, 1.5));
  const KernelCase norm = Add("batch norm", Make<BatchNorm>({}), inputs);
  AddLast(norm, {true, false, false, false, false});
  Add("batch norm in place", Make<BatchNorm>({}), inputs).in_place = 0;
  inputs[0] = Tensor({3, 6});
  Add("batch norm of rows", Make<BatchNorm>({}), inputs);
}

}  // namespace ashlar::testing
