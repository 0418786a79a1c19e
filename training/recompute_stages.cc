#include "training/recompute_stages.h"

#include <algorithm>
#include <map>
#include <utility>

#include "training/recompute.h"

namespace ashlar {
namespace {

constexpr int64_t kHalf = 2;  // addends have at least one half of a sum's bytes

class StageFinder {
 public:
  StageFinder(const Graph& graph, int loss, const OrderMaker& maker, const PartsOfNodes& parts)
      : graph_(graph),
        loss_(loss),
        maker_(maker),
        parts_(parts),
        towards_(NodesTowards(graph, loss)) {
    found_.cheap = CheapInStep(graph, loss, parts);
    found_.stage_of.assign(graph.vars().size(), -1);
  }

  RecomputeStages Find(size_t most) && {
    FindData();
    FindChoices();
    if (!parts_.empty()) JoinParts();
    Cut(most);
    FindWindows();
    return std::move(found_);
  }

 private:
  bool IsReadBehind(int var) const {
    const std::vector<int>& readers = graph_.readers(var);
    return std::any_of(readers.begin(), readers.end(),
                       [&](int reader) { return !towards_[static_cast<size_t>(reader)]; });
  }
  // Returns the vars that a node reads on the device and that depend on the model's input.
  std::vector<int> DataOf(const OperatorNode& node) const {
    std::vector<int> data;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto in = static_cast<size_t>(node.inputs[i]);
      if (node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue && data_[in]) {
        data.push_back(node.inputs[i]);
      }
    }
    return data;
  }

