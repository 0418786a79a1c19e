#include "opr/elemwise_multi_type.h"

#include "tests/cases/quantized.h"

namespace ashlar::testing {

template <>
void AddCases<ElemwiseMultiType>(Cases& cases) {
  const OutputType outputs[] = {{DType::kQuantized8Asymm, 0.25, 3},
                                {DType::kQuantizedS8, 0.07, -9}};
  for (const OutputType& output : outputs) {
    const Shape shape = {2, 5, 3, 7};
    const HostTensor a = QuantizedTensor(cases, DType::kQuantized8Asymm, shape, {0.125f}, 7);
    const HostTensor b = QuantizedTensor(cases, DType::kQuantizedS8, shape, {0.3f}, -128);
    for (const ScalarFunction function : {ScalarFunction::kIdentity, ScalarFunction::kRelu,
                                          ScalarFunction::kSigmoid, ScalarFunction::kTanh}) {
      for (const HostTensor& x : {a, b}) {
        AddQuantized(cases,
                     {RowOf(function).name, Make<ElemwiseMultiType>({{function}, output}), {x}},
                     {true});
      }
    }
    for (const ScalarFunction function : {ScalarFunction::kAdd, ScalarFunction::kFuseAddRelu}) {
      KernelCase test = {
          RowOf(function).name, Make<ElemwiseMultiType>({{function}, output}), {a, b}};
      AddQuantized(cases, test, {true, true});
      test.in_place = 1;
      AddQuantized(cases, test, {true, true});
      test.op = Make<ElemwiseMultiType>({{function}, output, {}, /*fixed_point_sum=*/true});
      AddQuantized(cases, test, {true, true});
      for (const Shape& smaller : {Shape{1, 5, 1, 1}, Shape{7}, Shape{1}}) {
        AddQuantized(cases,
                     {absl::StrCat(RowOf(function).name, " of ", smaller.ToString()),
                      test.op,
                      {a, QuantizedTensor(cases, DType::kQuantizedS8, smaller, {0.3f}, 5)}},
                     {true, smaller.rank() == 4});
      }
    }
  }
  // Functions of operands that broadcast, and of floats: a slope, a scale and a shift by channel.
  for (const OutputType& output : outputs) {
    for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 16, 4, 5}, Shape{2, 70, 3, 3}}) {
      const HostTensor a = QuantizedTensor(cases, DType::kQuantized8Asymm, shape, {0.125f}, 7);
      const HostTensor b = QuantizedTensor(cases, DType::kQuantizedS8, shape, {0.3f}, -12);
      const HostTensor gate =
          QuantizedTensor(cases, DType::kQuantized8Asymm, {shape[0], shape[1], 1, 1}, {0.0039f}, 0);
      const HostTensor row = QuantizedTensor(cases, DType::kQuantizedS8, {shape[3]}, {0.02f}, 3);
      const HostTensor one = cases.Tensor({1}), by_channel = cases.Tensor({shape[1], 1, 1}),
                       shift = cases.Tensor({1, shape[1], 1, 1});
      const auto add = [&](ScalarFunction function, std::vector<HostTensor> inputs,
                           std::vector<bool> images) {
        KernelCase test = {RowOf(function).name, Make<ElemwiseMultiType>({{function}, output}),
                           std::move(inputs)};
        AddQuantized(cases, test, images);
        test.in_place = 0;
        test.tolerance = 0;
        cases.Add(test);
      };
      add(ScalarFunction::kMul, {a, gate}, {true, true});
      add(ScalarFunction::kMul, {b, a}, {true, true});
      add(ScalarFunction::kMul, {b, one}, {true, false});
      add(ScalarFunction::kAdd, {a, row}, {true, false});
      add(ScalarFunction::kAdd, {b, by_channel}, {true, false});
      add(ScalarFunction::kSub, {a, b}, {true, true});
      add(ScalarFunction::kMax, {a, gate}, {true, true});
      add(ScalarFunction::kPRelu, {b, by_channel}, {true, false});
      add(ScalarFunction::kPRelu, {a, one}, {true, false});
      add(ScalarFunction::kFuseMulAdd3, {a, by_channel, shift}, {true, false, false});
    }
  }
  const auto halves = [](DType dtype, std::vector<int8_t> values) {
    return HostTensor::FromValues<int8_t>(DType::kInt8, {4}, values)
        .As(dtype, Value(Quantization::Make(dtype, {0.5f})));
  };
  // 0.5, 1.5, -0.5 and 200 with a step of 1: ties to even, and saturation.
  KernelCase known = {
      "halves",
      Make<ElemwiseMultiType>({{ScalarFunction::kAdd}, {DType::kQuantizedS8, 1, 0}}),
      {halves(DType::kQuantizedS8, {1, 2, 0, 127}), halves(DType::kQuantizedS8, {0, 1, -1, 127})}};
  known.expected = {halves(DType::kQuantizedS8, {0, 2, 0, 127})};
  known.tolerance = 0;
  cases.AddKnown(known);

  // A table of integers by the input's, from -128: each one's opposite.
  std::vector<int64_t> opposite;
  for (int64_t integer = -128; integer <= 127; ++integer) opposite.push_back(-1 - integer);
  known.name = "table";
  known.op = Make<ElemwiseMultiType>(
      {{ScalarFunction::kIdentity, {}}, {DType::kQuantizedS8, 1, 0}, opposite});
  known.inputs = {halves(DType::kQuantizedS8, {-128, -1, 0, 127})};
  known.expected = {
      HostTensor::FromValues<int8_t>(DType::kInt8, {4}, {127, 0, -1, -128})
          .As(DType::kQuantizedS8, Value(Quantization::Make(DType::kQuantizedS8, {1.0f})))};
  cases.AddKnown(known);

  // All pairs of bytes. Every other sum lies at half a step, so each rounding of a float matters.
  const auto bytes = [](int shift) {
    HostTensor tensor = HostTensor::Zeros(DType::kUint8, {256, 256});
    for (int i = 0; i < 256 * 256; ++i) tensor.Set(i, i >> shift & 255);
    return tensor.As(DType::kQuantized8Asymm,
                     Value(Quantization::Make(DType::kQuantized8Asymm, {0.1f}, 77)));
  };
  for (const bool fixed : {false, true}) {
    AddQuantized(cases,
                 {"all pairs",
                  Make<ElemwiseMultiType>(
                      {{ScalarFunction::kAdd}, {DType::kQuantizedS8, 0.2f, 9}, {}, fixed}),
                  {bytes(0), bytes(8)}},
                 {false, false});
  }
}

}  // namespace ashlar::testing
