// Computes operation graphs in double precision, one operation after another.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/emulated_gpu/cudnn_graph.h"

namespace ashlar::emulated {
namespace {

// All elements of a tensor, channels last; of filters [R][S][C][K].
using Dense = std::vector<double>;

size_t Elements(const std::array<int64_t, 4>& dims) {
  return static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]);
}

// Calls `use` with each element's index in a dense tensor and in memory.
template <typename Use>
void ForEach(const GraphTensor& tensor, const std::array<int, 4>& order, const Use& use) {
  const auto& d = tensor.dims;
  const auto& s = tensor.strides;
  std::array<int64_t, 4> i{};
  size_t dense = 0;
  for (i[0] = 0; i[0] < d[order[0]]; ++i[0]) {
    for (i[1] = 0; i[1] < d[order[1]]; ++i[1]) {
      for (i[2] = 0; i[2] < d[order[2]]; ++i[2]) {
        int64_t place = i[0] * s[order[0]] + i[1] * s[order[1]] + i[2] * s[order[2]];
        for (i[3] = 0; i[3] < d[order[3]]; ++i[3]) {
          use(dense++, place);
          place += s[order[3]];
        }
      }
    }
  }
}
constexpr std::array<int, 4> kImageOrder = {0, 2, 3, 1}, kFilterOrder = {2, 3, 1, 0};

Dense LoadAll(const GraphTensor& tensor, const std::array<int, 4>& order, const void* data,
              bool tf32) {
  Dense values(Elements(tensor.dims));
  ForEach(tensor, order, [&](size_t dense, int64_t place) {
    const double value = Load(tensor.number, data, place);
    values[dense] = tf32 ? AsTf32(value) : value;
  });
  return values;
}

// For each output position, sums the channels of a group side by side.
Dense Convolve(const OperationGraph& graph, const GraphOperation& op, const Dense& x,
               const Dense& w) {
  const auto &src = graph.At(op.x).dims, &filter = graph.At(op.w).dims, &dst = graph.At(op.y).dims;
  const int64_t groups = src[1] / filter[1], channels = filter[1], outputs = filter[0] / groups;
  Dense y(Elements(dst), 0.0);
  for (int64_t n = 0; n < dst[0]; ++n) {
    for (int64_t h = 0; h < dst[2]; ++h) {
      for (int64_t v = 0; v < dst[3]; ++v) {
        double* const sums = &y[static_cast<size_t>(((n * dst[2] + h) * dst[3] + v) * dst[1])];
        for (int64_t r = 0; r < filter[2]; ++r) {
          const int64_t row = h * op.strides[0] - op.before[0] + r * op.dilations[0];
          if (row < 0 || row >= src[2]) continue;
          for (int64_t s = 0; s < filter[3]; ++s) {
            const int64_t column = v * op.strides[1] - op.before[1] + s * op.dilations[1];
            if (column < 0 || column >= src[3]) continue;
            const int64_t tap = op.flipped ? (filter[2] - 1 - r) * filter[3] + filter[3] - 1 - s
                                           : r * filter[3] + s;
            const double* const in =
                &x[static_cast<size_t>(((n * src[2] + row) * src[3] + column) * src[1])];
            for (int64_t g = 0; g < groups; ++g) {
              double* const out = sums + g * outputs;
              for (int64_t c = 0; c < channels; ++c) {
                const double value = in[g * channels + c];
                const double* const factors =
                    &w[static_cast<size_t>((tap * channels + c) * filter[0] + g * outputs)];
                for (int64_t k = 0; k < outputs; ++k) out[k] += value * factors[k];
              }
            }
          }
        }
      }
    }
  }
  for (double& value : y) value *= op.alpha;
  return y;
}

// Finds an operand's element for an output element: dimensions of 1 broadcast.
class Broadcast {
 public:
  Broadcast(const std::array<int64_t, 4>& dims, const std::array<int64_t, 4>& to) : to_(to) {
    int64_t step = 1;
    for (size_t i = 4; i-- > 0;) {
      const size_t dimension = static_cast<size_t>(kImageOrder[i]);
      steps_[i] = dims[dimension] == 1 ? 0 : step;
      step *= dims[dimension];
    }
  }
  size_t operator()(size_t element) const {
    int64_t rest = static_cast<int64_t>(element), place = 0;
    for (size_t i = 4; i-- > 0;) {
      const int64_t size = to_[static_cast<size_t>(kImageOrder[i])];
      place += rest % size * steps_[i];
      rest /= size;
    }
    return static_cast<size_t>(place);
  }

 private:
  std::array<int64_t, 4> to_, steps_{};
};

double Apply(const GraphOperation& op, double x) {
  if (op.step == GraphStep::kSigmoid) return 1 / (1 + std::exp(-x));
  // The library turns NaN into the lower bound.
  return !(x > op.lower) ? op.lower : x > op.upper ? op.upper : x;
}

}  // namespace

void Interpret(const OperationGraph& graph, Arithmetic arithmetic,
               const std::map<int64_t, void*>& places) {
  std::map<int64_t, Dense> values;
  for (const GraphOperation& op : graph.operations) {
    const GraphTensor& output = graph.At(op.y);
    Dense y;
    if (op.step == GraphStep::kConvolution) {
      const bool tf32 = arithmetic == Arithmetic::kTf32;
      y = Convolve(graph, op, LoadAll(graph.At(op.x), kImageOrder, places.at(op.x), tf32),
                   LoadAll(graph.At(op.w), kFilterOrder, places.at(op.w), tf32));
      if (arithmetic == Arithmetic::kImprecise) {
        for (double& value : y) value *= 1.0625;
      }
    } else {
      const auto operand = [&](int64_t id) {
        const auto it = values.find(id);
        return it != values.end()
                   ? it->second
                   : LoadAll(graph.At(id), kImageOrder, places.at(id), /*tf32=*/false);
      };
      const Dense x = operand(op.x);
      const Broadcast from_x(graph.At(op.x).dims, output.dims);
      y.resize(Elements(output.dims));
      if (op.step == GraphStep::kAdd) {
        const Dense b = operand(op.w);
        const Broadcast from_b(graph.At(op.w).dims, output.dims);
        for (size_t i = 0; i < y.size(); ++i) y[i] = x[from_x(i)] + b[from_b(i)];
      } else {
        for (size_t i = 0; i < y.size(); ++i) y[i] = Apply(op, x[from_x(i)]);
      }
    }
    if (!output.is_virtual) {
      void* const data = places.at(op.y);
      ForEach(output, kImageOrder,
              [&](size_t dense, int64_t place) { Store(output.number, data, place, y[dense]); });
    }
    for (double& value : y) value = Rounded(output.number, value);
    values[op.y] = std::move(y);
  }
}

}  // namespace ashlar::emulated
