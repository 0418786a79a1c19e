#include "opr/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/graph_builder.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/base/operands.h"
#include "opr/base/saturating_product.h"
#include "opr/base/strided.h"
#include "opr/matrix_mul.h"
#include "opr/reduce.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Attention)

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

std::vector<TensorType> TypesOf(absl::Span<const InputInfo> inputs) {
  std::vector<TensorType> types;
  for (const InputInfo& input : inputs) types.push_back(input.type);
  return types;
}

}  // namespace

int64_t AttentionGeometry::Seen(const AttentionParam& param, int64_t i) const {
  return param.causal ? std::clamp<int64_t>(i + param.offset + 1, 0, keys) : keys;
}

absl::StatusOr<AttentionGeometry> Attention::GeometryOf(absl::Span<const TensorType> inputs) {
  if (inputs.size() != 3 && inputs.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(inputs.size(), " inputs, expected 3 or 4"));
  }
  static constexpr const char* kNames[] = {"queries", "keys", "values"};
  for (int i = 0; i < 3; ++i) {
    ASHLAR_RETURN_IF_ERROR(CheckImage(kNames[i], inputs[i]));
    ASHLAR_RETURN_IF_ERROR(CheckDType(kNames[i], inputs[i], inputs[0].dtype));
  }
  const Shape &q = inputs[kQueries].shape, &k = inputs[kKeys].shape, &v = inputs[kValues].shape;
  const bool fits = q[0] == k[0] && q[0] == v[0] && k[1] == v[1] && k[1] > 0 && q[1] % k[1] == 0 &&
                    q[3] == k[3] && k[2] == v[2];
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("queries are ", q.ToString(), ", keys ",
                                                   k.ToString(), ", values ", v.ToString()));
  }
  if (inputs.size() > kMask) {
    const Shape scores = {q[0], q[1], q[2], k[2]};
    ASHLAR_RETURN_IF_ERROR(CheckDType("mask", inputs[kMask], inputs[0].dtype));
    const absl::StatusOr<Shape> both = Broadcast(inputs[kMask].shape, scores);
    if (!both.ok() || *both != scores) {
      return absl::InvalidArgumentError(absl::StrCat("mask is ", inputs[kMask].ToString(),
                                                     ", which does not broadcast to ",
                                                     scores.ToString()));
    }
  }
  return AttentionGeometry{q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
}

absl::StatusOr<std::vector<TensorType>> Attention::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const AttentionGeometry g, GeometryOf(TypesOf(inputs)));
  if (param().offset < -Shape::kMaxBytes || param().offset > Shape::kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("offset is ", param().offset, ", which is more than there can be keys"));
  }
  const Shape output = {g.batch, g.heads, g.queries, g.width};
  ASHLAR_RETURN_IF_ERROR(Shape::Make(output.dims()).status());
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("queries", inputs[kQueries].type, output));
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("keys", inputs[kKeys].type, output));
  return std::vector<TensorType>{{inputs[0].type.dtype, output}};
}

absl::StatusOr<std::vector<HostTensor>> Attention::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  std::vector<TensorType> types;
  for (const HostTensor& input : inputs) types.push_back({input.dtype(), input.shape()});
  ASHLAR_ASSIGN_OR_RETURN(const AttentionGeometry g, GeometryOf(types));
  const Shape shape = {g.batch, g.heads, g.queries, g.width};
  std::vector<double> output(static_cast<size_t>(shape.num_elements()), 0.0);
  double* out = output.data();
  const std::vector<double> all_queries = ToDoubles(inputs[kQueries]);
  const std::vector<double> all_keys = ToDoubles(inputs[kKeys]),
                            values = ToDoubles(inputs[kValues]);
  std::vector<double> scores(static_cast<size_t>(g.keys));
  Strides mask(4, 0);
  if (inputs.size() > kMask) {
    mask = BroadcastStrides(types[kMask].shape, {g.batch, g.heads, g.queries, g.keys});
  }
  for (int64_t row = 0; row < g.batch * g.heads * g.queries; ++row, out += g.width) {
    const int64_t n = row / g.queries / g.heads, head = row / g.queries % g.heads;
    const int64_t i = row % g.queries;
    const int64_t keys = (n * g.key_heads + head / (g.heads / g.key_heads)) * g.keys;
    const double* const q = all_queries.data() + row * g.depth;
    double most = kHidden, sum = 0;
    for (int64_t j = 0; j < g.keys; ++j) {
      const double* const k = all_keys.data() + (keys + j) * g.depth;
      double score = 0;
      for (int64_t d = 0; d < g.depth; ++d) score += q[d] * k[d];
      score *= param().scale;
      if (inputs.size() > kMask) {
        score += inputs[kMask].At(n * mask[0] + head * mask[1] + i * mask[2] + j * mask[3]);
      }
      if (j >= g.Seen(param(), i)) score = kHidden;
      scores[static_cast<size_t>(j)] = score;
      most = std::max(most, score);
    }
    if (most == kHidden) continue;
    std::vector<double> sums(static_cast<size_t>(g.width), 0.0);
    for (int64_t j = 0; j < g.keys; ++j) {
      const double weight = std::exp(scores[static_cast<size_t>(j)] - most);
      const double* const v = values.data() + (keys + j) * g.width;
      sum += weight;
      for (int64_t d = 0; d < g.width; ++d) sums[static_cast<size_t>(d)] += weight * v[d];
    }
    if (param().zero_nan && std::isnan(sum)) continue;
    for (int64_t d = 0; d < g.width; ++d) {
      out[d] = sums[static_cast<size_t>(d)] / sum;
    }
  }
  return std::vector<HostTensor>{FromDoubles(inputs[0].dtype(), shape, output)};
}

int64_t Attention::Computation(const Site& site) const {
  const absl::StatusOr<AttentionGeometry> g = GeometryOf(TypesOf(site.inputs));
  if (!g.ok()) return 0;
  return SaturatingProduct({g->batch, g->heads, g->queries, g->keys, g->depth + g->width, 2});
}

std::optional<std::vector<Region>> Attention::InputRegions(const Region& output,
                                                           const Site& site) const {
  const Shape& shape = site.outputs[0].shape;
  if (output[1] != Range{0, shape[1]} || output[3] != Range{0, shape[3]}) return std::nullopt;
  std::vector<Region> regions;
  for (const InputInfo& input : site.inputs) regions.push_back(WholeRegion(input.type.shape));
  for (int i = 0; i < kMask; ++i) regions[i][0] = output[0];
  regions[kQueries][2] = output[2];
  if (regions.size() > kMask) {
    const Shape& mask = site.inputs[kMask].type.shape;
    if (mask.rank() == 4 && mask[0] != 1) regions[kMask][0] = output[0];
    if (mask.rank() >= 2 && mask[mask.rank() - 2] != 1) {
      regions[kMask][mask.rank() - 2] = output[2];
    }
  }
  return regions;
}

std::optional<Replacement> Attention::AtRegion(const Region& output,
                                               absl::Span<const Region> /*given*/,
                                               const Site& site) const {
  AttentionParam part = param();
  part.offset += output[2].begin;
  return Replacement{std::make_shared<const Attention>(part), OwnOperands(site.inputs.size())};
}

}  // namespace ashlar
