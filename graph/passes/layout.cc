// Stores images inside the graph in the device's format, with RelayoutFormat at the boundaries.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "graph/graph_builder.h"
#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

class LayoutAssigner {
 public:
  LayoutAssigner(const Graph& graph, const OperatorTable& operators, Format image_format,
                 bool reads_planes)
      : operators_(operators),
        image_format_(image_format),
        reads_planes_(reads_planes || IsBlocked(image_format)),
        rewriter_(graph),
        pays_(graph.nodes().size()) {
    for (const Var& var : graph.vars()) {
      TensorType type = var.type;
      if (!IsImage(type) || 2 * type.shape[1] < kChannelBlock) continue;
      type.format = FormatOf(type);
      largest_ = std::max(largest_, type.bytes());
    }
    for (int node = static_cast<int>(graph.nodes().size()) - 1; node >= 0; --node) {
      pays_[static_cast<size_t>(node)] = FindPays(graph.node(node));
    }
  }

  absl::StatusOr<Graph> Run() && {
    for (const OperatorNode& node : rewriter_.source().nodes()) ASHLAR_RETURN_IF_ERROR(Add(node));
    return std::move(rewriter_).Finish();
  }

 private:
  const Graph& built() { return rewriter_.builder().graph(); }
  const TensorType& TypeOf(int new_var) { return built().var(new_var).type; }
  bool IsImage(const TensorType& type) const { return MayBeImage(type, FormatOf(type)); }
  // Returns the format for images of this type.
  Format FormatOf(const TensorType& type) const { return FormatOfImages(type, image_format_); }
  const TensorType& FirstOutput(const OperatorNode& node) const {
    return rewriter_.source().var(node.outputs[0]).type;
  }

  absl::Status Add(const OperatorNode& node) {
    std::vector<int> inputs = rewriter_.MapAll(node.inputs);
    const bool crosses = Crosses(node, inputs);
    const bool blocked =
        crosses ? TypeOf(inputs[0]).format == Format::kDefault : WantsBlocks(node, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (crosses || node.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) continue;
      const Format format =
          blocked ? InputFormat(node, TypeOf(inputs[i]), built().constant(inputs[i]) != nullptr,
                                static_cast<int>(i))
                  : Format::kDefault;
      ASHLAR_ASSIGN_OR_RETURN(inputs[i], InFormat(inputs[i], format));
    }
    GraphBuilder::NodeOptions options = rewriter_.Identity(node);
    options.output_formats.clear();
    if (blocked && Rule(node) != FormatRule::kImageInputs) {
      for (int output : node.outputs) {
        const TensorType& type = rewriter_.source().var(output).type;
        const bool becomes_blocks =
            IsImage(type) && !(PadsTheLargest(type) && IsConvolution(node, inputs));
        options.output_formats.push_back(becomes_blocks ? FormatOf(type) : Format::kDefault);
      }
    }
    ASHLAR_ASSIGN_OR_RETURN(
        std::vector<int> outputs,
        rewriter_.builder().Add(node.op, std::move(inputs), std::move(options)));
    for (size_t i = 0; i < outputs.size(); ++i) rewriter_.Replace(node.outputs[i], outputs[i]);
    return absl::OkStatus();
  }

