#include "serialization/plan_file.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "graph/status.h"
#include "memory/problem/tied_buffers.h"
#include "runtime/plan/request/request_options.h"
#include "serialization/crc32.h"
#include "serialization/json_file.h"
#include "serialization/json_reader.h"
#include "serialization/limits.h"

namespace ashlar {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr char kPlanFormat[] = "ashlar plan";
constexpr int kVersion = 1;
constexpr int kMaxThreads = 1024;
constexpr int64_t kMaxBytes = memory::kMaxBytes;

constexpr ChunkKind kKinds[] = {ChunkKind::kTensor, ChunkKind::kWorkspace, ChunkKind::kCopy};

// Computes the checksum of the whole document, except the checksum itself, with keys in
// alphabetical order.
std::string ChecksumOf(nlohmann::json document) {
  document.erase("checksum");
  const std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return absl::StrFormat("crc32:%08x", Crc32(0, text.data(), text.size()));
}

std::string Text(absl::string_view text) { return std::string(text); }

// Converts the text of an option to its form in plan files.
OrderedJson ValueJson(const RequestOption& option, const std::string& text) {
  if (option.form == ValueForm::kText) return text;
  if (option.form == ValueForm::kSwitch) return text == "on";
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? number : 0;
}

// Does the inverse.
absl::StatusOr<std::string> ValueText(const RequestOption& option, const JsonPlace& place) {
  if (option.form == ValueForm::kText) return place.Text();
  if (option.form == ValueForm::kSwitch) {
    ASHLAR_ASSIGN_OR_RETURN(const bool on, place.Bool());
    return std::string(on ? "on" : "off");
  }
  ASHLAR_ASSIGN_OR_RETURN(const int64_t number, place.Integer(0, kMaxBytes));
  return absl::StrCat(number);
}

OrderedJson OptionsJson(const RecordedPlan& plan) {
  OrderedJson json;
  const PlanRequest request = plan.request(), defaults;
  for (const RequestOption& option : RequestOptions()) {
    const std::string text = option.get(request);
    const bool stored =
        option.in_plan_files == InPlanFiles::kAlways ||
        (option.in_plan_files == InPlanFiles::kChanged && text != option.get(defaults));
    if (stored) json[PlanKey(option)] = ValueJson(option, text);
  }
  json["planner_work"] = plan.planning.planner.limits.work;
  json["tile"] = plan.target.tiles.ToString();
  json["rewritten_for_tiles"] = plan.rewritten_for_tiles;
  return json;
}

OrderedJson StepJson(const RecordedStep& step) {
  return {{"id", step.id},
          {"name", step.name},
          {"type", step.type},
          {"kernel", step.kernel.empty() ? OrderedJson() : OrderedJson(step.kernel)},
          {"workspace_bytes", step.workspace_bytes}};
}

OrderedJson ChunkJson(const RecordedChunk& chunk, int group) {
  const memory::Buffer& b = chunk.buffer;
  OrderedJson json = {{"id", b.id},
                      {"name", chunk.name},
                      {"kind", Text(Name(chunk.kind))},
                      {"offset", b.offset.value_or(0)},
                      {"bytes", b.size},
                      {"alignment", b.alignment},
                      {"lifetime", {b.lower, b.upper}},
                      {"group", group}};
  if (chunk.inside >= 0) json["inside"] = {{"chunk", chunk.inside}, {"at", chunk.at}};
  return json;
}

OrderedJson PlanJson(const StoredPlan& file) {
  const RecordedPlan& plan = file.plan;
  OrderedJson json;
  json["format"] = kPlanFormat;
  json["version"] = kVersion;
  json["model"] = {{"operators", file.model.operators},
                   {"weights_bytes", file.model.weights_bytes},
                   {"crc32", absl::StrFormat("%08x", file.model.crc32)}};
  json["device"] = plan.target.comp_node.ToString();
  json["processor"] = {{"name", plan.processor.ToString()},
                       {"at_hand", !plan.target.processor.has_value()}};
  json["threads"] = plan.target.threads;
  json["options"] = OptionsJson(plan);
  json["kernel_record"] = OrderedJson();
  if (!plan.record.path.empty()) {
    json["kernel_record"] = {{"path", plan.record.path},
                             {"problems", plan.record.problems},
                             {"answered", plan.record.answered}};
  }
  json["pools"] = {{"arena_bytes", plan.arena},
                   {"weights_bytes", plan.weights},
                   {"input_bytes", plan.inputs},
                   {"output_bytes", plan.outputs}};
  json["arena"] = {{"lower_bound_bytes", plan.lower_bound},
                   {"proven_bound_bytes", plan.proven_bound},
                   {"proof", Text(memory::ProofName(plan.proof()))},
                   {"bottleneck_step", plan.bottleneck_step},
                   {"planner", plan.found_by}};
  json["predicted_ms"] = plan.predicted_ms;
  json["extra_flops_ratio"] = plan.extra_flops_ratio;
  json["order_before_tiles"] = plan.order_before_tiles;
  json["steps"] = OrderedJson::array();
  for (const RecordedStep& step : plan.steps) json["steps"].push_back(StepJson(step));
  json["chunks"] = OrderedJson::array();
  const std::vector<int> groups = memory::FirstTied(plan.problem());
  for (size_t i = 0; i < plan.chunks.size(); ++i) {
    json["chunks"].push_back(ChunkJson(plan.chunks[i], groups[i]));
  }
  return json;
}

// An object with exactly these members.
class Fields {
 public:
  static absl::StatusOr<Fields> Of(const JsonPlace& place,
                                   absl::Span<const absl::string_view> required,
                                   absl::Span<const absl::string_view> optional = {}) {
    ASHLAR_ASSIGN_OR_RETURN(const auto members, place.Members());
    for (const auto& [key, value] : members) {
      const bool known = std::find(required.begin(), required.end(), key) != required.end() ||
                         std::find(optional.begin(), optional.end(), key) != optional.end();
      if (!known) return value.Error("a plan has no such key here");
    }
    for (absl::string_view key : required) {
      const std::string name(key);
      if (!place.Has(name.c_str())) return place.Get(name.c_str()).status();
    }
    return Fields(place);
  }

