#include "serialization/tflite/import/reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "opr/dimshuffle.h"
#include "opr/type_cvt.h"
#include "serialization/reject.h"
#include "serialization/tflite/import/table.h"

namespace ashlar {
namespace {

constexpr int64_t kReadingOperator = 1024;  // bytes per operator while reading; about

class Reader {
 public:
  Reader(const TfliteFile& file, const TfliteReadOptions& options)
      : file_(file),
        options_(options),
        graph_(options.most_folded_bytes, options.most_folded_operations),
        tensors_(static_cast<size_t>(file.num_tensors())) {}

  absl::StatusOr<Graph> Read();
  int64_t taken() const {
    return graph_.folded_bytes() + kReadingOperator * int64_t{file_.graph().operators()->size()};
  }

 private:
  absl::Status CheckOperators() const;
  absl::Status CheckShapes() const;
  absl::StatusOr<TfliteVar> Converted(TfliteVar var, const TypeCvtParam& param);
  absl::StatusOr<Shape> InputShape(int tensor) const;
  absl::Status AddInput(int tensor);
  absl::Status ReadOperator(const tflite::Operator& op);
  absl::StatusOr<std::vector<int>> Outputs() const;
  absl::StatusOr<TfliteVar> Output(int tensor);

  const TfliteFile& file_;
  const TfliteReadOptions& options_;
  TfliteGraph graph_;
  std::vector<TfliteTensor> tensors_;
};

// Lists all missing operators in one error.
absl::Status Reader::CheckOperators() const {
  std::map<std::string, std::pair<int, int>> missing;  // by name: the first one, and how many
  const auto& operators = *file_.graph().operators();
  for (int i = 0; i < static_cast<int>(operators.size()); ++i) {
    const tflite::Operator& op = *operators.Get(i);
    if (FindTfliteRow(file_.code(op)) != nullptr) continue;
    ++missing.try_emplace(file_.NameOf(op), i, 0).first->second.second;
  }
  if (missing.empty()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const auto& [name, uses] : missing) {
    lines.push_back(absl::StrCat(name, " (", uses.second, uses.second == 1 ? " use" : " uses",
                                 ", first: operator ", uses.first, ")"));
  }
  return absl::UnimplementedError(
      absl::StrCat("operators that are not supported: ", absl::StrJoin(lines, ", ")));
}

absl::Status Reader::CheckShapes() const {
  std::vector<std::string> names;
  for (const int64_t input : IntsOf(file_.graph().inputs())) {
    names.push_back(NameOfTflite(file_, static_cast<int>(input)));
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "input ", name, ": the model has no such input; it has ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<TfliteVar> Reader::Converted(TfliteVar var, const TypeCvtParam& param) {
  if (graph_.type(var).dtype == param.dtype) return var;
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TfliteVar> converted,
                          graph_.Add(std::make_shared<const TypeCvt>(param), {var}));
  return converted[0];
}

// An open dimension is 1, as in LiteRT.
absl::StatusOr<Shape> Reader::InputShape(int tensor) const {
  const auto given = options_.shapes.find(NameOfTflite(file_, tensor));
  if (given != options_.shapes.end()) return given->second;
  return Shape::Make(IntsOf(file_.tensor(tensor).shape()));
}

absl::Status Reader::AddInput(int tensor) {
  TfliteTensor& made = tensors_[static_cast<size_t>(tensor)];
  const std::string name = NameOfTflite(file_, tensor);
  if (!made.empty()) return Reject("input '", name, "' is listed twice");
  ASHLAR_ASSIGN_OR_RETURN(const TensorType type, file_.TypeOf(tensor));
  ASHLAR_ASSIGN_OR_RETURN(const DType stored, file_.StoredDType(tensor));
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, InputShape(tensor));
  made.file = graph_.AddInput(name, {stored, shape});
  graph_.BeginOperator(absl::StrCat(name, "/typed"));
  TypeCvtParam param = {type.dtype};
  if (IsQuantized(type.dtype)) {
    param.scale = type.quantization.scale();
    param.zero_point = type.quantization.zero_point();
  } else if (IsFloat(type.dtype)) {
    param.dtype = DType::kFloat32;
  }
  ASHLAR_ASSIGN_OR_RETURN(made.file, Converted(made.file, param));
  return absl::OkStatus();
}

absl::Status Reader::ReadOperator(const tflite::Operator& op) {
  const TfliteRow& row = *FindTfliteRow(file_.code(op));
  TfliteNode node(file_, op, tensors_, graph_);
  const int count = node.num_inputs();
  if (count < row.min_inputs || count > row.max_inputs) {
    return Reject(count, " inputs, expected ", row.min_inputs,
                  row.max_inputs == TfliteRow::kAny ? " or more"
                  : row.max_inputs > row.min_inputs ? absl::StrCat(" to ", row.max_inputs)
                                                    : "");
  }
  if (node.num_outputs() == 0) return Reject("no outputs");
  graph_.BeginOperator(NameOfTflite(file_, op.outputs()->Get(0)));
  row.run(node);
  return node.status();
}

absl::StatusOr<std::vector<int>> Reader::Outputs() const {
  std::vector<int> outputs;
  if (options_.outputs.empty()) {
    for (const int64_t output : IntsOf(file_.graph().outputs())) {
      outputs.push_back(static_cast<int>(output));
    }
    return outputs;
  }
  for (const std::string& name : options_.outputs) {
    int found = -1;
    for (int i = 0; found < 0 && i < file_.num_tensors(); ++i) {
      if (!tensors_[static_cast<size_t>(i)].empty() && NameOfTflite(file_, i) == name) found = i;
    }
    if (found < 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("output ", name, ": the model has no such tensor"));
    }
    outputs.push_back(found);
  }
  return outputs;
}

