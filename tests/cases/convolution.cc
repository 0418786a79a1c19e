// Cases of ConvolutionForward and ConvBiasForward.
#include "opr/convolution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "opr/quantized_conv.h"
#include "tests/cases/cases.h"
#include "tests/cases/convolution_layer.h"
#include "tests/cases/doubles.h"
#include "tests/cases/quantized.h"
#include "tests/support/activations.h"

namespace ashlar::testing {
namespace {

ConvBiasParam Asymmetric(int64_t stride_h, int64_t stride_w, int64_t top, int64_t left,
                         int64_t bottom, int64_t right) {
  ConvBiasParam param;
  param.stride_h = stride_h, param.stride_w = stride_w;
  param.pad_h = top, param.pad_w = left, param.pad_h_end = bottom, param.pad_w_end = right;
  return param;
}

ConvBiasParam Dilated(ConvBiasParam param, int64_t dilate_h, int64_t dilate_w) {
  param.dilate_h = dilate_h, param.dilate_w = dilate_w;
  return param;
}

std::vector<Layer> Layers() {
  return {
      {"3x3", 2, 32, 48, 9, 10, 3, 3, 1, Window(1, 1)},
      {"3x3 stride 2", 1, 32, 32, 15, 14, 3, 3, 1, Window(2, 1)},
      {"3x3 without padding", 2, 16, 32, 7, 5, 3, 3, 1, Window(1, 0)},
      {"3x3 dilated", 1, 32, 32, 13, 12, 3, 3, 1, Window(1, 2, 2)},
      {"3x3 dilated by much, strided", 1, 16, 16, 17, 16, 3, 3, 1, Window(2, 5, 5)},
      {"1x1", 2, 64, 32, 7, 7, 1, 1, 1, Window(1, 0)},
      {"1x1 stride 2", 2, 64, 128, 14, 13, 1, 1, 1, Window(2, 0)},
      {"1x1 padded", 1, 32, 32, 6, 6, 1, 1, 1, Window(1, 1)},
      {"1x1 on one pixel", 3, 48, 32, 1, 1, 1, 1, 1, Window(1, 0)},
      {"5x5", 1, 16, 32, 12, 11, 5, 5, 1, Window(1, 2)},
      {"7x7", 1, 16, 16, 16, 16, 7, 7, 1, Window(1, 3)},
      {"1x7", 1, 32, 16, 9, 9, 1, 7, 1, Asymmetric(1, 1, 0, 3, 0, 3)},
      {"window larger than the image", 1, 16, 16, 3, 2, 7, 7, 1, Window(1, 3)},
      {"windows wholly in the padding", 1, 16, 16, 4, 4, 3, 3, 1, Window(1, 4)},
      {"wide rows", 1, 16, 16, 3, 150, 3, 3, 1, Window(1, 1)},
      {"asymmetric padding", 1, 32, 16, 11, 12, 3, 3, 1, Asymmetric(2, 2, 0, 0, 1, 1)},
      {"asymmetric in all", 1, 16, 32, 11, 17, 3, 5, 1, Asymmetric(1, 2, 2, 0, 1, 4)},
      {"stem", 2, 3, 64, 32, 30, 7, 7, 1, Window(2, 3)},
      {"stem of one channel", 1, 1, 32, 14, 14, 5, 5, 1, Window(1, 2)},
      {"odd stem", 1, 5, 20, 14, 14, 3, 3, 1, Window(2, 1)},
      {"few channels", 2, 7, 5, 9, 8, 3, 3, 1, Window(1, 1)},
      {"few channels, 1x1", 1, 7, 5, 9, 8, 1, 1, 1, Window(1, 0)},
      {"odd channels", 2, 17, 33, 9, 8, 3, 3, 1, Window(1, 1)},
      {"odd channels, 1x1 stride 2", 2, 60, 44, 9, 8, 1, 1, 1, Window(2, 0)},
      {"to one channel", 1, 32, 1, 9, 8, 3, 3, 1, Window(1, 1)},
      {"half a block left", 1, 16, 24, 7, 25, 1, 1, 1, Asymmetric(1, 2, 0, 0, 0, 0)},
      {"half a block left, at borders", 2, 16, 40, 5, 13, 3, 5, 1, Asymmetric(1, 1, 1, 2, 1, 2)},
      {"depthwise, half a block left", 1, 24, 24, 5, 20, 3, 3, 24, Window(1, 1)},
      {"depthwise 5x5, half a block left", 1, 40, 40, 9, 14, 5, 5, 40, Window(2, 2)},
      {"depthwise", 2, 32, 32, 9, 8, 3, 3, 32, Window(1, 1)},
      {"depthwise, odd", 2, 23, 23, 9, 8, 3, 3, 23, Window(2, 1)},
      {"depthwise 5x5, dilated", 1, 16, 16, 13, 14, 5, 5, 16, Window(1, 4, 2)},
      {"depthwise 5x5 of packs", 1, 16, 16, 9, 10, 5, 5, 16, Window(1, 2)},
      {"depthwise of packs, strided", 1, 16, 16, 9, 11, 3, 3, 16, Window(2, 1)},
      {"depthwise, doubling", 1, 16, 32, 9, 8, 3, 3, 16, Window(1, 1)},
      {"groups of whole blocks", 1, 64, 32, 9, 8, 3, 3, 2, Window(1, 1)},
      {"groups of part blocks", 1, 64, 64, 9, 8, 3, 3, 16, Window(1, 1)},
      {"groups of a block and a half", 1, 48, 48, 9, 8, 3, 3, 2, Window(2, 1)},
      {"odd groups", 2, 15, 25, 7, 8, 3, 3, 5, Window(1, 1)},
      {"one group", 1, 16, 16, 7, 8, 3, 3, 0, Window(1, 1)},
      {"few channels, many pixels", 2, 3, 16, 15, 15, 7, 7, 1, Window(2, 3)},
      {"dilated and asymmetric", 1, 8, 8, 10, 12, 3, 5, 1,
       Dilated(Asymmetric(1, 2, 0, 1, 0, 3), 2, 1)},
      {"depthwise, one block", 1, 32, 32, 6, 6, 3, 3, 32, Window(1, 1)},
      {"groups of half a block", 1, 24, 24, 6, 6, 3, 3, 3, Window(1, 1)},
      {"5 to 7 channels", 1, 5, 7, 6, 6, 3, 3, 1, Window(1, 0)},
      // Full and partial packs of channels, runs of outputs with a remainder.
      {"depthwise 5x3", 2, 16, 16, 7, 11, 5, 3, 16, Dilated(Asymmetric(2, 1, 2, 0, 2, 3), 1, 2)},
      {"depthwise of 5", 2, 5, 5, 6, 7, 3, 3, 5, Window(1, 1)},
      // In 8 bits neighbouring outputs share columns, if there are enough outputs and channels.
      {"depthwise of low images", 1, 144, 144, 2, 13, 3, 3, 144, Window(1, 1)},
      {"depthwise of one row", 2, 64, 64, 1, 9, 3, 3, 64, Window(1, 1)},
      {"depthwise of narrow images", 1, 96, 96, 6, 4, 3, 3, 96, Window(1, 1)},
      {"depthwise of few columns", 1, 64, 64, 5, 7, 3, 3, 64, Window(1, 0)},
      {"of a column", 1, 32, 48, 37, 1, 5, 1, 1, Asymmetric(1, 1, 2, 0, 2, 0)},
      {"of columns, strided", 2, 19, 16, 23, 1, 3, 1, 1, Asymmetric(2, 1, 1, 0, 1, 0)},
      {"depthwise of columns", 2, 32, 32, 29, 1, 3, 1, 32,
       Dilated(Asymmetric(1, 1, 2, 0, 2, 0), 2, 1)},
  };
}

// Returns layers with negative padding, as tiles have it. It crops rows, columns, or both, of one
// image and of several.
std::vector<Layer> CroppedLayers() {
  return {
      {"cropped rows", 1, 16, 16, 12, 9, 3, 3, 1, Asymmetric(1, 1, -3, 1, -2, 1)},
      {"cropped in both", 2, 8, 24, 9, 14, 3, 3, 1, Asymmetric(1, 2, 1, -2, -4, -5)},
      {"cropped column", 1, 16, 32, 20, 1, 3, 1, 1, Asymmetric(1, 1, -3, 0, 1, 0)},
      {"cropped depthwise", 1, 8, 8, 9, 8, 3, 3, 8, Asymmetric(1, 2, -2, 1, 0, -1)},
      {"cropped depthwise of blocks", 1, 64, 64, 7, 12, 3, 3, 64, Asymmetric(1, 1, -2, 1, -1, 1)},
  };
}

ScalarFunction AnyActivation(int64_t number) {
  return Activations()[static_cast<size_t>(number) % Activations().size()];
}

// The last three: sums of integers that are rounded later, without or with z, or with z and now.
enum class Residual { kNone, kApart, kInPlace, kFirstSums, kUnfinished, kSums };

struct Variant {
  ScalarFunction activation = ScalarFunction::kIdentity;
  Residual residual = Residual::kNone;
  bool bias = true;  // false: a ConvolutionForward
  bool constant = true;
  DType dtype = DType::kFloat32;
  bool large = false;
};

// Returns the operator and its tensors; the sums are about 1.
KernelCase CaseOf(Cases& cases, const Layer& layer, const Variant& variant) {
  ConvBiasParam param = layer.param;
  param.nonlineMode = variant.activation;
  if (variant.activation == ScalarFunction::kClamp) param.parameters = {0.25, 1.5};
  const int64_t groups = std::max<int64_t>(1, layer.groups);
  const Shape filter = FilterOf(layer, param);
  const double scale = 3 / std::sqrt(static_cast<double>(layer.in / groups * layer.fh * layer.fw));
  const DType dtype = variant.dtype;
  KernelCase test;
  test.name = layer.name;
  const int64_t products = layer.batch * layer.out * layer.h * layer.w * layer.in / groups *
                           layer.fh * layer.fw;  // about as many products, if strides are 1
  test.large = variant.large || products > 1'500'000;
  test.inputs = {cases.Tensor(dtype, {layer.batch, layer.in, layer.h, layer.w}, -1, 1),
                 cases.Tensor(dtype, filter, -scale, scale)};
  test.constant = {false, variant.constant};
  test.tolerance = 1e-5;  // for sums of at most a few thousand products
  test.gpu_tolerance = ToleranceOf(dtype) * (dtype == DType::kFloat32 ? 3 : 2);
  if (!variant.bias) {
    test.op = Make<ConvolutionForward>(param);
    return test;
  }
  test.op = Make<ConvBiasForward>(param);
  test.inputs.push_back(cases.Tensor(dtype, {1, layer.out, 1, 1}, -1, 1));
  test.constant.push_back(true);
  if (variant.residual == Residual::kNone) return test;
  const Shape output =
      InferConvolution(param, {dtype, test.inputs[0].shape()}, {dtype, test.inputs[1].shape()})
          ->output();
  test.inputs.push_back(cases.Tensor(dtype, output, -1, 1));
  test.constant.push_back(false);
  if (variant.residual == Residual::kInPlace) test.in_place = ConvBiasForward::kZ;
  return test;
}

// Adds the layer with images in blocks, also after a row-major image of few channels.
void Add(Cases& cases, const Layer& layer, const Variant& variant) {
  const KernelCase test = CaseOf(cases, layer, variant);
  const std::vector<bool> images = {true, false, false, true};
  cases.AddImages(test, images);
  cases.AddFormatPairs(test, images, true);
}

void AddRandomLayer(Cases& cases, bool large) {
  Layer layer{"random",          cases.Pick(1, 2),  cases.Pick(1, 40), cases.Pick(1, 40),
              cases.Pick(1, 14), cases.Pick(1, 14), cases.Pick(1, 5),  cases.Pick(1, 5)};
  if (cases.Pick(0, 2) == 0) {
    layer.groups = cases.Pick(1, 8);
    layer.in = layer.groups * cases.Pick(1, 18);
    layer.out = layer.groups * cases.Pick(1, 18);
  }
  layer.param = Asymmetric(cases.Pick(1, 3), cases.Pick(1, 3), cases.Pick(0, 3), cases.Pick(0, 3),
                           cases.Pick(0, 3), cases.Pick(0, 3));
  layer.param = Dilated(layer.param, cases.Pick(1, 2), cases.Pick(1, 2));
  // Makes the image large enough for the window.
  layer.h = std::max(layer.h, layer.param.dilate_h * (layer.fh - 1) + 1);
  layer.w = std::max(layer.w, layer.param.dilate_w * (layer.fw - 1) + 1);
  Add(cases, layer,
      {AnyActivation(cases.Pick(0, 4)), static_cast<Residual>(cases.Pick(0, 2)), true, true,
       DType::kFloat32, large});
}

// A constant, or an input whose shape differs from the output's, is not always in the output's
// format.
void AddOperandsInOtherFormats(Cases& cases) {
  KernelCase test = CaseOf(cases, {"other formats", 2, 20, 24, 6, 7, 3, 3, 1, Window(1, 1)},
                           {ScalarFunction::kRelu, Residual::kApart, true, false});
  const Format row = Format::kDefault, image = cases.scope().images[0];
  std::vector<std::vector<Format>> operands = {{row, row, row, image}, {image, row, row, row}};
  if (cases.blocked()) operands.push_back({image, image, image, image});
  for (const std::vector<Format>& formats : operands) {
    for (const Format output : {row, image}) {
      test.formats = formats;
      test.output_format = output;
      cases.Add(test);
    }
  }
}

// Infinities and NaN in one group must stay in it.
void AddInfinityInAGroup(Cases& cases) {
  KernelCase test = CaseOf(cases, {"groups", 1, 32, 32, 5, 5, 3, 3, 8, Window(1, 1)}, {});
  for (int64_t i = 0; i < 4 * 25; ++i) {
    test.inputs[0].Set(i, std::numeric_limits<double>::infinity());
  }
  test.floor = 1;
  cases.AddImages(test);
}

// Adds convolutions that clamp their source while loading it, which GPUs have: every depthwise one,
// and a dense one.
void AddBoundedSources(Cases& cases) {
  if (!cases.on_gpu()) return;
  for (const std::vector<Layer>& layers : {Layers(), CroppedLayers()}) {
    for (Layer layer : layers) {
      const bool depthwise = layer.groups > 1 && layer.groups == layer.in && layer.in == layer.out;
      if (!depthwise && layer.name != absl::string_view("few channels")) continue;
      layer.param.src_low = 0.1;  // no 16-bit number, and not the padding value
      layer.param.src_high = 0.7;
      for (const DType dtype : cases.scope().floats) Add(cases, layer, {.dtype = dtype});
    }
  }
}

}  // namespace

template <>
void AddCases<ConvolutionForward>(Cases& cases) {
  for (const std::vector<Layer>& layers : {Layers(), CroppedLayers()}) {
    for (const Layer& layer : layers) {
      for (const DType dtype : cases.scope().floats) {
        Add(cases, layer, {.bias = false, .dtype = dtype});
      }
    }
  }
  Cases apart = cases;  // with random numbers of their own
  for (const std::vector<Layer>& layers : {Layers(), CroppedLayers()}) {
    for (const Layer& layer : layers) {
      for (const ConvolutionMode mode :
           {ConvolutionMode::kCrossCorrelation, ConvolutionMode::kConvolution}) {
        ConvBiasParam param = layer.param;
        param.mode = mode;
        const Shape filter = FilterOf(layer, param);
        AddOfDoubles(apart,
                     {absl::StrCat("doubles: ", layer.name),
                      Make<ConvolutionForward>(param),
                      {FineNumbers(apart, {layer.batch, layer.in, layer.h, layer.w}),
                       SmallIntegers(apart, filter)}},
                     0);
      }
    }
  }
}

// Adds the layer on integers, with arbitrary scales and zero points. A residual's scale equals the
// scale of the sums and half of the output's: every other sum lies at a half or next to it.
void AddQuantizedLayer(Cases& cases, const Layer& layer, ConvBiasParam param, bool constant,
                       Residual residual = Residual::kNone) {
  const bool is_signed = cases.Pick(0, 1) != 0;
  const int32_t least = is_signed ? -128 : 0;
  const auto zero_point = [&] { return least + static_cast<int32_t>(cases.Pick(0, 255)); };
  const HostTensor src =
      QuantizedTensor(cases, is_signed ? DType::kQuantizedS8 : DType::kQuantized8Asymm,
                      {layer.batch, layer.in, layer.h, layer.w}, {0.03125f}, zero_point());
  const Shape filter_shape = FilterOf(layer, param);
  std::vector<float> scales;
  for (int64_t c = 0; c < layer.out; ++c) {
    scales.push_back(static_cast<float>(cases.Pick(1, 99)) / 1000);
  }
  const HostTensor filter =
      QuantizedTensor(cases, DType::kQuantizedS8, filter_shape, std::move(scales));
  const HostTensor bias = QuantizedTensor(cases, DType::kQuantizedS32, {1, layer.out, 1, 1},
                                          SumScales(src.quantization(), filter.quantization()));
  // The scale at which most results are neither the least nor the greatest value.
  const double products = static_cast<double>(filter_shape.num_elements() / layer.out);
  param.output = {is_signed ? DType::kQuantizedS8 : DType::kQuantized8Asymm,
                  static_cast<float>(0.1 * std::sqrt(products)), zero_point()};
  KernelCase test = {absl::StrCat("8 bits, ", layer.name), nullptr, {src, filter, bias}};
  test.constant = {false, constant, false};
  std::vector<bool> images = {true, false, false};
  const Shape output =
      InferConvolution(param, {src.dtype(), src.shape()}, {filter.dtype(), filter.shape()})
          ->output();
  if (residual == Residual::kUnfinished || residual == Residual::kFirstSums) param.output = {};
  if (residual == Residual::kUnfinished || residual == Residual::kSums) {
    const HostTensor sums = cases.Tensor(DType::kInt32, output, -99999, 99999);
    test.inputs.push_back(sums.As(DType::kQuantizedS32, bias.quantization()));
    test.constant.push_back(false);
    images.push_back(true);
    if (residual == Residual::kUnfinished) test.in_place = ConvBiasForward::kZ;
  } else if (residual == Residual::kApart || residual == Residual::kInPlace) {
    const bool signed_z = cases.Pick(0, 1) != 0;
    param.addend = {param.output.dtype, param.output.scale / 2, zero_point()};
    param.fixed_point_sum = cases.Pick(0, 1) != 0;
    test.inputs.push_back(QuantizedTensor(
        cases, signed_z ? DType::kQuantizedS8 : DType::kQuantized8Asymm, output,
        {static_cast<float>(param.addend.scale)}, static_cast<int32_t>(cases.Pick(0, 127))));
    test.constant.push_back(false);
    images.push_back(true);
    if (residual == Residual::kInPlace) test.in_place = ConvBiasForward::kZ;
  }
  test.op = Make<ConvBiasForward>(param);
  AddQuantized(cases, test, images);
}

// Adds sums with a residual, which CPUs have.
void AddQuantizedSums(Cases& cases) {
  if (cases.on_gpu()) return;
  for (const std::vector<Layer>& layers : {Layers(), CroppedLayers()}) {
    for (const Layer& layer : layers) {
      ConvBiasParam param = layer.param;
      AddQuantizedLayer(cases, layer, param, true, Residual::kApart);
      AddQuantizedLayer(cases, layer, param, true, Residual::kFirstSums);
      AddQuantizedLayer(cases, layer, param, true, Residual::kUnfinished);
      AddQuantizedLayer(cases, layer, param, true, Residual::kSums);
      param.nonlineMode = ScalarFunction::kRelu;
      AddQuantizedLayer(cases, layer, param, true, Residual::kInPlace);
    }
  }
  AddQuantizedLayer(cases, {"not constant", 1, 20, 37, 6, 7, 3, 3, 1, Window(1, 1)}, Window(1, 1),
                    false, Residual::kInPlace);
  for (const Residual residual : {Residual::kUnfinished, Residual::kSums}) {
    AddQuantizedLayer(cases, {"not constant", 1, 20, 37, 6, 7, 3, 3, 1, Window(1, 1)}, Window(1, 1),
                      false, residual);
  }
}

// Adds all quantised layers, with random numbers of their own.
void AddQuantizedLayers(Cases cases) {
  for (const std::vector<Layer>& layers : {Layers(), CroppedLayers()}) {
    for (const Layer& layer : layers) {
      ConvBiasParam param = layer.param;
      AddQuantizedLayer(cases, layer, param, true);
      param.nonlineMode = ScalarFunction::kRelu;
      AddQuantizedLayer(cases, layer, param, true);
      param.mode = ConvolutionMode::kConvolution;
      param.nonlineMode = ScalarFunction::kClamp;
      param.parameters = {0, 6};
      AddQuantizedLayer(cases, layer, param, true);
    }
  }
  AddQuantizedLayer(cases, {"not constant", 1, 20, 37, 6, 7, 3, 3, 1, Window(1, 1)}, Window(1, 1),
                    false);
  AddGreatBiases(cases);
  AddQuantizedSums(cases);
}

template <>
void AddCases<ConvBiasForward>(Cases& cases) {
  AddQuantizedLayers(cases);
  // Every geometry, also with flipped filters and with filters that are not constant.
  int64_t turn = 0;
  for (const std::vector<Layer>& layers : {Layers(), CroppedLayers()}) {
    for (Layer layer : layers) {
      for (const DType dtype : cases.scope().floats) {
        Add(cases, layer, {.dtype = dtype});
        Add(cases, layer, {ScalarFunction::kRelu, Residual::kInPlace, true, true, dtype});
        Add(cases, layer, {AnyActivation(turn++), Residual::kApart, true, true, dtype});
      }
      Add(cases, layer, {.constant = false, .large = true});
      layer.param.mode = ConvolutionMode::kConvolution;
      for (const bool constant : {false, true})
        Add(cases, layer, {.constant = constant, .large = !constant});
    }
  }
  // A filter that is packed by chunks.
  Add(cases, {"large filter", 1, 152, 264, 3, 4, 3, 3, 1, Window(1, 1)},
      {ScalarFunction::kRelu, Residual::kApart, true, /*constant=*/false});
  const Layer some[] = {
      {"3x3", 1, 32, 32, 6, 7, 3, 3, 1, Window(1, 1)},
      {"odd 1x1", 2, 20, 37, 6, 7, 1, 1, 1, Window(1, 0)},
      {"odd 3x3", 1, 20, 37, 6, 7, 3, 3, 1, Window(1, 1)},
      {"few channels", 1, 6, 5, 6, 7, 3, 3, 1, Window(1, 1)},
      {"odd depthwise", 1, 19, 19, 6, 7, 3, 3, 19, Window(1, 1)},
      {"odd groups", 1, 20, 30, 6, 7, 3, 3, 10, Window(1, 1)},
  };
  for (const Layer& layer : some) {
    for (const ScalarFunction activation : Activations()) {
      for (const Residual residual : {Residual::kNone, Residual::kApart, Residual::kInPlace}) {
        Add(cases, layer, {activation, residual});
      }
    }
  }
  AddOperandsInOtherFormats(cases);
  AddInfinityInAGroup(cases);
  for (int random = 0; random < 60; ++random) AddRandomLayer(cases, random >= 10);
  AddBoundedSources(cases);
}

}  // namespace ashlar::testing
