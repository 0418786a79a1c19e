#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "opr/batch_norm.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise_chain.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/lrn.h"
#include "opr/matrix_mul_bias.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/relayout_format.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"
#include "tests/runtime/cuda/support/kernel_check.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr Format kRow = Format::kDefault, kLast = Format::kNHWC;
constexpr DType kReals[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

double ToleranceOf(DType dtype) {
  return dtype == DType::kFloat32 ? 2e-5 : dtype == DType::kFloat16 ? 2e-3 : 1.6e-2;
}

template <typename Op>
OperatorPtr Make(typename Op::Param param) {
  return std::make_shared<const Op>(std::move(param));
}

struct Geometry {
  Shape src, filter;
  ConvBiasParam param;
};

template <typename Change>
Geometry GeometryOf(Shape src, Shape filter, const Change& change) {
  Geometry geometry{std::move(src), std::move(filter), {}};
  change(geometry.param);
  if (geometry.filter.rank() == 5) geometry.param.sparse = SparseMode::kGroup;
  return geometry;
}

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
  void AddEachConvolution(const std::vector<Geometry>& geometries);

  std::mt19937_64 random_;
  std::vector<KernelCase> cases_;
};

void CaseList::AddElemwise() {
  for (size_t m = 0; m < ElemwiseModeNames().size(); ++m) {
    const ElemwiseParam param = {.mode = static_cast<ElemwiseMode>(m), .lo = -0.5, .hi = 1};
    const bool positive = param.mode == ElemwiseMode::kLog || param.mode == ElemwiseMode::kSqrt ||
                          param.mode == ElemwiseMode::kPow;
    for (const DType dtype : kReals) {
      // Whole packs, odd numbers, and operands that broadcast along each axis.
      for (const Shape& shape : {Shape{2, 16, 3, 8}, Shape{2, 3, 5, 7}}) {
        std::vector<HostTensor> inputs = {Tensor(dtype, shape, positive ? 0.1 : -2)};
        const Shape others[] = {{1, shape[1], 1, 1}, shape};
        for (int i = 1; i < Arity(param.mode); ++i) {
          HostTensor other = Tensor(dtype, others[i - 1], 0.5, 2);
          inputs.push_back(std::move(other));
        }
        KernelCase& added = Add(ElemwiseModeNames()[m], Make<Elemwise>(param), std::move(inputs));
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
      Add(ElemwiseModeNames()[m], Make<Elemwise>({.mode = param.mode, .lo = 10, .hi = 60}),
          std::move(inputs))
          .tolerance = 0;
    }
  }
  const Shape shape = {2, 8, 4, 4};
  Add("in place", Make<Elemwise>({ElemwiseMode::kFuseAddRelu}), {Tensor(shape), Tensor(shape)})
      .in_place = 1;
  Add("ranks", Make<Elemwise>({ElemwiseMode::kMul}), {Tensor({4, 1, 6}), Tensor({2, 1, 5, 1})});
  Add("scalars", Make<Elemwise>({ElemwiseMode::kAdd}), {Tensor(Shape{}), Tensor(Shape{})});
  Add("nothing", Make<Elemwise>({ElemwiseMode::kRelu}), {Tensor({3, 0})});
  HostTensor special =
      HostTensor::FromValues<float>(DType::kFloat32, {4}, {NAN, INFINITY, -INFINITY, -0.0f});
  for (const ElemwiseMode mode :
       {ElemwiseMode::kRelu, ElemwiseMode::kClamp, ElemwiseMode::kHSwish, ElemwiseMode::kSigmoid}) {
    Add("special", Make<Elemwise>({.mode = mode, .lo = 0, .hi = 6}), {special});
  }
  Add("NaN second", Make<Elemwise>({ElemwiseMode::kMax}), {Tensor({4}), special});
}

// Random steps over operands that broadcast in every way.
void CaseList::AddChains() {
  constexpr ElemwiseMode kModes[] = {
      ElemwiseMode::kRelu,   ElemwiseMode::kSigmoid,     ElemwiseMode::kTanh,
      ElemwiseMode::kHSwish, ElemwiseMode::kAbs,         ElemwiseMode::kAdd,
      ElemwiseMode::kSub,    ElemwiseMode::kMul,         ElemwiseMode::kMax,
      ElemwiseMode::kMin,    ElemwiseMode::kFuseAddRelu, ElemwiseMode::kFuseMulAdd3};
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
        const ElemwiseMode mode = kModes[pick(0, std::size(kModes) - 1)];
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

void CaseList::AddConvolutions() {
  std::vector<Geometry> geometries;
  const auto add = [&](Shape src, Shape filter, auto change) {
    geometries.push_back(GeometryOf(std::move(src), std::move(filter), change));
  };
  add({2, 16, 9, 9}, {32, 16, 3, 3}, [](ConvBiasParam& p) { p.pad_h = p.pad_w = 1; });
  add({1, 64, 7, 7}, {64, 64, 1, 1}, [](ConvBiasParam&) {});
  add({2, 3, 15, 15}, {16, 3, 7, 7}, [](ConvBiasParam& p) {
    p.stride_h = p.stride_w = 2;
    p.pad_h = p.pad_w = 3;
  });
  add({1, 8, 10, 12}, {8, 8, 3, 5}, [](ConvBiasParam& p) {
    p.dilate_h = 2;
    p.pad_w = 1;
    p.pad_w_end = 3;  // not as in front
    p.stride_w = 2;
  });
  add({1, 32, 6, 6}, {32, 1, 1, 3, 3}, [](ConvBiasParam& p) { p.pad_h = p.pad_w = 1; });
  add({1, 24, 6, 6}, {4, 8, 6, 3, 3}, [](ConvBiasParam& p) { p.pad_h = p.pad_w = 1; });
  add({1, 5, 6, 6}, {7, 5, 3, 3}, [](ConvBiasParam& p) { p.mode = ConvolutionMode::kConvolution; });
  // Tiles: negative padding crops rows, columns, or both, of one image and of several.
  add({1, 16, 12, 9}, {16, 16, 3, 3}, [](ConvBiasParam& p) {
    p.pad_h = -3;
    p.pad_h_end = -2;
    p.pad_w = p.pad_w_end = 1;
  });
  add({2, 8, 9, 14}, {24, 8, 3, 3}, [](ConvBiasParam& p) {
    p.pad_h = 1;
    p.pad_h_end = -4;
    p.pad_w = -2;
    p.pad_w_end = -5;
    p.stride_w = 2;
  });
  AddEachConvolution(geometries);
}

void CaseList::AddDepthwise() {
  std::vector<Geometry> geometries;
  const auto add = [&](Shape src, Shape filter, auto change) {
    geometries.push_back(GeometryOf(std::move(src), std::move(filter), change));
  };
  // Packs and none, runs with a rest, cropped and turned.
  add({2, 16, 7, 11}, {16, 1, 1, 5, 3}, [](ConvBiasParam& p) {
    p.pad_h = 2;
    p.pad_w_end = 3;
    p.stride_h = p.dilate_w = 2;
  });
  add({1, 8, 9, 8}, {8, 1, 1, 3, 3}, [](ConvBiasParam& p) {
    p.mode = ConvolutionMode::kConvolution;
    p.pad_h = -2;
    p.pad_w = 1;
    p.pad_w_end = -1;
    p.stride_w = 2;
  });
  add({2, 5, 6, 7}, {5, 1, 1, 3, 3}, [](ConvBiasParam& p) { p.pad_h = p.pad_w = 1; });
  AddEachConvolution(geometries);
}

void CaseList::AddEachConvolution(const std::vector<Geometry>& geometries) {
  int turn = 0;
  for (const Geometry& g : geometries) {
    for (const DType dtype : kReals) {
      const double tolerance = ToleranceOf(dtype) * (dtype == DType::kFloat32 ? 3 : 2);
      const Shape out = InferConvolution(g.param, {dtype, g.src}, {dtype, g.filter})->output();
      std::vector<HostTensor> inputs = {Tensor(dtype, g.src), Tensor(dtype, g.filter)};
      KernelCase& plain = Add("convolution", Make<ConvolutionForward>(g.param), inputs);
      plain.constant = {false, true};
      plain.tolerance = tolerance;
      AddLast(KernelCase(plain), {true, false});
      inputs.push_back(Tensor(dtype, {1, out[1], 1, 1}));
      inputs.push_back(Tensor(dtype, out));
      for (const bool z : {false, true}) {
        ConvBiasParam param = g.param;
        param.nonlineMode = static_cast<Activation>(turn++ % 5);
        if (param.nonlineMode == Activation::kClamp) param.hi = 1.5;
        KernelCase& added =
            Add(z ? "convolution, bias, z" : "convolution, bias", Make<ConvBiasForward>(param),
                {inputs.begin(), inputs.end() - (z ? 0 : 1)});
        added.constant = {false, true, true, false};
        added.constant.resize(added.inputs.size());
        added.tolerance = tolerance;
        AddLast(KernelCase(added), {true, false, false, true});
        cases_.back().formats.resize(cases_.back().inputs.size());
        if (!z) continue;
        KernelCase in_place = cases_.back();
        in_place.name += ", in place of z";
        in_place.in_place = ConvBiasForward::kZ;
        cases_.push_back(std::move(in_place));
      }
    }
  }
}

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

}  // namespace

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