// Returns the tensor in the file's layout and with the file's dtype.
absl::StatusOr<TfliteVar> Reader::Output(int tensor) {
  TfliteTensor& made = tensors_[static_cast<size_t>(tensor)];
  const std::string name = NameOfTflite(file_, tensor);
  if (made.empty()) {
    if (!file_.is_constant(tensor)) return Reject("output '", name, "' is made by nothing");
    ASHLAR_ASSIGN_OR_RETURN(HostTensor value, file_.Constant(tensor));
    made.file = graph_.AddConstant(std::move(value), name);
  }
  graph_.BeginOperator(absl::StrCat(name, "/stored"));
  if (made.file == kNoTfliteVar) {
    const DimshuffleParam pattern = {TflitePattern(TfliteLayout::kFile)};
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<TfliteVar> permuted,
                            graph_.Add(std::make_shared<const Dimshuffle>(pattern), {made.image}));
    made.file = permuted[0];
  }
  ASHLAR_ASSIGN_OR_RETURN(const DType stored, file_.StoredDType(tensor));
  return Converted(made.file, {stored});
}

absl::StatusOr<Graph> Reader::Read() {
  ASHLAR_RETURN_IF_ERROR(CheckOperators());
  ASHLAR_RETURN_IF_ERROR(CheckShapes());
  for (const int64_t input : IntsOf(file_.graph().inputs())) {
    const absl::Status added = AddInput(static_cast<int>(input));
    if (!added.ok()) {
      return Annotate(added,
                      absl::StrCat("input '", NameOfTflite(file_, static_cast<int>(input)), "'"));
    }
  }
  const auto& operators = *file_.graph().operators();
  for (int i = 0; i < static_cast<int>(operators.size()); ++i) {
    const tflite::Operator& op = *operators.Get(i);
    const absl::Status read = ReadOperator(op);
    if (read.ok()) continue;
    const bool named = op.outputs() != nullptr && op.outputs()->size() > 0;
    return Annotate(
        read, absl::StrCat(
                  "operator ", i, " (", file_.NameOf(op), ")",
                  named ? absl::StrCat(" '", NameOfTflite(file_, op.outputs()->Get(0)), "'") : ""));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> tensors, Outputs());
  std::vector<RecordedOutput<TfliteVar>> outputs;
  absl::flat_hash_set<std::string> names;
  for (const int tensor : tensors) {
    ASHLAR_ASSIGN_OR_RETURN(const TfliteVar var, Output(tensor));
    const std::string name = NameOfTflite(file_, tensor);
    if (!names.insert(name).second) return Reject("two outputs are named '", name, "'");
    outputs.push_back({name, var});
  }
  return std::move(graph_).Finish(outputs);
}

}  // namespace

bool HasTfliteMagic(absl::Span<const uint8_t> bytes) {
  constexpr absl::string_view kMagic = "TFL3";
  constexpr size_t kAt = 4;
  return bytes.size() >= kAt + kMagic.size() &&
         std::equal(kMagic.begin(), kMagic.end(), bytes.begin() + kAt);
}

absl::StatusOr<Graph> ReadTflite(absl::Span<const uint8_t> bytes, std::shared_ptr<const void> owner,
                                 const std::string& name, const TfliteReadOptions& options,
                                 int64_t* taken) {
  const absl::StatusOr<TfliteFile> file = TfliteFile::Open(bytes, std::move(owner));
  if (!file.ok()) return Annotate(file.status(), name);
  Reader reader(*file, options);
  absl::StatusOr<Graph> graph = reader.Read();
  if (!graph.ok()) return Annotate(graph.status(), name);
  if (taken != nullptr) *taken = reader.taken();
  return graph;
}

absl::StatusOr<std::vector<OpenAxis>> OpenAxesOfTflite(absl::Span<const uint8_t> bytes) {
  ASHLAR_ASSIGN_OR_RETURN(const TfliteFile file, TfliteFile::Open(bytes, nullptr));
  std::vector<OpenAxis> open;
  for (const int64_t input : IntsOf(file.graph().inputs())) {
    const int tensor = static_cast<int>(input);
    const std::string name = NameOfTflite(file, tensor);
    const std::vector<int64_t> dims = IntsOf(file.tensor(tensor).shape_signature());
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] >= 0) continue;
      open.push_back({name, static_cast<int>(i), i == 0 ? "batch" : absl::StrCat(name, "_", i)});
    }
  }
  return open;
}

}  // namespace ashlar
