#include "quantization/rewrite.h"

#include <memory>
#include <utility>

#include "graph/graph_builder.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/host_io.h"
#include "opr/table.h"
#include "opr/type_cvt.h"
#include "quantization/range.h"

namespace ashlar {
namespace {

class EightBitRewriter {
 public:
  EightBitRewriter(const Graph& graph, const LayerPlan& plan, const std::vector<TensorType>& types,
                   bool weights_by_channel, const std::optional<TensorType>& input)
      : plan_(plan),
        types_(types),
        input_(input),
        weights_by_channel_(weights_by_channel),
        rewriter_(graph),
        bytes_(graph.vars().size(), -1),
        floats_(graph.vars().size(), -1) {}

  absl::StatusOr<Graph> Run() && {
    for (size_t i = 0; i < source().nodes().size(); ++i) {
      const OperatorNode& node = source().node(static_cast<int>(i));
      const absl::Status added = plan_.treatment[i] == Treatment::kFloats
                                     ? AddInFloats(node)
                                     : AddInBytes(node, plan_.treatment[i]);
      if (!added.ok()) return Annotate(added, Describe(node));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  const Graph& source() const { return rewriter_.source(); }
  GraphBuilder& builder() { return rewriter_.builder(); }

  absl::StatusOr<int> Converted(int new_var, const TypeCvtParam& param) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder().Add(std::make_shared<const TypeCvt>(param), {new_var}));
    return made[0];
  }

  // Returns the var in floats, or in 8 bits, through a conversion that all its readers share.
  absl::StatusOr<int> InFloats(int var) {
    int& made = floats_[static_cast<size_t>(var)];
    if (made < 0 && bytes_[static_cast<size_t>(var)] >= 0) {
      ASHLAR_ASSIGN_OR_RETURN(made, Converted(bytes_[static_cast<size_t>(var)], {DType::kFloat32}));
    }
    return made >= 0 ? made : rewriter_.Map(var);
  }
  absl::StatusOr<int> InBytes(int var, const TensorType& type) {
    int& made = bytes_[static_cast<size_t>(var)];
    if (made < 0) {
      const Quantization& of = type.quantization;
      ASHLAR_ASSIGN_OR_RETURN(
          made, Converted(rewriter_.Map(var), {type.dtype, of.scale(), of.zero_point()}));
    }
    return made;
  }

  absl::Status AddInput(const OperatorNode& node) {
    const absl::Span<const int64_t> dims = input_->shape.dims();
    const InputParam param = {DType::kUint8, {dims.begin(), dims.end()}};
    // Inputs differ in their outputs, and not in their parameters.
    ASHLAR_ASSIGN_OR_RETURN(OperatorPtr op,
                            Operators().Make(node.op->type(), Host2DeviceCopy(param).params()));
    ASHLAR_RETURN_IF_ERROR(rewriter_.Substitute(node, std::move(op), {}));
    return InBytes(node.outputs[0], *input_).status();
  }

  absl::Status AddInFloats(const OperatorNode& node) {
    if (input_ && node.op->role() == Role::kInput) return AddInput(node);
    if (input_ && IsInputInFloats(source(), node.outputs[0])) {
      ASHLAR_ASSIGN_OR_RETURN(bytes_[static_cast<size_t>(node.outputs[0])],
                              InBytes(node.inputs[0], *input_));
      return absl::OkStatus();
    }
    std::vector<int> inputs;
    for (const int var : node.inputs) {
      ASHLAR_ASSIGN_OR_RETURN(const int input, InFloats(var));
      inputs.push_back(input);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                            builder().Add(node.op, std::move(inputs), rewriter_.Identity(node)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      rewriter_.Replace(node.outputs[i], outputs[i]);
      floats_[static_cast<size_t>(node.outputs[i])] = outputs[i];
    }
    return absl::OkStatus();
  }

  absl::Status AddInBytes(const OperatorNode& node, Treatment treatment) {
    const int output = node.outputs[0];
    const TensorType& type = types_[static_cast<size_t>(output)];
    std::vector<int> inputs;
    const std::vector<size_t> computed = ComputedInputs(source(), node);
    size_t next = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int var = node.inputs[i];
      const bool is_computed = next < computed.size() && computed[next] == i;
      next += is_computed;
      // A constant input takes the type of the other inputs.
      const bool is_tensor = node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue;
      const bool known_part = !is_computed && is_tensor && treatment == Treatment::kMoved &&
                              source().var(var).type.dtype == DType::kFloat32;
      if (is_computed) {
        ASHLAR_ASSIGN_OR_RETURN(const int input, InBytes(var, types_[static_cast<size_t>(var)]));
        inputs.push_back(input);
      } else if (known_part) {
        const Quantization& of = type.quantization;
        ASHLAR_ASSIGN_OR_RETURN(
            const int input,
            Converted(rewriter_.Map(var), {type.dtype, of.scale(), of.zero_point()}));
        inputs.push_back(input);
      } else {
        inputs.push_back(rewriter_.Map(var));
      }
    }
    if (treatment == Treatment::kMoved) {
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs, builder().Add(node.op, inputs));
      for (size_t i = 0; i < outputs.size(); ++i) {
        builder().TakeIdentity(outputs[i], source(), node.outputs[i]);
        bytes_[static_cast<size_t>(node.outputs[i])] = outputs[i];
      }
      return absl::OkStatus();
    }
    int made;
    if (treatment == Treatment::kSaturated && IsWithin(type, *node.op->Saturation())) {
      made = inputs[0];
    } else {
      ASHLAR_ASSIGN_OR_RETURN(
          made, node.op->MakeQuantized(builder(), inputs, {type, weights_by_channel_}));
    }
    builder().TakeIdentity(made, source(), output);
    bytes_[static_cast<size_t>(output)] = made;
    return absl::OkStatus();
  }

  // Whether the range is exceeded by less than half a step, which rounding removes.
  static bool IsWithin(const TensorType& type, const ValueRange& range) {
    const ValueRange own = RangeOfType(type);
    const double slack = type.quantization.scale() / 2;
    return own.least >= range.least - slack && own.most <= range.most + slack;
  }

  const LayerPlan& plan_;
  const std::vector<TensorType>& types_;
  const std::optional<TensorType>& input_;
  const bool weights_by_channel_;
  GraphRewriter rewriter_;
  std::vector<int> bytes_, floats_;  // by var of the source: its new var, or -1
};

}  // namespace

bool IsInputInFloats(const Graph& graph, int var) {
  const OperatorNode& node = graph.node(graph.var(var).producer);
  if (node.op->role() == Role::kInput) return true;
  return node.op->type() == TypeCvt::kType && graph.var(var).type.dtype == DType::kFloat32 &&
         graph.node(graph.var(node.inputs[0]).producer).op->role() == Role::kInput;
}

absl::StatusOr<Graph> RewriteInEightBits(const Graph& graph, const LayerPlan& plan,
                                         const std::vector<TensorType>& types,
                                         bool weights_by_channel,
                                         const std::optional<TensorType>& input) {
  return EightBitRewriter(graph, plan, types, weights_by_channel, input).Run();
}

}  // namespace ashlar
