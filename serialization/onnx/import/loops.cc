// Loop and Scan: their iterations, inputs and results. unroll.h reads them.
#include <algorithm>
#include <limits>

#include "graph/status.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/unroll.h"
#include "serialization/onnx/shown.h"

namespace ashlar {

using onnx::GraphProto;
using onnx::NodeProto;

namespace {

// Returns element i along an axis, which is dropped.
OnnxVar ElementAlong(OnnxNode& at, OnnxVar x, int axis, int64_t i) {
  const OnnxCount* const count = at.count(x);
  const OnnxVar element = at.Add<Subtensor>({{axis}, {0}, {0}, {0}, {1}}, {x, at.IntVector({i})});
  if (!at.ok() || count == nullptr || count->axis == axis) return element;
  return at.Counted(element, {count->count, count->axis - (count->axis > axis ? 1 : 0)});
}

}  // namespace

absl::Status OnnxNodeReader::ReadLoop(const NodeProto& node, const std::vector<OnnxVar>& inputs,
                                      OnnxScope& scope) {
  ASHLAR_RETURN_IF_ERROR(CheckOnnxNesting(scope));
  ASHLAR_ASSIGN_OR_RETURN(const GraphProto* const body, OnnxGraphOf(node, "body"));
  const int states = std::max(static_cast<int>(inputs.size()) - 2, 0);
  const int results = body->output_size() - 1 - states;
  if (body->input_size() != 2 + states || results < 0 || node.output_size() > states + results) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body has ", body->input_size(), " inputs and ", body->output_size(),
                     " outputs, for ", states, " states and ", node.output_size(), " outputs"));
  }
  Unrolled loop = {node, *body, OnnxNode(node, kNewestOperatorSet, inputs, {}, import_, external_)};
  loop.at.Ignore({"body"});
  loop.takes_counter = true;
  loop.condition = inputs.size() > 1 ? inputs[1] : kNoOnnxVar;
  for (int s = 0; s < states; ++s) {
    if (inputs[static_cast<size_t>(s) + 2] == kNoOnnxVar) {
      return absl::InvalidArgumentError(absl::StrCat("state ", s, " is missing"));
    }
    loop.states.push_back(inputs[static_cast<size_t>(s) + 2]);
  }
  loop.axes.assign(static_cast<size_t>(results), 0);
  loop.backwards.assign(static_cast<size_t>(results), false);
  const OnnxVar trips = inputs.empty() ? kNoOnnxVar : inputs[0];
  if (trips == kNoOnnxVar) {
    loop.most = -1;
    return DefineLoop(loop, scope);
  }
  if (import_.sequence(trips) != nullptr || import_.type(trips).shape.num_elements() != 1) {
    return absl::InvalidArgumentError("the trip count has not 1 element");
  }
  if (const DType dtype = import_.type(trips).dtype; !IsInteger(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trip count is ", Name(dtype), ", expected Int64"));
  }
  const int64_t none = std::numeric_limits<int64_t>::max();
  if (import_.constant(trips) != nullptr) {
    loop.most = std::max<int64_t>(loop.at.KnownInteger(0, "the trip count"), 0);
    if (loop.most == none) loop.most = -1;  // PyTorch writes `while` so: the condition ends it
    return DefineLoop(loop, scope);
  }
  const OnnxRange* const range = import_.range(trips);
  const int64_t all = range != nullptr ? std::max<int64_t>(range->most.IntegerAt(0), 0) : none;
  loop.most = loop.at.Bound(all);
  if (loop.most == none) {
    Miss(node, false,
         absl::StrCat("its number of iterations is not known before the run", InputsOf(trips),
                      "; --bound ", Shown(node.output(0).empty() ? node.name() : node.output(0)),
                      "=NUMBER plans for as many"),
         scope);
    return absl::OkStatus();
  }
  loop.count = loop.at.Greatest(ElementOf(loop.at, trips, 0), 0);
  if (loop.most < all) {
    loop.count = Checked(loop.at, loop.count, loop.at.Integer(loop.most),
                         "the number of iterations (--bound)", true);
  }
  return DefineLoop(loop, scope);
}

