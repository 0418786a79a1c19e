#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise_chain.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/matrix_mul_bias.h"
#include "opr/reduce.h"
#include "opr/relayout_format.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"
#include "tests/runtime/cuda/support/case_list.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {

void CaseList::AddElemwise() {
  for (size_t m = 0; m < kScalarFunctionNames.size(); ++m) {
    const ElemwiseParam param = {static_cast<ScalarFunction>(m), {-0.5, 1}};
    const bool positive = param.mode == ScalarFunction::kLog ||
                          param.mode == ScalarFunction::kSqrt || param.mode == ScalarFunction::kPow;
    for (const DType dtype : kReals) {
      // Whole packs, odd numbers, and operands that broadcast along each axis.
      for (const Shape& shape : {Shape{2, 16, 3, 8}, Shape{2, 3, 5, 7}}) {
        std::vector<HostTensor> inputs = {Tensor(dtype, shape, positive ? 0.1 : -2)};
        const Shape others[] = {{1, shape[1], 1, 1}, shape};
        for (int i = 1; i < Arity(param.mode); ++i) {
          HostTensor other = Tensor(dtype, others[i - 1], 0.5, 2);
          inputs.push_back(std::move(other));
        }
        KernelCase& added = Add(kScalarFunctionNames[m], Make<Elemwise>(param), std::move(inputs));
        added.tolerance = ToleranceOf(dtype);
        AddLast(KernelCase(added), {true, false, true});
        cases_.back().formats.resize(cases_.back().inputs.size());
      }
    }
    const bool integers = Make<Elemwise>(param)
                              ->Infer(std::vector<InputInfo>(static_cast<size_t>(Arity(param.mode)),
                                                             InputInfo{{DType::kInt32, {4}}}))
                              .ok();
    if (!integers) continue;
    for (const DType dtype : {DType::kInt64, DType::kInt32, DType::kInt8, DType::kUint8}) {
      std::vector<HostTensor> inputs;
      for (int i = 0; i < Arity(param.mode); ++i) {
        inputs.push_back(Tensor(dtype, i == 1 ? Shape{7} : Shape{3, 7}, 0, 100));
      }
      Add(kScalarFunctionNames[m], Make<Elemwise>({param.mode, {10, 60}}), std::move(inputs))
          .tolerance = 0;
    }
  }
  const Shape shape = {2, 8, 4, 4};
  Add("in place", Make<Elemwise>({ScalarFunction::kFuseAddRelu}), {Tensor(shape), Tensor(shape)})
      .in_place = 1;
  Add("ranks", Make<Elemwise>({ScalarFunction::kMul}), {Tensor({4, 1, 6}), Tensor({2, 1, 5, 1})});
  Add("scalars", Make<Elemwise>({ScalarFunction::kAdd}), {Tensor(Shape{}), Tensor(Shape{})});
  Add("nothing", Make<Elemwise>({ScalarFunction::kRelu}), {Tensor({3, 0})});
  HostTensor special =
      HostTensor::FromValues<float>(DType::kFloat32, {4}, {NAN, INFINITY, -INFINITY, -0.0f});
  for (const ScalarFunction mode : {ScalarFunction::kRelu, ScalarFunction::kClamp,
                                    ScalarFunction::kHSwish, ScalarFunction::kSigmoid}) {
    Add("special", Make<Elemwise>({mode, {0, 6}}), {special});
  }
  Add("NaN second", Make<Elemwise>({ScalarFunction::kMax}), {Tensor({4}), special});
  const std::vector<double> zeros = {0.0, -0.0, 0.0, -0.0}, others = {0.0, 0.0, -0.0, -0.0};
  for (const ScalarFunction mode : {ScalarFunction::kMax, ScalarFunction::kMin}) {
    for (const DType dtype : kReals) {
      HostTensor a = HostTensor::Zeros(dtype, {4}), b = a;
      for (int i = 0; i < 4; ++i) a.Set(i, zeros[i]), b.Set(i, others[i]);
      Add("zeros", Make<Elemwise>({mode}), {a, b});
      Add("zeros", Make<ElemwiseChain>({{static_cast<int64_t>(mode)}, {0}, {1}, {-1}}), {a, b});
    }
  }
}

