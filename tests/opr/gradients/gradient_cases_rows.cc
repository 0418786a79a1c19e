// Gradient cases of products, rows and losses.
#include "opr/attention.h"
#include "opr/cross_entropy.h"
#include "opr/cum_sum.h"
#include "opr/dropout.h"
#include "opr/layer_norm.h"
#include "opr/log_softmax.h"
#include "opr/lstm.h"
#include "opr/matrix_mul.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "opr/top_k.h"
#include "tests/opr/gradients/gradient_cases.h"

namespace ashlar::testing {
namespace {

// Adds all transposes of [m, k] x [k, n]: single, in batches, and with one matrix for many.
void AddProducts(GradientCases& cases) {
  const std::pair<Shape, Shape> kBatches[] = {{{}, {}},  {{3}, {3}},       {{2, 3}, {}},
                                              {{}, {2}}, {{2, 1}, {1, 3}}, {{1, 2}, {2}}};
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      for (const auto& [batch_a, batch_b] : kBatches) {
        Shape a = batch_a, b = batch_b;
        a.push_back(turn_a ? 3 : 2);
        a.push_back(turn_a ? 2 : 3);
        b.push_back(turn_b ? 4 : 3);
        b.push_back(turn_b ? 3 : 4);
        cases.Add<MatrixMul>({turn_a, turn_b}, {cases.Smooth(a), cases.Smooth(b)});
      }
    }
  }
}

void AddReductions(GradientCases& cases) {
  for (const ReduceMode mode : {ReduceMode::kSum, ReduceMode::kSumSqr, ReduceMode::kProduct,
                                ReduceMode::kMin, ReduceMode::kMax, ReduceMode::kMean}) {
    for (const int64_t axis : {0, 1, -1}) {
      cases.Add<Reduce>({mode, axis}, {cases.Distinct({2, 3, 4}, 0.5, 1.5)});
    }
    for (const auto& target : {std::vector<int64_t>{1}, {3, 1}, {2, 1, 4}, {2, 3, 4}}) {
      cases.Add<Reduce>({mode}, {cases.Distinct({2, 3, 4}, 0.5, 1.5), Int64Vector(target)});
    }
  }
}

void AddSoftmaxes(GradientCases& cases) {
  for (const int64_t axis : {0, 1, -1}) {
    cases.Add<Softmax>({axis}, {cases.Smooth({3, 2, 4}, -2, 2)});
    cases.Add<LogSoftmax>({axis}, {cases.Smooth({3, 2, 4}, -2, 2)});
    cases.Add<LayerNorm>({axis, 1e-3}, {cases.Smooth({3, 2, 4})});
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        cases.Add<CumSum>({axis, exclusive, reverse}, {cases.Smooth({3, 2, 4})});
      }
    }
    for (const bool largest : {false, true}) {
      cases.Add<TopK>({axis, 2, largest}, {cases.Distinct({3, 2, 4})});
    }
  }
  cases.Add<LayerNorm>({-1, 1e-3}, {cases.Smooth({3, 5}), cases.Smooth({5}), cases.Smooth({5})});
  cases.Add<LayerNorm>({1, 1e-3}, {cases.Smooth({2, 2, 3}), cases.Smooth({2, 3})});
}

void AddLosses(GradientCases& cases) {
  for (const Shape& shape : {Shape{5, 3}, Shape{1, 4}, Shape{2, 1}}) {
    cases.Add<CrossEntropy>({}, {cases.Smooth(shape, -2, 2), cases.Indices({shape[0]}, shape[1])});
  }
  for (const double probability : {0.0, 0.3, 0.9}) {
    cases.Add<Dropout>({probability, 5}, {cases.Smooth({7, 5}), cases.Indices({1}, 100)});
  }
}

void AddAttention(GradientCases& cases) {
  const Shape queries = {2, 4, 3, 5}, keys = {2, 2, 4, 5}, values = {2, 2, 4, 3};
  for (const bool causal : {false, true}) {
    AttentionParam param{.scale = 0.4, .causal = causal, .offset = 1};
    cases.Add<Attention>(param, {cases.Smooth(queries), cases.Smooth(keys), cases.Smooth(values)});
    cases.Add<Attention>(param, {cases.Smooth(queries), cases.Smooth(keys), cases.Smooth(values),
                                 cases.Smooth({4, 3, 4})});
  }
  for (const LstmDirection direction :
       {LstmDirection::kForward, LstmDirection::kReverse, LstmDirection::kBidirectional}) {
    const int64_t d = direction == LstmDirection::kBidirectional ? 2 : 1;
    cases.Add<LSTM>({direction},
                    {cases.Smooth({3, 2, 2}), cases.Smooth({d, 8, 2}), cases.Smooth({d, 8, 2}),
                     cases.Smooth({d, 16}), cases.Smooth({d, 2, 2}), cases.Smooth({d, 2, 2})});
  }
}

}  // namespace

void AddRowCases(GradientCases& cases) {
  AddProducts(cases);
  AddReductions(cases);
  AddSoftmaxes(cases);
  AddLosses(cases);
  AddAttention(cases);
}

}  // namespace ashlar::testing
