#include "codegen/c_program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "codegen/c_border.h"
#include "codegen/c_text.h"
#include "codegen/kernel_sources.h"
#include "graph/status.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/mcu_device.h"

namespace ashlar {
namespace {

// Arrays of constants; equal arrays are written once.
class Arrays {
 public:
  explicit Arrays(std::string program) : program_(std::move(program)) {}

  // Returns the name of an array with these elements.
  std::string Add(DType dtype, const void* data, int64_t bytes) {
    const auto* const from = static_cast<const char*>(data);
    std::string key = absl::StrCat(ElementType(dtype), " ");
    key.append(from, static_cast<size_t>(bytes));
    const auto [it, inserted] =
        names_.try_emplace(std::move(key), absl::StrCat(program_, "_c", names_.size()));
    if (!inserted) return it->second;
    bytes_ += bytes;
    const int64_t count = bytes / SizeOf(dtype);
    const std::string declaration =
        absl::StrCat("const ", ElementType(dtype), " ", it->second, "[", count, "]");
    absl::StrAppend(&declarations_, "extern ", declaration, ";\n");
    absl::StrAppend(&definitions_, "SECTION ", declaration, " = {\n", Elements(dtype, data, count),
                    "};\n");
    return it->second;
  }

  int64_t bytes() const { return bytes_; }
  const std::string& declarations() const { return declarations_; }
  const std::string& definitions() const { return definitions_; }

 private:
  const std::string program_;
  std::map<std::string, std::string> names_;
  int64_t bytes_ = 0;
  std::string declarations_, definitions_;
};

// An argument: an expression, perhaps with a number that differs between calls, which is an offset
// in bytes from `base`, or the index of an element of the array `base`.
struct Argument {
  std::string base;
  std::optional<int64_t> number;
  bool is_element = false;

  std::string Text(absl::string_view written) const {
    if (is_element) return absl::StrCat("&", base, "[", written, "]");
    return written.empty() ? base : absl::StrCat(base, " + ", written);
  }
  friend bool operator==(const Argument&, const Argument&) = default;
};

// A line of the program: a call, or a report of a tensor.
struct Line {
  std::string node;  // named before its first line; otherwise empty
  std::string before, after;
  std::vector<Argument> arguments;  // between these
  bool is_trace = false;
  size_t form = 0;  // of calls: the number of its text without numbers
};

// Compilers keep addresses that several calls share on the stack. Functions of few calls limit
// this.
constexpr int kCallsOfPart = 16;
// Repeated calls are written once if each repeats more often on average. Then a table has their
// order and offsets, which takes less memory than the code of calls.
constexpr size_t kRepeatsOfTable = 2;
constexpr int kStackBytes = 1024;

constexpr char kWrittenBy[] = "// Written by `ashlar compile`.\n";

class ProgramWriter {
 public:
  ProgramWriter(const Executable& executable, const SelfTest& test, const CProgramOptions& options)
      : executable_(executable),
        planned_(executable.planned()),
        graph_(planned_.graph),
        test_(test),
        options_(options),
        macro_(Upper(options.name)),
        border_(BorderOf(planned_, options.name)),
        arrays_(options.name) {}

  absl::StatusOr<CProgram> Write() {
    ASHLAR_RETURN_IF_ERROR(AddSteps());
    WriteCalls();
    CProgram program;
    const KernelSources kernels = JoinKernelSources(functions_);
    program.files = {
        {options_.name + ".h", Header()},
        {options_.name + ".c", Source()},
        {options_.name + "_weights.c", Weights()},
        {"ashlar_kernels.h", KernelsHeader(kernels)},
        {"ashlar_kernels.c",
         absl::StrCat(kWrittenBy, "#include \"ashlar_kernels.h\"\n\n", kernels.source)},
        {options_.name + "_test.c", Test()}};
    program.sizes = sizes_;
    program.sizes.arena = planned_.plan.plan.arena;
    program.sizes.inputs = planned_.input_bytes();
    program.sizes.outputs = planned_.output_bytes();
    program.sizes.weights = arrays_.bytes() - sizes_.tables;
    program.sizes.kernels.assign(functions_.begin(), functions_.end());
    return program;
  }

 private:
  // ---- Steps ----

