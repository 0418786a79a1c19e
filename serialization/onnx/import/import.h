// A graph under construction from an ONNX model.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_IMPORT_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_IMPORT_H_

#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "serialization/recorded_graph.h"

namespace ashlar {

// A value of an ONNX model, by its number in the import. Not a plain integer, which could be
// mistaken for an operand's index. kNoOnnxVar is an omitted value.
enum class OnnxVar : int {};
inline constexpr OnnxVar kNoOnnxVar{-1};

// An 8-bit operator whose output has no type yet, and the quantised vars it reads.
struct OnnxIntegerOperator {
  OperatorPtr op;
  std::vector<OnnxVar> operands;
};

// A Float32 var that also equals integers times scales: an output of DequantizeLinear, or sums and
// products of such vars until QuantizeLinear rounds them. The integers are stored as Float32.
struct OnnxQuantity {
  enum class Kind {
    kElements,  // integers * scale, rounded once
    kSums,      // integers, rounded to Float32, * scale / count
    kStepwise,  // no integers: floats, rounded after each addition
    kFloats,    // no integers: an 8-bit operator computes the var itself
  };
  Kind kind = Kind::kElements;
  OnnxVar integers = kNoOnnxVar;     // kElements: minus the zero point; kStepwise: the floats
  OnnxVar scale = kNoOnnxVar;        // kElements: [] or [size of axis]; kSums: broadcasts
  int axis = -1;                     // kElements: axis of the scales; -1: one scale
  double most = 0;                   // kElements: largest magnitude of the integers
  OnnxVar stored = kNoOnnxVar;       // kElements: the integers in their own dtype, zero point 0
  OnnxVar quantized = kNoOnnxVar;    // kElements: the integers as a var of a quantised type
  OnnxIntegerOperator made_by = {};  // may be empty
  double count = 1;                  // kSums: the number of values averaged
  double least = -std::numeric_limits<double>::infinity();    // not kElements: the var is clamped
  double greatest = std::numeric_limits<double>::infinity();  // to these bounds
};

// A size of a var that depends on data. The var is planned for the most that it may be; `count`
// (Int64, rank 0) says how many places along the axis are valid, and the others are fill.
struct OnnxCount {
  OnnxVar count = kNoOnnxVar;
  int axis = 0;
};

// The least and the most that each element of a var may be, which depends on counts: a size that is
// computed from the shape of a counted var.
struct OnnxRange {
  HostTensor least, most;
};

// A graph being imported: inputs, constants and operators. Operators that depend only on constants
// are evaluated at once, by their reference functions. Operators that no output needs never enter
// the graph.
class OnnxImport {
 public:
  // Limits on folding: bytes of constants, and scalar operations.
  OnnxImport(int64_t most_folded_bytes, int64_t most_folded_operations)
      : most_folded_bytes_(most_folded_bytes), most_folded_operations_(most_folded_operations) {}

  OnnxVar AddInput(const std::string& name, TensorType type);
  OnnxVar AddConstant(HostTensor value);
  // Returns the constant as a var that gets a name of its own.
  OnnxVar CopyConstant(OnnxVar constant);
  // Returns a constant under another shape with as many elements. The same var every time, so that
  // a weight that several nodes reshape stays one weight.
  absl::StatusOr<OnnxVar> ReshapeConstant(OnnxVar constant, const Shape& shape);
  // Adds an output of an operator that is missing. `foldable`: it depends only on constants.
  OnnxVar AddUnknown(bool foldable);
  // Adds a sequence of tensors, whose indices are all known before the run. It is not a var of the
  // graph.
  OnnxVar AddSequence(std::vector<OnnxVar> elements);
  // Adds an operator and returns its outputs. Returns errors of inference and evaluation, and
  // InvalidArgument if evaluated constants exceed the limits.
  absl::StatusOr<std::vector<OnnxVar>> Add(OperatorPtr op, std::vector<OnnxVar> inputs);