  void FindData() {
    data_.assign(graph_.vars().size(), false);
    for (const OperatorNode& node : graph_.nodes()) {
      const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
        const auto in = static_cast<size_t>(input);
        return data_[in] || graph_.node(graph_.var(input).producer).op->role() == Role::kInput;
      });
      for (const int output : node.outputs) data_[static_cast<size_t>(output)] = depends;
    }
  }

  // Whether a var is a sum of several vars of the forward pass, or is computed from one such sum
  // alone.
  bool IsSum(int var) const {
    const std::vector<int> data = DataOf(graph_.node(graph_.var(var).producer));
    std::vector<int> large;
    for (const int input : data) {
      if (graph_.var(input).type.bytes() * kHalf >= graph_.var(var).type.bytes()) {
        large.push_back(input);
      }
    }
    if (large.size() > 1) return true;
    return large.size() == 1 && found_.cheap[static_cast<size_t>(large[0])] != kKept &&
           !IsReadBehind(large[0]) && IsSum(large[0]);
  }

  // Returns `var` and its unsaved inputs, transitively.
  std::vector<int> With(int var) const {
    std::vector<int> vars = {var};
    for (size_t i = 0; i < vars.size(); ++i) {
      for (const int input : DataOf(graph_.node(graph_.var(vars[i]).producer))) {
        if (IsReadBehind(input) || found_.cheap[static_cast<size_t>(input)] != kKept ||
            !CanMakeAgain(graph_, input)) {
          continue;
        }
        if (std::find(vars.begin(), vars.end(), input) == vars.end()) vars.push_back(input);
      }
    }
    return vars;
  }

  // Whether a recomputed node reads `var`.
  bool IsReadByCopies(int var) const {
    const std::vector<int>& readers = graph_.readers(var);
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      const std::vector<int>& outputs = graph_.node(reader).outputs;
      return towards_[static_cast<size_t>(reader)] && !outputs.empty() &&
             found_.cheap[static_cast<size_t>(outputs[0])] != kKept;
    });
  }

  void FindChoices() {
    for (const OperatorNode& node : graph_.nodes()) {
      if (node.outputs.size() != 1) continue;
      const int var = node.outputs[0];
      const auto v = static_cast<size_t>(var);
      if (var == loss_ || !towards_[static_cast<size_t>(graph_.var(var).producer)] || !data_[v] ||
          !CanMakeAgain(graph_, var)) {
        continue;
      }
      if (IsHandedOn(node, parts_)) continue;
      if (found_.cheap[v] != kKept) {
        if (IsReadBehind(var) && IsSum(var)) choices_.push_back({var, {var}, true});
      } else if (IsReadBehind(var) || IsReadByCopies(var)) {
        choices_.push_back({var, With(var), false});
      }
    }
  }

  // Joins the tiles of a node of the model to one choice, at the position of the last tile.
  void JoinParts() {
    std::map<int, size_t> index_of;  // by id
    std::vector<RecomputeChoice> joined;
    for (RecomputeChoice& choice : choices_) {
      const int id = IdOfWhole(graph_.node(graph_.var(choice.var).producer), parts_);
      const auto [at, is_new] = index_of.try_emplace(id, joined.size());
      if (is_new) {
        joined.push_back(std::move(choice));
        continue;
      }
      RecomputeChoice& all = joined[at->second];
      all.var = choice.var;
      all.is_sum = all.is_sum || choice.is_sum;
      all.with.insert(all.with.end(), choice.with.begin(), choice.with.end());
    }
    std::sort(joined.begin(), joined.end(),
              [&](const RecomputeChoice& a, const RecomputeChoice& b) {
                return graph_.var(a.var).producer < graph_.var(b.var).producer;
              });
    choices_ = std::move(joined);
  }

  // Returns, by node, the only var made so far that later nodes of the forward pass read, or -1.
  std::vector<int> Ends() const {
    std::vector<int> readers(graph_.vars().size(), 0);  // still to come
    std::vector<int> open;
    std::vector<int> ends(graph_.nodes().size(), -1);
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (!towards_[n]) continue;
      for (const int input : graph_.node(static_cast<int>(n)).inputs) {
        ++readers[static_cast<size_t>(input)];
      }
    }
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (!towards_[n]) continue;
      const OperatorNode& node = graph_.node(static_cast<int>(n));
      for (const int input : node.inputs) --readers[static_cast<size_t>(input)];
      for (const int output : node.outputs) {
        if (data_[static_cast<size_t>(output)]) open.push_back(output);
      }
      open.erase(std::remove_if(open.begin(), open.end(),
                                [&](int var) { return readers[static_cast<size_t>(var)] == 0; }),
                 open.end());
      if (open.size() == 1) ends[n] = open[0];
    }
    return ends;
  }

  // Divides the forward pass into stages. A stage ends as late as possible before the next choice,
  // and after its own sums.
  void Cut(size_t most) {
    const std::vector<int> ends = Ends();
    std::vector<RecomputeStage>& stages = found_.stages;
    stages.emplace_back();
    size_t begin = 0;  // first node of the stage
    int last = -1;     // the last possible end after the last choice
    const auto take_before = [&](size_t end) {
      for (; begin < end; ++begin) {
        for (const int output : graph_.node(static_cast<int>(begin)).outputs) {
          if (towards_[begin]) SetStage(output);
        }
      }
    };
    const auto end_at = [&](size_t node, int var) {
      take_before(node + 1);
      stages.back().end = var;
      stages.emplace_back();
      last = -1;
    };
    for (const RecomputeChoice& choice : choices_) {
      const int node = graph_.var(choice.var).producer;
      const size_t taken = stages.back().choices.size();
      if (taken > 0 && !choice.is_sum && last >= 0) {
        end_at(static_cast<size_t>(last), ends[static_cast<size_t>(last)]);
      } else if (taken >= most) {
        end_at(static_cast<size_t>(node - 1), -1);
      }
      stages.back().choices.push_back(choice);
      last = -1;
      const size_t index = static_cast<size_t>(&choice - choices_.data());
      const int next = index + 1 < choices_.size() ? Begin(choices_[index + 1]) : 0;
      for (int n = node; n < next; ++n) {
        if (ends[static_cast<size_t>(n)] >= 0) last = n;
      }
    }
    take_before(graph_.nodes().size());
  }

  // Returns the first node that runs for a choice.
  int Begin(const RecomputeChoice& choice) const {
    int node = graph_.var(choice.var).producer;
    for (const int var : choice.with) node = std::min(node, graph_.var(var).producer);
    return node;
  }

  void SetStage(int var) {
    found_.stage_of[static_cast<size_t>(var)] = static_cast<int>(found_.stages.size()) - 1;
  }

  // Finds the window of each stage: it begins after the last position that reads vars of later
  // stages.
  void FindWindows() {
    const std::vector<int>& behind = maker_.nodes_behind();
    std::vector<RecomputeStage>& stages = found_.stages;
    std::vector<size_t> begins(stages.size(), 0);
    for (size_t place = 0; place < behind.size(); ++place) {
      if (maker_.IsUpdate(behind[place])) continue;
      int latest = -1;
      for (const int var : DataOf(graph_.node(behind[place]))) {
        // Ignores vars that are always saved, which other nodes read: statistics of norms, by their
        // updates.
        if (var == loss_ || !CanMakeAgain(graph_, var)) continue;
        latest = std::max(latest, found_.stage_of[static_cast<size_t>(var)]);
      }
      for (int s = 0; s < latest; ++s) begins[static_cast<size_t>(s)] = place + 1;
    }
    for (size_t s = 0; s < stages.size(); ++s) {
      stages[s].window_begin = begins[s];
      stages[s].window_end = s == 0 ? behind.size() : begins[s - 1];
    }
  }

  const Graph& graph_;
  const int loss_;
  const OrderMaker& maker_;
  const PartsOfNodes& parts_;
  const std::vector<bool> towards_;
  std::vector<bool> data_;  // by var: depends on the model's inputs
  std::vector<RecomputeChoice> choices_;
  RecomputeStages found_;
};

}  // namespace

RecomputeStages FindStages(const Graph& graph, int loss, const OrderMaker& maker, size_t most,
                           const PartsOfNodes& parts) {
  return StageFinder(graph, loss, maker, parts).Find(most);
}

}  // namespace ashlar
