#include "opr/elemwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cases/cases.h"
#include "tests/support/activations.h"

namespace ashlar::testing {
namespace {

constexpr int kNumModes = static_cast<int>(kNumScalarFunctions);

KernelCase CaseOf(ScalarFunction mode, std::vector<HostTensor> inputs) {
  return {RowOf(mode).name, Make<Elemwise>({mode, {-0.5, 0.5}}), std::move(inputs)};
}

bool TakesIntegers(ScalarFunction mode) {
  const InputInfo x{{DType::kInt32, Shape{1}}};
  return CaseOf(mode, {})
      .op->Infer(std::vector<InputInfo>(static_cast<size_t>(Arity(mode)), x))
      .ok();
}

// Returns values for which a mode is well conditioned.
HostTensor Operand(Cases& cases, ScalarFunction mode, DType dtype, const Shape& shape, int input) {
  const bool positive = mode == ScalarFunction::kLog || mode == ScalarFunction::kSqrt ||
                        (mode == ScalarFunction::kPow && input == 0) ||
                        (mode == ScalarFunction::kTrueDiv && input == 1);
  const bool divides = mode == ScalarFunction::kTruncDiv || mode == ScalarFunction::kMod ||
                       mode == ScalarFunction::kFmod;
  if (divides && input == 1) return cases.Tensor(dtype, shape, 1, 5);
  return cases.Tensor(dtype, shape, positive ? 0.1 : -5, 5);
}

// Returns the least magnitude of a sum. Terms may cancel, and a sum is only as accurate as they
// are.
double SmallestSum(ScalarFunction mode) {
  return mode == ScalarFunction::kFuseMulAdd3 || mode == ScalarFunction::kGeluTanhGrad ? 5 : 0.5;
}

void AddBroadcasts(Cases& cases, ScalarFunction mode) {
  struct {
    Shape a, b, c;
    bool image;  // rank 4: also in the formats of images
  } const kShapes[] = {
      {{2, 35, 5, 7}, {2, 35, 5, 7}, {2, 35, 5, 7}, true},  //
      {{2, 32, 5, 7}, {1, 32, 1, 1}, {2, 32, 5, 7}, true},  // one value per channel
      {{2, 16, 3, 8}, {1, 16, 1, 1}, {2, 16, 3, 8}, true},
      {{2, 35, 5, 7}, {1, 35, 1, 1}, {1, 35, 1, 1}, true},
      {{2, 35, 5, 7}, {2, 1, 5, 7}, {1, 1, 1, 1}, true},
      {{1, 3, 1, 7}, {2, 1, 5, 1}, {2, 3, 5, 7}, true},
      {{3, 40, 4, 4}, {1}, {4, 4}, false},
      {{7}, {5, 1}, {2, 5, 7}, false},
      {{2, 40}, {40}, {2, 1}, false},  // fewer rows than threads share
      {{4, 1, 6}, {2, 1, 5, 1}, {1}, false},
      {{}, {}, {}, false},
      {{2, 0, 3}, {1}, {3}, false},
      {{2, 3, 2, 2, 1, 2, 3, 2}, {3, 1, 2, 1, 2, 1, 2}, {1, 2}, false},
      {{300000}, {1}, {300000}, false},
  };
  for (const auto& shapes : kShapes) {
    KernelCase test = CaseOf(mode, {});
    const Shape* const dims[] = {&shapes.a, &shapes.b, &shapes.c};
    for (int i = 0; i < Arity(mode); ++i) {
      test.inputs.push_back(Operand(cases, mode, DType::kFloat32, *dims[i], i));
    }
    test.floor = SmallestSum(mode);
    test.large = test.inputs[0].num_elements() > 100000;
    if (!shapes.image) {
      cases.Add(test);
      continue;
    }
    // All operands as images, then the last one row-major.
    std::vector<bool> images(test.inputs.size(), true);
    cases.AddImages(test, images);
    if (images.size() == 1) continue;
    images.back() = false;
    cases.AddImages(test, images);
  }
}

void AddInPlace(Cases& cases, ScalarFunction mode) {
  for (int over = 0; over < Arity(mode); ++over) {
    KernelCase test = CaseOf(mode, {});
    for (int i = 0; i < Arity(mode); ++i) {
      const Shape shape = i == over ? Shape{3, 21, 30, 31} : Shape{1, 21, 1, 1};
      test.inputs.push_back(Operand(cases, mode, DType::kFloat32, shape, i));
    }
    test.in_place = over;
    test.large = over > 0;
    test.floor = SmallestSum(mode);
    cases.AddImages(test, std::vector<bool>(test.inputs.size(), true));
  }
}

void AddDTypes(Cases& cases, ScalarFunction mode) {
  for (const DType dtype : cases.WithIntegers({DType::kFloat16, DType::kBFloat16})) {
    if (!IsFloat(dtype) && !TakesIntegers(mode)) continue;
    for (const Shape& shape : {Shape{2, 19, 3, 5}, Shape{2, 16, 3, 8}}) {
      KernelCase test = CaseOf(mode, {});
      for (int i = 0; i < Arity(mode); ++i) {
        const Shape each = i == 1 ? Shape{1, shape[1], 1, 1} : shape;
        test.inputs.push_back(Operand(cases, mode, dtype, each, i));
      }
      test.tolerance = 0;
      cases.AddImages(test, std::vector<bool>(test.inputs.size(), true));
    }
  }
}

// Adds integers over their whole range, which wrap around; also as bounds of a clamp.
void AddIntegers(Cases& cases, ScalarFunction mode) {
  if (!TakesIntegers(mode)) return;
  for (const DType dtype : cases.scope().integers) {
    KernelCase test = CaseOf(mode, {});
    if (mode == ScalarFunction::kClamp) test.op = Make<Elemwise>({mode, {-16777217, 33554433}});
    for (int i = 0; i < Arity(mode); ++i) {
      test.inputs.push_back(cases.Integers(dtype, {30, i == 1 ? 1 : 40}));
    }
    test.tolerance = test.gpu_tolerance = 0;
    cases.Add(test);
  }
}

// Adds numbers that are often equal, and flags.
void AddBooleans(Cases& cases, ScalarFunction mode) {
  if (!RowOf(mode).booleans) return;
  for (const DType dtype : {DType::kBool, DType::kInt64, DType::kFloat32}) {
    KernelCase test = CaseOf(mode, {});
    for (int i = 0; i < Arity(mode); ++i) {
      const HostTensor flags = cases.Tensor(DType::kInt8, {3, i == 1 ? 1 : 50}, 0, 1);
      HostTensor input = HostTensor::Zeros(dtype, flags.shape());
      for (int64_t k = 0; k < flags.num_elements(); ++k) input.Set(k, flags.At(k));
      test.inputs.push_back(std::move(input));
    }
    test.tolerance = test.gpu_tolerance = 0;
    cases.Add(test);
  }
}

void AddEndsOfTheRange(Cases& cases, ScalarFunction mode) {
  // A sum is only as accurate as its largest term.
  for (const ScalarFunction sum :
       {ScalarFunction::kFuseMulAdd3, ScalarFunction::kFuseAddSigmoid, ScalarFunction::kFuseAddTanh,
        ScalarFunction::kGelu, ScalarFunction::kGeluTanh, ScalarFunction::kTruncDiv,
        ScalarFunction::kSigmoidGrad, ScalarFunction::kTanhGrad, ScalarFunction::kHSwishGrad,
        ScalarFunction::kSiluGrad, ScalarFunction::kGeluGrad, ScalarFunction::kGeluTanhGrad,
        ScalarFunction::kMishGrad}) {
    if (mode == sum) return;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values = {0, -0.f, 1, -1, kInfinity, -kInfinity, kNaN};
  for (float x = 1e-30f; x < 1e30f; x *= 1.7f) {
    values.push_back(x);
    values.push_back(-x);
  }
  for (float x = -87; x < 88; x += 0.37f) values.push_back(x);
  const auto size = static_cast<int64_t>(values.size());
  KernelCase test = CaseOf(mode, {HostTensor::FromValues<float>(DType::kFloat32, {size}, values)});
  std::reverse(values.begin(), values.end());
  while (static_cast<int>(test.inputs.size()) < Arity(mode)) {
    test.inputs.push_back(HostTensor::FromValues<float>(DType::kFloat32, {size}, values));
  }
  test.floor = 1e-36;  // numbers below are subnormal
  cases.Add(test);
}

}  // namespace

template <>
void AddCases<Elemwise>(Cases& cases) {
  for (int m = 0; m < kNumModes; ++m) {
    const auto mode = static_cast<ScalarFunction>(m);
    AddBroadcasts(cases, mode);
    AddInPlace(cases, mode);
    AddDTypes(cases, mode);
    AddIntegers(cases, mode);
    AddBooleans(cases, mode);
    AddEndsOfTheRange(cases, mode);
  }
  for (const ScalarFunction mode :
       {ScalarFunction::kRelu, ScalarFunction::kMul, ScalarFunction::kFuseMulAdd3}) {
    for (const Shape& shape : {Shape{2, 3, 9, 13}, Shape{1, 16, 1, 5}, Shape{2, 35, 7, 6}}) {
      KernelCase test = CaseOf(mode, {});
      for (int i = 0; i < Arity(mode); ++i) {
        test.inputs.push_back(cases.Tensor(i == 1 ? Shape{1, shape[1], 1, 1} : shape, 0.5, 3));
      }
      cases.AddFormatPairs(test, {true, false, true}, false);
    }
  }
  const auto special =
      HostTensor::FromValues<float>(DType::kFloat32, {4}, {NAN, INFINITY, -INFINITY, -0.0f});
  for (const ScalarFunction mode : Activations()) cases.Add(CaseOf(mode, {special}));
  cases.Add(CaseOf(ScalarFunction::kMax, {cases.Tensor({4}), special}));
  // The maximum of two zeros is the positive one, the minimum the negative one.
  for (const ScalarFunction mode : {ScalarFunction::kMax, ScalarFunction::kMin}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      HostTensor a = HostTensor::Zeros(dtype, {100}), b = a;
      for (int i = 0; i < 100; ++i) {
        a.Set(i, i % 2 == 0 ? 0.0 : -0.0);
        b.Set(i, i % 4 < 2 ? 0.0 : -0.0);
      }
      KernelCase test = CaseOf(mode, {a, b});
      test.tolerance = test.gpu_tolerance = 0;
      cases.Add(test);
    }
  }
}

}  // namespace ashlar::testing
