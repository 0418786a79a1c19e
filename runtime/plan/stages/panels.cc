#include "runtime/plan/stages/panels.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/region.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "graph/stored_tensor.h"
#include "opr/panel_axes.h"

namespace ashlar {
namespace {

// Panels have multiples of so many channels or columns, except the last one: kernels compute as
// many at a time, and blocked images are joined in whole blocks.
constexpr int64_t kBlocks[] = {64, kChannelBlock};

// Groups are added instead of joined if the sums take less than this share of the joined image.
constexpr double kWorthAdding = 0.95;

constexpr char kFirst[] = "/0";  // the name of a node's first panel ends so

// How a node is cut: into panels of `step`, the last one possibly smaller.
struct Cut {
  PanelAxes axes;
  int64_t extent = 0, step = 0;
  bool joined = true;  // otherwise the only reader is cut alike
};

// A convolution that is cut along its input's channels: into as many sums as its input has groups.
struct SumCut {
  ChannelSums sums;
  int64_t extent = 0, step = 0;  // of the input's channels
};

// Returns the part of `extent` elements that is as large as `range` is of `all`.
Range ShareOf(const Range& range, int64_t extent, int64_t all) {
  return {range.begin * extent / all, range.end * extent / all};
}

// Returns the quantisation of a part of a tensor's outermost dimension that is not 1; nothing if
// scales of other dimensions would have to be cut.
std::optional<Quantization> QuantizationOf(const HostTensor& value, int axis, const Range& range) {
  const Quantization& all = value.quantization();
  if (all.empty() || all.scales().size() == 1) return all;
  // Filters of groups have a scale for each channel of each group.
  const auto scales = static_cast<int64_t>(all.scales().size());
  const Shape& shape = value.shape();
  for (int i = 0; i < axis; ++i) {
    if (shape[i] != 1) return std::nullopt;
  }
  if (scales % shape[axis] != 0) return std::nullopt;
  const auto begin = all.scales().begin();
  const Range of = ShareOf(range, scales, shape[axis]);
  absl::StatusOr<Quantization> part =
      Quantization::Make(value.dtype(), {begin + of.begin, begin + of.end}, all.zero_point());
  if (!part.ok()) return std::nullopt;
  return *std::move(part);
}

class Cutter {
 public:
  Cutter(const Graph& graph, const OperatorTable& operators, int64_t panel_bytes,
         int64_t group_bytes, const WeightBytes& packed = nullptr, bool integer_sums = true)
      : source_(graph),
        operators_(operators),
        panel_bytes_(panel_bytes),
        group_bytes_(group_bytes),
        packed_(packed),
        integer_sums_(integer_sums),
        rewriter_(graph) {}

  // Cuts as CutIntoPanelsOf.
  absl::StatusOr<Graph> RunAs(const Graph& cut) && {
    for (const OperatorNode& node : cut.nodes()) {
      if (absl::EndsWith(node.name, kFirst)) first_panels_[node.name] = node.outputs[0];
    }
    cut_as_ = &cut;
    return std::move(*this).Run();
  }

  int64_t WidestRow() && {
    int64_t bytes = 0;
    for (const OperatorNode& node : source_.nodes()) bytes = std::max(bytes, FindGroups(node));
    return bytes;
  }

