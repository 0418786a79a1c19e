#include "opr/update.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

const Shape kStateShapes[] = {{1}, {17}, {3, 5, 7}, {16, 8, 3, 3}, {40000}};

HostTensor Scalar(double value, DType dtype = DType::kFloat32) {
  HostTensor tensor = HostTensor::Zeros(dtype, {1});
  tensor.Set(0, value);
  return tensor;
}

// Adds the test in the storage of the state and in other memory, on one thread and several.
void AddEach(Cases& cases, KernelCase test) {
  for (const int threads : {1, 3}) {
    test.threads = threads;
    for (const bool in_place : {false, true}) {
      test.in_place = in_place ? std::optional<int>(0) : std::nullopt;
      cases.Add(test);
    }
  }
}

}  // namespace

template <>
void AddCases<SgdUpdate>(Cases& cases) {
  for (const Shape& shape : kStateShapes) {
    for (const SgdUpdateParam& param :
         {SgdUpdateParam{0, 0, false}, SgdUpdateParam{0, 0.01, false},
          SgdUpdateParam{0.9, 0.01, false}, SgdUpdateParam{0.9, 0.01, true}}) {
      KernelCase test{
          "sgd", Make<SgdUpdate>(param), {cases.Tensor(shape), cases.Tensor(shape), Scalar(0.05)}};
      if (param.momentum != 0) test.inputs.push_back(cases.Tensor(shape));
      AddEach(cases, test);
    }
  }
  cases.Reject({{Make<SgdUpdate>({0.9}), {{2}, {2}, {1}}, "3 inputs, expected 4"},
                {Make<SgdUpdate>({0.9}), {{2}, {3}, {1}, {2}}, "gradient is"},
                {Make<SgdUpdate>({}), {{2}, {2}, {2}}, "expected one element"},
                {Make<SgdUpdate>({0, 0, true}), {{2}, {2}, {1}}, "needs a momentum"}});
}

template <>
void AddCases<AdamUpdate>(Cases& cases) {
  for (const Shape& shape : kStateShapes) {
    for (const AdamUpdateParam& param :
         {AdamUpdateParam{}, AdamUpdateParam{.weight_decay = 0.02},
          AdamUpdateParam{.beta1 = 0.8, .weight_decay = 0.02, .decoupled = true}}) {
      for (const int64_t step : {1, 1000}) {
        KernelCase test{"adam",
                        Make<AdamUpdate>(param),
                        {cases.Tensor(shape), cases.Tensor(shape), Scalar(0.01),
                         Scalar(static_cast<double>(step), DType::kInt64), cases.Tensor(shape),
                         cases.Tensor(shape, 0.01, 2)}};
        AddEach(cases, test);
      }
    }
  }
  cases.Reject({{Make<AdamUpdate>({}), {{2}, {2}, {1}, {1}, {2}, {2}}, "step is"},
                {Make<AdamUpdate>({}), {{2}, {2}, {1}, {1}, {2}, {3}}, "square is"}});
}

template <>
void AddCases<AddUpdate>(Cases& cases) {
  for (const Shape& shape : kStateShapes) {
    AddEach(cases, {"running mean",
                    Make<AddUpdate>({0.9, 0.1, 0.5}),
                    {cases.Tensor(shape), cases.Tensor(shape)}});
  }
  cases.Reject({{Make<AddUpdate>({}), {{2}, {1}}, "delta is"},
                {Make<AddUpdate>({}), {{2}}, "1 inputs, expected 2"}});
}

}  // namespace ashlar::testing
