#include "graph/passes/node_merger.h"

#include <utility>

#include "graph/status.h"

namespace ashlar {

NodeMerger::NodeMerger(const Graph& source) : source_(source), reads_(source.vars().size(), 0) {
  for (const OperatorNode& node : source.nodes()) {
    Node copy{node.op, {}, static_cast<int>(nodes_.size()), false};
    for (int var : node.inputs) copy.inputs.push_back({var, HostTensor()});
    CountReads(copy, 1);
    nodes_.push_back(std::move(copy));
  }
}

void NodeMerger::CountReads(const Node& node, int change) {
  for (const Input& input : node.inputs) {
    if (input.var >= 0) reads_[input.var] += change;
  }
}

std::vector<InputInfo> NodeMerger::InputInfos(int node) const {
  std::vector<InputInfo> infos;
  for (const Input& input : nodes_[node].inputs) {
    if (input.var >= 0) {
      infos.push_back({source_.var(input.var).type, source_.host_value(input.var)});
    } else {
      infos.push_back({{input.constant.dtype(), input.constant.shape()}, &input.constant});
    }
  }
  return infos;
}

std::vector<InputInfo> NodeMerger::InputInfos(int producer, int consumer,
                                              const Replacement& replacement) const {
  const std::vector<InputInfo> first = InputInfos(producer), second = InputInfos(consumer);
  std::vector<InputInfo> infos;
  for (const Operand& operand : replacement.operands) {
    if (operand.from == Operand::From::kConstant) {
      const HostTensor& constant = operand.constant;
      infos.push_back({{constant.dtype(), constant.shape()}, &constant});
    } else {
      const bool own = operand.from == Operand::From::kProducer;
      infos.push_back((own ? first : second)[static_cast<size_t>(operand.input)]);
    }
  }
  return infos;
}

int NodeMerger::SoleProducer(int node, int input) const {
  const int var = nodes_[node].inputs[input].var;
  if (var < 0 || reads_[var] != 1) return -1;
  const int producer = source_.var(var).producer;
  return source_.node(producer).outputs.size() == 1 ? producer : -1;
}

void NodeMerger::Merge(absl::Span<const int> chain, const Replacement& replacement) {
  const Node& producer = nodes_[chain.front()];
  const Node& consumer = nodes_[chain.back()];
  Node merged{replacement.op, {}, producer.first, false};
  for (const Operand& operand : replacement.operands) {
    switch (operand.from) {
      case Operand::From::kProducer:
        merged.inputs.push_back(producer.inputs[operand.input]);
        break;
      case Operand::From::kConsumer:
        merged.inputs.push_back(consumer.inputs[operand.input]);
        break;
      case Operand::From::kConstant:
        merged.inputs.push_back({-1, operand.constant});
        break;
      case Operand::From::kBefore:  // of tiles only
        break;
    }
  }
  CountReads(merged, 1);
  for (int node : chain) {
    CountReads(nodes_[node], -1);
    nodes_[node] = Node{nullptr, {}, node, true};
  }
  nodes_[chain.back()] = std::move(merged);
}

GraphBuilder::NodeOptions NodeMerger::OptionsOf(const GraphRewriter& rewriter, int node) const {
  const OperatorNode& first = source_.node(nodes_[node].first);
  const OperatorNode& last = source_.node(node);
  GraphBuilder::NodeOptions options = rewriter.Identity(last);
  options.name = first.name;
  options.id = first.id;
  options.priority = first.priority;
  options.recorded_workspace = rewriter.Identity(first).recorded_workspace;
  return options;
}

absl::StatusOr<Graph> NodeMerger::Finish(const OperatorTable& operators) && {
  GraphRewriter rewriter(source_);
  GraphBuilder& builder = rewriter.builder();
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    if (nodes_[i].absorbed) continue;
    if (nodes_[i].first == i) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(source_.node(i)));
      continue;
    }
    std::vector<int> inputs;
    for (const Input& input : nodes_[i].inputs) {
      if (input.var >= 0) {
        inputs.push_back(rewriter.Map(input.var));
      } else {
        ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> constant,
                                builder.Add(operators.MakeConstant(input.constant), {}));
        inputs.push_back(constant[0]);
      }
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                            builder.Add(nodes_[i].op, std::move(inputs), OptionsOf(rewriter, i)));
    const std::vector<int>& replaced = source_.node(i).outputs;
    for (size_t k = 0; k < replaced.size(); ++k) rewriter.Replace(replaced[k], outputs[k]);
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