  absl::StatusOr<Graph> Run() && {
    for (const OperatorNode& node : source_.nodes()) {
      if (group_bytes_ > 0) FindGroups(node);
      if (const auto sum = sums_.find(node.id); sum != sums_.end()) {
        ASHLAR_RETURN_IF_ERROR(AddSums(node, sum->second));
        continue;
      }
      const auto group = groups_.find(node.id);
      const std::optional<Cut> cut = group != groups_.end() ? group->second : CutOf(node);
      ASHLAR_RETURN_IF_ERROR(cut ? AddPanels(node, *cut) : rewriter_.Copy(node));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  std::optional<Cut> CutOf(const OperatorNode& node) const {
    const auto index = static_cast<int>(&node - &source_.node(0));
    if (node.outputs.size() != 1 || node.op->role() != Role::kCompute) return std::nullopt;
    const std::optional<PanelAxes> axes = PanelAxesOf(*node.op, source_.SiteOf(node));
    if (!axes) return std::nullopt;
    Cut cut{*axes, source_.var(node.outputs[0]).type.shape[axes->output], 0};
    int64_t bytes = 0;  // of the largest constant that is cut
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int axis = axes->inputs[i];
      const HostTensor* const value = source_.constant(node.inputs[i]);
      if (axis < 0) continue;
      if (value == nullptr && source_.host_value(node.inputs[i]) != nullptr) return std::nullopt;
      if (source_.var(node.inputs[i]).type.shape[axis] != cut.extent) return std::nullopt;
      if (value == nullptr) continue;
      if (!QuantizationOf(*value, axis, {0, cut.extent})) return std::nullopt;
      bytes = std::max(bytes, packed_ ? packed_(index, static_cast<int>(i)) : value->bytes());
    }
    if (cut_as_ != nullptr) {
      const auto first = first_panels_.find(absl::StrCat(node.name, kFirst));
      if (first == first_panels_.end() || bytes == 0) return std::nullopt;
      cut.step = cut_as_->var(first->second).type.shape[axes->output];
      return cut.step < cut.extent ? std::optional<Cut>(cut) : std::nullopt;
    }
    if (panel_bytes_ == 0 || bytes <= panel_bytes_) return std::nullopt;
    const auto most =
        static_cast<int64_t>(static_cast<double>(cut.extent) * static_cast<double>(panel_bytes_) /
                             static_cast<double>(bytes));
    cut.step = kChannelBlock;
    for (const int64_t block : kBlocks) {
      if (most < block) continue;
      // Few panels, of nearly the same size.
      const int64_t count = CeilDivide(cut.extent, most / block * block);
      cut.step = RoundUp(CeilDivide(cut.extent, count), block);
      break;
    }
    if (cut.step >= cut.extent) return std::nullopt;
    return cut;
  }

  // Adds the cuts of a wide convolution and of its readers to `groups_` and `sums_`, if it has
  // some. Returns the bytes of a row, or 0.
  int64_t FindGroups(const OperatorNode& node) {
    if (node.outputs.size() != 1 || node.op->role() != Role::kCompute ||
        groups_.contains(node.id) || sums_.contains(node.id)) {
      return 0;
    }
    const TensorType& wide = source_.var(node.outputs[0]).type;
    const std::optional<PanelAxes> axes = PanelAxesOf(*node.op, source_.SiteOf(node));
    if (!axes || axes->output != 1 || wide.shape.rank() != 4 || wide.shape.num_elements() == 0 ||
        !HasParts(node, *axes, 0)) {
      return 0;
    }
    std::vector<const OperatorNode*> functions;
    const OperatorNode* const reader = ReaderBehindFunctions(node, functions);
    if (reader == nullptr) return 0;
    const int64_t channels = wide.shape[1];
    const int64_t row = wide.bytes() / (wide.shape[0] * wide.shape[2]);
    const std::optional<GroupAxes> grouped = GroupAxesOf(*reader->op, source_.SiteOf(*reader));
    const std::optional<ChannelSums> sums =
        channels > source_.var(node.inputs[0]).type.shape[1] ? SumsOf(*reader) : std::nullopt;
    const bool in_groups = grouped && HasParts(*reader, *grouped, 1);
    if (!in_groups && !sums) return 0;
    const int64_t made = source_.var(reader->outputs[0]).type.shape[1];
    // Groups of whole blocks, of the wide image as of the reader's output.
    int64_t unit = in_groups ? channels / grouped->groups : 1;
    const int64_t first = unit;
    while (unit < channels && (unit % kChannelBlock != 0 ||
                               (in_groups && unit * made / channels % kChannelBlock != 0))) {
      unit += first;
    }
    const int64_t count = std::min(CeilDivide(row, group_bytes_), CeilDivide(channels, unit));
    const int64_t step = RoundUp(CeilDivide(channels, count), unit);
    if (step >= channels) return 0;
    AddGroups(node, *axes, functions, channels, step);
    if (!in_groups) {
      sums_[reader->id] = {*sums, channels, step};
      return row;
    }
    const int64_t part = step * made / channels;
    functions.clear();
    const OperatorNode* const last = ReaderBehindFunctions(*reader, functions);
    if (const auto sums = last != nullptr ? SumsOf(*last) : std::nullopt;
        sums &&
        static_cast<double>(SumBytes(*last)) <
            kWorthAdding * static_cast<double>(source_.var(reader->outputs[0]).type.bytes())) {
      AddGroups(*reader, *grouped, functions, made, part);
      sums_[last->id] = {*sums, made, part};
    } else {
      groups_[reader->id] = {*grouped, made, part};
    }
    return row;
  }

  // Cuts a convolution and the functions behind it into groups that are not joined.
  void AddGroups(const OperatorNode& node, const PanelAxes& axes,
                 absl::Span<const OperatorNode* const> functions, int64_t channels, int64_t step) {
    groups_[node.id] = {axes, channels, step, /*joined=*/false};
    for (const OperatorNode* const function : functions) {
      groups_[function->id] = {{1, {1}}, channels, step, /*joined=*/false};
    }
  }

  // Returns the only reader of a node behind functions of single elements, or null.
  const OperatorNode* ReaderBehindFunctions(const OperatorNode& node,
                                            std::vector<const OperatorNode*>& functions) const {
    const OperatorNode* reader = ReaderOf(node);
    while (reader != nullptr && reader->op->is_pointwise() && reader->inputs.size() == 1) {
      functions.push_back(reader);
      reader = ReaderOf(*reader);
    }
    return reader;
  }

  // Returns the bytes of an unfinished sum of a convolution: 8-bit integers add up to 32 bits.
  int64_t SumBytes(const OperatorNode& node) const {
    const TensorType& type = source_.var(node.outputs[0]).type;
    return IsQuantized(type.dtype) ? type.shape.num_elements() * int64_t{sizeof(int32_t)}
                                   : type.bytes();
  }

  // Returns the only reader of a node's only output, as its first input; null if it has another, or
  // reads another shape.
  const OperatorNode* ReaderOf(const OperatorNode& node) const {
    const int var = node.outputs[0];
    if (source_.readers(var).size() != 1) return nullptr;
    const OperatorNode& reader = source_.node(source_.readers(var)[0]);
    const bool reads = reader.op->role() == Role::kCompute && reader.outputs.size() == 1 &&
                       reader.inputs[0] == var &&
                       std::count(reader.inputs.begin(), reader.inputs.end(), var) == 1;
    const Shape& made = source_.var(reader.outputs[0]).type.shape;
    return reads && made.rank() == 4 ? &reader : nullptr;
  }

  // Returns the sums of a convolution, if its image has more channels than are made of it.
  std::optional<ChannelSums> SumsOf(const OperatorNode& reader) const {
    const HostTensor* const filter =
        reader.inputs.size() > 1 ? source_.constant(reader.inputs[1]) : nullptr;
    if (filter == nullptr) return std::nullopt;
    const auto channels = [&](int var) { return source_.var(var).type.shape[1]; };
    if (channels(reader.inputs[0]) <= channels(reader.outputs[0]) ||
        (IsQuantized(filter->dtype()) && !integer_sums_)) {
      return std::nullopt;
    }
    return ChannelSumsOf(*reader.op, source_.SiteOf(reader));
  }

  // Returns whether all inputs from `first` on that would be cut are constants that can be.
  bool HasParts(const OperatorNode& node, const PanelAxes& axes, size_t first) const {
    const int64_t channels = source_.var(node.outputs[0]).type.shape[1];
    for (size_t i = first; i < node.inputs.size(); ++i) {
      if (axes.inputs[i] < 0) continue;
      const HostTensor* const value = source_.constant(node.inputs[i]);
      const int64_t extent = source_.var(node.inputs[i]).type.shape[axes.inputs[i]];
      if (value == nullptr || !QuantizationOf(*value, axes.inputs[i], {0, extent}) ||
          channels % extent != 0) {
        return false;
      }
    }
    return true;
  }

  absl::Status AddPanels(const OperatorNode& node, const Cut& cut) {
    const TensorType& output = source_.var(node.outputs[0]).type;
    std::vector<int> panels;
    for (int64_t begin = 0; begin < cut.extent; begin += cut.step) {
      const Range range = {begin, std::min(begin + cut.step, cut.extent)};
      std::vector<int> inputs;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const int axis = cut.axes.inputs[i];
        const Shape& shape = source_.var(node.inputs[i]).type.shape;
        const Range part = axis < 0 ? range : ShareOf(range, shape[axis], cut.extent);
        ASHLAR_ASSIGN_OR_RETURN(const int input, InputOf(node.inputs[i], axis, part));
        inputs.push_back(input);
      }
      GraphBuilder::NodeOptions options;
      options.name = absl::StrCat(node.name, "/", panels.size());
      options.priority = node.priority;
      options.output_formats = {output.format};
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> made,
          rewriter_.builder().Add(node.op, std::move(inputs), std::move(options)));
      panels.push_back(made[0]);
      if (!cut.joined) parts_[{node.outputs[0], cut.axes.output, range.begin, range.end}] = made[0];
    }
    if (!cut.joined) return absl::OkStatus();
    ASHLAR_ASSIGN_OR_RETURN(
        OperatorPtr join,
        operators_.Make("Concat", {{"axis", static_cast<int64_t>(cut.axes.output)}}));
    return rewriter_.Substitute(node, std::move(join), std::move(panels));
  }

