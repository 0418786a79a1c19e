// Convolutions with what is fused into them, of many channels and of one for each window.
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cuda/support/case_list.h"
#include "tests/support/activations.h"

namespace ashlar::testing {
namespace {

template <typename Change>
ConvGeometry GeometryOf(Shape src, Shape filter, const Change& change) {
  ConvGeometry geometry{std::move(src), std::move(filter), {}};
  change(geometry.param);
  if (geometry.filter.rank() == 5) geometry.param.sparse = SparseMode::kGroup;
  return geometry;
}

}  // namespace

void CaseList::AddConvolutions() {
  std::vector<ConvGeometry> geometries;
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
  std::vector<ConvGeometry> geometries;
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

void CaseList::AddEachConvolution(const std::vector<ConvGeometry>& geometries) {
  size_t turn = 0;
  for (const ConvGeometry& g : geometries) {
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
        param.nonlineMode = Activations()[turn++ % Activations().size()];
        if (param.nonlineMode == ScalarFunction::kClamp) param.parameters = {0, 1.5};
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

}  // namespace ashlar::testing
