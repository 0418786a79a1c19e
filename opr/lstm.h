// LSTM: a recurrent layer with long short-term memory, in one direction or both.
#ifndef ASHLAR_OPR_LSTM_H_
#define ASHLAR_OPR_LSTM_H_

#include "opr/base/base.h"

namespace ashlar {

enum class LstmDirection { kForward, kReverse, kBidirectional };

struct LSTMParam {
  LstmDirection direction = LstmDirection::kForward;

  bool is_reverse(int64_t index) const {
    return direction == LstmDirection::kReverse || index == 1;
  }

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kDirections[] = {"FORWARD", "REVERSE", "BIDIRECTIONAL"};
    v("direction", direction, kDirections);
  }
};

struct LstmSizes {
  int64_t steps = 0, batch = 0, inputs = 0, directions = 0, hidden = 0;
};

// Returns the sizes for inputs as below. Errors are InvalidArgument and name the input.
absl::StatusOr<LstmSizes> InferLstm(const LSTMParam& param, absl::Span<const InputInfo> inputs);

// With gates in the order i, o, f, c and D directions, of one floating-point dtype:
//   i, o, f = sigmoid(x W + h R + b), c = f c + i tanh(x W + h R + b), h = o tanh(c).
// Inputs: x [T, N, I]; W [D, 4H, I]; R [D, 4H, H]; b [D, 8H], for W and for R; h and c before the
// first step [D, N, H]. Outputs: h of each step [T, D, N, H], and h and c after the last step, [D,
// N, H].
class LSTM final : public OperatorWithParam<LSTMParam> {
 public:
  static constexpr int kX = 0, kW = 1, kR = 2, kB = 3, kH = 4, kC = 5;
  static constexpr int kGates = 4;

  ASHLAR_OPERATOR("LSTM", "lstm")
  int64_t Computation(const Site& site) const override;
  // Matrix products and scalar functions, step by step; no device has a kernel for this operator.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_LSTM_H_
