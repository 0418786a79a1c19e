#include "tools/report/fit_ways.h"

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "library/execution.h"
#include "quantization/quantize_model.h"
#include "runtime/plan/plan_graph.h"
#include "tools/bound_session.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/plan_values.h"
#include "tools/repeat_options.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

struct TypeRow {
  NumberType type;
  const char* name;
  DType precision;
  int loss;  // rank: types of equal rank are chosen between by time
};
constexpr TypeRow kTypes[] = {
    {NumberType::kAsTheyAre, "as it is", DType::kFloat32, 0},
    {NumberType::kFloat16, "fp16", DType::kFloat16, 1},
    {NumberType::kBFloat16, "bf16", DType::kBFloat16, 1},
    {NumberType::kEightBits, "8 bits", DType::kFloat32, 2},
};
const TypeRow& RowOf(NumberType type) { return kTypes[static_cast<size_t>(type)]; }

int Levers(const FitWay& way) {
  return int{way.donated_input} + int{way.small_weights} + int{way.tiled} + int{way.streamed};
}

class FitSearch {
 public:
  FitSearch(const Model& model, const FitLimits& limits, const PlanTarget& target,
            const FitDisk& disk, Console& console)
      : model_(model), limits_(limits), target_(target), disk_(disk), console_(console) {}

  absl::StatusOr<std::vector<FitWay>> Find() {
    for (const TypeRow& row : kTypes) {
      ASHLAR_RETURN_IF_ERROR(PlanUntiled(row));
      // Files hold packed weights in the model's own types.
      if (!limits_.flash && row.precision == DType::kFloat32 && !Fits(row.type)) PlanStreamed(row);
    }
    int fitting_loss = 3;  // the least rank of a type that fits
    for (const TypeRow& row : kTypes) {
      if (row.loss < fitting_loss && (Fits(row.type) || PlanTiled(row))) fitting_loss = row.loss;
    }
    MeasureLosses();
    std::stable_sort(ways_.begin(), ways_.end(),
                     [](const FitWay& a, const FitWay& b) { return a.type < b.type; });
    return std::move(ways_);
  }

 private:
  bool Fits(NumberType type) const {
    return std::any_of(ways_.begin(), ways_.end(),
                       [&](const FitWay& way) { return way.type == type && way.fits; });
  }

