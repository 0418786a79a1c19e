#include "training/training_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/differentiate.h"
#include "graph/graph_builder.h"
#include "graph/random.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/batch_norm.h"
#include "opr/batch_norm_training.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/log_softmax.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/pooling_index.h"
#include "opr/softmax.h"
#include "opr/table.h"
#include "opr/type_cvt.h"
#include "opr/update.h"
#include "training/kept_for_gradients.h"
#include "training/own_weights.h"
#include "training/sums_in_convolutions.h"
#include "training/sums_in_momentum.h"

namespace ashlar {
namespace {

absl::Status CheckOneInputAndOutput(const Graph& model) {
  if (model.inputs().size() == 1 && model.outputs().size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the model has ", model.inputs().size(),
                                                 " inputs and ", model.outputs().size(),
                                                 " outputs, expected one of each"));
}

// Whether a node is a softmax, or the logarithm of one, over the classes: dimension 1.
bool IsSoftmaxOfClasses(const Graph& model, const OperatorNode& node) {
  int64_t axis = 0;
  if (node.op->type() == Softmax::kType) {
    axis = static_cast<const Softmax&>(*node.op).param().axis;
  } else if (node.op->type() == LogSoftmax::kType) {
    axis = static_cast<const LogSoftmax&>(*node.op).param().axis;
  } else {
    return false;
  }
  return axis == 1 || axis + model.var(node.inputs[0]).type.shape.rank() == 1;
}

// Returns the output before its conversion to the float type that the model's file declares.
int OutputOf(const Graph& model) {
  const int output = model.outputs()[0].var;
  const OperatorNode& node = model.node(model.var(output).producer);
  const bool converted = node.op->type() == TypeCvt::kType && IsFloat(model.var(output).type.dtype);
  return converted ? node.inputs[0] : output;
}

// Returns the logits: the output before a softmax over the classes.
int LogitsOf(const Graph& model) {
  const int output = OutputOf(model);
  const OperatorNode& node = model.node(model.var(output).producer);
  return IsSoftmaxOfClasses(model, node) ? node.inputs[0] : output;
}

// Returns the var that a loss reads.
int LogitsFor(Loss loss, const Graph& model) {
  return loss == Loss::kCrossEntropy ? LogitsOf(model) : OutputOf(model);
}

absl::StatusOr<int> AddInput(GraphBuilder& builder, const std::string& name,
                             const TensorType& type) {
  InputParam param{type.dtype, {type.shape.dims().begin(), type.shape.dims().end()}};
  GraphBuilder::NodeOptions options;
  options.name = name;
  options.binding = name;
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> made,
      builder.Add(std::make_shared<const Host2DeviceCopy>(std::move(param)), {}, options));
  return made[0];
}

absl::Status AddOutput(GraphBuilder& builder, int var, const char* name) {
  GraphBuilder::NodeOptions options;
  options.binding = name;
  return builder.Add(std::make_shared<const OutputCallback>(OutputParam()), {var}, options)
      .status();
}

// Builds a graph of the model, with parameters as states.
class GraphOfStates {
 public:
  GraphOfStates(const Graph& model, const Parameters& parameters)
      : model_(model), parameters_(parameters), rewriter_(model) {}

  absl::Status Copy(bool in_training) {
    const auto make = [&](int parameter) {
      return Operators().MakeState(*model_.constant(parameters_.all[parameter].var));
    };
    const auto instead = [&](int node, const std::vector<int>& inputs) -> absl::StatusOr<bool> {
      if (model_.node(node).op->role() == Role::kOutput) return true;
      return in_training ? ByBatch(node, inputs) : false;
    };
    return CopyWith(parameters_, make, instead, rewriter_, vars_);
  }

  GraphBuilder& builder() { return rewriter_.builder(); }
  int Map(int var) const { return rewriter_.Map(var); }
  int state(int parameter) const { return vars_[parameter]; }
  absl::StatusOr<Graph> Finish() && { return std::move(rewriter_).Finish(); }

  // Updates running statistics by the batches' statistics.
  absl::Status UpdateStatistics(double momentum) {
    for (const Statistic& s : statistics_) {
      const int state = vars_[s.parameter];
      ASHLAR_ASSIGN_OR_RETURN(
          const int of_batch,
          AddReshape(builder(), s.of_batch, builder().graph().var(state).type.shape));
      GraphBuilder::NodeOptions options;
      options.name = parameters_.all[s.parameter].name + ".update";
      const AddUpdateParam param{1 - momentum, momentum * s.factor, 0};
      ASHLAR_RETURN_IF_ERROR(
          builder()
              .Add(std::make_shared<const AddUpdate>(param), {state, of_batch}, options)
              .status());
    }
    return absl::OkStatus();
  }

 private:
  // A parameter, the var of the batch's statistic, and a factor of the latter.
  struct Statistic {
    int parameter = 0, of_batch = 0;
    double factor = 1;
  };