// Random steps over operands that broadcast in every way.
void CaseList::AddChains() {
  constexpr ScalarFunction kModes[] = {
      ScalarFunction::kRelu,   ScalarFunction::kSigmoid,     ScalarFunction::kTanh,
      ScalarFunction::kHSwish, ScalarFunction::kAbs,         ScalarFunction::kAdd,
      ScalarFunction::kSub,    ScalarFunction::kMul,         ScalarFunction::kMax,
      ScalarFunction::kMin,    ScalarFunction::kFuseAddRelu, ScalarFunction::kFuseMulAdd3};
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  };
  for (const DType dtype : kReals) {
    for (int turn = 0; turn < 12; ++turn) {
      const Shape shape = turn % 2 == 0 ? Shape{2, 16, 3, 8} : Shape{2, 3, 5, 7};
      const Shape others[] = {shape, {1, shape[1], 1, 1}, {shape[2], 1}, {1}, {1, 1, 1, shape[3]}};
      std::vector<HostTensor> inputs = {Tensor(dtype, shape)};
      std::vector<bool> images = {true};
      for (int64_t i = pick(1, static_cast<int64_t>(ElemwiseChain::kMaxInputs) - 1); i > 0; --i) {
        const Shape& other = others[pick(0, 4)];
        inputs.push_back(Tensor(dtype, other, -1, 1));
        images.push_back(other == shape);
      }
      ElemwiseChainParam param;
      const int64_t most = static_cast<int64_t>(inputs.size()) - 1;
      for (int64_t s = pick(1, static_cast<int64_t>(ElemwiseChain::kMaxSteps)); s > 0; --s) {
        const ScalarFunction mode = kModes[pick(0, std::size(kModes) - 1)];
        param.mode.push_back(static_cast<int64_t>(mode));
        param.a.push_back(ElemwiseChainParam::kChained);
        // No squares, which would grow without bounds.
        param.b.push_back(Arity(mode) > 1 ? pick(0, most) : ElemwiseChainParam::kChained);
        param.c.push_back(Arity(mode) > 2 ? pick(0, most) : ElemwiseChainParam::kChained);
        if (Arity(mode) > 1 && pick(0, 1) == 1) std::swap(param.a.back(), param.b.back());
      }
      KernelCase& added = Add("chain", Make<ElemwiseChain>(param), std::move(inputs));
      added.tolerance = 4 * ToleranceOf(dtype);
      AddLast(KernelCase(added), images);
      KernelCase in_place = cases_.back();
      in_place.name += " in place";
      in_place.in_place = 0;
      cases_.push_back(std::move(in_place));
    }
  }
  Add("chain of nothing", Make<ElemwiseChain>({{0}, {-1}, {-1}, {-1}}), {Tensor({3, 0})});
}

void CaseList::AddConversions() {
  for (int from = 0; from < kNumDTypes; ++from) {
    for (int to = 0; to < kNumDTypes; ++to) {
      const auto a = static_cast<DType>(from), b = static_cast<DType>(to);
      if (a == DType::kByte || b == DType::kByte) continue;
      for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 16, 4, 4}}) {
        KernelCase& added = Add(absl::StrCat(Name(a), " to ", Name(b)), Make<TypeCvt>({b}),
                                {Tensor(a, shape, a == DType::kBool ? 0 : -100, 100)});
        added.tolerance = 0;
        if (IsFloat(a) && IsFloat(b)) AddLast(KernelCase(added), {true});
      }
      if (!IsFloat(a) || !IsFloat(b)) continue;
      // From one format to the other: few channels, few pixels, many of both, and one of either.
      for (const Shape& shape : {Shape{2, 3, 15, 18}, Shape{3, 40, 2, 3}, Shape{2, 40, 5, 9},
                                 Shape{2, 8, 1, 1}, Shape{4, 1, 5, 3}}) {
        for (const bool to_last : {true, false}) {
          KernelCase& added = Add(absl::StrCat(Name(a), " to ", Name(b), ", format"),
                                  Make<TypeCvt>({b}), {Tensor(a, shape, -100, 100)});
          added.formats = {to_last ? kRow : kLast};
          added.output_format = to_last ? kLast : kRow;
          added.tolerance = 0;
        }
      }
    }
  }
  const HostTensor special = HostTensor::FromValues<float>(
      DType::kFloat32, {6}, {NAN, INFINITY, -INFINITY, 3e9f, -3e9f, 1e20f});
  for (const DType dtype : {DType::kInt64, DType::kInt32, DType::kInt8, DType::kUint8,
                            DType::kFloat16, DType::kBFloat16}) {
    Add("saturation", Make<TypeCvt>({dtype}), {special}).tolerance = 0;
  }
}

