#include "opr/cross_entropy.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

// Adds logits and labels, of both dtypes.
template <typename Add>
void ForLogits(Cases& cases, const Add& add) {
  for (const Shape& shape : {Shape{32, 10}, Shape{1, 1}, Shape{3, 1000}, Shape{100, 37}}) {
    for (const DType dtype : {DType::kInt32, DType::kInt64}) {
      const double last = static_cast<double>(shape[1] - 1);
      add(cases.Tensor(shape, -9, 9), cases.Tensor(dtype, {shape[0]}, 0, last));
    }
  }
}

}  // namespace

template <>
void AddCases<CrossEntropy>(Cases& cases) {
  ForLogits(cases, [&](const HostTensor& logits, const HostTensor& labels) {
    KernelCase test{"cross_entropy", Make<CrossEntropy>({}), {logits, labels}};
    test.floor = 0.1;
    cases.Add(test);
    test.threads = 2;
    cases.Add(test);
  });
  // The results: -log of 1/4, and of e / (e + 3).
  const auto logits =
      HostTensor::FromValues<float>(DType::kFloat32, {2, 4}, {5, 5, 5, 5, 0, 1, 0, 0});
  const auto labels = HostTensor::FromValues<int64_t>(DType::kInt64, {2}, {3, 1});
  KernelCase known{"cross_entropy", Make<CrossEntropy>({}), {logits, labels}};
  known.expected = {HostTensor::FromValues<float>(DType::kFloat32, {1}, {1.0649813f})};
  cases.AddKnown(known);
  cases.Reject({{Make<CrossEntropy>({}), {{2, 3}, {2}}, "labels are Float32{2}, expected Int32"},
                {Make<CrossEntropy>({}), {{2, 3, 1}, {2}}, "expected rank 2 (N, K)"},
                {Make<CrossEntropy>({}), {{2, 3}}, "1 inputs, expected 2"}});
}

template <>
void AddCases<CrossEntropyBackward>(Cases& cases) {
  ForLogits(cases, [&](const HostTensor& logits, const HostTensor& labels) {
    KernelCase test{
        "cross_entropy_grad", Make<CrossEntropyBackward>({}), {logits, labels, cases.Tensor({1})}};
    cases.Add(test);
    test.in_place = 0;
    cases.Add(test);
    test.threads = 2;
    cases.Add(test);
  });
}

}  // namespace ashlar::testing
