// ashlar tune: finds the fastest kernels and tiles on this machine.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "runtime/cpu/measured_speeds.h"
#include "runtime/measure/autotune.h"
#include "runtime/measure/tune_tiles.h"
#include "serialization/kernel_record_file.h"
#include "tools/command.h"
#include "tools/disk_speed.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/interrupt.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/options.h"
#include "tools/report/processor_share.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

Json RatioOf(const MedianInterval& ratio) {
  return {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
}

// Formats "0.912 (0.905 to 0.921)".
std::string FormatRatio(const MedianInterval& ratio) {
  return absl::StrFormat("%.3f (%.3f to %.3f)", ratio.median, ratio.low, ratio.high);
}

// Least share of a processor for a thread: with less, speeds are not the machine's.
constexpr double kLeastShare = 0.75;

class TuneCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    const OptionGroup measurement(app, "Measurement");
    AddParsed(measurement, "--duration,--seconds", duration_, ParseSeconds, "TIME",
              "begin no trial after so long of timing, of kernels and of tiles each (default 5s)");
    AddFlag(measurement, "--anew", anew_,
            "measure recorded kernels and speeds of the processor again");
    AddExecutionFlags(app, execution_);
    AddPlanningFlags(app, planning_);
    AddText(measurement, "--kernels", planning_.record, "FILE",
            "the file of results, which others find by $ASHLAR_KERNELS or as the default: "
            "ashlar/kernels.json in the user's cache");
  }

  absl::Status CheckOptions() const override { return CheckTogether(execution_, planning_); }

  std::vector<IdleOptions> Idle(const ConsoleFlags&) const override {
    return {{{"--no-autotune"}, "all kernels are tried, whatever is recorded"},
            {{"--total-budget"}, "all kernels are tried, however large their weights are"},
            {{"--weights-budget"},
             "kernels are timed with all weights in memory; without it `tune` records the speed of "
             "the disk, too"}};
  }

  absl::Status Run(Console& console) override {
    if (duration_ == absl::ZeroDuration()) {
      return UsageError("--duration is 0s, expected more: nothing would be measured");
    }
    if (planning_.record.empty()) {
      return absl::FailedPreconditionError("no file for the record: give one with --kernels");
    }
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(model_, console, WeightsUse::kPlain));
    ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(execution_.device));
    ASHLAR_RETURN_IF_ERROR(device->ready());
    const std::string processor =
        device->measured_as(planning_.request.target.ProcessorOn(*device));
    const absl::StatusOr<KernelRecord> record = LoadKernelRecord(planning_.record, processor);
    if (!record.ok()) return WithExitCode(record.status(), ExitCode::kRejectedInput);
    const PlanRequest request = ToPlanRequest(execution_, planning_, console);
    KernelRecord fresh = anew_ ? KernelRecord() : *record;
    MeasureMissingSpeeds(*device, fresh, console);
    if (device->is_host()) MeasureMissingDisk(fresh, console);
    console.Progress("timing kernels");
    const InterruptWatch watch;
    tune_.seconds = absl::ToDoubleSeconds(duration_);
    tune_.stop = [&watch] { return watch.interrupted(); };
    const auto start = std::chrono::steady_clock::now();
    ASHLAR_ASSIGN_OR_RETURN(const Tuning tuning, Autotune(model.graph, request, tune_, fresh));
    TunedTiles tiles;
    if (device->is_host() && request.target.tuned_tiles && !watch.interrupted()) {
      console.Progress("timing tiles");
      absl::StatusOr<TunedTiles> tuned = TuneTiles(model.graph, request, tune_, fresh);
      if (tuned.ok()) {
        tiles = *std::move(tuned);
      } else {
        console.Note(absl::StrCat("tiles are not timed: ", tuned.status().message()));
      }
    }
    const std::vector<TunedProblem>& problems = tuning.problems;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // Writes only changed entries, because another process may change the others meanwhile.
    for (const auto& [key, before] : record->choices) {
      const auto now = fresh.choices.find(key);
      if (now == fresh.choices.end() || now->second.family != before.family ||
          now->second.variants != before.variants) {
        continue;
      }
      fresh.choices.erase(now);
    }
    if (!anew_) {
      for (const auto& [threads, speeds] : record->speeds) fresh.speeds.erase(threads);
    }
    for (auto& [key, now] : fresh.tiles) {
      const auto before = record->tiles.find(key);
      if (before == record->tiles.end()) continue;
      std::erase_if(now, [&](const auto& tiles) {
        const auto was = before->second.find(tiles.first);
        return was != before->second.end() && was->second == tiles.second;
      });
    }
    ASHLAR_RETURN_IF_ERROR(MergeKernelRecord(planning_.record, processor, fresh));
    ASHLAR_RETURN_IF_ERROR(Show(tuning, tiles, seconds, watch.interrupted(), console));
    if (!watch.interrupted()) return absl::OkStatus();
    const auto timed =
        std::count_if(problems.begin(), problems.end(), std::mem_fn(&TunedProblem::IsTimed));
    return WithExitCode(absl::CancelledError(
                            absl::StrCat("interrupted: ", timed, " of ", problems.size(),
                                         " kernels are chosen and recorded in ", planning_.record)),
                        ExitCode::kInterrupted);
  }

 private:
  // Measures, once for a processor, the speeds of one thread and of the requested threads.
  // Estimates of plans' times use them. Skipped if memory is short.
  void MeasureMissingSpeeds(const Device& device, KernelRecord& record, Console& console) const {
    const Processor processor = planning_.request.target.ProcessorOn(device);
    // Tuning for another processor is refused later.
    if (!device.is_host() || !device.processor().Runs(processor)) return;
    for (const int threads : std::set<int>{1, execution_.threads}) {
      if (record.speeds.count(threads) != 0) continue;
      console.Progress("measuring caches and memory");
      absl::StatusOr<MeasuredSpeeds> speeds = cpu::MeasureSpeeds(processor, threads);
      const double share = ShareOfProcessors(threads);
      if (speeds.ok() && share < kLeastShare) {
        console.Note(absl::StrFormat(
            "speeds are not recorded: a thread got %s of a processor, as others use the machine or "
            "the process is limited; tune again when it is idle",
            FormatPercent(share)));
      } else if (speeds.ok()) {
        record.speeds[threads] = *speeds;
      } else {
        console.Note(absl::StrCat("speeds are not measured: ", speeds.status().message()));
      }
    }
  }

  // Measures, once for a machine, the disk that the model is on: windows of streamed weights are
  // planned for it.
  void MeasureMissingDisk(KernelRecord& record, Console& console) const {
    if (record.disk) return;
    console.Progress("measuring the disk");
    absl::StatusOr<DiskSpeed> disk = MeasureDisk(model_.path);
    if (disk.ok()) {
      record.disk = *disk;
    } else {
      console.Note(absl::StrCat("the disk is not measured: ", disk.status().message()));
    }
  }

  absl::Status Show(const Tuning& tuning, const TunedTiles& tiles, double seconds, bool interrupted,
                    Console& console) const {
    Table table(
        {"operator", ">nodes", "kernel", ">time", ">expected kernel's", ">of the present one's"});
    const std::vector<TunedProblem>& problems = tuning.problems;
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    document["record"] = planning_.record;
    document["seconds"] = seconds;
    document["interrupted"] = interrupted;
    if (tuning.ratio.has_value()) document["ratio"] = RatioOf(*tuning.ratio);
    document["problems"] = Json::array();
    int64_t compiled = 0;
    for (const TunedProblem& problem : problems) {
      Json trials = Json::array();
      for (const TunedProblem::Trial& trial : problem.trials) {
        trials.push_back({{"kernel", trial.implementation}, {"ms", trial.seconds * 1e3}});
        compiled += absl::StrContains(trial.implementation, ":compiled");
        if (trial.wrong) {
          trials.back()["wrong"] = true;
          console.Note(absl::StrCat(trial.implementation, " is left out for ", problem.node,
                                    ": the model's outputs differ with it"));
        }
        if (trial.samples.empty()) continue;
        trials.back()["spread_ms"] = trial.spread() * 1e3;
        trials.back()["runs"] = trial.samples.size();
      }
      document["problems"].push_back({{"key", problem.key},
                                      {"node", problem.node},
                                      {"nodes", problem.nodes},
                                      {"chosen", problem.chosen},
                                      {"trials", std::move(trials)}});
      if (problem.ratio.has_value()) document["problems"].back()["ratio"] = RatioOf(*problem.ratio);
      if (!problem.IsTimed()) continue;
      const TunedProblem::Trial& chosen = problem.trials[problem.chosen];
      table.AddRow({FormatName(problem.node, 40), absl::StrCat(problem.nodes),
                    chosen.implementation, FormatMilliseconds(chosen.seconds * 1e3),
                    problem.trials[0].seconds > 0
                        ? FormatMilliseconds(problem.trials[0].seconds * 1e3)
                        : "-",  // not timed: another kernel's time excluded it
                    problem.ratio.has_value() ? FormatRatio(*problem.ratio) : "stays"});
    }
    document["compiled_trials"] = compiled;
    if (problems.empty()) {
      console.Print(anew_ ? "no operator has a choice of kernels\n"
                          : "no operator has a choice of kernels that is not recorded (--anew "
                            "measures again)\n");
    } else {
      console.Print(table.ToText());
    }
    if (tuning.ratio.has_value()) {
      console.Print(absl::StrFormat("the network takes %s of its time; medians, 95 %% sure\n",
                                    FormatRatio(*tuning.ratio)));
    }
    ShowTiles(tiles, document, console);
    console.Print(absl::StrFormat("%s chosen in %.1f s, recorded in %s\n",
                                  Counted(problems.size(), "kernel"), seconds, planning_.record));
    return console.Write(document);
  }

  static void ShowTiles(const TunedTiles& tiles, Json& document, Console& console) {
    document["tiles"] = Json::array();
    Table table({"tiles", ">of the present time"});
    for (const TunedTiles::Trial& trial : tiles.trials) {
      document["tiles"].push_back({{"tile", trial.tiles.ToString()}, {"ratio", trial.ratio}});
      table.AddRow({FormatName(trial.tiles.ToString(), 60), absl::StrFormat("%.3f", trial.ratio)});
    }
    if (!tiles.trials.empty()) console.Print(table.ToText());
    document["tile"] = tiles.chosen.ToString();
    if (!tiles.ratio.has_value()) {
      if (!tiles.trials.empty()) {
        console.Print("no tiles are recorded: none are faster with a certainty of 95 %\n");
      }
      return;
    }
    document["tile_ratio"] = RatioOf(*tiles.ratio);
    console.Print(
        absl::StrFormat("in the tiles '%s' it takes %s of that time; plans have them "
                        "unless they are asked for others\n",
                        tiles.chosen.ToString(), FormatRatio(*tiles.ratio)));
  }

  ModelFlags model_;
  ExecutionFlags execution_;
  PlanningFlags planning_;
  TuneOptions tune_;
  absl::Duration duration_ = absl::Seconds(tune_.seconds);
  bool anew_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTuneCommand() { return std::make_unique<TuneCommand>(); }

}  // namespace ashlar
