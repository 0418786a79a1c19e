// Malformed dumps, with any contents, are refused with the position of the error.
#include <gtest/gtest.h>

#include <random>

#include "serialization/json_reader.h"
#include "serialization/megengine/import.h"
#include "tests/serialization/files.h"
#include "tests/serialization/megengine/small_dump.h"
#include "tests/support/refused_texts.h"

namespace ashlar {
namespace {

using testing::FailsWith;
using testing::IsOk;
using testing::SmallDump;

absl::Status Import(const std::string& text) {
  absl::StatusOr<ProfileRecording> recording = ParseProfileDump(text);
  return recording.ok() ? ImportGraph(*recording).status() : recording.status();
}

TEST(BadDump, TheUnchangedOneIsGood) { EXPECT_TRUE(IsOk(Import(SmallDump().dump()))); }

TEST(BadDump, ChangesAreRefusedWithThePlace) {
  constexpr char kRemove[] = "";
  const struct {
    const char* pointer;
    const char* value;  // JSON
    const char* error;
  } cases[] = {
      {"/graph_exec", kRemove, "the document: key 'graph_exec' is missing"},
      {"/profiler", kRemove, "the document: key 'profiler' is missing"},
      {"/graph_exec", "[]", "graph_exec: is an array, expected an object"},
      {"/graph_exec/var", kRemove, "graph_exec: key 'var' is missing"},
      {"/graph_exec/var/6", kRemove,
       "graph_exec.operator.5.output[0]: var 6 is not in graph_exec.var"},
      {"/graph_exec/mem_chunk", kRemove, "graph_exec: key 'mem_chunk' is missing"},
      {"/profiler/opr_internal_pf", kRemove, "profiler: key 'opr_internal_pf' is missing"},
      {"/graph_exec/var/6/dev_ptr", kRemove, "graph_exec.var.6: key 'dev_ptr' is missing"},
      {"/graph_exec/var/6/comp_node", "\"bla\"", "graph_exec.var.6.comp_node: "},
      {"/graph_exec/var/6/mem_readonly_fwd_src", "\"6\"",
       "graph_exec.var: var 6 shares its own memory in a ring"},
      {"/graph_exec/operator/5/waiting_spec", kRemove,
       "graph_exec.operator.5: key 'waiting_spec' is missing"},
      {"/graph_exec/var/6/name", "17", "graph_exec.var.6.name: is 17, expected a text"},
      {"/graph_exec/var/6/id", "\"7\"", "graph_exec.var.6.id: is 7, but stands under 6"},
      {"/graph_exec/var/x", "{}", "graph_exec.var.x: this key is no id"},
      {"/graph_exec/var/6/prev_dev_ptr", "-1", "graph_exec.var.6.prev_dev_ptr: is -1, expected"},
      {"/graph_exec/var/6/prev_dev_ptr_end", kRemove,
       "graph_exec.var.6: key 'prev_dev_ptr_end' is missing"},
      {"/graph_exec/var/6/prev_dev_ptr_end", "5", "graph_exec.var.6.prev_dev_ptr_end: is 5"},
      {"/graph_exec/var/6/static_infer_tags/SHAPE/inferred_result", "[1,-4,6,6]",
       "graph_exec.var.6.static_infer_tags.SHAPE.inferred_result: "},
      {"/graph_exec/var/6/static_infer_tags/SHAPE/inferred_result", "[1,4,6,5]",
       "graph_exec.operator.5: makes Float32{1,4,6,6}, but graph_exec.var.6 was recorded as "
       "{1,4,6,5}"},
      {"/graph_exec/var/4/static_infer_tags/SHAPE/inferred_result", "[1048576,1048576,4]",
       "graph_exec.var.4.static_infer_tags.SHAPE.inferred_result: "},
      {"/graph_exec/var/4/static_infer_tags/SHAPE/inferred_result", "[2048,1048576]",
       "graph_exec.operator.3: constants of more than"},
      {"/graph_exec/var/13/static_infer_tags/VALUE/inferred_result", "[36,5]",
       "graph_exec.operator.12: makes other values than were recorded in graph_exec.var.13"},
      {"/graph_exec/var/6/mem_plan/layout/dtype", "\"Float33\"",
       "graph_exec.var.6.mem_plan.layout.dtype: "},
      {"/graph_exec/var/6/mem_plan/layout/dtype", "\"Int32\"",
       "graph_exec.operator.5: makes Float32{1,4,6,6}, but graph_exec.var.6 was recorded as Int32"},
      {"/graph_exec/operator/5/input/1", "\"9999\"",
       "graph_exec.operator.5.input[1]: var 9999 is not in graph_exec.var"},
      {"/graph_exec/operator/5/input/1", "4",
       "graph_exec.operator.5.input[1]: is 4, expected an id"},
      {"/graph_exec/operator/5/input/1", "\"four\"",
       "graph_exec.operator.5.input[1]: is \"four\", expected an id"},
      {"/graph_exec/operator/5/input/1", "\"04\"", "expected an id"},
      {"/graph_exec/operator/5/input/1", "\"99999999999999999999\"", "expected an id"},
      {"/graph_exec/operator/5/input", "[\"1\",\"9\"]",
       "operator 5 comes before operator 8, which makes its input 9"},
      {"/graph_exec/operator/12/input", "[\"13\"]", "graph_exec.operator.12: depends on itself"},
      {"/graph_exec/operator/5/type", "\"Convolution9D\"",
       "graph_exec.operator.5: unknown operator type 'Convolution9D'"},
      {"/graph_exec/operator/12/type", "\"PoolingForward\"",
       "graph_exec.operator.12: parameter 'format' is missing"},
      {"/graph_exec/operator/8/output", "[\"6\"]", "var 6 is made by operator 5 too"},
      {"/graph_exec/operator/8/output", "[]", "graph_exec.operator.8.output: is empty"},
      {"/graph_exec/operator/8/name", "\"\"", "graph_exec.operator.8.name: is empty"},
      {"/graph_exec/operator/8/extra/priority", "1e99", "graph_exec.operator.8.extra.priority: is"},
      {"/graph_exec/operator/6", "{}", "graph_exec.operator.6: key 'id' is missing"},
      {"/graph_exec/comp_seq/0", "\"555\"", "operator 555 is not in graph_exec.operator"},
      {"/graph_exec/comp_seq", "[\"0\",\"0\"]", "operator 0 stands there twice"},
      {"/graph_exec/comp_seq", "[]", "graph_exec: the graph has no output"},
      {"/graph_exec/comp_seq", "\"0\"", "graph_exec.comp_seq: is \"0\", expected an array"},
      {"/profiler/device/5/cpu0:0/end", "null", "profiler.device.5.cpu0:0.end: is null"},
      {"/profiler/device/5/cpu0:0/end", "-3", "profiler.device.5.cpu0:0: ends before it starts"},
      {"/profiler/device/500", "{}", "profiler.device.500: there is no such operator"},
      {"/profiler/opr_footprint/5/in_shapes", "[[1]]", "1 shapes for 2 inputs"},
      {"/profiler/opr_footprint/5/memory", "-7", "profiler.opr_footprint.5.memory: is -7"},
      {"/profiler/opr_footprint/5/param/stride_h", kRemove,
       "graph_exec.operator.5: parameter 'stride_h' is missing in profiler.opr_footprint"},
      {"/profiler/opr_footprint/5/param/stride_h", "0", "stride_h is 0, expected 1 to 2147483647"},
      {"/profiler/opr_footprint/5/param/mode", "\"SIDEWAYS\"", "unknown value 'SIDEWAYS'"},
      {"/profiler/opr_footprint/5/param/stride_h", "{}",
       "profiler.opr_footprint.5.param.stride_h: is an object"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.pointer, " = ", c.value));
    nlohmann::json dump = SmallDump();
    const nlohmann::json::json_pointer pointer(c.pointer);
    if (std::string(c.value).empty()) {
      dump[pointer.parent_pointer()].erase(pointer.back());
    } else {
      dump[pointer] = nlohmann::json::parse(c.value);
    }
    const absl::Status status = Import(dump.dump());
    EXPECT_TRUE(FailsWith(status, c.error));
    EXPECT_TRUE(absl::IsInvalidArgument(status));
  }
}

TEST(BadDump, TextsThatAreNoDocumentOfThisKind) {
  const std::vector<testing::RefusedText> texts = {
      {"", "this is no JSON"},
      {"null", "the document: is null, expected an object"},
      {"{\"graph_exec\":", "byte 15: this is no JSON"},
      {std::string(1 << 20, '['), "byte 32: nested deeper than 32"},
      {std::string("{\"a\":[\"]]]]\\\"") + std::string(40, '['), "this is no JSON"},
      {"{\"a\": 1e999}", "this is no JSON"},
      {std::string("\xff\xfe{}"), "this is no JSON"},
      {"[" + std::string(5 << 20, ',') + "]", "more than 4194304 values"},
      {std::string((64 << 20) + 1, ' '), "67108865 bytes, at most 67108864 are read"},
  };
  testing::ExpectTextsRefused(texts, Import);
}

TEST(BadDump, FilesThatAreNone) {
  const testing::TempDir folder;
  EXPECT_TRUE(FailsWith(ReadProfileDump(folder / "none.json").status(), "none.json"));
  testing::WriteWholeFile(folder / "empty.json", "");
  EXPECT_TRUE(FailsWith(ReadProfileDump(folder / "empty.json").status(), "empty.json: "));
}

// Whatever value is replaced, the result is a graph or an error.
TEST(BadDump, SurvivesRandomChanges) {
  const nlohmann::json flat = SmallDump().flatten();
  std::vector<std::string> keys;
  for (const auto& [key, value] : flat.items()) keys.push_back(key);
  const char* const values[] = {
      "null", "-1",   "9223372036854775807", "1e300", "\"\"", "\"5\"", "[]", "{}", "true", "0",
      "[[]]", "\"1\""};
  for (uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    nlohmann::json dump = SmallDump();
    for (int change = 0; change < 2; ++change) {
      const nlohmann::json::json_pointer pointer(keys[random() % keys.size()]);
      if (!dump.contains(pointer)) continue;
      dump[pointer] = nlohmann::json::parse(values[random() % std::size(values)]);
    }
    const absl::Status status = Import(dump.dump());
    EXPECT_TRUE(status.ok() || !status.message().empty());
  }
}

}  // namespace
}  // namespace ashlar
