#include "opr/batch_norm_training.h"

#include <cmath>

#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

const Shape kNormalised[] = {{2, 35, 5, 7}, {1, 64, 20, 30}, {3, 6, 4, 5}, {7, 16, 3, 3},
                             {2, 20, 1, 1}, {3, 5},          {9, 1},       {2, 3, 4, 2, 3},
                             {5, 3, 9, 9},  {1, 17, 3, 301}, {2, 48, 2, 1}};

Shape PerChannelShape(const Shape& x, bool of_rank) {
  return of_rank ? OnePerChannel(x) : Shape{x[1]};
}

// Adds the case in every format, with an output 0 of its own and in place of each of `in_place`.
void AddInPlace(Cases& cases, KernelCase test, const std::vector<int>& in_place) {
  const bool image = test.inputs[0].shape().rank() == 4;
  const std::vector<bool> images(test.inputs.size(), true);
  test.tolerance = 1e-5;
  test.large = test.inputs[0].num_elements() > 20000;
  const auto add = [&] { image ? cases.AddImages(test, images) : cases.Add(test); };
  add();
  for (const int input : in_place) {
    test.in_place = input;
    add();
  }
  test.in_place = std::nullopt;
  if (image) cases.AddFormatPairs(test, images, /*from_planes=*/true);
}

// Adds cases of all shapes; inputs_of(shape, shape of the per-channel tensors).
template <typename Op, typename InputsOf>
void AddByShapes(Cases& cases, const std::vector<int>& in_place, const InputsOf& inputs_of) {
  for (const Shape& shape : kNormalised) {
    for (const bool of_rank : {false, true}) {
      const Shape channels = PerChannelShape(shape, of_rank);
      AddInPlace(cases, {"batch statistics", Make<Op>({1e-3}), inputs_of(shape, channels)},
                 in_place);
    }
  }
}

}  // namespace

template <>
void AddCases<BatchNormTraining>(Cases& cases) {
  AddByShapes<BatchNormTraining>(
      cases, {BatchNormTraining::kX}, [&](const Shape& shape, const Shape& channels) {
        return std::vector<HostTensor>{cases.Tensor(shape, -3, 5), cases.Tensor(channels),
                                       cases.Tensor(channels)};
      });
  // Far from zero: differences from the mean are summed.
  const Shape channels = {18};
  KernelCase far{
      "far from zero",
      Make<BatchNormTraining>({0}),
      {cases.Tensor({3, 18, 17, 19}, 1000, 1001), cases.Tensor(channels), cases.Tensor(channels)}};
  far.tolerance = 2e-4;  // 6e-5 of it by the rounded mean
  cases.AddImages(far, {true, false, false});
  KernelCase known{"known",
                   Make<BatchNormTraining>({0.5}),
                   {HostTensor::FromValues<float>(DType::kFloat32, {2, 1, 1, 2}, {1, 2, 3, 2}),
                    HostTensor::FromValues<float>(DType::kFloat32, {1}, {2}),
                    HostTensor::FromValues<float>(DType::kFloat32, {1}, {10})}};
  known.expected = {HostTensor::FromValues<float>(DType::kFloat32, {2, 1, 1, 2}, {8, 10, 12, 10}),
                    HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 1}, {2}),
                    HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 1}, {0.5})};
  cases.AddKnown(known);
  const OperatorPtr op = Make<BatchNormTraining>({});
  cases.Reject({
      {op, {{2, 3, 4, 4}, {3}}, "2 inputs"},
      {op, {{3}, {3}, {3}}, "rank"},
      {op, {{2, 3, 4, 4}, {4}, {3}}, "scale"},
      {op, {{2, 3, 4, 4}, {3}, {1, 3, 1}}, "bias"},
      {op, {{2, 3, 0, 4}, {3}, {3}}, "empty"},
      {Make<BatchNormTraining>({-1}), {{2, 3}, {3}, {3}}, "epsilon"},
  });
}

template <>
void AddCases<BatchNormStatistics>(Cases& cases) {
  for (const Shape& shape : kNormalised) {
    AddInPlace(
        cases,
        {"statistics alone", Make<BatchNormStatistics>(NoParam()), {cases.Tensor(shape, -3, 5)}},
        {});
  }
  const OperatorPtr op = Make<BatchNormStatistics>(NoParam());
  cases.Reject({{op, {}, "0 inputs"}, {op, {{3}}, "rank"}, {op, {{2, 3, 0, 4}}, "empty"}});
}

