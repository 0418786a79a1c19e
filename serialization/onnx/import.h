// A graph under construction from an ONNX model.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_H_

#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// A value of an ONNX model, by its number in the import; no integer, which could be an operand,
// too. kNoOnnxVar stands for one that is left out.
enum class OnnxVar : int {};
inline constexpr OnnxVar kNoOnnxVar{-1};

// An operator of 8 bits whose output has no type yet, and the quantised vars it reads.
struct OnnxIntegerOperator {
  OperatorPtr op;
  std::vector<OnnxVar> operands;
};

// A Float32 var that is integers times scales as well: what DequantizeLinear makes, and sums and
// products of such vars until QuantizeLinear rounds them. Integers are Float32, too.
struct OnnxQuantity {
  enum class Kind {
    kElements,  // integers * scale, rounded once
    kSums,      // integers, which are rounded to Float32, * scale / count
    kStepwise,  // no integers: the floats, each of whose sums is rounded
    kFloats,    // no integers: there is an operator of 8 bits for the var as it is
  };
  Kind kind = Kind::kElements;
  OnnxVar integers = kNoOnnxVar;     // of kElements: less the zero point; of kStepwise: the floats
  OnnxVar scale = kNoOnnxVar;        // of kElements: [] or [size of axis]; of kSums: broadcasts
  int axis = -1;                     // of kElements: that of the scales; -1: there is one
  double most = 0;                   // of kElements: none of the integers is farther from zero
  OnnxVar stored = kNoOnnxVar;       // of kElements: the integers in their own dtype, zero point 0
  OnnxVar quantized = kNoOnnxVar;    // of kElements: the integers as a var of a quantised type
  OnnxIntegerOperator made_by = {};  // may be empty
  double count = 1;                  // of kSums: a mean of so many
  double least = -std::numeric_limits<double>::infinity();  // not of kElements: the var is clamped
  double greatest = std::numeric_limits<double>::infinity();  // to these
};

// Collects inputs, constants and operators. What depends on constants alone is evaluated at once,
// by the operators' own references; what the outputs do not need never gets into the graph.
class OnnxImport {
 public:
  // The most that folding may take: bytes of constants, and scalar operations.
  OnnxImport(int64_t most_folded_bytes, int64_t most_folded_operations)
      : most_folded_bytes_(most_folded_bytes), most_folded_operations_(most_folded_operations) {}

  OnnxVar AddInput(const std::string& name, TensorType type);
  OnnxVar AddConstant(HostTensor value);
  // Output 0 is made by an operator that is missing; `foldable`: it depends on constants alone.
  OnnxVar AddUnknown(bool foldable);
  // Tensors in a row, each of which has its place before the run: no var of the graph.
  OnnxVar AddSequence(std::vector<OnnxVar> elements);
  // The outputs of an operator. Errors are those of inference and evaluation;
  // InvalidArgument, too, where evaluated constants would take too much.
  absl::StatusOr<std::vector<OnnxVar>> Add(OperatorPtr op, std::vector<OnnxVar> inputs);

  // Not of an unknown var.
  const TensorType& type(OnnxVar var) const { return at(var).type; }
  const HostTensor* constant(OnnxVar var) const {
    return at(var).constant ? &*at(var).constant : nullptr;
  }
  // Null for a tensor.
  const std::vector<OnnxVar>* sequence(OnnxVar var) const {
    return at(var).origin == Origin::kSequence ? &at(var).elements : nullptr;
  }
  // Its type in the file (onnx::TensorProto::DataType), which may be another float than Float32; 0
  // where that is not known.
  int onnx_type(OnnxVar var) const { return at(var).onnx_type; }
  void SetOnnxType(OnnxVar var, int type) { at(var).onnx_type = type; }
  // Null where the var is no more than its value.
  const OnnxQuantity* quantity(OnnxVar var) const {
    const auto found = quantities_.find(var);
    return found != quantities_.end() ? &found->second : nullptr;
  }
  void SetQuantity(OnnxVar var, const OnnxQuantity& quantity) { quantities_[var] = quantity; }
  // What made the var, with its inputs; null where no operator did.
  const Operator* producer(OnnxVar var) const {
    return at(var).origin == Origin::kOperator ? ops_[at(var).op].op.get() : nullptr;
  }
  absl::Span<const OnnxVar> operands(OnnxVar var) const { return ops_[at(var).op].inputs; }
  bool is_input(OnnxVar var) const { return at(var).origin == Origin::kInput; }
  const std::string& name(OnnxVar var) const { return at(var).name; }
  bool unknown(OnnxVar var) const { return at(var).origin == Origin::kUnknown; }
  bool foldable(OnnxVar var) const { return at(var).foldable; }

  // Operators that are added from now on belong to this node of the file.
  void BeginNode(std::string name) { node_name_ = std::move(name); }
  // The name of a var in the file; the first name stays.
  void SetName(OnnxVar var, const std::string& name);
  // Counts the bytes of a constant that is made while reading, and those of a function's body or a
  // branch that is copied.
  absl::Status CountFolded(const Shape& shape, DType dtype);
  absl::Status CountCopied(int64_t bytes);
  int64_t folded_bytes() const { return folded_bytes_; }

  // The graph of all inputs and what these outputs need. Names are unique.
  absl::StatusOr<Graph> Finish(const std::vector<std::pair<std::string, OnnxVar>>& outputs) &&;

 private:
  enum class Origin { kInput, kConstant, kOperator, kUnknown, kSequence };
  struct VarInfo {
    Origin origin = Origin::kUnknown;
    TensorType type;
    std::string name;
    std::optional<HostTensor> constant;
    int op = 0;  // kOperator: index into ops_
    bool foldable = false;
    int onnx_type = 0;
    std::vector<OnnxVar> elements = {};  // kSequence
  };
  struct Op {
    std::string name;
    OperatorPtr op;
    std::vector<OnnxVar> inputs, outputs;
  };

  const VarInfo& at(OnnxVar var) const { return vars_[static_cast<size_t>(var)]; }
  VarInfo& at(OnnxVar var) { return vars_[static_cast<size_t>(var)]; }
  OnnxVar AddVar(VarInfo info) {
    vars_.push_back(std::move(info));
    return static_cast<OnnxVar>(vars_.size() - 1);
  }
  std::optional<std::vector<HostTensor>> Operands(const Operator& op,
                                                  const std::vector<OnnxVar>& inputs) const;
  absl::StatusOr<std::vector<OnnxVar>> Fold(const Operator& op,
                                            const std::vector<HostTensor>& operands,
                                            const Site& site);
  std::vector<bool> NeededOps(const std::vector<std::pair<std::string, OnnxVar>>& outputs) const;

  std::deque<VarInfo> vars_;  // references to types and constants stay
  std::vector<Op> ops_;       // producers first
  absl::flat_hash_map<OnnxVar, OnnxQuantity> quantities_;
  std::string node_name_;
  const int64_t most_folded_bytes_, most_folded_operations_;
  int64_t folded_bytes_ = 0;
  int64_t folded_operations_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_H_