  absl::Status AddSteps() {
    size_t trace = 0;
    for (size_t step = 0; step < planned_.schedule.order.size(); ++step) {
      const int index = planned_.schedule.order[step];
      const auto* const kernel =
          dynamic_cast<const mcu::CodeKernel*>(planned_.kernels[static_cast<size_t>(index)].get());
      if (kernel == nullptr) continue;
      const OperatorNode& node = graph_.node(index);
      std::vector<std::string> tables;
      for (const mcu::CodeTable& table : kernel->tables()) {
        const int64_t before = arrays_.bytes();
        tables.push_back(
            arrays_.Add(table.dtype, table.bytes.data(), static_cast<int64_t>(table.bytes.size())));
        sizes_.tables += arrays_.bytes() - before;
      }
      const size_t first = lines_.size();
      for (const mcu::CodeCall& call : kernel->calls()) {
        ASHLAR_ASSIGN_OR_RETURN(std::optional<Line> line, LineOf(index, call, tables));
        if (!line) continue;
        lines_.push_back(*std::move(line));
        ++sizes_.steps;
      }
      if (lines_.size() > first) lines_[first].node = CommentText(node.name);
      for (; trace < test_.traces.size() && test_.traces[trace].step == static_cast<int>(step);
           ++trace) {
        const int output = test_.traces[trace].output;
        Line line;
        ASHLAR_ASSIGN_OR_RETURN(line.arguments.emplace_back(),
                                AddressOf(planned_.LocateOutput(index, output)));
        line.before = absl::StrCat("TRACE(", trace, ", ");
        line.after = absl::StrCat(
            ", ", graph_.var(node.outputs[static_cast<size_t>(output)]).type.bytes(), ");");
        line.is_trace = true;
        lines_.push_back(std::move(line));
      }
    }
    return absl::OkStatus();
  }

  // Returns the call; nothing if it would copy data to the same place, or if nothing reads its
  // output.
  absl::StatusOr<std::optional<Line>> LineOf(int index, const mcu::CodeCall& call,
                                             const std::vector<std::string>& tables) {
    std::vector<Argument> pointers;
    for (const mcu::CodeOperand& operand : call.operands) {
      if (operand.kind == mcu::CodeOperand::Kind::kTable) {
        pointers.push_back({tables[static_cast<size_t>(operand.index)], std::nullopt});
        continue;
      }
      if (operand.kind == mcu::CodeOperand::Kind::kNull) {
        pointers.push_back({"NULL", std::nullopt});
        continue;
      }
      const bool is_input = operand.kind == mcu::CodeOperand::Kind::kInput;
      std::optional<Location> location =
          is_input ? planned_.LocateInput(index, operand.index) : OutputOf(index, operand.index);
      if (!location.has_value()) return std::optional<Line>();
      location->offset += operand.offset;
      ASHLAR_ASSIGN_OR_RETURN(
          pointers.emplace_back(),
          AddressOf(location, is_input ? planned_.weights.by_input[static_cast<size_t>(
                                             index)][static_cast<size_t>(operand.index)]
                                       : -1));
    }
    if (call.is_copy && pointers.front() == pointers.back()) return std::optional<Line>();
    functions_.insert(call.name);
    Line line{"", absl::StrCat("ashlar_", call.name, "("), ");", {ShapeOf(call)}};
    line.arguments.insert(line.arguments.end(), pointers.begin(), pointers.end());
    return line;
  }

  // Returns the location of a node's output. For a Role::kOutput node this is the caller's tensor.
  std::optional<Location> OutputOf(int index, int output) const {
    if (graph_.node(index).op->role() != Role::kOutput) return planned_.LocateOutput(index, output);
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (graph_.outputs()[i].node == index) return Location{Pool::kOutput, static_cast<int>(i)};
    }
    return std::nullopt;
  }

  // `entry`: the index among the weights, if the location is there.
  absl::StatusOr<Argument> AddressOf(const std::optional<Location>& location, int entry = -1) {
    switch (location->pool) {
      case Pool::kArena:
        return Argument{"memory", location->offset};
      case Pool::kInput:
        return Argument{border_.inputs[static_cast<size_t>(location->binding)].name + "_bytes",
                        location->offset};
      case Pool::kOutput:
        return Argument{border_.outputs[static_cast<size_t>(location->binding)].name + "_bytes",
                        location->offset};
      case Pool::kWeights:
        return Argument{WeightAddress(entry, location->offset), std::nullopt};
      case Pool::kState:
        break;
    }
    return absl::UnimplementedError(
        "the model keeps a state from run to run: no C is written of it");
  }