absl::Status OnnxNodeReader::ReadScan(const NodeProto& node, const std::vector<OnnxVar>& inputs,
                                      OnnxScope& scope) {
  ASHLAR_RETURN_IF_ERROR(CheckOnnxNesting(scope));
  ASHLAR_ASSIGN_OR_RETURN(const GraphProto* const body, OnnxGraphOf(node, "body"));
  const bool batched = scope.sets->at("") < 9;  // operator set 8
  OnnxNode at(node, kNewestOperatorSet, inputs, {}, import_, external_);
  at.Ignore({"body"});
  const int skipped = batched ? 1 : 0;  // sequence_lens
  const int given = static_cast<int>(inputs.size()) - skipped;
  const int scanned =
      static_cast<int>(std::clamp<int64_t>(at.Int("num_scan_inputs", 0), 0, given + 1));
  const int states = given - scanned;
  const int results = body->output_size() - states;
  if (scanned < 1 || states < 0 || results < 0 || body->input_size() != given ||
      node.output_size() > states + results) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the body has ", body->input_size(), " inputs and ", body->output_size(), " outputs, for ",
        states, " states, ", scanned, " inputs to scan and ", node.output_size(), " outputs"));
  }
  for (size_t i = static_cast<size_t>(skipped); i < inputs.size(); ++i) {
    if (inputs[i] == kNoOnnxVar || import_.sequence(inputs[i]) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is no tensor"));
    }
  }
  const auto numbers = [&](const char* name, int count) {
    std::vector<int64_t> values = at.Ints(name);
    if (values.empty()) values.assign(static_cast<size_t>(count), 0);
    if (values.size() != static_cast<size_t>(count)) {
      at.Invalid(absl::StrCat(name, " has ", values.size(), " elements, expected ", count));
      values.assign(static_cast<size_t>(count), 0);
    }
    return values;
  };
  const std::vector<int64_t> axes = numbers(batched ? "" : "scan_input_axes", scanned);
  const std::vector<int64_t> directions =
      numbers(batched ? "directions" : "scan_input_directions", scanned);
  const std::vector<int64_t> result_axes = numbers(batched ? "" : "scan_output_axes", results);
  const std::vector<int64_t> result_directions =
      numbers(batched ? "" : "scan_output_directions", results);
  if (batched && inputs[0] != kNoOnnxVar) at.Unsupported("lengths of sequences");
  const OnnxVar* const to_scan = inputs.data() + skipped + states;
  const int64_t batch = batched && at.ok() ? at.shape(to_scan[0])[0] : 1;
  std::vector<std::vector<OnnxVar>> vars(static_cast<size_t>(states + results));  // by batch
  for (int64_t b = 0; b < batch; ++b) {
    Unrolled loop = {node, *body, at};
    std::vector<OnnxVar> sequences;
    for (int s = 0; s < states + scanned; ++s) {
      const OnnxVar var = inputs[static_cast<size_t>(skipped + s)];
      if (batched && at.ok() && at.rank(var) == 0) at.Invalid("an input lacks the batch");
      const OnnxVar own = batched ? ElementAlong(loop.at, var, 0, b) : var;
      (s < states ? loop.states : sequences).push_back(own);
    }
    std::vector<int> along;
    loop.most = -1;
    for (int k = 0; loop.at.ok() && k < scanned; ++k) {
      const OnnxVar var = sequences[static_cast<size_t>(k)];
      along.push_back(loop.at.Axis(axes[static_cast<size_t>(k)], loop.at.rank(var)));
      if (!loop.at.ok()) break;
      const int64_t size = loop.at.shape(var)[along.back()];
      const OnnxCount* const count = loop.at.count(var);
      const bool counted = count != nullptr && count->axis == along.back();
      if (counted && directions[static_cast<size_t>(k)] != 0) {
        loop.at.Unsupported("in reverse, of an input whose size depends on data");
      } else if (counted || loop.count != kNoOnnxVar) {
        const OnnxVar own = CountAlong(loop.at, var, along.back());
        loop.count =
            loop.count == kNoOnnxVar
                ? (k == 0 ? own
                          : Checked(loop.at, own, loop.at.Integer(loop.most), "a size to scan"))
                : Checked(loop.at, loop.count, own, "a size to scan");
        loop.most = loop.most < 0 ? size : std::min(loop.most, size);
      } else if (loop.most >= 0 && loop.most != size) {
        loop.at.Invalid(absl::StrCat("inputs to scan have sizes ", loop.most, " and ", size));
      } else {
        loop.most = size;
      }
    }
    loop.elements = [&](int64_t i) {
      std::vector<OnnxVar> elements;
      for (size_t k = 0; k < sequences.size(); ++k) {
        const int64_t size = loop.at.shape(sequences[k])[along[k]];
        elements.push_back(
            ElementAlong(loop.at, sequences[k], along[k], directions[k] == 0 ? i : size - 1 - i));
      }
      return elements;
    };
    for (size_t r = 0; r < static_cast<size_t>(results); ++r) {
      // Clamped to a number that is no axis of any shape, which is refused where the axis is used.
      constexpr int64_t kNoAxis = 2 * Shape::kMaxRank;
      loop.axes.push_back(static_cast<int>(std::clamp(result_axes[r], -kNoAxis, kNoAxis)));
      loop.backwards.push_back(result_directions[r] != 0);
    }
    if (!batched || !loop.at.ok()) return DefineLoop(loop, scope);
    ASHLAR_RETURN_IF_ERROR(Unroll(loop, scope));
    if (!loop.at.ok()) return DefineLoop(loop, scope);
    std::vector<OnnxVar> own = loop.states;
    own.insert(own.end(), loop.results.begin(), loop.results.end());
    for (size_t v = 0; v < own.size(); ++v) {
      if (import_.unknown(own[v])) {
        DefineUnknown(node, false, scope);
        return absl::OkStatus();
      }
      int first = 0;
      vars[v].push_back(WithAxis(at, own[v], first));
    }
  }
  for (int i = 0; at.ok() && i < node.output_size(); ++i) {
    Define(node, i, JoinedAlong(at, vars[static_cast<size_t>(i)], 0), scope);
  }
  return at.Finish();
}

}  // namespace ashlar