  // Adds a convolution as sums over groups of channels that were cut before it.
  absl::Status AddSums(const OperatorNode& node, const SumCut& cut) {
    constexpr int kFilter = 1, kBias = 2, kZ = 3;
    const TensorType& output = source_.var(node.outputs[0]).type;
    const HostTensor none = IsQuantized(output.dtype)
                                ? HostTensor::Zeros(source_.var(node.inputs[kBias]).type)
                                : HostTensor::Zeros(output.dtype, {1, output.shape[1], 1, 1});
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> no_bias,
                            rewriter_.builder().Add(operators_.MakeConstant(none), {}));
    int sum = -1;
    for (int64_t begin = 0; begin < cut.extent; begin += cut.step) {
      const Range range = {begin, std::min(begin + cut.step, cut.extent)};
      const bool is_first = begin == 0, is_last = range.end == cut.extent;
      std::vector<int> inputs;
      ASHLAR_ASSIGN_OR_RETURN(const int image, InputOf(node.inputs[0], 1, range));
      ASHLAR_ASSIGN_OR_RETURN(const int filter, InputOf(node.inputs[kFilter], 1, range));
      inputs = {image, filter, no_bias[0]};
      if (is_first) {
        if (node.inputs.size() > kBias) inputs[kBias] = rewriter_.Map(node.inputs[kBias]);
        if (node.inputs.size() > kZ) inputs.push_back(rewriter_.Map(node.inputs[kZ]));
      } else {
        inputs.push_back(sum);
      }
      if (is_last) return rewriter_.Substitute(node, cut.sums.last, std::move(inputs));
      GraphBuilder::NodeOptions options;
      options.name = absl::StrCat(node.name, "/", begin / cut.step);
      options.priority = node.priority;
      options.output_formats = {output.format};
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                              rewriter_.builder().Add(is_first ? cut.sums.first : cut.sums.next,
                                                      std::move(inputs), std::move(options)));
      sum = made[0];
    }
    return absl::OkStatus();
  }

  // Returns the part of an input that a panel reads.
  absl::StatusOr<int> InputOf(int var, int axis, const Range& range) {
    if (axis < 0) return rewriter_.Map(var);
    int& part = parts_.try_emplace({var, axis, range.begin, range.end}, -1).first->second;
    if (part >= 0) return part;
    GraphBuilder& builder = rewriter_.builder();
    GraphBuilder::NodeOptions options;
    options.name = absl::StrCat(source_.var(var).name, ":", range.begin, "-", range.end);
    if (const HostTensor* const value = source_.constant(var); value != nullptr) {
      HostTensor values = SliceOf(*value, axis, range.begin, range.size());
      if (!values.quantization().empty() || !value->quantization().empty()) {
        // A part of a filter's input channels has the scales of all its output channels.
        const std::optional<Quantization> part = QuantizationOf(*value, axis, range);
        values = values.As(value->dtype(), part ? *part : value->quantization());
      }
      options.output_names = {options.name};
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> made,
          builder.Add(operators_.MakeConstant(std::move(values)), {}, std::move(options)));
      return part = made[0];
    }
    ASHLAR_ASSIGN_OR_RETURN(OperatorPtr op,
                            operators_.Make("Subtensor", {{"axis", std::vector<int64_t>{axis}},
                                                          {"begin", std::vector<int64_t>{1}},
                                                          {"end", std::vector<int64_t>{1}},
                                                          {"step", std::vector<int64_t>{0}},
                                                          {"idx", std::vector<int64_t>{0}}}));
    std::vector<int> inputs = {rewriter_.Map(var)};
    for (const int64_t bound : {range.begin, range.end}) {
      const HostTensor value =
          HostTensor::FromValues<int64_t>(DType::kInt64, {1}, absl::Span<const int64_t>(&bound, 1));
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                              builder.Add(operators_.MakeConstant(value), {}));
      inputs.push_back(made[0]);
    }
    options.output_formats = {source_.var(var).type.format};
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder.Add(std::move(op), std::move(inputs), std::move(options)));
    return part = made[0];
  }

  const Graph& source_;
  const OperatorTable& operators_;
  const int64_t panel_bytes_, group_bytes_;
  const WeightBytes packed_;
  const bool integer_sums_;
  absl::flat_hash_map<int, Cut> groups_;   // by id of a node
  absl::flat_hash_map<int, SumCut> sums_;  // by id of a node
  const Graph* cut_as_ = nullptr;
  absl::flat_hash_map<std::string, int> first_panels_;  // of `cut_as_`: their outputs, by name
  GraphRewriter rewriter_;
  absl::flat_hash_map<std::tuple<int, int, int64_t, int64_t>, int> parts_;
};

}  // namespace

absl::StatusOr<Graph> CutIntoPanels(const Graph& graph, const OperatorTable& operators,
                                    int64_t panel_bytes, int64_t group_bytes,
                                    const WeightBytes& packed, bool integer_sums) {
  return Cutter(graph, operators, panel_bytes, group_bytes, packed, integer_sums).Run();
}

absl::StatusOr<Graph> CutIntoPanelsOf(const Graph& cut, const Graph& graph,
                                      const OperatorTable& operators) {
  return Cutter(graph, operators, 0, 0).RunAs(cut);
}

int64_t WidestGroupRow(const Graph& graph, const OperatorTable& operators) {
  return Cutter(graph, operators, 0, /*group_bytes=*/1).WidestRow();
}

}  // namespace ashlar