  bool Has(const char* key) const { return place_.Has(key); }
  // Returns a member, which must exist.
  JsonPlace operator[](const char* key) const { return *place_.Get(key); }

  absl::Status Read(const char* key, std::string& value) const {
    ASHLAR_ASSIGN_OR_RETURN(value, (*this)[key].Text());
    return absl::OkStatus();
  }
  absl::Status Read(const char* key, bool& value) const {
    ASHLAR_ASSIGN_OR_RETURN(value, (*this)[key].Bool());
    return absl::OkStatus();
  }
  absl::Status Read(const char* key, double& value) const {
    ASHLAR_ASSIGN_OR_RETURN(value, (*this)[key].Number());
    return absl::OkStatus();
  }
  template <typename Integer>
  absl::Status Read(const char* key, int64_t least, int64_t most, Integer& value) const {
    ASHLAR_ASSIGN_OR_RETURN(const int64_t integer, (*this)[key].Integer(least, most));
    value = static_cast<Integer>(integer);
    return absl::OkStatus();
  }
  absl::Status ReadBytes(const char* key, int64_t& value) const {
    return Read(key, 0, kMaxBytes, value);
  }
  // Reads the value that `parse` returns for a text.
  template <typename T, typename Parse>
  absl::Status ReadParsed(const char* key, const Parse& parse, T& value) const {
    std::string text;
    ASHLAR_RETURN_IF_ERROR(Read(key, text));
    absl::StatusOr<T> parsed = parse(absl::string_view(text));
    if (!parsed.ok()) return (*this)[key].Error(parsed.status().message());
    value = *std::move(parsed);
    return absl::OkStatus();
  }

