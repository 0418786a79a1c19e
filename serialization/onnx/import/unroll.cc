#include "serialization/onnx/import/unroll.h"

#include <algorithm>

#include "graph/status.h"
#include "opr/concat.h"
#include "opr/gather.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {

using onnx::GraphProto;
using F = ScalarFunction;

namespace {

// A state that grows along an axis.
struct Growing {
  int axis = -1;                // -1: it does not grow
  std::vector<int64_t> sizes;   // along the axis, before each iteration, and at the end
  std::vector<OnnxVar> pieces;  // that are joined
};

// Whether an operator joins `from` and more behind it, along an axis.
bool JoinsBehind(OnnxNode& at, OnnxVar from, OnnxVar to, int along) {
  const auto* const concat = dynamic_cast<const Concat*>(at.producer(to));
  if (concat == nullptr || at.operands(to)[0] != from) return false;
  const int64_t axis = concat->param().axis;
  return axis == along || axis + at.rank(to) == along;
}

// Returns the axis along which `to` is `from` and more behind it; -1 if it is not.
int GrowthAxis(OnnxNode& at, OnnxVar from, OnnxVar to) {
  const Shape &before = at.shape(from), &after = at.shape(to);
  if (at.dtype(from) != at.dtype(to) || before.rank() != after.rank()) return -1;
  if (at.count(from) != nullptr || at.count(to) != nullptr) return -1;
  int grows = -1;
  for (int axis = 0; axis < before.rank(); ++axis) {
    if (before[axis] == after[axis]) continue;
    if (grows >= 0) return -1;
    grows = axis;
  }
  return grows < 0 || before[grows] == 0 || JoinsBehind(at, from, to, grows) ? grows : -1;
}

// Adds an iteration; without growth the state does not grow any more.
void Grow(OnnxNode& at, Growing& grown, bool first, OnnxVar state, OnnxVar next) {
  if (!first && grown.axis < 0) return;
  const int axis = GrowthAxis(at, state, next);
  if (first && axis >= 0) grown = {axis, {at.shape(state)[axis]}, {state}};
  if (axis != grown.axis) grown.axis = -1;
  if (grown.axis < 0) return;
  if (grown.sizes.back() == 0) grown.pieces.clear();
  grown.sizes.push_back(at.shape(next)[axis]);
  if (JoinsBehind(at, state, next, axis)) {
    const absl::Span<const OnnxVar> operands = at.operands(next);
    grown.pieces.insert(grown.pieces.end(), operands.begin() + 1, operands.end());
  } else {
    grown.pieces = {next};
  }
}

// Returns the results of no iterations, of the type that the body declares.
OnnxVar NoResults(OnnxNode& at, const onnx::ValueInfoProto& declared, int axis) {
  const onnx::TypeProto::Tensor& type = declared.type().tensor_type();
  const absl::StatusOr<DType> dtype = ComputedAs(type.elem_type());
  std::vector<int64_t> dims;
  bool known = dtype.ok() && type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    known = known && dim.has_dim_value();
    dims.push_back(dim.dim_value());
  }
  const int rank = static_cast<int>(dims.size()) + 1;
  if (!known) return at.Unsupported("no iterations, and results without a declared type");
  axis = at.Axis(axis, rank);
  if (!at.ok()) return kNoOnnxVar;
  dims.insert(dims.begin() + axis, 0);
  std::optional<HostTensor> none = at.NewTensor(*dtype, dims);
  return none ? at.Constant(*std::move(none)) : kNoOnnxVar;
}

}  // namespace

OnnxVar JoinedAlong(OnnxNode& at, const std::vector<OnnxVar>& parts, int axis) {
  return parts.size() == 1 ? parts[0] : at.Add<Concat>({axis}, parts);
}

OnnxVar WithAxis(OnnxNode& at, OnnxVar var, int& axis) {
  Shape shape = at.shape(var), apart;
  if (shape.rank() == Shape::kMaxRank) {
    return at.Unsupported(absl::StrCat("results of ", shape.rank(), " dimensions"));
  }
  axis = at.Axis(axis, shape.rank() + 1);
  for (int d = 0; d <= shape.rank(); ++d) {
    if (d == axis) apart.push_back(1);
    if (d < shape.rank()) apart.push_back(shape[d]);
  }
  return at.Reshaped(var, apart);
}