  // Plans the four ways of a type without tiles. A type that the model does not have is one refused
  // way; an error if the model cannot be planned as it is.
  absl::Status PlanUntiled(const TypeRow& row) {
    console_.Progress(absl::StrCat("planning ", row.name));
    absl::StatusOr<Graph> graph = GraphOf(row.type);
    for (const auto& [donated, small] :
         {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
      FitWay way{.type = row.type, .donated_input = donated, .small_weights = small};
      const absl::Status status = graph.ok() ? Plan(*graph, std::nullopt, way) : graph.status();
      if (!status.ok()) {
        if (row.loss == 0) return status;
        way = {.type = row.type, .refused = std::string(status.message())};
      }
      ways_.push_back(way);
      if (!status.ok()) break;
    }
    graphs_[static_cast<size_t>(row.type)] = std::move(graph);
    return absl::OkStatus();
  }

  // Plans a type with its weights in the bytes that its arena and tensors leave, or in the least
  // window if these are too few, which tells how much is missing. A model without weights has no
  // such way.
  void PlanStreamed(const TypeRow& row) {
    const absl::StatusOr<Graph>& graph = graphs_[static_cast<size_t>(row.type)];
    const auto whole = std::find_if(ways_.begin(), ways_.end(), [&](const FitWay& way) {
      return way.type == row.type && way.refused.empty();
    });
    if (!graph.ok() || whole == ways_.end() || whole->weights == 0) return;
    console_.Progress(absl::StrCat("planning a window for the weights of ", row.name));
    FitWay way{.type = row.type, .streamed = true};
    way.window_budget = std::max<int64_t>(limits_.ram - (whole->ram(limits_) - whole->weights), 1);
    absl::Status status = Plan(*graph, std::nullopt, way);
    if (const std::optional<int64_t> least = NeededBytes(status)) {
      way.window_budget = *least;
      status = Plan(*graph, std::nullopt, way);
    }
    if (status.ok()) ways_.push_back(way);
  }

  // Plans a type in tiles: first without other levers, then with all. Returns whether one fits.
  bool PlanTiled(const TypeRow& row) {
    const absl::StatusOr<Graph>& graph = graphs_[static_cast<size_t>(row.type)];
    if (!graph.ok()) return false;
    for (const bool all : {false, true}) {
      const auto same = [&](const FitWay& way) {
        return way.type == row.type && !way.tiled && way.donated_input == all &&
               way.small_weights == all && !way.streamed;
      };
      const auto untiled = std::find_if(ways_.begin(), ways_.end(), same);
      if (untiled == ways_.end() || !untiled->refused.empty()) continue;
      const int64_t arena =
          limits_.ram - untiled->inputs - untiled->outputs - (limits_.flash ? 0 : untiled->weights);
      const bool possible = arena > 0 && untiled->flash(limits_) <= limits_.flash.value_or(0);
      if (!possible) continue;  // tiles make neither weights nor the caller's tensors smaller
      console_.Progress(absl::StrCat("searching tiles for ", row.name));
      FitWay way{.type = row.type, .donated_input = all, .small_weights = all, .tiled = true};
      // The smallest arena tells how much is missing.
      const MemoryBudget budget{.bytes = arena, .find_smallest = all};
      if (!Plan(*graph, budget, way).ok()) continue;
      ways_.push_back(way);
      if (way.fits) return true;
    }
    return false;
  }

  absl::StatusOr<Graph> GraphOf(NumberType type) const {
    if (type != NumberType::kEightBits) return model_.graph;
    return EightBitTwin(model_.graph, target_);
  }

  absl::Status Plan(const Graph& graph, std::optional<MemoryBudget> budget, FitWay& way) const {
    PlanRequest request;
    request.target = target_;
    request.target.precision = RowOf(way.type).precision;
    request.target.release_input = way.donated_input;
    request.planning.kernels.low_workspace = way.small_weights;
    request.target.budget = budget;
    if (way.streamed) {
      request.target.weights_budget = way.window_budget;
      auto record = std::make_shared<KernelRecord>();  // kernels are chosen as for the other ways
      record->disk = disk_.speed;
      request.planning.record = std::move(record);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> planned, PlanGraph(graph, request));
    way.arena = planned->plan.plan.arena;
    way.inputs = planned->input_bytes();
    way.outputs = planned->output_bytes();
    way.weights = planned->weights.memory_bytes();
    way.predicted_ms = planned->predicted_ms;
    if (planned->weights.window) way.read = planned->weights.window->read_bytes;
    way.extra_flops_ratio = planned->extra_flops_ratio;
    way.tiles = planned->tiles.ToString();
    way.fits = way.ram(limits_) <= limits_.ram && (!limits_.flash || way.weights <= *limits_.flash);
    if (way.type == NumberType::kEightBits) {  // the numbers of its operators are another graph's
      if (way.donated_input) way.options.push_back("--release-input");
      if (way.small_weights) way.options.insert(way.options.end(), {"--prefer", "memory"});
      if (way.tiled) {
        way.options.insert(way.options.end(), {"--memory-budget", absl::StrCat(way.arena)});
      }
      if (way.streamed) {
        way.options.insert(way.options.end(),
                           {"--weights-budget", absl::StrCat(way.window_budget)});
      }
    } else {
      way.options = OptionsToRepeat(*planned);
    }
    return absl::OkStatus();
  }

  // Measures the loss of each 16-bit type that fits by one run. A model that cannot run here keeps
  // an unknown loss.
  void MeasureLosses() {
    std::optional<NamedTensors> whole;
    for (const NumberType type : {NumberType::kFloat16, NumberType::kBFloat16}) {
      const auto fits = [&](const FitWay& way) { return way.type == type && way.fits; };
      const auto first = std::find_if(ways_.begin(), ways_.end(), fits);
      if (first == ways_.end()) continue;
      console_.Progress(absl::StrCat("measuring the loss of ", RowOf(type).name));
      if (!whole) {
        absl::StatusOr<NamedTensors> outputs = Run(DType::kFloat32);
        if (!outputs.ok()) return;
        whole = *std::move(outputs);
      }
      const absl::StatusOr<NamedTensors> halves = Run(RowOf(type).precision);
      if (!halves.ok()) return;
      const auto compared = CompareOutputs(model_.graph, PlanRequest(), *halves, *whole);
      if (!compared.ok()) return;
      double loss = 0;
      for (const PlanValues::Output& output : *compared) {
        loss = std::max(loss, output.difference.max_rel);
      }
      for (FitWay& way : ways_) {
        if (way.type == type && way.refused.empty()) way.loss = loss;
      }
    }
  }

  absl::StatusOr<NamedTensors> Run(DType precision) const {
    ASHLAR_ASSIGN_OR_RETURN(InputTensors inputs,
                            MakeInputs(model_.graph, InputFlags(), /*seed=*/0, console_));
    PlanRequest request;
    request.target.comp_node = target_.comp_node;
    request.target.threads = target_.threads;
    request.target.precision = precision;
    request.planning.kernels.exact = precision == DType::kFloat32;
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<BoundSession> session,
                            BoundSession::Create(model_, request, std::move(inputs), console_));
    ASHLAR_RETURN_IF_ERROR(session->Run());
    return session->outputs();
  }