 private:
  explicit Fields(const JsonPlace& place) : place_(place) {}
  JsonPlace place_;
};

absl::StatusOr<uint32_t> ParseCrc(absl::string_view text) {
  uint32_t crc = 0;
  if (text.size() == 8 && absl::SimpleHexAtoi(text, &crc)) return crc;
  return absl::InvalidArgumentError("is not a CRC-32 of eight hexadecimal digits");
}

absl::StatusOr<ChunkKind> ParseKind(absl::string_view text) {
  for (const ChunkKind kind : kKinds) {
    if (text == Name(kind)) return kind;
  }
  return absl::InvalidArgumentError("is not tensor, workspace or copy");
}

absl::Status ReadOptions(const JsonPlace& place, RecordedPlan& plan) {
  std::map<std::string, const RequestOption*> options;  // by key
  std::vector<absl::string_view> required = {"planner_work", "tile", "rewritten_for_tiles"};
  std::vector<absl::string_view> optional;
  for (const RequestOption& option : RequestOptions()) {
    if (option.in_plan_files == InPlanFiles::kNever) continue;
    const auto& key = options.emplace(PlanKey(option), &option).first->first;
    (option.in_plan_files == InPlanFiles::kAlways ? required : optional).push_back(key);
  }
  ASHLAR_ASSIGN_OR_RETURN(const Fields fields, Fields::Of(place, required, optional));
  PlanRequest request;
  for (const auto& [key, option] : options) {
    if (!fields.Has(key.c_str())) continue;
    const JsonPlace value = fields[key.c_str()];
    ASHLAR_ASSIGN_OR_RETURN(const std::string text, ValueText(*option, value));
    // `set` need not take the text of a default.
    if (text == option->get(request)) continue;
    if (absl::Status set = option->set(text, request); !set.ok()) return value.Error(set.message());
  }
  plan.target = request.target;
  plan.planning = request.planning;
  plan.alignment = request.debug.alignment;
  ASHLAR_RETURN_IF_ERROR(
      fields.Read("planner_work", 0, INT64_MAX, plan.planning.planner.limits.work));
  ASHLAR_RETURN_IF_ERROR(fields.ReadParsed("tile", TileSpec::Parse, plan.target.tiles));
  return fields.Read("rewritten_for_tiles", plan.rewritten_for_tiles);
}

absl::Status ReadHead(const Fields& document, StoredPlan& file) {
  RecordedPlan& plan = file.plan;
  ASHLAR_ASSIGN_OR_RETURN(const Fields model,
                          Fields::Of(document["model"], {"operators", "weights_bytes", "crc32"}));
  ASHLAR_RETURN_IF_ERROR(model.Read("operators", 0, kMaxId, file.model.operators));
  ASHLAR_RETURN_IF_ERROR(model.ReadBytes("weights_bytes", file.model.weights_bytes));
  ASHLAR_RETURN_IF_ERROR(model.ReadParsed("crc32", ParseCrc, file.model.crc32));
  ASHLAR_RETURN_IF_ERROR(ReadOptions(document["options"], plan));
  ASHLAR_RETURN_IF_ERROR(document.ReadParsed("device", CompNode::Parse, plan.target.comp_node));
  ASHLAR_ASSIGN_OR_RETURN(const Fields processor,
                          Fields::Of(document["processor"], {"name", "at_hand"}));
  ASHLAR_RETURN_IF_ERROR(processor.ReadParsed("name", Processor::Parse, plan.processor));
  bool at_hand = false;
  ASHLAR_RETURN_IF_ERROR(processor.Read("at_hand", at_hand));
  if (!at_hand) plan.target.processor = plan.processor;
  ASHLAR_RETURN_IF_ERROR(document.Read("threads", 1, kMaxThreads, plan.target.threads));
  if (!document["kernel_record"].is_null()) {
    ASHLAR_ASSIGN_OR_RETURN(const Fields record, Fields::Of(document["kernel_record"],
                                                            {"path", "problems", "answered"}));
    ASHLAR_RETURN_IF_ERROR(record.Read("path", plan.record.path));
    ASHLAR_RETURN_IF_ERROR(record.Read("problems", 0, kMaxId, plan.record.problems));
    ASHLAR_RETURN_IF_ERROR(record.Read("answered", 0, plan.record.problems, plan.record.answered));
  }
  ASHLAR_ASSIGN_OR_RETURN(const Fields pools,
                          Fields::Of(document["pools"], {"arena_bytes", "weights_bytes",
                                                         "input_bytes", "output_bytes"}));
  ASHLAR_RETURN_IF_ERROR(pools.ReadBytes("arena_bytes", plan.arena));
  ASHLAR_RETURN_IF_ERROR(pools.ReadBytes("weights_bytes", plan.weights));
  ASHLAR_RETURN_IF_ERROR(pools.ReadBytes("input_bytes", plan.inputs));
  ASHLAR_RETURN_IF_ERROR(pools.ReadBytes("output_bytes", plan.outputs));
  ASHLAR_RETURN_IF_ERROR(document.Read("predicted_ms", plan.predicted_ms));
  return document.Read("extra_flops_ratio", plan.extra_flops_ratio);
}

absl::Status ReadArena(const JsonPlace& place, RecordedPlan& plan) {
  ASHLAR_ASSIGN_OR_RETURN(const Fields arena,
                          Fields::Of(place, {"lower_bound_bytes", "proven_bound_bytes", "proof",
                                             "bottleneck_step", "planner"}));
  ASHLAR_RETURN_IF_ERROR(arena.Read("lower_bound_bytes", 0, plan.arena, plan.lower_bound));
  ASHLAR_RETURN_IF_ERROR(arena.Read("proven_bound_bytes", 0, plan.arena, plan.proven_bound));
  ASHLAR_RETURN_IF_ERROR(arena.Read("bottleneck_step", 0, kMaxId, plan.bottleneck_step));
  ASHLAR_RETURN_IF_ERROR(arena.Read("planner", plan.found_by));
  std::string proof;
  ASHLAR_RETURN_IF_ERROR(arena.Read("proof", proof));
  if (proof == memory::ProofName(plan.proof())) return absl::OkStatus();
  return arena["proof"].Error(
      absl::StrCat("the bytes prove '", memory::ProofName(plan.proof()), "'"));
}

absl::StatusOr<RecordedStep> ReadStep(const JsonPlace& place) {
  ASHLAR_ASSIGN_OR_RETURN(const Fields fields,
                          Fields::Of(place, {"id", "name", "type", "kernel", "workspace_bytes"}));
  RecordedStep step;
  ASHLAR_RETURN_IF_ERROR(fields.Read("id", 0, kMaxId, step.id));
  ASHLAR_RETURN_IF_ERROR(fields.Read("name", step.name));
  ASHLAR_RETURN_IF_ERROR(fields.Read("type", step.type));
  if (!fields["kernel"].is_null()) ASHLAR_RETURN_IF_ERROR(fields.Read("kernel", step.kernel));
  ASHLAR_RETURN_IF_ERROR(fields.ReadBytes("workspace_bytes", step.workspace_bytes));
  return step;
}

// `group` depends on the chunk that contains this one, and is known after all chunks are read.
absl::StatusOr<RecordedChunk> ReadChunk(const JsonPlace& place, int64_t count, int& group) {
  ASHLAR_ASSIGN_OR_RETURN(
      const Fields fields,
      Fields::Of(place, {"id", "name", "kind", "offset", "bytes", "alignment", "lifetime", "group"},
                 {"inside"}));
  RecordedChunk chunk;
  memory::Buffer& b = chunk.buffer;
  ASHLAR_RETURN_IF_ERROR(fields.Read("id", 0, kMaxId, b.id));
  ASHLAR_RETURN_IF_ERROR(fields.Read("name", chunk.name));
  ASHLAR_RETURN_IF_ERROR(fields.ReadParsed("kind", ParseKind, chunk.kind));
  ASHLAR_RETURN_IF_ERROR(fields.ReadBytes("offset", b.offset.emplace()));
  ASHLAR_RETURN_IF_ERROR(fields.ReadBytes("bytes", b.size));
  ASHLAR_RETURN_IF_ERROR(fields.Read("alignment", 1, int64_t{1} << 30, b.alignment));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> steps, fields["lifetime"].Elements());
  if (steps.size() != 2) return fields["lifetime"].Error("expected [first step, last step + 1]");
  ASHLAR_ASSIGN_OR_RETURN(b.lower, steps[0].Integer(0, kMaxId));
  ASHLAR_ASSIGN_OR_RETURN(b.upper, steps[1].Integer(b.lower + 1, kMaxId));
  ASHLAR_RETURN_IF_ERROR(fields.Read("group", 0, count - 1, group));
  if (!fields.Has("inside")) return chunk;
  ASHLAR_ASSIGN_OR_RETURN(const Fields inside, Fields::Of(fields["inside"], {"chunk", "at"}));
  ASHLAR_RETURN_IF_ERROR(inside.Read("chunk", 0, count - 1, chunk.inside));
  ASHLAR_RETURN_IF_ERROR(inside.ReadBytes("at", chunk.at));
  return chunk;
}