  // Must not be called for an unknown var.
  const TensorType& type(OnnxVar var) const { return graph_.at(var).type; }
  const HostTensor* constant(OnnxVar var) const {
    const std::optional<HostTensor>& value = graph_.at(var).constant;
    return value ? &*value : nullptr;
  }
  // Returns null for a tensor.
  const std::vector<OnnxVar>* sequence(OnnxVar var) const {
    return at(var).sequence ? &*at(var).sequence : nullptr;
  }
  // Returns the type in the file (onnx::TensorProto::DataType), which may be another float than
  // Float32; 0 if unknown.
  int onnx_type(OnnxVar var) const { return at(var).onnx_type; }
  void SetOnnxType(OnnxVar var, int type) { at(var).onnx_type = type; }
  // Returns null if the var has only its value.
  const OnnxQuantity* quantity(OnnxVar var) const {
    const auto found = quantities_.find(var);
    return found != quantities_.end() ? &found->second : nullptr;
  }
  void SetQuantity(OnnxVar var, const OnnxQuantity& quantity) { quantities_[var] = quantity; }
  // Returns null if all sizes of the var are known.
  const OnnxCount* count(OnnxVar var) const {
    const auto found = counts_.find(var);
    return found != counts_.end() ? &found->second : nullptr;
  }
  void SetCount(OnnxVar var, const OnnxCount& count) { counts_[var] = count; }
  // The same of a second size that depends on data, along a later axis.
  const OnnxCount* second_count(OnnxVar var) const {
    const auto found = second_counts_.find(var);
    return found != second_counts_.end() ? &found->second : nullptr;
  }
  void SetSecondCount(OnnxVar var, const OnnxCount& count) { second_counts_[var] = count; }
  // Returns null if the var does not depend on counts alone.
  const OnnxRange* range(OnnxVar var) const {
    const auto found = ranges_.find(var);
    return found != ranges_.end() ? &found->second : nullptr;
  }
  void SetRange(OnnxVar var, OnnxRange range) { ranges_.insert_or_assign(var, std::move(range)); }
  // Whether the var is computed from counts: of no input but through them.
  bool depends_on_counts(OnnxVar var) const;
  // A condition of the run, Int64 0 or 1 of rank 0: without it, results of nodes that are read now
  // are not used, and their checks must not fail. kNoOnnxVar: always.
  OnnxVar guard() const { return guard_; }
  void SetGuard(OnnxVar guard) { guard_ = guard; }
  // The most places that are planned for values whose sizes depend on data, by name.
  void SetBounds(std::map<std::string, int64_t> bounds) { bounds_ = std::move(bounds); }
  // Returns null if none is given. Bounds that were asked for are used.
  const int64_t* Bound(const std::string& name) {
    const auto found = bounds_.find(name);
    if (found == bounds_.end()) return nullptr;
    used_bounds_.insert(name);
    return &found->second;
  }
  const std::set<std::string>& used_bounds() const { return used_bounds_; }
  // Returns the operator that produces the var, and its inputs; null if there is none.
  const Operator* producer(OnnxVar var) const {
    const RecordedGraph<OnnxVar>::Op* const made_by = graph_.producer(var);
    return made_by != nullptr ? made_by->op.get() : nullptr;
  }
  absl::Span<const OnnxVar> operands(OnnxVar var) const { return graph_.producer(var)->inputs; }
  bool is_input(OnnxVar var) const { return graph_.IsInput(var); }
  const std::string& name(OnnxVar var) const { return graph_.at(var).name; }
  bool unknown(OnnxVar var) const { return graph_.at(var).absent && !at(var).sequence; }
  bool foldable(OnnxVar var) const { return at(var).foldable; }

  // Operators added from now on belong to this node of the file, in this call or iteration.
  void BeginNode(std::string name, std::string scope = "") {
    node_name_ = std::move(name);
    scope_ = std::move(scope);
  }
  const std::string& scope() const { return scope_; }
  // Sets the name of a var in the file; an earlier name stays. Floats that are computed from one
  // named constant, element by element, have its name: a weight is found by its name in the file.
  void SetName(OnnxVar var, const std::string& name);
  // Count the bytes of a constant created while reading, and of a copied function body or branch.
  absl::Status CountFolded(const Shape& shape, DType dtype);
  absl::Status CountCopied(int64_t bytes);
  int64_t folded_bytes() const { return folded_bytes_; }

  // Returns the graph of all inputs and all operators that these outputs need. Names are unique.
  absl::StatusOr<Graph> Finish(const std::vector<RecordedOutput<OnnxVar>>& outputs) && {
    return std::move(graph_).Build(outputs);
  }

 private:
  // Further properties of the graph's vars.
  struct VarInfo {
    bool foldable = false;
    int onnx_type = 0;
    std::optional<std::vector<OnnxVar>> sequence = std::nullopt;  // its elements
  };

  const VarInfo& at(OnnxVar var) const { return vars_[static_cast<size_t>(var)]; }
  VarInfo& at(OnnxVar var) { return vars_[static_cast<size_t>(var)]; }
  OnnxVar AddVar(RecordedGraph<OnnxVar>::Var var, bool foldable) {
    vars_.push_back({foldable});
    return graph_.Add(std::move(var));
  }
  std::optional<std::vector<HostTensor>> Operands(const Operator& op,
                                                  const std::vector<OnnxVar>& inputs) const;
  absl::StatusOr<std::vector<OnnxVar>> Fold(const Operator& op, const std::vector<OnnxVar>& inputs,
                                            const std::vector<HostTensor>& operands,
                                            const Site& site);
  const std::string& NameFrom(const std::vector<OnnxVar>& inputs, const HostTensor& value) const;

  RecordedGraph<OnnxVar> graph_;
  std::deque<VarInfo> vars_;  // of the graph; references stay valid
  absl::flat_hash_map<OnnxVar, OnnxQuantity> quantities_;
  std::map<OnnxVar, OnnxCount> counts_, second_counts_;  // pointers into these stay valid
  std::map<OnnxVar, OnnxRange> ranges_;
  std::map<std::string, int64_t> bounds_;
  std::set<std::string> used_bounds_;
  std::map<std::pair<OnnxVar, std::vector<int64_t>>, OnnxVar> reshaped_;  // by constant and shape
  OnnxVar guard_ = kNoOnnxVar;
  std::string node_name_, scope_;
  const int64_t most_folded_bytes_, most_folded_operations_;
  int64_t folded_bytes_ = 0;
  int64_t folded_operations_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_IMPORT_H_