  // Returns whether the gain from blocks justifies conversions: for sums of products, which are
  // PrecisionRule::kLow, and for what makes images for them, directly or by way of operators that
  // keep the format. Readers come first.
  bool FindPays(const OperatorNode& node) const {
    const StorageRules rules = node.op->storage_rules(rewriter_.source().SiteOf(node));
    if (rules.format == FormatRule::kDefaultOnly) return false;
    if (rules.precision == PrecisionRule::kLow) return true;
    if (rules.format == FormatRule::kImageInputs) return true;
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
      const std::vector<int>& readers = rewriter_.source().readers(output);
      return IsImage(rewriter_.source().var(output).type) &&
             std::any_of(readers.begin(), readers.end(),
                         [&](int reader) { return pays_[static_cast<size_t>(reader)]; });
    });
  }
  bool Pays(const OperatorNode& node) const {
    return pays_[static_cast<size_t>(rewriter_.source().var(node.outputs[0]).producer)];
  }

  // Returns whether blocks of channels would make an image of few channels larger than any image
  // that fills them at least by half: a map of one channel as large as the input.
  bool PadsTheLargest(TensorType type) const {
    if (!IsImage(type) || 2 * type.shape[1] >= kChannelBlock) return false;
    type.format = FormatOf(type);
    return IsBlocked(type.format) && largest_ > 0 && type.bytes() > largest_;
  }
  // Returns whether the node is a convolution: the only operators that make row-major images of
  // blocks.
  bool IsConvolution(const OperatorNode& node, const std::vector<int>& inputs) {
    return Rule(node) == FormatRule::kBlocked && MayBeImage(TypeOf(inputs[0]), image_format_) &&
           TypeOf(inputs[0]).shape[1] != FirstOutput(node).shape[1];
  }

  // Returns whether the node should make its images in the image format, or read them so.
  bool WantsBlocks(const OperatorNode& node, const std::vector<int>& inputs) {
    if (node.op->role() != Role::kCompute || inputs.empty()) return false;
    if (Rule(node) == FormatRule::kImageInputs) return true;
    if (!MakesImages(node)) return false;
    const FormatRule rule = Rule(node);
    if (rule == FormatRule::kBlocked && Pays(node)) return true;
    if (rule == FormatRule::kDefaultOnly) return false;
    if (rule == FormatRule::kUniformUnpadded && IsBlocked(FormatOf(FirstOutput(node)))) {
      return false;
    }
    if ((rule == FormatRule::kFollow || rule == FormatRule::kUniform) &&
        GrowsRowMajor(node, inputs)) {
      return false;
    }
    if (TakesImagesApart(node)) return true;
    for (int input : inputs) {
      if (TypeOf(input).format != Format::kDefault) return true;
    }
    return false;
  }

  // Returns whether the node makes an image larger than all its inputs together, and all readers
  // want it row-major. Converting its inputs then costs less than converting its outputs.
  bool GrowsRowMajor(const OperatorNode& node, const std::vector<int>& inputs) {
    if (node.outputs.size() != 1) return false;
    const int var = node.outputs[0];
    const TensorType& to = rewriter_.source().var(var).type;
    int64_t read = 0;
    for (int input : inputs) read += TypeOf(input).shape.num_elements();
    return read < to.shape.num_elements() && IsReadAs(var, to, Format::kDefault);
  }

  // Returns whether the node's output is a slice of its input, in a format that the slice's readers
  // want. The whole input is then converted once, and slices of it may overlap.
  bool TakesImagesApart(const OperatorNode& node) {
    if (Rule(node) != FormatRule::kUniform || node.outputs.size() != 1) return false;
    const TensorType& part = FirstOutput(node);
    const TensorType& whole = rewriter_.source().var(node.inputs[0]).type;
    return !node.op->aliasing(rewriter_.source().SiteOf(node)).views.empty() &&
           part.shape != whole.shape && IsImage(part) &&
           IsReadAs(node.outputs[0], part, FormatOf(part));
  }

  // Returns whether the var has readers, and all of them want it in this format.
  bool IsReadAs(int var, const TensorType& type, Format format) {
    bool read = false;
    for (int reader : rewriter_.source().readers(var)) {
      const OperatorNode& r = rewriter_.source().node(reader);
      for (size_t i = 0; i < r.inputs.size(); ++i) {
        const int index = static_cast<int>(i);
        if (r.inputs[i] != var || r.op->input_use(index) != InputUse::kDeviceValue) continue;
        if (WantedFormat(r, type, index) != format) return false;
        read = true;
      }
    }
    return read;
  }

  // Returns whether the node should make its image in another format than it reads: row-major from
  // the image format, or the reverse. This holds for a conversion to another dtype, which touches
  // every element anyway, if all its readers want that format. A block has one dtype.
  bool Crosses(const OperatorNode& node, const std::vector<int>& inputs) {
    if (node.op->role() != Role::kCompute || inputs.size() != 1 || node.outputs.size() != 1) {
      return false;
    }
    const TensorType& from = TypeOf(inputs[0]);
    const int var = node.outputs[0];
    const TensorType& to = rewriter_.source().var(var).type;
    if (IsBlocked(image_format_) && IsQuantized(from.dtype) == IsQuantized(to.dtype)) return false;
    if (!IsImage(from) || !IsImage(to) || from.dtype == to.dtype || from.shape != to.shape ||
        Rule(node) != FormatRule::kFollow) {
      return false;
    }
    const Format other = from.format == Format::kDefault ? FormatOf(to) : Format::kDefault;
    return IsReadAs(var, to, other);
  }

  // Returns the format in which a node reads input i of this type, independent of its other inputs;
  // nullopt if it follows them.
  std::optional<Format> WantedFormat(const OperatorNode& node, const TensorType& type, int i) {
    if (node.op->role() != Role::kCompute) return Format::kDefault;
    if (!MakesImages(node) && Rule(node) != FormatRule::kImageInputs) return Format::kDefault;
    switch (Rule(node)) {
      case FormatRule::kDefaultOnly:
        return Format::kDefault;
      case FormatRule::kBlocked:
        if (!Pays(node)) return std::nullopt;
        [[fallthrough]];
      case FormatRule::kImageInputs:
        return InputFormat(node, type, /*constant=*/false, i);
      default:
        return std::nullopt;
    }
  }

  // Returns the format in which a node that makes images in the image format reads input i of this
  // type. Constants are read as they are: most are one value per channel, or weights that are
  // packed anyway.
  Format InputFormat(const OperatorNode& node, const TensorType& type, bool constant, int i) {
    if (!IsImage(type) || IsUpdated(node, i)) return type.format;
    const FormatRule rule = Rule(node);
    bool convert = !constant;
    const bool whole = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
      return type.shape == rewriter_.source().var(output).type.shape;
    });
    if (rule == FormatRule::kUniform || rule == FormatRule::kUniformUnpadded) {
      convert = true;
    } else if (rule == FormatRule::kBlocked && i > 0) {
      convert = convert && whole;
    } else if (reads_planes_) {
      convert = convert && (type.shape[1] >= kChannelBlock || IsQuantizing(node.inputs[i]));
    } else {
      convert =
          convert && (whole || rule == FormatRule::kBlocked || rule == FormatRule::kImageInputs);
    }
    return convert ? FormatOf(type) : type.format;
  }

  // Returns whether the var is quantised from floats; it can then have their format.
  bool IsQuantizing(int var) const {
    const Graph& source = rewriter_.source();
    const OperatorNode& producer = source.node(source.var(var).producer);
    if (producer.inputs.size() != 1) return false;
    const TensorType& from = source.var(producer.inputs[0]).type;
    return IsFloat(from.dtype) && IsQuantized(source.var(var).type.dtype);
  }

  // Returns whether the node changes input i in place.
  bool IsUpdated(const OperatorNode& node, int i) const {
    const Aliasing aliasing = node.op->aliasing(rewriter_.source().SiteOf(node));
    return std::any_of(aliasing.updates.begin(), aliasing.updates.end(),
                       [&](const Aliasing::Update& update) { return update.input == i; });
  }

  // Returns whether one of the outputs is an image.
  bool MakesImages(const OperatorNode& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](int output) { return IsImage(rewriter_.source().var(output).type); });
  }

  FormatRule Rule(const OperatorNode& node) {
    return node.op->storage_rules(rewriter_.source().SiteOf(node)).format;
  }

  // Returns the var in a format: itself, or its relayout, which all readers share.
  absl::StatusOr<int> InFormat(int var, Format format) {
    if (TypeOf(var).format == format) return var;
    const auto [entry, is_new] = relayouts_.try_emplace({var, format}, -1);
    if (is_new) {
      ASHLAR_ASSIGN_OR_RETURN(std::vector<int> outputs,
                              rewriter_.builder().Add(operators_.MakeRelayout(format), {var}));
      entry->second = outputs[0];
    }
    return entry->second;
  }

  const OperatorTable& operators_;
  const Format image_format_;
  const bool reads_planes_;
  int64_t largest_ = 0;  // bytes of an image whose channels fill blocks at least by half
  GraphRewriter rewriter_;
  std::vector<bool> pays_;                           // by node of the source
  std::map<std::pair<int, Format>, int> relayouts_;  // by new var
};

}  // namespace

absl::StatusOr<Graph> AssignLayout(const Graph& graph, const OperatorTable& operators,
                                   Format image_format, bool reads_planes) {
  return LayoutAssigner(graph, operators, image_format, reads_planes).Run();
}

}  // namespace ashlar