absl::Status ReadChunks(const JsonPlace& place, RecordedPlan& plan) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, place.Elements());
  const int64_t count = static_cast<int64_t>(elements.size());
  std::vector<int> groups(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(RecordedChunk chunk, ReadChunk(elements[i], count, groups[i]));
    plan.chunks.push_back(std::move(chunk));
  }
  const std::vector<int> expected = memory::FirstTied(plan.problem());
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] == expected[i]) continue;
    return elements[i].Error(absl::StrCat("is in group ", groups[i],
                                          "; what lies inside of what makes it ", expected[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckVersion(const JsonPlace& document) {
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace format, document.Get("format"));
  ASHLAR_ASSIGN_OR_RETURN(const std::string name, format.Text());
  if (name != kPlanFormat) return format.Error(absl::StrCat("expected '", kPlanFormat, "'"));
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace version, document.Get("version"));
  ASHLAR_ASSIGN_OR_RETURN(const int64_t number, version.Integer());
  if (number == kVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("a plan of format version ", number, ", this program reads ", kVersion));
}

absl::StatusOr<StoredPlan> ReadPlan(const nlohmann::json& json) {
  const JsonPlace place(json);
  ASHLAR_RETURN_IF_ERROR(CheckVersion(place));
  ASHLAR_ASSIGN_OR_RETURN(
      const Fields document,
      Fields::Of(place, {"format", "version", "model", "device", "processor", "threads", "options",
                         "kernel_record", "pools", "arena", "predicted_ms", "extra_flops_ratio",
                         "order_before_tiles", "steps", "chunks", "checksum"}));
  std::string checksum;
  ASHLAR_RETURN_IF_ERROR(document.Read("checksum", checksum));
  if (const std::string expected = ChecksumOf(json); checksum != expected) {
    return document["checksum"].Error(
        absl::StrCat("the document's is ", expected, ": it was changed after it was written"));
  }
  StoredPlan file;
  ASHLAR_RETURN_IF_ERROR(ReadHead(document, file));
  RecordedPlan& plan = file.plan;
  ASHLAR_RETURN_IF_ERROR(ReadArena(document["arena"], plan));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> ids,
                          document["order_before_tiles"].Elements());
  for (const JsonPlace& id : ids) {
    ASHLAR_ASSIGN_OR_RETURN(const int64_t number, id.Integer(0, kMaxId));
    plan.order_before_tiles.push_back(static_cast<int>(number));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> steps, document["steps"].Elements());
  for (const JsonPlace& element : steps) {
    ASHLAR_ASSIGN_OR_RETURN(RecordedStep step, ReadStep(element));
    plan.steps.push_back(std::move(step));
  }
  ASHLAR_RETURN_IF_ERROR(ReadChunks(document["chunks"], plan));
  return file;
}

}  // namespace

std::string PlanText(const StoredPlan& file) {
  OrderedJson document = PlanJson(file);
  document["checksum"] = ChecksumOf(nlohmann::json(document));
  return JsonText(document, 1);
}

absl::StatusOr<StoredPlan> ParsePlan(absl::string_view text) {
  ASHLAR_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(text));
  return ReadPlan(document);
}

absl::StatusOr<StoredPlan> ReadPlanFile(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(path));
  absl::StatusOr<StoredPlan> file = ReadPlan(document);
  if (!file.ok()) return Annotate(file.status(), path);
  file->plan.path = path;
  return file;
}

}  // namespace ashlar