void CaseList::AddFolds() {
  for (const ReduceMode mode : {ReduceMode::kSum, ReduceMode::kSumSqr, ReduceMode::kProduct,
                                ReduceMode::kMin, ReduceMode::kMax, ReduceMode::kMean}) {
    for (const int64_t axis : {0, 1, 2, -1}) {
      Add("reduce", Make<Reduce>({mode, axis}), {Tensor(DType::kFloat32, {3, 5, 70, 4}, 0.9, 1.1)});
      Add("reduce", Make<Reduce>({mode, axis}),
          {Tensor(DType::kFloat32, {2, 3, 4, 200}, 0.9, 1.1)});
    }
    Add("reduce to a shape", Make<Reduce>({mode}),
        {Tensor(DType::kFloat32, {4, 3, 5, 2}, 0.9, 1.1), Int32Vector({3, 1, 2})});
    if (mode != ReduceMode::kMean) {  // of integers there is none
      Add("reduce integers", Make<Reduce>({mode, 1}), {Tensor(DType::kInt32, {4, 5}, 1, 9)})
          .tolerance = 0;
    }
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      Add("reduce", Make<Reduce>({mode, 1}), {Tensor(dtype, {4, 9}, 0.9, 1.1)}).tolerance =
          ToleranceOf(dtype);
    }
  }
  for (const int64_t axis : {0, 1, -1}) {
    for (const DType dtype : kReals) {
      Add("softmax", Make<Softmax>({axis}), {Tensor(dtype, {3, 40, 33}, -9, 9)});
    }
  }
  Add("softmax of a class", Make<Softmax>({-1}), {Tensor({5, 1})});
  Add("softmax in place", Make<Softmax>({-1}), {Tensor({4, 1000})}).in_place = 0;
  for (const DType dtype : kReals) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        const auto add = [&](Shape left, Shape right) {
          if (a) std::swap(left[left.rank() - 1], left[left.rank() - 2]);
          if (b) std::swap(right[right.rank() - 1], right[right.rank() - 2]);
          Add("product", Make<MatrixMul>({.transposeA = a, .transposeB = b}),
              {Tensor(dtype, left), Tensor(dtype, right)})
              .tolerance = 2 * ToleranceOf(dtype);
          MatrixMulBiasParam with_bias;
          with_bias.transposeA = a;
          with_bias.transposeB = b;
          with_bias.relu = a == b;
          const HostTensor bias = Tensor(dtype, {right[right.rank() - (b ? 2 : 1)]});
          const std::vector<HostTensor> inputs = {cases_.back().inputs[0], cases_.back().inputs[1],
                                                  bias};
          Add("product and bias", Make<MatrixMulBias>(with_bias), inputs).tolerance =
              2 * ToleranceOf(dtype);
        };
        add({1, 64}, {64, 24});
        add({9, 33}, {33, 7});
        add({3, 8, 16}, {3, 16, 8});
        add({3, 8, 16}, {16, 8});
        add({2, 1, 8, 16}, {3, 16, 8});  // a batch of two strides
      }
    }
  }
}

void CaseList::AddMovements() {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64}) {
    for (const Shape& shape : {Shape{2, 40, 5, 9}, Shape{2, 3, 4, 6}, Shape{1, 32, 8, 8},
                               Shape{2, 15, 20, 13}, Shape{2, 300, 1, 7}}) {
      for (const bool to_last : {true, false}) {
        KernelCase& added = Add("relayout", Make<RelayoutFormat>({to_last ? kLast : kRow}),
                                {Tensor(dtype, shape, -50, 50)});
        added.formats = {to_last ? kRow : kLast};
        added.output_format = to_last ? kLast : kRow;
        added.tolerance = 0;
      }
    }
    for (const int64_t axis : {0, 1, 2, 3}) {
      std::vector<HostTensor> inputs;
      for (int64_t i = 0; i < 8; ++i) {
        Shape shape = {2, 8, 4, 6};
        shape[static_cast<int>(axis)] = i % 3 == 0 ? 4 : i % 5;  // one of them is empty
        inputs.push_back(Tensor(dtype, shape, -50, 50));
      }
      KernelCase& added = Add("concat", Make<Concat>({axis}), std::move(inputs));
      added.tolerance = 0;
      AddLast(KernelCase(added), std::vector<bool>(8, true));
    }
    Add("dimshuffle", Make<Dimshuffle>({{2, -1, 0, 1}}), {Tensor(dtype, {4, 6, 8}, -50, 50)})
        .tolerance = 0;
    const std::vector<HostTensor> bounds = {Int32Vector({1}), Int32Vector({5}), Int32Vector({-1}),
                                            Int32Vector({2})};
    Add("subtensor",
        Make<Subtensor>({.axis = {1, 3, 0},
                         .begin = {1, 0, 0},
                         .end = {1, 0, 0},
                         .step = {0, 1, 0},
                         .idx = {0, 0, 1}}),
        {Tensor(dtype, {3, 8, 4, 6}, -50, 50), bounds[0], bounds[1], bounds[2], bounds[3]})
        .tolerance = 0;
    Add("reshape", Make<Reshape>({}), {Tensor(dtype, {4, 6}, -50, 50), Int32Vector({3, 8})})
        .tolerance = 0;
    Add("output", Make<OutputCallback>({}), {Tensor(dtype, {5, 7}, -50, 50)}).tolerance = 0;
  }
  Add("shape", Make<GetVarShape>({}), {Tensor({4, 6, 1})}).tolerance = 0;
}

std::vector<KernelCase> AllCases(uint64_t seed) {
  CaseList list(seed);
  list.AddElemwise();
  list.AddChains();
  list.AddConversions();
  list.AddConvolutions();
  list.AddImages();
  list.AddFolds();
  list.AddMovements();
  list.AddDepthwise();
  return list.Take();
}

}  // namespace ashlar::testing
