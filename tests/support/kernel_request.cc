#include "tests/support/kernel_request.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "graph/status.h"
#include "opr/base/host_value.h"

namespace ashlar::testing {

absl::StatusOr<KernelRequest> RequestOf(const Operator& op, const std::vector<HostTensor>& inputs,
                                        const std::vector<Format>& formats,
                                        const std::vector<bool>& constant) {
  KernelRequest request;
  request.op = &op;
  std::vector<InputInfo> infos;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const HostTensor& input = inputs[i];
    TensorType type = InfoOf(input).type;
    infos.push_back({type, &input});
    if (!formats.empty()) type.format = formats[i];
    const bool host_value = op.input_use(static_cast<int>(i)) == InputUse::kHostValue;
    request.inputs.push_back(type);
    request.constant.push_back(host_value || (!constant.empty() && constant[i]));
    request.host_values.push_back(host_value ? &input : nullptr);
  }
  ASHLAR_ASSIGN_OR_RETURN(request.outputs, op.Infer(infos));
  return request;
}

bool SignsOfZerosCount(const Operator& op) {
  return !absl::StartsWith(op.type(), "Conv") && !absl::StartsWith(op.type(), "MatrixMul");
}

double WorstError(const HostTensor& got, const HostTensor& want, double floor, bool signs) {
  const int64_t count = want.num_elements();
  if (floor < 0) {
    double squares = 0;
    for (int64_t i = 0; i < count; ++i) squares += want.At(i) * want.At(i);
    floor = count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
  }
  const bool integers = !IsFloat(got.dtype()) && !IsFloat(want.dtype());
  double worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double g = got.At(i), w = want.At(i);
    if (signs && g == 0 && w == 0 && std::signbit(g) != std::signbit(w)) return INFINITY;
    if (integers && g == w && got.IntegerAt(i) != want.IntegerAt(i)) return INFINITY;
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    const double error = std::abs(g - w) / std::max({std::abs(w), floor, 1e-37});
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
  }
  return worst;
}

}  // namespace ashlar::testing