  const Model& model_;
  const FitLimits limits_;
  const PlanTarget target_;
  const FitDisk disk_;
  Console& console_;
  std::vector<FitWay> ways_;
  std::array<absl::StatusOr<Graph>, std::size(kTypes)> graphs_;  // by type, as planned
};

std::string LossText(const FitWay& way) {
  if (way.type == NumberType::kAsTheyAre) return "none";
  if (way.type == NumberType::kEightBits) return "as calibrated";
  return way.loss ? absl::StrFormat("%.2g", *way.loss) : "not measured";
}

}  // namespace

int64_t FitWay::ram(const FitLimits& limits) const {
  return arena + inputs + outputs + (limits.flash ? 0 : weights);
}

absl::StatusOr<std::vector<FitWay>> FindFitWays(const Model& model, const FitLimits& limits,
                                                const PlanTarget& target, const FitDisk& disk,
                                                Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<FitWay> ways,
                          FitSearch(model, limits, target, disk, console).Find());
  std::vector<std::string> execution;
  const auto add = [&](const char* option, const std::string& value, const std::string& usual) {
    if (value != usual) execution.insert(execution.end(), {option, value});
  };
  add("--device", target.comp_node.ToString(), CompNode().ToString());
  add("--threads", absl::StrCat(target.threads), absl::StrCat(DefaultThreads()));
  for (FitWay& way : ways) way.execution = execution;
  return ways;
}

