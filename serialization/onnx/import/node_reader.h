// Reads nodes of an ONNX graph into an import: operators, calls of functions, branches and loops.
// What cannot be read is noted, and reading goes on, so that all of it is reported at once.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_NODE_READER_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_NODE_READER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "serialization/onnx/import/float_types.h"
#include "serialization/onnx/import/functions.h"
#include "serialization/onnx/import/import.h"
#include "serialization/onnx/import/missing.h"
#include "serialization/onnx/import/operator_sets.h"
#include "serialization/onnx/import/read_options.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/order.h"

namespace ashlar {

// The names that are visible at a place in a graph.
struct OnnxScope {
  const OnnxScope* outer = nullptr;  // of a branch or a loop: the graph around it
  const OnnxOperatorSets* sets = nullptr;
  std::string prefix;  // of names, in functions and loops
  int depth = 0;
  std::vector<const onnx::FunctionProto*> calls;  // open calls
  absl::flat_hash_map<std::string, OnnxVar> vars;
  // Initializers, read when they are asked for.
  absl::flat_hash_map<std::string, onnx::TensorProto*> tensors;
  absl::flat_hash_map<std::string, const onnx::SparseTensorProto*> sparse_tensors;

  // Returns the scope of a graph inside of a node; names in it get `name` before them.
  OnnxScope Inside(const std::string& name) const;
};

// InvalidArgument if functions, branches and loops nest too deep.
absl::Status CheckOnnxNesting(const OnnxScope& scope);
// Returns an attribute of a node that is a graph.
absl::StatusOr<const onnx::GraphProto*> OnnxGraphOf(const onnx::NodeProto& node,
                                                    const char* attribute);

class OnnxNodeReader {
 public:
  OnnxNodeReader(const onnx::ModelProto& model, const OnnxReadOptions& options,
                 ExternalData& external)
      : model_(model),
        options_(options),
        external_(external),
        import_(options.most_folded_bytes, options.most_folded_operations),
        functions_(model),
        floats_(import_, options) {}

  OnnxImport& import() { return import_; }
  OnnxFloatTypes& floats() { return floats_; }
  const OnnxImport& import() const { return import_; }
  // An error that names all that is missing; OK if nothing is.
  absl::Status missing() const { return missing_.ToStatus(); }

  // Makes initializers visible. They are moved out of the graph.
  absl::Status AddInitializers(onnx::GraphProto& graph, OnnxScope& scope);
  absl::Status ReadNodes(const OnnxNodes& nodes, const OnnxOrder& order, OnnxScope& scope);
  absl::StatusOr<OnnxVar> Find(const std::string& name, const OnnxScope& scope);

 private:
  using Read = absl::flat_hash_set<std::string>;  // names that are read

  absl::Status ReadNode(const onnx::NodeProto& node, const Read& read, OnnxScope& scope);
  absl::Status ReadOperator(const onnx::NodeProto& node, const std::vector<OnnxVar>& inputs,
                            const Read& read, OnnxScope& scope);
  void NoteRanges(const OnnxRow& row, const std::vector<OnnxVar>& inputs, OnnxVars& vars,
                  const std::function<OnnxVars(std::vector<OnnxVar>)>& read);
  void Define(const onnx::NodeProto& node, int output, OnnxVar var, OnnxScope& scope);
  void DefineUnknown(const onnx::NodeProto& node, bool foldable, OnnxScope& scope);
  void Miss(const onnx::NodeProto& node, bool folding, const std::string& why, OnnxScope& scope);
  std::string InputsOf(OnnxVar of) const;

  // Graphs inside of nodes, and functions (subgraphs.cc).
  using NodeRule = absl::Status (OnnxNodeReader::*)(const onnx::NodeProto& node,
                                                    const std::vector<OnnxVar>& inputs,
                                                    OnnxScope& scope);
  static NodeRule RuleOf(const onnx::NodeProto& node);
  absl::Status ReadCondition(const onnx::NodeProto& node, const std::vector<OnnxVar>& inputs,
                             OnnxScope& scope);
  // Returns the outputs of a graph of the node, as many as the node has. Its input, if any, is
  // `given`.
  absl::StatusOr<std::vector<OnnxVar>> ReadBranch(const onnx::NodeProto& node, const char* branch,
                                                  OnnxScope& scope, OnnxVar given = kNoOnnxVar);
  // Copies the initializers of a graph inside of a node, which stays as it is, into `copy`.
  absl::Status AddTensorsOf(const onnx::GraphProto& graph, onnx::GraphProto& copy,
                            OnnxScope& scope);
  // Returns one of two results by a condition of the run, Int64 0 or 1.
  OnnxVar Chosen(OnnxNode& reading, OnnxVar condition, OnnxVar a, OnnxVar b);
  // Reads what counts only under a condition of the run, Int64 0 or 1 (kNoOnnxVar: always).
  using BodyReader = absl::FunctionRef<absl::StatusOr<std::vector<OnnxVar>>()>;
  absl::StatusOr<std::vector<OnnxVar>> Guarded(OnnxVar condition, OnnxNode& reading,
                                               BodyReader read);
  absl::Status ReadCall(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                        const std::vector<OnnxVar>& inputs, OnnxScope& scope);
  // Attention whose scores and weights graphs of the node change (flex_attention.cc).
  absl::Status ReadFlexAttention(const onnx::NodeProto& node, const std::vector<OnnxVar>& inputs,
                                 OnnxScope& scope);
  // Loops (loops.cc, sequence_map.cc).
  struct Unrolled;
  absl::Status ReadLoop(const onnx::NodeProto& node, const std::vector<OnnxVar>& inputs,
                        OnnxScope& scope);
  absl::Status ReadScan(const onnx::NodeProto& node, const std::vector<OnnxVar>& inputs,
                        OnnxScope& scope);
  absl::Status ReadSequenceMap(const onnx::NodeProto& node, const std::vector<OnnxVar>& inputs,
                               OnnxScope& scope);
  absl::Status Unroll(Unrolled& loop, OnnxScope& scope);
  absl::Status DefineLoop(Unrolled& loop, OnnxScope& scope);
  // Returns the images if the loop pastes masks (pasted_masks.cc), otherwise kNoOnnxVar.
  absl::StatusOr<OnnxVar> PastedMasks(Unrolled& loop, OnnxScope& scope);
  absl::StatusOr<std::vector<OnnxVar>> ReadIteration(const Unrolled& loop,
                                                     const std::vector<OnnxVar>& inputs, int64_t i,
                                                     OnnxScope& scope);

  const onnx::ModelProto& model_;
  const OnnxReadOptions& options_;
  ExternalData& external_;
  OnnxImport import_;
  MissingOperators missing_;
  const OnnxFunctions functions_;
  OnnxFloatTypes floats_;
  int64_t nodes_read_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_NODE_READER_H_