absl::StatusOr<std::vector<OnnxVar>> OnnxNodeReader::ReadIteration(
    const Unrolled& loop, const std::vector<OnnxVar>& inputs, int64_t i, OnnxScope& scope) {
  OnnxScope inner = scope.Inside(absl::StrCat(NameOfOnnx(loop.node), "[", i, "]"));
  for (size_t k = 0; k < inputs.size(); ++k) {
    inner.vars[loop.body.input(static_cast<int>(k)).name()] = inputs[k];
  }
  ASHLAR_RETURN_IF_ERROR(ReadNodes(loop.body.node(), loop.order, inner));
  std::vector<OnnxVar> outputs;
  for (const std::string& name : loop.outputs) {
    ASHLAR_ASSIGN_OR_RETURN(outputs.emplace_back(), Find(name, inner));
  }
  return outputs;
}

// Reads all iterations. Errors of `at` say why the loop is refused.
absl::Status OnnxNodeReader::Unroll(Unrolled& loop, OnnxScope& scope) {
  OnnxNode& at = loop.at;
  const size_t first = loop.takes_counter ? 1 : 0;  // of the states among the body's outputs
  for (const onnx::ValueInfoProto& output : loop.body.output()) {
    loop.outputs.push_back(output.name());
  }
  ASHLAR_ASSIGN_OR_RETURN(loop.order, OrderOf(loop.body.node(), loop.outputs));
  OnnxScope around = scope.Inside("");  // the body's initializers are read once
  GraphProto tensors;
  ASHLAR_RETURN_IF_ERROR(AddTensorsOf(loop.body, tensors, around));
  const int64_t most_iterations = kMostUnrolledNodes / std::max<int64_t>(1, loop.body.node_size());
  if (loop.most > most_iterations) {
    at.Unsupported(absl::StrCat("its ", loop.most, " iterations of ", loop.body.node_size(),
                                " nodes are more than ", kMostUnrolledNodes, " nodes to unroll"));
    return absl::OkStatus();
  }
  const size_t num_states = loop.states.size(), num_results = loop.axes.size();
  std::vector<Growing> growing(num_states);
  std::vector<std::vector<OnnxVar>> results(num_results);
  OnnxVar running = kNoOnnxVar;  // the condition, Int64; kNoOnnxVar: it holds
  OnnxVar reached = kNoOnnxVar;  // the number of iterations so far, if it depends on data
  bool ended = loop.most == 0;
  const auto note = [&](OnnxVar condition) {
    if (condition == kNoOnnxVar) return;
    const HostTensor* const known = import_.constant(condition);
    if (import_.sequence(condition) != nullptr ||
        import_.type(condition).shape.num_elements() != 1) {
      at.Invalid("the condition has not 1 element");
    } else if (known != nullptr) {
      ended = ended || known->At(0) == 0;
    } else {
      const OnnxVar holds = Truth(at, condition);
      running = running == kNoOnnxVar ? holds : at.Product(running, holds);
    }
  };
  note(loop.condition);
  int64_t i = 0;
  for (; at.ok() && !ended && (loop.most < 0 || i < loop.most); ++i) {
    if (i == most_iterations) {
      at.Unsupported(absl::StrCat("it does not end within ", most_iterations, " iterations"));
      return absl::OkStatus();
    }
    if (loop.most < 0 && running != kNoOnnxVar) {
      at.Unsupported("its number of iterations is not known before the run");
      return absl::OkStatus();
    }
    OnnxVar active = running;
    if (loop.count != kNoOnnxVar) {
      const OnnxVar before = at.Function(F::kLess, {at.Integer(i), loop.count});
      active = active == kNoOnnxVar ? before : at.Product(active, before);
    }
    std::vector<OnnxVar> inputs;
    if (loop.takes_counter) {
      inputs.push_back(at.Integer(i));
      HostTensor holds = HostTensor::Zeros(DType::kBool, {});
      holds.Set(0, 1);
      inputs.push_back(at.Constant(std::move(holds)));
    }
    inputs.insert(inputs.end(), loop.states.begin(), loop.states.end());
    const std::vector<OnnxVar> elements = loop.elements ? loop.elements(i) : std::vector<OnnxVar>();
    inputs.insert(inputs.end(), elements.begin(), elements.end());
    if (!at.ok()) return absl::OkStatus();
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<OnnxVar> outputs, Guarded(active, at, [&] {
                              return ReadIteration(loop, inputs, i, around);
                            }));
    import_.BeginNode(absl::StrCat(scope.prefix, NameOfOnnx(loop.node)));
    for (const OnnxVar output : outputs) {
      if (import_.second_count(output) != nullptr) {
        at.Unsupported("sizes of two axes of what an iteration makes depend on data");
        return absl::OkStatus();
      }
      if (!import_.unknown(output)) continue;
      loop.states.assign(num_states, import_.AddUnknown(false));
      loop.results.assign(num_results, import_.AddUnknown(false));
      return absl::OkStatus();
    }
    if (active != kNoOnnxVar) {
      reached = at.Sum(reached == kNoOnnxVar ? at.Integer(i) : reached, active);
    }
    for (size_t s = 0; s < num_states; ++s) {
      OnnxVar& state = loop.states[s];
      const OnnxVar next = outputs[first + s];
      const bool grew = growing[s].axis >= 0;
      if (import_.sequence(state) == nullptr && import_.sequence(next) == nullptr) {
        Grow(at, growing[s], i == 0, state, next);
      }
      if (grew && growing[s].axis < 0 && active != kNoOnnxVar) {
        at.Unsupported("a state grows in some iterations only");
        return absl::OkStatus();
      }
      // Iterations that the run does not reach add behind the count of a state that grows.
      const bool keeps = active == kNoOnnxVar || growing[s].axis >= 0;
      state = keeps ? next : Chosen(at, active, next, state);
    }
    for (size_t r = 0; r < num_results; ++r) results[r].push_back(outputs[first + num_states + r]);
    if (loop.takes_counter) note(outputs[0]);
  }
  if (!at.ok()) return absl::OkStatus();
  // If the loop ended early, its count may be larger.
  if (loop.count != kNoOnnxVar && running == kNoOnnxVar && i == loop.most) reached = loop.count;
  for (size_t s = 0; s < num_states; ++s) {
    const Growing& grown = growing[s];
    if (grown.axis < 0) continue;
    OnnxVar& state = loop.states[s];
    if (grown.pieces.size() > 1) state = JoinedAlong(at, grown.pieces, grown.axis);
    if (reached == kNoOnnxVar) continue;
    const OnnxVar size =
        at.Add<Gather>({0}, {at.IntVector(grown.sizes), at.Reshaped(reached, {1})});
    if (at.ok()) state = at.Counted(state, {at.Reshaped(size, {}), grown.axis});
  }
  for (size_t r = 0; at.ok() && r < num_results; ++r) {
    const onnx::ValueInfoProto& declared =
        loop.body.output(static_cast<int>(first + num_states + r));
    int axis = loop.axes[r];
    std::vector<OnnxVar> parts;
    for (const OnnxVar result : results[r]) {
      if (import_.sequence(result) != nullptr || at.count(result) != nullptr) {
        at.Unsupported("the size of a result of its iterations depends on data");
        return absl::OkStatus();
      }
      axis = loop.axes[r];
      parts.push_back(WithAxis(at, result, axis));
    }
    if (loop.backwards[r]) std::reverse(parts.begin(), parts.end());
    if (parts.empty()) {
      loop.results.push_back(NoResults(at, declared, axis));
    } else {
      loop.results.push_back(JoinedAlong(at, parts, axis));
      if (reached != kNoOnnxVar && loop.backwards[r]) {
        at.Unsupported("results in reverse, of iterations whose number depends on data");
      } else if (reached != kNoOnnxVar && at.ok()) {
        loop.results.back() = at.Counted(loop.results.back(), {reached, axis});
      }
    }
  }
  return absl::OkStatus();
}

// Defines the results of a loop, or notes why it is refused.
absl::Status OnnxNodeReader::DefineLoop(Unrolled& loop, OnnxScope& scope) {
  ASHLAR_ASSIGN_OR_RETURN(const OnnxVar pasted, PastedMasks(loop, scope));
  if (pasted != kNoOnnxVar) {
    loop.states = {pasted};
  } else {
    ASHLAR_RETURN_IF_ERROR(Unroll(loop, scope));
  }
  import_.BeginNode(absl::StrCat(scope.prefix, NameOfOnnx(loop.node)));
  const absl::Status status = loop.at.Finish();
  if (absl::IsUnimplemented(status)) {
    Miss(loop.node, false, std::string(status.message()), scope);
    return absl::OkStatus();
  }
  ASHLAR_RETURN_IF_ERROR(status);
  std::vector<OnnxVar> vars = loop.states;
  vars.insert(vars.end(), loop.results.begin(), loop.results.end());
  for (int i = 0; i < loop.node.output_size(); ++i) {
    Define(loop.node, i, vars[static_cast<size_t>(i)], scope);
  }
  return absl::OkStatus();
}

}  // namespace ashlar