int CheapestFit(const std::vector<FitWay>& ways) {
  const auto cost = [](const FitWay& way) {
    return std::tuple(!way.fits, RowOf(way.type).loss, way.predicted_ms, Levers(way));
  };
  const auto best = std::min_element(
      ways.begin(), ways.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  return best != ways.end() && best->fits ? static_cast<int>(best - ways.begin()) : -1;
}

std::string FitCommandText(const FitWay& way, const std::vector<std::string>& model) {
  using Words = std::vector<std::string>;
  const auto joined = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto command = [&](const Words& words) { return ShellText(joined(words, way.execution)); };
  const auto planning = [&](const Words& words) { return command(joined(words, way.options)); };
  const auto run = [&](const Words& from) {
    if (!way.streamed) return planning(joined({"ashlar", "run"}, from));
    return absl::StrCat(
        planning(joined(joined({"ashlar", "convert"}, from), {"-o", "streamed.ash", "--pack"})),
        " && ",
        command({"ashlar", "run", "streamed.ash", "--weights-budget",
                 absl::StrCat(way.window_budget)}));
  };
  if (way.type != NumberType::kEightBits) return run(model);
  return absl::StrCat(ShellText(joined({"ashlar", "quantize"}, model)),
                      " --calibrate DATA -o int8.ash && ", run({"int8.ash"}));
}

std::string FitDiskText(const std::vector<FitWay>& ways, const FitDisk& disk) {
  const bool streamed =
      std::any_of(ways.begin(), ways.end(), [](const FitWay& way) { return way.streamed; });
  if (!streamed) return "";
  return absl::StrFormat(
      "streamed weights are read at %.3g GB/s and %.3g ms a read, %s\n",
      disk.speed.bytes_per_ms / 1e6, disk.speed.read_ms,
      disk.measured ? "as `ashlar tune` measured" : "an assumption; `ashlar tune` measures it");
}

std::string FitTable(const std::vector<FitWay>& ways, const FitLimits& limits) {
  std::vector<std::string> heads = {"numbers", "levers", ">RAM", ">arena"};
  if (limits.flash) heads.push_back(">flash");
  heads.insert(heads.end(), {">expected", ">loss", "fits"});
  Table table(std::move(heads));
  for (const FitWay& way : ways) {
    const char* const numbers = RowOf(way.type).name;
    if (!way.refused.empty()) {
      table.AddRow({numbers, absl::StrCat("not possible: ", way.refused)});
      continue;
    }
    std::vector<std::string> levers;
    if (way.donated_input) levers.push_back("donated input");
    if (way.small_weights) levers.push_back("small weights");
    if (way.tiled) levers.push_back("tiles");
    if (way.streamed) levers.push_back("streamed weights");
    std::vector<std::string> row = {numbers, levers.empty() ? "none" : absl::StrJoin(levers, ", "),
                                    absl::StrCat(way.ram(limits)), absl::StrCat(way.arena)};
    if (limits.flash) row.push_back(absl::StrCat(way.weights));
    const int64_t ram_short = way.ram(limits) - limits.ram;
    const int64_t flash_short = way.flash(limits) - limits.flash.value_or(0);
    std::vector<std::string> missing;
    if (ram_short > 0) missing.push_back(absl::StrCat(ram_short, " of RAM"));
    if (flash_short > 0) missing.push_back(absl::StrCat(flash_short, " of flash"));
    row.insert(row.end(),
               {FormatMilliseconds(way.predicted_ms), LossText(way),
                way.fits ? "yes" : absl::StrCat("lacks ", absl::StrJoin(missing, ", "))});
    table.AddRow(std::move(row));
  }
  return table.ToText();
}

Json FitDocument(const FitWay& way, const FitLimits& limits,
                 const std::vector<std::string>& model) {
  Json document = {{"numbers", RowOf(way.type).name}};
  if (!way.refused.empty()) {
    document["refused"] = way.refused;
    return document;
  }
  document["donated_input"] = way.donated_input;
  document["small_weights"] = way.small_weights;
  document["tile"] = way.tiles;
  document["streamed"] = way.streamed;
  document["arena_bytes"] = way.arena;
  document["input_bytes"] = way.inputs;
  document["output_bytes"] = way.outputs;
  document["weights_bytes"] = way.weights;
  if (way.streamed) document["read_bytes"] = way.read;
  document["ram_bytes"] = way.ram(limits);
  document["flash_bytes"] = way.flash(limits);
  document["predicted_ms"] = way.predicted_ms;
  document["extra_flops_ratio"] = way.extra_flops_ratio;
  document["loss"] = way.loss ? Json(*way.loss) : Json();
  document["fits"] = way.fits;
  document["command"] = FitCommandText(way, model);
  return document;
}

}  // namespace ashlar
