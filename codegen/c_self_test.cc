#include "codegen/c_self_test.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "codegen/c_text.h"

namespace ashlar {
namespace {

// The parts of the test that are equal in all programs; NAME and MACRO are replaced by the
// program's.
constexpr char kTestBegin[] = R"c(#include <stdint.h>
#include <stdio.h>

#include "NAME.h"

// Memory that is aligned for every type.
typedef union {
  long long integer;
  double real;
  unsigned char bytes[8];
} block;

#define BLOCKS(bytes) ((bytes) / 8 + 2)

// With room to begin at a multiple of the alignment, and not of a larger one.
static block arena[BLOCKS(MACRO_ARENA_BYTES + 2 * MACRO_ARENA_ALIGNMENT)];
MACRO_REQUIRE_ARENA(arena);
)c";

constexpr char kTestHelpers[] = R"c(
#define RUNS COUNT

static int failures = 0;
static int run = 0;

static void check(const char* what, unsigned long got, unsigned long expected) {
  if (got == expected) return;
  printf("%s: %lu, expected %lu\n", what, got, expected);
  ++failures;
}

static uint32_t crc32(const void* data, uint32_t bytes) {
  const unsigned char* const from = (const unsigned char*)data;
  uint32_t crc = 0xffffffffu, i;
  int bit;
  for (i = 0; i < bytes; ++i) {
    crc ^= from[i];
    for (bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) ? 0xedb88320u : 0u);
  }
  return crc ^ 0xffffffffu;
}

static uint32_t state;

static uint32_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

#ifdef ASHLAR_TRACE
void NAME_trace(int number, const void* data, uint32_t bytes);
void NAME_trace(int number, const void* data, uint32_t bytes) {
  static const struct {
    const char* name;
    unsigned long crc;
  } steps[] = {
TRACES  };
  const int step = run * (int)(sizeof(steps) / sizeof(steps[0]) / RUNS) + number;
  check(steps[step].name, crc32(data, bytes), steps[step].crc);
}
#endif
)c";

// At a multiple of the alignment, and not of a larger one.
constexpr char kStateMemory[] = R"c(
static unsigned char* state_memory(void) {
  return states[0].bytes + (MACRO_STATE_ALIGNMENT - (uintptr_t)states) % (2 * MACRO_STATE_ALIGNMENT);
}
)c";

}  // namespace

