// ashlar fit: whether a model fits into a device's RAM and flash, and in which ways.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "library/execution.h"
#include "serialization/kernel_record_path.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/options.h"
#include "tools/report/fit_ways.h"

namespace ashlar {
namespace {

class FitCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    AddParsed(app, "--ram", limits_.ram, ParseSize, "SIZE",
              "RAM for arena, inputs and outputs, and without --flash for weights")
        ->required();
    AddParsed(app, "--flash", flash_, ParseSize, "SIZE",
              "flash or mapped file in which weights are read in place (default: weights in RAM)");
    AddDeviceFlags(app, execution_);
  }

  absl::Status Run(Console& console) override {
    ASHLAR_ASSIGN_OR_RETURN(const Model model, LoadModel(model_, console, WeightsUse::kPlain));
    if (flash_ >= 0) limits_.flash = flash_;
    PlanTarget target;
    target.comp_node = execution_.device;
    target.threads = execution_.threads;
    ASHLAR_ASSIGN_OR_RETURN(target.processor, DefaultProcessor());
    target.reading_bytes = model.reading_bytes;
    FitDisk disk;
    if (const std::string path = DefaultKernelRecordPath(); !path.empty()) {
      const std::shared_ptr<const KernelRecord> record =
          RecordFor(path, target, [&](const std::string& note) { console.Note(note); });
      if (record != nullptr && record->disk) disk = {*record->disk, true};
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<FitWay> ways,
                            FindFitWays(model, limits_, target, disk, console));
    const int cheapest = CheapestFit(ways);
    const bool fits = cheapest >= 0;
    std::string last;
    if (fits) {
      last = absl::StrCat(
          "\nfits; the least loss, then the least time:\n  ",
          FitCommandText(ways[static_cast<size_t>(cheapest)], ModelArguments(model_)), "\n");
    }
    console.Print(absl::StrCat(FitTable(ways, limits_), "bytes; RAM is arena, inputs, outputs",
                               limits_.flash ? "" : " and weights",
                               "; the program's code and stack come on top\n",
                               FitDiskText(ways, disk), last));
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    document["ram_limit_bytes"] = limits_.ram;
    document["flash_limit_bytes"] = limits_.flash ? Json(*limits_.flash) : Json();
    document["ways"] = Json::array();
    for (const FitWay& way : ways) {
      document["ways"].push_back(FitDocument(way, limits_, ModelArguments(model_)));
    }
    document["disk"] = {{"bytes_per_second", disk.speed.bytes_per_ms * 1e3},
                        {"read_ms", disk.speed.read_ms},
                        {"measured", disk.measured}};
    document["fits"] = fits;
    document["cheapest"] = fits ? Json(cheapest) : Json();
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    if (fits) return absl::OkStatus();
    const std::string limits =
        limits_.flash ? absl::StrCat("in any of these ways: --ram is ", limits_.ram,
                                     " bytes, --flash is ", *limits_.flash)
                      : absl::StrCat("in any of these ways, streamed weights among them: --ram is ",
                                     limits_.ram, " bytes");
    return WithExitCode(
        absl::ResourceExhaustedError(absl::StrCat(model_.path, " does not fit ", limits)),
        ExitCode::kDoesNotFit);
  }

 private:
  ModelFlags model_;
  ExecutionFlags execution_;
  FitLimits limits_;
  int64_t flash_ = -1;  // not given
};

}  // namespace

std::unique_ptr<Command> MakeFitCommand() { return std::make_unique<FitCommand>(); }

}  // namespace ashlar