  std::string WeightAddress(int entry, int64_t offset_in_pool) {
    const WeightEntry& weight = planned_.weights.entries[static_cast<size_t>(entry)];
    const auto* const pool = static_cast<const char*>(executable_.weights());
    const std::string name =
        arrays_.Add(graph_.var(weight.var).type.dtype, pool + weight.offset, weight.bytes);
    const int64_t offset = offset_in_pool - weight.offset;
    return offset == 0 ? name : absl::StrCat("(const unsigned char*)", name, " + ", offset);
  }

  // Returns the call's shape, an element of the array of all shapes of its type.
  Argument ShapeOf(const mcu::CodeCall& call) {
    std::map<std::string, int64_t>& shapes = shapes_[call.shape_type];
    const auto [it, inserted] = shapes.try_emplace(call.shape, static_cast<int64_t>(shapes.size()));
    if (inserted) sizes_.shapes += call.shape_bytes;
    return {ShapesName(call.shape_type), it->second, true};
  }
  static std::string ShapesName(absl::string_view type) {
    return absl::StrCat(absl::StripPrefix(type, "ashlar_"), "s");
  }
  std::string Shapes() const {
    std::string text;
    for (const auto& [type, shapes] : shapes_) {
      std::vector<std::string> elements(shapes.size());
      for (const auto& [element, number] : shapes) elements[static_cast<size_t>(number)] = element;
      absl::StrAppend(&text, "static const ", type, " ", ShapesName(type), "[] = {\n    ",
                      absl::StrJoin(elements, ",\n    "), "};\n");
    }
    return text;
  }

  // Returns the text of a line; `write` writes the `index`-th of its numbers.
  static std::string TextOf(
      const Line& line,
      absl::FunctionRef<std::string(const Argument& argument, size_t index)> write) {
    size_t index = 0;
    std::vector<std::string> arguments;
    for (const Argument& argument : line.arguments) {
      arguments.push_back(argument.Text(argument.number ? write(argument, index++) : ""));
    }
    return absl::StrCat(line.before, absl::StrJoin(arguments, ", "), line.after);
  }
  // Returns the text with its numbers.
  static std::string TextOf(const Line& line) {
    return TextOf(line, [](const Argument& argument, size_t) {
      return *argument.number == 0 && !argument.is_element ? "" : absl::StrCat(*argument.number);
    });
  }

  // Writes the calls one by one, or as a table if most are repeated with other numbers.
  void WriteCalls() {
    int64_t unit = 0;  // the greatest common divisor of offsets
    for (const Line& line : lines_) {
      for (const Argument& argument : line.arguments) {
        if (!line.is_trace && !argument.is_element) {
          unit = std::gcd(unit, argument.number.value_or(0));
        }
      }
    }
    unit = std::max<int64_t>(unit, 1);
    const std::string times = unit > 1 ? absl::StrCat(" * ", unit, "u") : "";
    std::map<std::string, size_t> forms;  // texts without numbers, numbered
    for (Line& line : lines_) {
      if (line.is_trace) continue;
      const std::string form = TextOf(line, [&](const Argument& argument, size_t index) {
        return absl::StrCat("at[", index + 1, "]", argument.is_element ? "" : times);
      });
      line.form = forms.try_emplace(form, forms.size()).first->second;
    }
    if (static_cast<size_t>(sizes_.steps) > kRepeatsOfTable * forms.size()) {
      WriteTable(forms, unit);
    } else {
      WriteEachCall();
    }
  }

  void WriteEachCall() {
    int calls = 0;
    for (const Line& line : lines_) {
      if (parts_.empty() || (calls == kCallsOfPart && !line.is_trace)) {
        parts_.emplace_back();
        calls = 0;
      }
      calls += line.is_trace ? 0 : 1;
      if (!line.node.empty()) absl::StrAppend(&parts_.back(), "  // ", line.node, "\n");
      absl::StrAppend(&parts_.back(), "  ", TextOf(line), "\n");
    }
  }

