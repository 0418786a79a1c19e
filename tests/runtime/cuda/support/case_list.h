// The list of kernels' cases, filled by a file for each kind of operator.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_SUPPORT_CASE_LIST_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_SUPPORT_CASE_LIST_H_

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "opr/conv_bias.h"
#include "tests/runtime/cuda/support/kernel_check.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

inline constexpr Format kRow = Format::kDefault, kLast = Format::kNHWC;
inline constexpr DType kReals[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

inline double ToleranceOf(DType dtype) {
  return dtype == DType::kFloat32 ? 2e-5 : dtype == DType::kFloat16 ? 2e-3 : 1.6e-2;
}

template <typename Op>
OperatorPtr Make(typename Op::Param param) {
  return std::make_shared<const Op>(std::move(param));
}

struct ConvGeometry {
  Shape src, filter;
  ConvBiasParam param;
};

class CaseList {
 public:
  explicit CaseList(uint64_t seed) : random_(seed) {}

  HostTensor Tensor(DType dtype, const Shape& shape, double low = -2, double high = 2) {
    return RandomTensor(random_, dtype, shape, low, high);
  }
  HostTensor Tensor(const Shape& shape) { return Tensor(DType::kFloat32, shape); }

  KernelCase& Add(std::string name, OperatorPtr op, std::vector<HostTensor> inputs) {
    cases_.push_back({.name = std::move(name), .op = std::move(op), .inputs = std::move(inputs)});
    return cases_.back();
  }
  // The same in NHWC: inputs of rank 4 for which `images` says so, and the output.
  void AddLast(const KernelCase& row_major, std::vector<bool> images) {
    KernelCase last = row_major;
    last.name += " NHWC";
    for (bool image : images) last.formats.push_back(image ? kLast : kRow);
    last.output_format = kLast;
    cases_.push_back(std::move(last));
  }

  void AddElemwise();
  void AddChains();
  void AddConversions();
  void AddConvolutions();
  void AddDepthwise();
  void AddImages();
  void AddLargePools();
  void AddFolds();
  void AddMovements();

  std::vector<KernelCase> Take() { return std::move(cases_); }

 private:
  // With and without bias and z, in both formats, with activations in turn.
  void AddEachConvolution(const std::vector<ConvGeometry>& geometries);

  std::mt19937_64 random_;
  std::vector<KernelCase> cases_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_SUPPORT_CASE_LIST_H_
