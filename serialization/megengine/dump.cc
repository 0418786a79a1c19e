#include "serialization/megengine/dump.h"

#include <algorithm>

#include "graph/comp_node.h"
#include "graph/status.h"
#include "serialization/json_reader.h"

namespace ashlar {
namespace {

constexpr int64_t kMaxAddress = int64_t{1} << 62;
constexpr int64_t kMaxTraffic = int64_t{1} << 50;  // bytes read and written by one operator

absl::StatusOr<std::vector<int64_t>> Dims(const JsonPlace& place) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, place.Elements());
  std::vector<int64_t> dims;
  for (const JsonPlace& element : elements) {
    ASHLAR_ASSIGN_OR_RETURN(const int64_t dim, element.Integer());
    dims.push_back(dim);
  }
  if (absl::Status status = Shape::Make(dims).status(); !status.ok()) {
    return place.Error(status.message());
  }
  return dims;
}

absl::StatusOr<std::vector<std::vector<int64_t>>> Shapes(const JsonPlace& place) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, place.Elements());
  std::vector<std::vector<int64_t>> shapes;
  for (const JsonPlace& element : elements) {
    ASHLAR_ASSIGN_OR_RETURN(std::vector<int64_t> dims, Dims(element));
    shapes.push_back(std::move(dims));
  }
  return shapes;
}

absl::StatusOr<ParamValue> ReadParamValue(const JsonPlace& place) {
  if (place.is_bool()) return place.Bool();
  if (place.is_text()) return place.Text();
  if (place.is_integer()) return place.Integer();
  if (place.is_array()) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, place.Elements());
    std::vector<int64_t> values;
    for (const JsonPlace& element : elements) {
      ASHLAR_ASSIGN_OR_RETURN(const int64_t value, element.Integer());
      values.push_back(value);
    }
    return values;
  }
  return place.Number();
}

// Reads an object, or an array of objects whose columns are the parameters (Subtensor).
absl::StatusOr<ParamList> ReadParams(const JsonPlace& place) {
  ParamList params;
  if (!place.is_array()) {
    ASHLAR_ASSIGN_OR_RETURN(const auto members, place.Members());
    for (const auto& [name, member] : members) {
      ASHLAR_ASSIGN_OR_RETURN(ParamValue value, ReadParamValue(member));
      params.emplace_back(name, std::move(value));
    }
    return params;
  }
  std::map<std::string, std::vector<int64_t>> columns;
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> rows, place.Elements());
  for (const JsonPlace& row : rows) {
    ASHLAR_ASSIGN_OR_RETURN(const auto members, row.Members());
    for (const auto& [name, member] : members) {
      ASHLAR_ASSIGN_OR_RETURN(const int64_t value, member.Integer());
      columns[name].push_back(value);
    }
  }
  for (auto& [name, column] : columns) params.emplace_back(name, std::move(column));
  return params;
}

// MegEngine writes every key of an object, with null for an absent value.
absl::Status RequireKeys(const JsonPlace& place, absl::Span<const char* const> keys) {
  for (const char* key : keys) ASHLAR_RETURN_IF_ERROR(place.Get(key).status());
  return absl::OkStatus();
}

constexpr const char* kDocumentKeys[] = {"graph_exec", "profiler"};
constexpr const char* kExecKeys[] = {"operator", "var", "mem_chunk", "comp_seq"};
constexpr const char* kProfilerKeys[] = {"device", "host", "opr_footprint", "opr_internal_pf"};
constexpr const char* kVarKeys[] = {
    "node_type",       "id",           "name",     "comp_node",         "flag",
    "dev_ptr",         "prev_dev_ptr", "mem_plan", "static_infer_tags", "mem_readonly_fwd_src",
    "force_update_src"};
constexpr const char* kOperatorKeys[] = {"node_type", "id",     "name",  "type",
                                         "input",     "output", "extra", "waiting_spec"};

class Reader {
 public:
  explicit Reader(const nlohmann::json& document) : root_(document) {}

