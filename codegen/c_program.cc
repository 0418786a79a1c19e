#include "codegen/c_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "codegen/c_border.h"
#include "codegen/c_calls.h"
#include "codegen/c_self_test.h"
#include "codegen/c_states.h"
#include "codegen/c_text.h"
#include "codegen/executed_calls.h"
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
    absl::StrAppend(&definitions_, "SECTION ALIGNED ", declaration, " = {\n",
                    Elements(dtype, data, count), "};\n");
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

constexpr int kStackBytes = 1024;

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
    ASHLAR_RETURN_IF_ERROR(AddStates());
    calls_ = WriteCalls(lines_);
    sizes_.order = calls_.order_bytes;
    CProgram program;
    const KernelSources kernels = JoinKernelSources(functions_);
    program.files = {
        {options_.name + ".h", Header()},
        {options_.name + ".c", Source()},
        {options_.name + "_weights.c", Weights()},
        {"ashlar_kernels.h", KernelsHeader(kernels)},
        {"ashlar_kernels.c",
         absl::StrCat(kWrittenBy, "#include \"ashlar_kernels.h\"\n\n", kernels.source)},
        {options_.name + "_test.c", SelfTestProgram(planned_, border_, test_, options_.name)}};
    program.sizes = sizes_;
    program.sizes.arena = planned_.plan.plan.arena;
    program.sizes.states = planned_.state.bytes;
    program.sizes.inputs = planned_.input_bytes();
    program.sizes.outputs = planned_.output_bytes();
    program.sizes.weights = arrays_.bytes() - sizes_.tables;
    program.sizes.kernels.assign(functions_.begin(), functions_.end());
    return program;
  }

 private:
  // ---- Steps ----

  absl::Status AddSteps() {
    const std::vector<SelfTest::Trace>& traces =
        test_.runs[0].traces;  // of the same vars as others
    size_t trace = 0;
    for (size_t step = 0; step < planned_.schedule.order.size(); ++step) {
      const int index = planned_.schedule.order[step];
      const mcu::CodeKernel* const kernel = CodeKernelOf(planned_, index);
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
        if (!IsExecuted(planned_, index, call)) continue;
        ASHLAR_ASSIGN_OR_RETURN(lines_.emplace_back(), LineOf(index, call, tables));
        ++sizes_.steps;
      }
      if (lines_.size() > first) lines_[first].node = CommentText(node.name);
      for (; trace < traces.size() && traces[trace].step == static_cast<int>(step); ++trace) {
        const int output = traces[trace].output;
        CLine line;
        line.arguments.push_back(AddressOf(planned_.LocateOutput(index, output)));
        line.before = absl::StrCat("TRACE(", trace, ", ");
        line.after = absl::StrCat(
            ", ", graph_.var(node.outputs[static_cast<size_t>(output)]).type.bytes(), ");");
        line.is_trace = true;
        lines_.push_back(std::move(line));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<CLine> LineOf(int index, const mcu::CodeCall& call,
                               const std::vector<std::string>& tables) {
    std::vector<CArgument> pointers;
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
      std::optional<Location> location = is_input ? planned_.LocateInput(index, operand.index)
                                                  : OutputOf(planned_, index, operand.index);
      location->offset += operand.offset;
      const auto node = static_cast<size_t>(index), at = static_cast<size_t>(operand.index);
      pointers.push_back(AddressOf(location, is_input ? planned_.weights.by_input[node][at] : -1));
    }
    functions_.insert(call.name);
    CLine line{"", absl::StrCat("ashlar_", call.name, "("), ");", {ShapeOf(call)}};
    line.arguments.insert(line.arguments.end(), pointers.begin(), pointers.end());
    return line;
  }

  // `entry`: the index among the weights, if the location is there.
  CArgument AddressOf(const std::optional<Location>& location, int entry = -1) {
    switch (location->pool) {
      case Pool::kArena:
        return CArgument{"memory", location->offset};
      case Pool::kInput:
        return CArgument{border_.inputs[static_cast<size_t>(location->binding)].name + "_bytes",
                         location->offset};
      case Pool::kOutput:
        return CArgument{border_.outputs[static_cast<size_t>(location->binding)].name + "_bytes",
                         location->offset};
      case Pool::kState:
        return CArgument{
            "states",
            location->offset + border_.states[static_cast<size_t>(location->binding)].offset};
      case Pool::kWeights:
        break;
    }
    return CArgument{WeightAddress(entry, location->offset), std::nullopt};
  }

  absl::Status AddStates() {
    states_ = {options_.name, macro_, planned_.state.bytes, planned_.arena_alignment(), {}};
    for (const StateEntry& entry : planned_.state.entries) {
      const OperatorNode& node = graph_.node(graph_.var(entry.var).producer);
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> first, node.op->Evaluate({}));
      const auto* const bytes = static_cast<const char*>(first[0].raw());
      if (std::all_of(bytes, bytes + first[0].bytes(), [](char byte) { return byte == 0; })) {
        continue;
      }
      const std::string array = arrays_.Add(first[0].dtype(), bytes, first[0].bytes());
      states_.first_values.push_back({array, entry.offset, first[0].bytes()});
    }
    return absl::OkStatus();
  }
  bool has_states() const { return states_.bytes > 0; }

  std::string WeightAddress(int entry, int64_t offset_in_pool) {
    const WeightEntry& weight = planned_.weights.entries[static_cast<size_t>(entry)];
    const auto* const pool = static_cast<const char*>(executable_.weights());
    const std::string name =
        arrays_.Add(graph_.var(weight.var).type.dtype, pool + weight.offset, weight.bytes);
    const int64_t offset = offset_in_pool - weight.offset;
    return offset == 0 ? name : absl::StrCat("(const unsigned char*)", name, " + ", offset);
  }

  // Returns the call's shape, an element of the array of all shapes of its type.
  CArgument ShapeOf(const mcu::CodeCall& call) {
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

  // ---- Files ----

  std::string Parameters() const {
    std::vector<std::string> parameters = {"void* arena"};
    if (has_states()) parameters.push_back("void* states");
    for (const CTensor& input : border_.inputs) {
      if (input.offset < 0) parameters.push_back("const void* " + input.name);
    }
    for (const CTensor& output : border_.outputs) parameters.push_back("void* " + output.name);
    return absl::StrJoin(parameters, ", ");
  }

  static std::string TensorMacros(const CTensor& tensor, absl::string_view place) {
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
      absl::StrAppend(&text, place);
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
    if (has_states()) absl::StrAppend(&text, StateMacros(states_));
    for (const CTensor& state : border_.states) {
      absl::StrAppend(&text, TensorMacros(state, "// The place in the memory of the states.\n"),
                      "\n");
    }
    for (const CTensor& input : border_.inputs) {
      absl::StrAppend(&text,
                      TensorMacros(input,
                                   "// The place in the arena at which the caller writes it before "
                                   "every run, which leaves\n// nothing of it.\n"),
                      "\n");
    }
    for (const CTensor& output : border_.outputs) {
      absl::StrAppend(&text, TensorMacros(output, ""), "\n");
    }
    absl::StrAppend(
        &text, "// The results of a run.\n", "#define ", macro_, "_OK 0\n", "#define ", macro_,
        "_NULL 1        // a pointer is null\n", "#define ", macro_,
        "_MISALIGNED 2  // arena or tensor lies at no multiple of its alignment\n\n",
        "// Fails to compile if an array is too small for the arena: ", macro_,
        "_REQUIRE_ARENA(memory);\n#define ", macro_, "_REQUIRE_ARENA(array) \\\n  typedef char ",
        options_.name, "_arena_is_large_enough[sizeof(array) >= ", macro_,
        "_ARENA_BYTES ? 1 : -1]\n\n", "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        has_states() ? ResetDeclaration(states_) : "",
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
    absl::StrAppend(&text, arrays_.declarations(), "\n", Shapes(), "\n", calls_.order);
    std::vector<std::string> parameters = {"unsigned char* memory"}, arguments = {"memory"};
    std::vector<std::string> nulls = {"arena == NULL"};
    std::vector<std::string> misaligned = {
        absl::StrCat("(uintptr_t)arena % ", macro_, "_ARENA_ALIGNMENT != 0")};
    std::string unused = "  (void)memory;\n";
    if (has_states()) {
      absl::StrAppend(&text, ResetFunction(states_));
      parameters.push_back("unsigned char* states");
      arguments.push_back("(unsigned char*)states");
      absl::StrAppend(&unused, "  (void)states;\n");
      nulls.push_back("states == NULL");
      misaligned.push_back(absl::StrCat("(uintptr_t)states % ", macro_, "_STATE_ALIGNMENT != 0"));
    }
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
    for (size_t i = 0; i < calls_.parts.size(); ++i) {
      absl::StrAppend(&text, "ASHLAR_APART static void part_", i, "(",
                      absl::StrJoin(parameters, ", "), ") {\n", unused, calls_.parts[i], "}\n\n");
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
        "_SECTION)))\n#else\n#define SECTION\n#endif\n",
        "// Some processors read words of them.\n#ifdef __GNUC__\n#define ALIGNED "
        "__attribute__((aligned(4)))\n#else\n#define ALIGNED\n#endif\n\n",
        arrays_.declarations(), "\n", arrays_.definitions(),
        arrays_.bytes() == 0 ? "extern const int no_constants;\n" : "");
  }

  static std::string KernelsHeader(const KernelSources& kernels) {
    return absl::StrCat("// The functions of a program, and no others.\n", kWrittenBy,
                        "#ifndef ASHLAR_KERNELS_H_\n#define ASHLAR_KERNELS_H_\n\n", kernels.header,
                        "#endif  // ASHLAR_KERNELS_H_\n");
  }

  const Executable& executable_;
  const PlannedGraph& planned_;
  const Graph& graph_;
  const SelfTest& test_;
  const CProgramOptions& options_;
  const std::string macro_;
  const CBorder border_;
  Arrays arrays_;
  std::map<std::string, std::map<std::string, int64_t>> shapes_;  // by type: initialiser -> index
  std::vector<CLine> lines_;
  CCalls calls_;
  std::set<std::string> functions_;
  CStateMemory states_;
  CProgramSizes sizes_;
};

}  // namespace

absl::StatusOr<CProgram> WriteCProgram(const Executable& executable, const SelfTest& test,
                                       const CProgramOptions& options) {
  return ProgramWriter(executable, test, options).Write();
}

}  // namespace ashlar