  // Writes each form once, as a case, and a table of the calls: case and numbers.
  void WriteTable(const std::map<std::string, size_t>& forms, int64_t unit) {
    const auto case_of = [](size_t number, absl::string_view text, size_t elements) {
      return absl::StrCat("      case ", number, ":\n        ", text, "\n        at += ", elements,
                          ";\n        break;\n");
    };
    std::vector<size_t> lengths(forms.size());
    std::string traces, rows;
    size_t most = 0, elements = 0, number = forms.size();
    for (const Line& line : lines_) {
      if (!line.node.empty()) absl::StrAppend(&rows, "    // ", line.node, "\n");
      if (line.is_trace) {
        absl::StrAppend(&rows, "    TRACED(", number, ")\n");
        absl::StrAppend(&traces, case_of(number++, TextOf(line), 1));
        continue;
      }
      std::vector<size_t> row = {line.form};
      for (const Argument& argument : line.arguments) {
        if (!argument.number) continue;
        row.push_back(static_cast<size_t>(*argument.number / (argument.is_element ? 1 : unit)));
      }
      most = std::max(most, *std::max_element(row.begin(), row.end()));
      elements += row.size();
      lengths[line.form] = row.size();
      absl::StrAppend(&rows, "    ", absl::StrJoin(row, ", "), ",\n");
    }
    std::vector<std::string> cases(forms.size());
    for (const auto& [text, form] : forms) cases[form] = case_of(form, text, lengths[form]);
    const bool is_short = std::max(most, number) <= UINT16_MAX;
    const char* const type = is_short ? "uint16_t" : "uint32_t";
    sizes_.order = static_cast<int64_t>(elements) * (is_short ? 2 : 4);
    order_ = absl::StrCat(
        "#ifdef ASHLAR_TRACE\n#define TRACED(number) number,\n#else\n#define TRACED(number)\n"
        "#endif\n\n",
        "// The calls in their order: the number of a case below, the index of a shape, and "
        "offsets\n"
        "// in units of ",
        unit, ".\nstatic const ", type, " order[] = {\n", rows, "};\n\n");
    parts_ = {absl::StrCat("  const ", type, "* at = order;\n",
                           "  while (at != order + sizeof(order) / sizeof(order[0])) {\n",
                           "    switch (at[0]) {\n", absl::StrJoin(cases, ""),
                           "#ifdef ASHLAR_TRACE\n", traces, "#endif\n    }\n  }\n")};
  }

  // ---- Files ----

  std::string Parameters() const {
    std::vector<std::string> parameters = {"void* arena"};
    for (const CTensor& input : border_.inputs) {
      if (input.offset < 0) parameters.push_back("const void* " + input.name);
    }
    for (const CTensor& output : border_.outputs) parameters.push_back("void* " + output.name);
    return absl::StrJoin(parameters, ", ");
  }

  std::string TensorMacros(const CTensor& tensor) const {
    std::string text = absl::StrCat("// ", CommentText(tensor.model_name), ": ",
                                    std::string(Name(StoredAs(tensor.type.dtype))),
                                    tensor.type.shape.ToString(), ", row-major.\n");
    const auto define = [&](const char* name, const std::string& value) {
      absl::StrAppend(&text, "#define ", tensor.macro, "_", name, " ", value, "\n");
    };
    define("BYTES", absl::StrCat(tensor.type.bytes()));
    define("ALIGNMENT", absl::StrCat(SizeOf(tensor.type.dtype)));
    define("TYPE", std::string(ElementType(tensor.type.dtype)));
    if (!tensor.quantization.empty()) {
      define("SCALE", mcu::FloatText(tensor.quantization.scale()));
      define("ZERO_POINT", absl::StrCat("(", tensor.quantization.zero_point(), ")"));
    }
    if (tensor.offset >= 0) {
      absl::StrAppend(&text,
                      "// The place in the arena at which the caller writes it before every run, "
                      "which leaves\n",
                      "// nothing of it.\n");
      define("OFFSET", absl::StrCat(tensor.offset));
    }
    return text;
  }