std::string SelfTestProgram(const PlannedGraph& planned, const CBorder& border,
                            const SelfTest& test, const std::string& name) {
  const std::string macro = Upper(name);
  const auto own = [&](absl::string_view part) {
    return absl::StrReplaceAll(part, {{"NAME", name}, {"MACRO", macro}});
  };
  std::string traces;
  for (const SelfTest::Run& run : test.runs) {
    for (const SelfTest::Trace& trace : run.traces) {
      const OperatorNode& node =
          planned.graph.node(planned.schedule.order[static_cast<size_t>(trace.step)]);
      const std::string name =
          CommentText(planned.graph.var(node.outputs[static_cast<size_t>(trace.output)]).name);
      absl::StrAppend(&traces, "    {\"", absl::StrReplaceAll(name, {{"\"", "'"}}), "\", ",
                      trace.crc, "ul},\n");
    }
    if (run.traces.empty()) absl::StrAppend(&traces, "    {\"\", 0},\n");
  }
  std::string text = absl::StrCat(
      kWrittenBy, "// A test of the program: exit code 0 if its results equal the desktop's.\n",
      own(kTestBegin));
  std::string fill, reset, arguments = "memory", checks;
  if (!border.states.empty()) {
    absl::StrAppend(&text, own("static block states[BLOCKS(MACRO_STATE_BYTES + 2 * "
                               "MACRO_STATE_ALIGNMENT)];\n"));
    std::vector<std::string> runs;
    for (size_t i = 0; i < test.runs.size(); ++i) {
      if (test.runs[i].resets) runs.push_back(absl::StrCat("run == ", i));
    }
    reset = absl::StrCat("    if (", absl::StrJoin(runs, " || "),
                         own(") {\n      check(\"NAME_reset\", (unsigned long)NAME_reset("
                             "state_memory()), MACRO_OK);\n    }\n"));
    absl::StrAppend(&arguments, ", state_memory()");
  }
  for (size_t i = 0; i < border.inputs.size(); ++i) {
    const CTensor& input = border.inputs[i];
    const bool apart = input.offset < 0;
    if (apart) {
      absl::StrAppend(&text, "static block ", input.name, "[BLOCKS(", input.macro, "_BYTES)];\n");
      absl::StrAppend(&arguments, ", ", input.name);
    }
    const DType stored = StoredAs(input.type.dtype);
    const char* const value = IsFloat(stored) ? "(float)(next_random() >> 8) / 8388608.0f - 1.0f"
                              : stored == DType::kBool ? "(uint8_t)(next_random() & 1u)"
                              : SizeOf(stored) > 1     ? "(int)(next_random() & 127u)"
                                                       : "(unsigned char)next_random()";
    const std::string element =
        SizeOf(stored) == 1 ? "unsigned char" : std::string(ElementType(stored));
    absl::StrAppend(&fill, "  {\n    ", element, "* const to = (", element, "*)(void*)",
                    apart ? input.name : absl::StrCat("(memory + ", input.macro, "_OFFSET)"),
                    ";\n    uint32_t i;\n    state = ", i + 1, ";\n    for (i = 0; i < ",
                    input.type.shape.num_elements(), "; ++i) to[i] = ", value, ";\n  }\n");
  }
  for (size_t i = 0; i < border.outputs.size(); ++i) {
    const CTensor& output = border.outputs[i];
    absl::StrAppend(&text, "static block ", output.name, "[BLOCKS(", output.macro, "_BYTES)];\n");
    absl::StrAppend(&arguments, ", ", output.name);
    std::vector<std::string> expected;
    for (const SelfTest::Run& run : test.runs)
      expected.push_back(absl::StrCat(run.outputs[i], "ul"));
    absl::StrAppend(&checks, "    {\n      static const unsigned long expected[RUNS] = {",
                    absl::StrJoin(expected, ", "), "};\n      check(\"", output.name, "\", crc32(",
                    output.name, ", ", output.macro, "_BYTES), expected[run]);\n    }\n");
  }
  const std::string others = arguments.substr(std::string("memory").size());
  absl::StrAppend(
      &text,
      absl::StrReplaceAll(own(kTestHelpers),
                          {{"TRACES", traces}, {"COUNT", absl::StrCat(test.runs.size())}}),
      border.states.empty() ? "" : own(kStateMemory),
      "\nstatic void fill_inputs(unsigned char* memory) {\n  (void)memory;\n", fill,
      own("}\n\nint main(void) {\n  unsigned char* const memory =\n"
          "      arena[0].bytes + (MACRO_ARENA_ALIGNMENT - (uintptr_t)arena) % (2 * "
          "MACRO_ARENA_ALIGNMENT);\n"
          "  for (run = 0; run < RUNS; ++run) {\n    fill_inputs(memory);\n"),
      reset, own("    check(\"NAME_run\", (unsigned long)NAME_run("), arguments,
      own("), MACRO_OK);\n"), checks,
      own("  }\n  check(\"misaligned\", (unsigned long)NAME_run(memory + 1"), others,
      own("), MACRO_MISALIGNED);\n  check(\"null\", (unsigned long)NAME_run(NULL"), others,
      own("), MACRO_NULL);\n"
          "  printf(\"NAME: %s\\n\", failures == 0 ? \"ok\" : \"FAILED\");\n"
          "  return failures == 0 ? 0 : 1;\n}\n"));
  return text;
}

}  // namespace ashlar