  // Replaces a batch norm by running statistics with one by the statistics of the batch.
  absl::StatusOr<bool> ByBatch(int index, const std::vector<int>& inputs) {
    const auto norm =
        std::find_if(parameters_.norms.begin(), parameters_.norms.end(),
                     [&](const BatchStatistics& statistics) { return statistics.node == index; });
    if (norm == parameters_.norms.end()) return false;
    const OperatorNode& node = model_.node(index);
    const Shape& x = model_.var(node.inputs[BatchNorm::kX]).type.shape;
    const double count = static_cast<double>(x.num_elements() / x[1]);
    if (count < 2) {
      return absl::InvalidArgumentError(absl::StrCat(Describe(node, kLongestUncheckedName),
                                                     ": one element a channel, of ", x.ToString(),
                                                     ", has no variance; use a larger batch"));
    }
    GraphBuilder::NodeOptions options;
    options.name = node.name;
    const auto& op = static_cast<const BatchNorm&>(*node.op);
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<int> made,
        builder().Add(std::make_shared<const BatchNormTraining>(op.param()),
                      {inputs[BatchNorm::kX], inputs[BatchNorm::kScale], inputs[BatchNorm::kBias]},
                      options));
    rewriter_.Replace(node.outputs[0], made[BatchNormTraining::kY]);
    statistics_.push_back({norm->mean, made[BatchNormTraining::kMean], 1});
    // Running variances are unbiased.
    statistics_.push_back(
        {norm->variance, made[BatchNormTraining::kVariance], count / (count - 1)});
    return true;
  }

  const Graph& model_;
  const Parameters& parameters_;
  GraphRewriter rewriter_;
  std::vector<int> vars_;  // by parameter
  std::vector<Statistic> statistics_;
};

// Builds the step. `model` and `parameters`: the model of `t`, perhaps tiled, and its parameters.
absl::StatusOr<Graph> MakeStep(const Graph& model, const Parameters& parameters,
                               const TrainingGraph& t, const TrainingOptions& options) {
  GraphOfStates graph(model, parameters);
  ASHLAR_RETURN_IF_ERROR(graph.Copy(/*in_training=*/true));
  GraphBuilder& builder = graph.builder();
  ASHLAR_ASSIGN_OR_RETURN(const int labels,
                          AddInput(builder, TrainingGraph::kLabels, t.labels_type));
  StepInputs inputs;
  ASHLAR_ASSIGN_OR_RETURN(inputs.rate,
                          AddInput(builder, TrainingGraph::kRate, {DType::kFloat32, Shape{1}}));
  if (UsesStep(options.optimizer)) {
    ASHLAR_ASSIGN_OR_RETURN(inputs.step,
                            AddInput(builder, TrainingGraph::kStep, {DType::kInt64, Shape{1}}));
  }
  ASHLAR_ASSIGN_OR_RETURN(
      const int loss,
      AddLoss(builder, options.loss, graph.Map(LogitsFor(options.loss, model)), labels));
  std::vector<int> wrt;
  std::vector<Learning> learning;
  for (size_t i = 0; i < parameters.all.size(); ++i) {
    const int state = graph.state(static_cast<int>(i));
    if (!parameters.all[i].learns || state < 0) continue;
    wrt.push_back(state);
    learning.push_back({parameters.all[i].name, state, -1});
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<std::optional<int>> gradients,
                          Differentiate(builder, loss, wrt, Operators()));
  for (size_t i = 0; i < learning.size(); ++i) learning[i].gradient = gradients[i].value_or(-1);
  learning.erase(std::remove_if(learning.begin(), learning.end(),
                                [](const Learning& l) { return l.gradient < 0; }),
                 learning.end());
  ASHLAR_RETURN_IF_ERROR(graph.UpdateStatistics(options.statistics_momentum));
  ASHLAR_RETURN_IF_ERROR(AddOptimizer(builder, options.optimizer, learning, inputs));
  ASHLAR_RETURN_IF_ERROR(AddOutput(builder, loss, TrainingGraph::kLoss));
  return std::move(graph).Finish();
}

// Assigns pooling indices to the same tile as their pooling.
void AddPoolingIndices(const Graph& step, PartsOfNodes& parts) {
  for (const OperatorNode& node : step.nodes()) {
    if (node.op->type() != PoolingIndex::kType) continue;
    for (const int reader : step.readers(node.inputs[0])) {
      const auto pool = parts.find(step.node(reader).id);
      if (pool != parts.end() && step.node(reader).op->type() == PoolingForward::kType) {
        parts[node.id] = pool->second;
        break;
      }
    }
  }
}

absl::StatusOr<Graph> MakeEvaluation(const TrainingGraph& t, int logits) {
  GraphOfStates graph(t.model, t.parameters);
  ASHLAR_RETURN_IF_ERROR(graph.Copy(/*in_training=*/false));
  ASHLAR_RETURN_IF_ERROR(AddOutput(graph.builder(), graph.Map(logits), TrainingGraph::kLogits));
  return std::move(graph).Finish();
}

}  // namespace