  std::string Header() const {
    std::string text =
        absl::StrCat("// ", CommentText(options_.title), " as C99.\n", kWrittenBy, "#ifndef ",
                     macro_, "_H_\n#define ", macro_, "_H_\n\n#include <stdint.h>\n\n",
                     "// The memory of a run, whose contents before and after it mean nothing. It "
                     "has to stay until\n"
                     "// the run returns. Runs in different arenas may be under way at once.\n");
    absl::StrAppend(
        &text, "#define ", macro_, "_ARENA_BYTES ", planned_.plan.plan.arena, "\n", "#define ",
        macro_, "_ARENA_ALIGNMENT ", planned_.arena_alignment(), "\n\n",
        "// More than a run takes of the stack, as GCC 12 compiles it for Cortex-M and RISC-V.\n",
        "#define ", macro_, "_STACK_BYTES ", kStackBytes, "\n\n");
    for (const CTensor& input : border_.inputs) absl::StrAppend(&text, TensorMacros(input), "\n");
    for (const CTensor& output : border_.outputs)
      absl::StrAppend(&text, TensorMacros(output), "\n");
    absl::StrAppend(
        &text, "// The results of a run.\n", "#define ", macro_, "_OK 0\n", "#define ", macro_,
        "_NULL 1        // a pointer is null\n", "#define ", macro_,
        "_MISALIGNED 2  // arena or tensor lies at no multiple of its alignment\n\n",
        "// Fails to compile if an array is too small for the arena: ", macro_,
        "_REQUIRE_ARENA(memory);\n#define ", macro_, "_REQUIRE_ARENA(array) \\\n  typedef char ",
        options_.name, "_arena_is_large_enough[sizeof(array) >= ", macro_,
        "_ARENA_BYTES ? 1 : -1]\n\n", "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        "// Computes the outputs. Tensors must not overlap each other or the arena.\nint ",
        options_.name, "_run(", Parameters(), ");\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif  // ",
        macro_, "_H_\n");
    return text;
  }

  std::string Source() const {
    std::string text = absl::StrCat(kWrittenBy, "#include \"", options_.name,
                                    ".h\"\n\n#include \"ashlar_kernels.h\"\n\n");
    absl::StrAppend(
        &text,
        "// With -DASHLAR_TRACE a function of the caller's hears of every tensor that is made.\n"
        "#ifdef ASHLAR_TRACE\nvoid ",
        options_.name, "_trace(int number, const void* data, uint32_t bytes);\n", "#define TRACE ",
        options_.name, "_trace\n#else\n#define TRACE(number, data, bytes) ((void)0)\n#endif\n\n");
    absl::StrAppend(&text, arrays_.declarations(), "\n", Shapes(), "\n", order_);
    std::vector<std::string> parameters = {"unsigned char* memory"}, arguments = {"memory"};
    std::vector<std::string> nulls = {"arena == NULL"};
    std::vector<std::string> misaligned = {
        absl::StrCat("(uintptr_t)arena % ", macro_, "_ARENA_ALIGNMENT != 0")};
    std::string unused = "  (void)memory;\n";
    const auto add = [&](const CTensor& tensor, const char* constness) {
      if (tensor.offset >= 0) return;
      parameters.push_back(absl::StrCat(constness, "unsigned char* ", tensor.name, "_bytes"));
      arguments.push_back(absl::StrCat("(", constness, "unsigned char*)", tensor.name));
      absl::StrAppend(&unused, "  (void)", tensor.name, "_bytes;\n");
      nulls.push_back(tensor.name + " == NULL");
      if (SizeOf(tensor.type.dtype) > 1) {
        misaligned.push_back(
            absl::StrCat("(uintptr_t)", tensor.name, " % ", tensor.macro, "_ALIGNMENT != 0"));
      }
    };
    for (const CTensor& input : border_.inputs) add(input, "const ");
    for (const CTensor& output : border_.outputs) add(output, "");
    std::string calls;
    for (size_t i = 0; i < parts_.size(); ++i) {
      absl::StrAppend(&text, "ASHLAR_APART static void part_", i, "(",
                      absl::StrJoin(parameters, ", "), ") {\n", unused, parts_[i], "}\n\n");
      absl::StrAppend(&calls, "  part_", i, "(", absl::StrJoin(arguments, ", "), ");\n");
    }
    absl::StrAppend(&text, "int ", options_.name, "_run(", Parameters(), ") {\n",
                    "  unsigned char* const memory = (unsigned char*)arena;\n", "  if (",
                    absl::StrJoin(nulls, " || "), ") return ", macro_, "_NULL;\n", "  if (",
                    absl::StrJoin(misaligned, " ||\n      "), ") {\n    return ", macro_,
                    "_MISALIGNED;\n  }\n", calls, "  return ", macro_, "_OK;\n}\n");
    return text;
  }

  std::string Weights() const {
    return absl::StrCat(
        kWrittenBy, "#include <stdint.h>\n\n", "// -D", macro_,
        "_SECTION='\".flash\"' puts the constants into a section of that name.\n#ifdef ", macro_,
        "_SECTION\n#define SECTION __attribute__((section(", macro_,
        "_SECTION)))\n#else\n#define SECTION\n#endif\n\n", arrays_.declarations(), "\n",
        arrays_.definitions(), arrays_.bytes() == 0 ? "extern const int no_constants;\n" : "");
  }