template <>
void AddCases<BatchNormApply>(Cases& cases) {
  for (const Shape& shape : kNormalised) {
    const Shape channels = PerChannelShape(shape, true);
    AddInPlace(cases,
               {"statistics as they were",
                Make<BatchNormApply>({1e-3}),
                {cases.Tensor(shape, -3, 5), cases.Tensor(channels), cases.Tensor(channels),
                 cases.Tensor(channels), cases.Tensor(channels, 0.5, 3)}},
               {BatchNormApply::kX});
    for (const auto& [adds, rectified, most] :
         {std::tuple(true, false, 0.0), {false, true, 0.0}, {true, true, 0.0}, {true, true, 0.4}}) {
      KernelCase tail{absl::StrCat("adds ", adds, " rectified ", rectified, " most ", most),
                      Make<BatchNormApply>({1e-3, rectified, most}),
                      {cases.Tensor(shape, -3, 5), cases.Tensor(channels), cases.Tensor(channels),
                       cases.Tensor(channels), cases.Tensor(channels, 0.5, 3)}};
      if (adds) tail.inputs.push_back(cases.Tensor(shape));
      std::vector<int> in_place = {BatchNormApply::kX};
      if (adds) in_place.push_back(BatchNormApply::kAddend);
      AddInPlace(cases, tail, in_place);
    }
  }
  // Normalised x is -1, 0, 1, 0. Then comes 1 + 2 xhat + the addend, which a ReLU clamps at 0.
  const auto values = [](const Shape& shape, const std::vector<float>& v) {
    return HostTensor::FromValues<float>(DType::kFloat32, shape, v);
  };
  KernelCase known{"known",
                   Make<BatchNormApply>({0.5, true, 2.5}),
                   {values({2, 1, 1, 2}, {1, 2, 3, 2}), values({1}, {2}), values({1}, {1}),
                    values({1}, {2}), values({1}, {0.5}), values({2, 1, 1, 2}, {-4, 1, 1, -3})}};
  known.expected = {values({2, 1, 1, 2}, {0, 2, 2.5, 0})};
  cases.AddKnown(known);
  const OperatorPtr op = Make<BatchNormApply>({});
  cases.Reject({
      {op, {{2, 3}, {3}, {3}, {3}}, "4 inputs"},
      {op, {{2, 3}, {3}, {3}, {2}, {3}}, "mean"},
      {op, {{2, 3}, {3}, {3}, {3}, {3}, {3}}, "addend"},
      {Make<BatchNormApply>({1e-5, true, -1}), {{2, 3}, {3}, {3}, {3}, {3}}, "most"},
      {Make<BatchNormApply>({-1}), {{2, 3}, {3}, {3}, {3}, {3}}, "epsilon"},
  });
}

template <>
void AddCases<BatchNormBackward>(Cases& cases) {
  // Normalised x is -1, 0, 1, 0 and y is -1, 1, 3, 1. A ReLU passes the gradients of the last
  // three; a clamp at 2 passes the second and the last.
  for (const double most : {0.0, 2.0}) {
    const auto values = [](const Shape& shape, const std::vector<float>& v) {
      return HostTensor::FromValues<float>(DType::kFloat32, shape, v);
    };
    KernelCase masked{"masked",
                      Make<BatchNormBackward>({0.5, most}),
                      {values({2, 1, 1, 2}, {1, 2, 3, 2}), values({2, 1, 1, 2}, {4, 0, 2, 0}),
                       values({1}, {2}), values({1}, {0.5}), values({1}, {2}), values({1}, {1})}};
    masked.expected = most == 0 ? std::vector<HostTensor>{values({2, 1, 1, 2}, {0, -1, 2, -1}),
                                                          values({1}, {2}), values({1}, {2})}
                                : std::vector<HostTensor>{values({2, 1, 1, 2}, {0, 0, 0, 0}),
                                                          values({1}, {0}), values({1}, {0})};
    cases.AddKnown(masked);
  }
  AddByShapes<BatchNormBackward>(cases, {BatchNormBackward::kDiff, BatchNormBackward::kX},
                                 [&](const Shape& shape, const Shape& channels) {
                                   return std::vector<HostTensor>{
                                       cases.Tensor(shape, -3, 5), cases.Tensor(shape),
                                       cases.Tensor(channels), cases.Tensor(channels, 0.5, 3),
                                       cases.Tensor(channels)};
                                 });
  const auto of = [](const Shape& shape, const std::vector<float>& values) {
    return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
  };
  // Normalised x is -1, 0, 1, 0; the result is 2 * (diff - 0.5 - xhat * 0.5).
  KernelCase known{"known",
                   Make<BatchNormBackward>({0.5}),
                   {of({2, 1, 1, 2}, {1, 2, 3, 2}), of({2, 1, 1, 2}, {0, 0, 2, 0}), of({1}, {2}),
                    of({1}, {0.5}), of({1}, {2})}};
  known.expected = {of({2, 1, 1, 2}, {0, -1, 2, -1}), of({1}, {2}), of({1}, {2})};
  cases.AddKnown(known);
  const OperatorPtr op = Make<BatchNormBackward>({});
  const Shape x = {2, 3, 4, 4}, c = {3};
  cases.Reject({
      {op, {x, x, c, c}, "4 inputs"},
      {op, {x, {2, 3, 4, 5}, c, c, c}, "diff"},
      {op, {x, x, {4}, c, c}, "mean"},
      {op, {x, x, c, {1, 4, 1, 1}, c}, "variance"},
      {op, {x, x, c, c, {2}}, "scale"},
      {op, {x, x, c, c, c, {2}}, "bias"},
      {Make<BatchNormBackward>({1e-5, -1}), {x, x, c, c, c, c}, "most"},
      {Make<BatchNormBackward>({INFINITY}), {x, x, c, c, c}, "epsilon"},
  });
}

}  // namespace ashlar::testing