absl::StatusOr<TrainingGraph> MakeTrainingGraph(Graph model, const TrainingOptions& options) {
  ASHLAR_RETURN_IF_ERROR(CheckOneInputAndOutput(model));
  TrainingGraph t;
  ASHLAR_ASSIGN_OR_RETURN(t.model, WithOwnWeights(std::move(model)));
  t.images = t.model.inputs()[0].name;
  t.images_type = t.model.var(t.model.inputs()[0].var).type;
  const int logits = LogitsFor(options.loss, t.model);
  ASHLAR_ASSIGN_OR_RETURN(t.labels_type, LabelsFor(options.loss, t.model.var(logits).type));
  ASHLAR_ASSIGN_OR_RETURN(t.parameters, FindParameters(t.model, options.parameters));
  if (options.tiles.empty()) {
    ASHLAR_ASSIGN_OR_RETURN(t.step, MakeStep(t.model, t.parameters, t, options));
  } else {
    std::vector<int> order(t.model.nodes().size());
    std::iota(order.begin(), order.end(), 0);
    ASHLAR_ASSIGN_OR_RETURN(const Graph tiled,
                            Tile(t.model, options.tiles, order, Operators(), &t.parts));
    ASHLAR_ASSIGN_OR_RETURN(const Parameters parameters,
                            InTiles(t.parameters, t.model, tiled, t.parts));
    ASHLAR_ASSIGN_OR_RETURN(t.step, MakeStep(tiled, parameters, t, options));
  }
  ASHLAR_ASSIGN_OR_RETURN(t.step, KeepPoolingIndices(t.step));
  AddPoolingIndices(t.step, t.parts);
  ASHLAR_ASSIGN_OR_RETURN(t.step, MaskFromNormInputs(t.step));
  ASHLAR_ASSIGN_OR_RETURN(t.step, SumGradientsInConvolutions(t.step));
  if (!options.in_parts) {
    ASHLAR_ASSIGN_OR_RETURN(t.step, SumGradientsInMomentum(t.step));
  }
  ASHLAR_ASSIGN_OR_RETURN(t.step, RecomputeStep(t.step, options.recompute, t.parts));
  ASHLAR_ASSIGN_OR_RETURN(t.evaluation, MakeEvaluation(t, logits));
  return t;
}

absl::StatusOr<Graph> WithClasses(Graph model, int64_t classes, uint64_t seed) {
  ASHLAR_RETURN_IF_ERROR(CheckOneInputAndOutput(model));
  // The layer may share its bias with others, which keep theirs.
  ASHLAR_ASSIGN_OR_RETURN(model, WithOwnWeights(std::move(model)));
  const auto maker = [&](int var) -> const OperatorNode& {
    return model.node(model.var(var).producer);
  };
  const auto is_constant = [&](int var) { return model.constant(var) != nullptr; };
  int end = LogitsOf(model), bias = -1;
  if (const OperatorNode& add = maker(end);
      add.op->type() == Elemwise::kType && add.inputs.size() == 2 &&
      is_constant(add.inputs[0]) != is_constant(add.inputs[1])) {
    const bool first = is_constant(add.inputs[0]);
    bias = add.inputs[first ? 0 : 1];
    end = add.inputs[first ? 1 : 0];
  }
  const OperatorNode& product = maker(end);
  if (product.op->type() != MatrixMul::kType || !is_constant(product.inputs[1])) {
    return absl::InvalidArgumentError(
        absl::StrCat("the output does not come from a fully connected layer but from ",
                     Describe(product, kLongestUncheckedName)));
  }
  const int weight = product.inputs[1];
  const bool transposed = static_cast<const MatrixMul&>(*product.op).param().transposeB;
  Shape shape = model.var(weight).type.shape;
  const int across = shape.rank() - (transposed ? 2 : 1);
  const int64_t features = shape[shape.rank() - (transposed ? 1 : 2)];
  shape[across] = classes;
  Random random(seed);
  const double bound = 1 / std::sqrt(static_cast<double>(features));
  const auto fresh = [&](const Shape& of) {
    HostTensor value = HostTensor::Zeros(DType::kFloat32, of);
    for (int64_t i = 0; i < value.num_elements(); ++i) value.Set(i, random.Uniform(-bound, bound));
    return Operators().MakeConstant(std::move(value));
  };
  GraphRewriter rewriter(model);
  for (const OperatorNode& node : model.nodes()) {
    OperatorPtr op = node.op;
    if (!node.outputs.empty() && node.outputs[0] == weight) op = fresh(shape);
    if (!node.outputs.empty() && node.outputs[0] == bias) {
      Shape along = model.var(bias).type.shape;
      if (along.rank() > 0) along[along.rank() - 1] = classes;
      op = fresh(along);
    }
    ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, op, rewriter.MapAll(node.inputs)));
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