  absl::StatusOr<ProfileRecording> Read() && {
    ASHLAR_RETURN_IF_ERROR(RequireKeys(root_, kDocumentKeys));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace exec, root_.Get("graph_exec"));
    ASHLAR_RETURN_IF_ERROR(RequireKeys(exec, kExecKeys));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace vars, exec.Get("var"));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace operators, exec.Get("operator"));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace comp_seq, exec.Get("comp_seq"));
    ASHLAR_RETURN_IF_ERROR(ReadVars(vars));
    ASHLAR_RETURN_IF_ERROR(ReadOperators(operators));
    ASHLAR_RETURN_IF_ERROR(CheckVarsAreMade(vars));
    ASHLAR_RETURN_IF_ERROR(ReadCompSeq(comp_seq));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace profiler, root_.Get("profiler"));
    ASHLAR_RETURN_IF_ERROR(RequireKeys(profiler, kProfilerKeys));
    ASHLAR_RETURN_IF_ERROR(ReadTimes(profiler, "device", &DumpOperator::device));
    ASHLAR_RETURN_IF_ERROR(ReadTimes(profiler, "host", &DumpOperator::host));
    ASHLAR_RETURN_IF_ERROR(ReadFootprints(profiler));
    return std::move(recording_);
  }

 private:
  // Returns members by id. Each has a key `id` with the same value.
  absl::StatusOr<std::vector<std::pair<int, JsonPlace>>> ById(const JsonPlace& place) {
    ASHLAR_ASSIGN_OR_RETURN(const auto members, place.Members());
    std::vector<std::pair<int, JsonPlace>> result;
    for (const auto& [key, member] : members) {
      const int id = ParseId(key);
      if (id < 0) return member.Error("this key is no id");
      result.emplace_back(id, member);
    }
    return result;
  }

  absl::Status CheckOwnId(const JsonPlace& place, int id) {
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace own, place.Get("id"));
    ASHLAR_ASSIGN_OR_RETURN(const int own_id, own.Id());
    if (own_id == id) return absl::OkStatus();
    return own.Error(absl::StrCat("is ", own_id, ", but stands under ", id));
  }

  absl::Status ReadVars(const JsonPlace& vars) {
    ASHLAR_ASSIGN_OR_RETURN(const auto members, ById(vars));
    for (const auto& [id, place] : members) {
      ASHLAR_RETURN_IF_ERROR(CheckOwnId(place, id));
      ASHLAR_ASSIGN_OR_RETURN(recording_.vars[id], ReadVar(place));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<DumpVar> ReadVar(const JsonPlace& place) {
    DumpVar var;
    ASHLAR_RETURN_IF_ERROR(RequireKeys(place, kVarKeys));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace comp_node, place.Get("comp_node"));
    ASHLAR_ASSIGN_OR_RETURN(const std::string device, comp_node.Text());
    if (absl::Status status = CompNode::Parse(device).status(); !status.ok()) {
      return comp_node.Error(status.message());
    }
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace name, place.Get("name"));
    ASHLAR_ASSIGN_OR_RETURN(var.name, name.Text());
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace flags, place.Get("flag"));
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, flags.Elements());
    for (const JsonPlace& element : elements) {
      ASHLAR_ASSIGN_OR_RETURN(std::string flag, element.Text());
      var.flags.push_back(std::move(flag));
    }
    ASHLAR_RETURN_IF_ERROR(ReadAddresses(place, var));
    ASHLAR_RETURN_IF_ERROR(ReadInferred(place, var));
    return ReadMemPlan(place, std::move(var));
  }

  absl::Status ReadAddresses(const JsonPlace& place, DumpVar& var) {
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace begin, place.Get("prev_dev_ptr"));
    ASHLAR_ASSIGN_OR_RETURN(var.begin, begin.Integer(0, kMaxAddress));
    if (var.begin != 0) {
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace end, place.Get("prev_dev_ptr_end"));
      ASHLAR_ASSIGN_OR_RETURN(var.end, end.Integer(var.begin, var.begin + Shape::kMaxBytes));
    }
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace source, place.Get("mem_readonly_fwd_src"));
    if (!source.is_null()) {
      ASHLAR_ASSIGN_OR_RETURN(var.forwarded_from, source.Id());
    }
    return absl::OkStatus();
  }

  absl::Status ReadInferred(const JsonPlace& place, DumpVar& var) {
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace tags, place.Get("static_infer_tags"));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace shape_tag, tags.Get("SHAPE"));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace shape, shape_tag.Get("inferred_result"));
    if (!shape.is_null()) {
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, Dims(shape));
      var.shape = Shape(dims);
    }
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace value_tag, tags.Get("VALUE"));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace value, value_tag.Get("inferred_result"));
    if (!value.is_array()) return absl::OkStatus();
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, value.Elements());
    var.value.emplace();
    for (const JsonPlace& element : elements) {
      ASHLAR_ASSIGN_OR_RETURN(const double number, element.Number());
      var.value->push_back(number);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<DumpVar> ReadMemPlan(const JsonPlace& place, DumpVar var) {
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace plan, place.Get("mem_plan"));
    if (plan.is_null()) return var;
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace layout, plan.Get("layout"));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace dtype, layout.Get("dtype"));
    ASHLAR_ASSIGN_OR_RETURN(const std::string name, dtype.Text());
    absl::StatusOr<DType> parsed = ParseDType(name);
    if (!parsed.ok()) return dtype.Error(parsed.status().message());
    var.dtype = *parsed;
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace shape, layout.Get("shape"));
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, Dims(shape));
    if (!var.shape.has_value()) var.shape = Shape(dims);
    return var;
  }

  absl::Status ReadOperators(const JsonPlace& operators) {
    ASHLAR_ASSIGN_OR_RETURN(const auto members, ById(operators));
    for (const auto& [id, place] : members) {
      ASHLAR_RETURN_IF_ERROR(CheckOwnId(place, id));
      if (recording_.vars.count(id) != 0) return place.Error("a var has the same id");
      ASHLAR_RETURN_IF_ERROR(ReadOperator(place, id));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOperator(const JsonPlace& place, int id) {
    DumpOperator& op = recording_.operators[id];
    ASHLAR_RETURN_IF_ERROR(RequireKeys(place, kOperatorKeys));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace name, place.Get("name"));
    ASHLAR_ASSIGN_OR_RETURN(op.name, name.Text());
    if (op.name.empty()) return name.Error("is empty");
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace type, place.Get("type"));
    ASHLAR_ASSIGN_OR_RETURN(op.type, type.Text());
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace inputs, place.Get("input"));
    ASHLAR_ASSIGN_OR_RETURN(op.inputs, ReadVarIds(inputs));
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace outputs, place.Get("output"));
    ASHLAR_ASSIGN_OR_RETURN(op.outputs, ReadVarIds(outputs));
    if (op.outputs.empty()) return outputs.Error("is empty");
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const int var = op.outputs[i];
      const auto [maker, is_new] = makers_.emplace(var, id);
      if (!is_new) {
        return outputs.Error(
            absl::StrCat("var ", var, " is made by operator ", maker->second, " too"));
      }
      recording_.vars[var].producer = id;
      recording_.vars[var].output_index = static_cast<int>(i);
    }
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace extra, place.Get("extra"));
    if (extra.Has("priority")) {
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace priority, extra.Get("priority"));
      ASHLAR_ASSIGN_OR_RETURN(op.priority, priority.Integer(INT32_MIN, INT32_MAX));
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace time, extra.Get("input_update_time"));
      ASHLAR_ASSIGN_OR_RETURN(op.input_update_time, time.Integer(0, INT32_MAX));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int>> ReadVarIds(const JsonPlace& place) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, place.Elements());
    std::vector<int> ids;
    for (const JsonPlace& element : elements) {
      ASHLAR_ASSIGN_OR_RETURN(const int id, element.Id());
      if (recording_.vars.count(id) == 0) {
        return element.Error(absl::StrCat("var ", id, " is not in graph_exec.var"));
      }
      ids.push_back(id);
    }
    return ids;
  }

  absl::Status CheckVarsAreMade(const JsonPlace& vars) {
    for (const auto& [id, var] : recording_.vars) {
      if (makers_.count(id) == 0) {
        return vars.Error(absl::StrCat("var ", id, " is no operator's output"));
      }
      const int source = var.forwarded_from;
      if (source >= 0 && recording_.vars.count(source) == 0) {
        return vars.Error(absl::StrCat("var ", id, " shares the memory of ", source,
                                       ", which is not in graph_exec.var"));
      }
    }
    return CheckForwardsEnd(vars);
  }

  // Checks that each var's memory comes, through any number of forwards, from a var that has its
  // own.
  absl::Status CheckForwardsEnd(const JsonPlace& vars) {
    std::map<int, int> walk;  // by var: the var from which it was first reached
    for (const auto& [id, var] : recording_.vars) {
      for (int at = id; at >= 0; at = recording_.vars.at(at).forwarded_from) {
        const auto [entry, is_new] = walk.emplace(at, id);
        if (is_new) continue;
        if (entry->second != id) break;
        return vars.Error(absl::StrCat("var ", at, " shares its own memory in a ring"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadCompSeq(const JsonPlace& comp_seq) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, comp_seq.Elements());
    std::map<int, size_t> position;
    for (const JsonPlace& element : elements) {
      ASHLAR_ASSIGN_OR_RETURN(const int id, element.Id());
      if (recording_.operators.count(id) == 0) {
        return element.Error(absl::StrCat("operator ", id, " is not in graph_exec.operator"));
      }
      if (!position.emplace(id, position.size()).second) {
        return element.Error(absl::StrCat("operator ", id, " stands there twice"));
      }
      recording_.comp_seq.push_back(id);
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      for (int input : recording_.operators[recording_.comp_seq[i]].inputs) {
        const auto producer = position.find(recording_.vars[input].producer);
        if (producer == position.end() || producer->second < i) continue;
        return elements[i].Error(absl::StrCat("operator ", recording_.comp_seq[i],
                                              " comes before operator ", producer->first,
                                              ", which makes its input ", input));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<DumpOperator*> OperatorAt(const std::string& key, const JsonPlace& place) {
    const auto it = recording_.operators.find(ParseId(key));
    if (it == recording_.operators.end()) {
      return place.Error("there is no such operator in graph_exec.operator");
    }
    return &it->second;
  }

  absl::Status ReadTimes(const JsonPlace& profiler, const char* key,
                         std::optional<DumpTime> DumpOperator::*field) {
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace times, profiler.Get(key));
    ASHLAR_ASSIGN_OR_RETURN(const auto operators, times.Members());
    for (const auto& [id, by_place] : operators) {
      ASHLAR_ASSIGN_OR_RETURN(DumpOperator* const op, OperatorAt(id, by_place));
      ASHLAR_ASSIGN_OR_RETURN(const auto members, by_place.Members());
      DumpTime longest;
      for (const auto& [comp_node, place] : members) {
        ASHLAR_ASSIGN_OR_RETURN(const JsonPlace start, place.Get("start"));
        ASHLAR_ASSIGN_OR_RETURN(const double start_time, start.Number());
        ASHLAR_ASSIGN_OR_RETURN(const JsonPlace kern, place.Get("kern"));
        ASHLAR_ASSIGN_OR_RETURN(const double kernel_time, kern.Number());
        ASHLAR_ASSIGN_OR_RETURN(const JsonPlace end, place.Get("end"));
        ASHLAR_ASSIGN_OR_RETURN(const double end_time, end.Number());
        if (end_time < start_time) return place.Error("ends before it starts");
        longest.total = std::max(longest.total, end_time - start_time);
        // -1: no kernel ran on this thread.
        if (kernel_time >= start_time) {
          longest.kernel = std::max(longest.kernel, end_time - kernel_time);
        }
      }
      op->*field = longest;
    }
    return absl::OkStatus();
  }

  absl::Status ReadFootprints(const JsonPlace& profiler) {
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace footprints, profiler.Get("opr_footprint"));
    ASHLAR_ASSIGN_OR_RETURN(const auto members, footprints.Members());
    for (const auto& [id, place] : members) {
      ASHLAR_ASSIGN_OR_RETURN(DumpOperator* const op, OperatorAt(id, place));
      DumpFootprint footprint;
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace memory, place.Get("memory"));
      ASHLAR_ASSIGN_OR_RETURN(footprint.memory, memory.Integer(0, kMaxTraffic));
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace computation, place.Get("computation"));
      if (!computation.is_null()) {
        ASHLAR_ASSIGN_OR_RETURN(footprint.computation, computation.Integer(0, INT64_MAX));
      }
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace in_shapes, place.Get("in_shapes"));
      ASHLAR_ASSIGN_OR_RETURN(footprint.in_shapes, Shapes(in_shapes));
      if (footprint.in_shapes.size() != op->inputs.size()) {
        return in_shapes.Error(
            absl::StrCat(footprint.in_shapes.size(), " shapes for ", op->inputs.size(), " inputs"));
      }
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace out_shapes, place.Get("out_shapes"));
      ASHLAR_ASSIGN_OR_RETURN(footprint.out_shapes, Shapes(out_shapes));
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace param, place.Get("param"));
      ASHLAR_ASSIGN_OR_RETURN(footprint.params, ReadParams(param));
      op->footprint = std::move(footprint);
    }
    return absl::OkStatus();
  }

  const JsonPlace root_;
  ProfileRecording recording_;
  std::map<int, int> makers_;  // operator id by var id
};

}  // namespace

bool DumpVar::Has(absl::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

absl::StatusOr<ProfileRecording> ParseProfileDump(absl::string_view text) {
  ASHLAR_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(text));
  return Reader(document).Read();
}

absl::StatusOr<ProfileRecording> ReadProfileDump(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(path));
  absl::StatusOr<ProfileRecording> recording = Reader(document).Read();
  if (!recording.ok()) return Annotate(recording.status(), path);
  return recording;
}

}  // namespace ashlar