  static std::string KernelsHeader(const KernelSources& kernels) {
    return absl::StrCat("// The functions of a program, and no others.\n", kWrittenBy,
                        "#ifndef ASHLAR_KERNELS_H_\n#define ASHLAR_KERNELS_H_\n\n", kernels.header,
                        "#endif  // ASHLAR_KERNELS_H_\n");
  }

  std::string Test() const;

  const Executable& executable_;
  const PlannedGraph& planned_;
  const Graph& graph_;
  const SelfTest& test_;
  const CProgramOptions& options_;
  const std::string macro_;
  const CBorder border_;
  Arrays arrays_;
  std::map<std::string, std::map<std::string, int64_t>> shapes_;  // by type: initialiser -> index
  std::vector<Line> lines_;
  std::string order_;               // the table of calls, if there is one
  std::vector<std::string> parts_;  // bodies of functions, called one after the other
  std::set<std::string> functions_;
  CProgramSizes sizes_;
};

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

// With room to begin at a multiple of a larger alignment.
static block arena[BLOCKS(MACRO_ARENA_BYTES + MACRO_ARENA_ALIGNMENT - sizeof(block))];
MACRO_REQUIRE_ARENA(arena);
)c";

constexpr char kTestHelpers[] = R"c(
static int failures = 0;

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
  check(steps[number].name, crc32(data, bytes), steps[number].crc);
}
#endif
)c";

std::string ProgramWriter::Test() const {
  const auto own = [&](absl::string_view part) {
    return absl::StrReplaceAll(part, {{"NAME", options_.name}, {"MACRO", macro_}});
  };
  std::string traces;
  for (const SelfTest::Trace& trace : test_.traces) {
    const OperatorNode& node =
        graph_.node(planned_.schedule.order[static_cast<size_t>(trace.step)]);
    const std::string name =
        CommentText(graph_.var(node.outputs[static_cast<size_t>(trace.output)]).name);
    absl::StrAppend(&traces, "    {\"", absl::StrReplaceAll(name, {{"\"", "'"}}), "\", ", trace.crc,
                    "ul},\n");
  }
  if (traces.empty()) traces = "    {\"\", 0},\n";
  std::string text = absl::StrCat(
      kWrittenBy, "// A test of the program: exit code 0 if its results equal the desktop's.\n",
      own(kTestBegin));
  std::string fill, arguments = "memory", checks;
  for (size_t i = 0; i < border_.inputs.size(); ++i) {
    const CTensor& input = border_.inputs[i];
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
  for (size_t i = 0; i < border_.outputs.size(); ++i) {
    const CTensor& output = border_.outputs[i];
    absl::StrAppend(&text, "static block ", output.name, "[BLOCKS(", output.macro, "_BYTES)];\n");
    absl::StrAppend(&arguments, ", ", output.name);
    absl::StrAppend(&checks, "  check(\"", output.name, "\", crc32(", output.name, ", ",
                    output.macro, "_BYTES), ", test_.outputs[i], "ul);\n");
  }
  const std::string others = arguments.substr(std::string("memory").size());
  absl::StrAppend(&text, absl::StrReplaceAll(own(kTestHelpers), {{"TRACES", traces}}),
                  "\nstatic void fill_inputs(unsigned char* memory) {\n  (void)memory;\n", fill,
                  own("}\n\nint main(void) {\n  unsigned char* const memory =\n"
                      "      arena[0].bytes + (0u - (uintptr_t)arena) % MACRO_ARENA_ALIGNMENT;\n"
                      "  fill_inputs(memory);\n"
                      "  check(\"NAME_run\", (unsigned long)NAME_run("),
                  arguments, own("), MACRO_OK);\n"), checks,
                  own("  check(\"misaligned\", (unsigned long)NAME_run(memory + 1"), others,
                  own("), MACRO_MISALIGNED);\n  check(\"null\", (unsigned long)NAME_run(NULL"),
                  others,
                  own("), MACRO_NULL);\n"
                      "  printf(\"NAME: %s\\n\", failures == 0 ? \"ok\" : \"FAILED\");\n"
                      "  return failures == 0 ? 0 : 1;\n}\n"));
  return text;
}

}  // namespace

absl::StatusOr<CProgram> WriteCProgram(const Executable& executable, const SelfTest& test,
                                       const CProgramOptions& options) {
  return ProgramWriter(executable, test, options).Write();
}

}  // namespace ashlar
