// ashlar probe: finds the largest size that fits into a memory, planned and real.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "runtime/measure/process_memory.h"
#include "tools/child_process.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/probe_ladder.h"
#include "tools/probe_subject.h"
#include "tools/report/table.h"
#include "tools/training_flags.h"

namespace ashlar {
namespace {

// Single operators keep the given format: a converted copy would dominate the memory.
constexpr char kRowMajorPasses[] = "fold_constants,fold_scale,fuse";

enum class Enforcement { kAshlar, kRlimit, kDevice };

// The enforcements, in the order of the enumeration.
constexpr std::initializer_list<std::pair<absl::string_view, Enforcement>> kEnforcements = {
    {"ashlar", Enforcement::kAshlar},
    {"rlimit", Enforcement::kRlimit},
    {"device", Enforcement::kDevice}};

absl::StatusOr<Enforcement> ParseEnforcement(absl::string_view text) {
  return ParseName(text, kEnforcements);
}

Json RoundDocument(const ProbeRound& round) {
  return {{"refused", round.refused},
          {"fits", round.fits},
          {"bytes", round.bytes},
          {"held_bytes", round.held}};
}

absl::StatusOr<int64_t> FreeBytes(Device& device) {
  const std::optional<MemoryState> state = device.memory();
  if (state.has_value()) return state->free;
  return absl::UnavailableError(
      absl::StrCat("device ", device.comp_node().ToString(), " does not say what memory is free"));
}

// Returns how much the free memory shrinks when one byte is allocated.
absl::StatusOr<int64_t> SmallestBlock(Device& device) {
  ASHLAR_ASSIGN_OR_RETURN(const int64_t before, FreeBytes(device));
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceMemory> block, device.Allocate(1));
  ASHLAR_ASSIGN_OR_RETURN(const int64_t after, FreeBytes(device));
  return std::max<int64_t>(before - after, 1);
}

// Allocates a device's memory until only `limit` bytes are free.
absl::StatusOr<std::unique_ptr<DeviceMemory>> TakeAllBut(int64_t limit, Device& device) {
  ASHLAR_ASSIGN_OR_RETURN(const int64_t free, FreeBytes(device));
  if (free >= limit) return device.Allocate(free - limit);
  return absl::ResourceExhaustedError(absl::StrCat("device ", device.comp_node().ToString(),
                                                   " has ", free, " bytes free; --memory-limit is ",
                                                   limit));
}

class ProbeCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_, "a model whose batch grows (default: the operators of --op)");
    app.get_option("MODEL")->required(false);
    const OptionGroup probe(app, "Probe");
    AddRepeated(probe, "--op", operators_, "NAME",
                absl::StrCat("an operator on an image that grows: ",
                             absl::StrJoin(ProbedOperators(), ", "), " (default: all)"))
        ->check(CLI::IsMember(ProbedOperators()));
    AddFlag(probe, "--forward", forward_, "forward only");
    AddTrainFlag(app, training_);
    AddParsed(probe, "--memory-limit", settings_.limit, ParseSize, "SIZE",
              "the memory that there is (default 64MiB)");
    AddParsed(probe, "--enforce", enforcement_, ParseEnforcement, "ashlar|rlimit|device",
              "the limit that refuses: ashlar (default), rlimit (the system, in a child per row), "
              "device (a GPU, whose other memory is taken before)");
    AddNumber(probe, "--rounds", settings_.rounds, 1, 1 << 10,
              "times from the smallest (default 4)");
    app.add_option("--growth", settings_.growth, "from size to size (default 1.1)")
        ->option_text("X")
        ->check(CLI::Range(1.01, 16.0))
        ->group("Probe");
    AddFlag(probe, "--keep-previous", settings_.keep_previous,
            "what ran last stays until the next size is made");
    AddParsed(probe, "--understate", settings_.understate_bytes, ParseSize, "SIZE",
              "negative control: claim so much less than is planned; exit 4");
    AddFlag(probe, "--keep-session", settings_.keep_session,
            "negative control: keep the largest session of the first round; exit 4");
    AddDeviceFlags(app, execution_);
  }

  absl::Status CheckOptions() const override {
    if (!model_.path.empty() && !operators_.empty()) {
      return UsageError("MODEL and --op: one or the other is probed");
    }
    if (forward_ && training_.train) {
      return UsageError("--forward and --train: without both, both are probed");
    }
    if (enforcement_ == Enforcement::kRlimit && execution_.device.type != CompNode::Type::kCpu) {
      return UsageError("--enforce rlimit: the memory of a GPU has no such limit");
    }
    if (enforcement_ == Enforcement::kDevice && execution_.device.type == CompNode::Type::kCpu) {
      return UsageError("--enforce device: needs --device gpu0:0");
    }
    return absl::OkStatus();
  }

  absl::Status Run(Console& console) override {
    std::optional<Model> model;
    if (!model_.path.empty()) {
      ASHLAR_ASSIGN_OR_RETURN(model,
                              LoadModelToTrain(model_, training_, console, WeightsUse::kPlain));
    }
    const std::vector<std::string> names = model ? std::vector<std::string>{model_.path}
                                           : operators_.empty() ? ProbedOperators()
                                                                : operators_;
    Json document = console.Document(execution_.device, execution_.threads);
    document["limit_bytes"] = settings_.limit;
    document["enforced_by"] = kEnforcements.begin()[static_cast<size_t>(enforcement_)].first;
    document["keep_previous"] = settings_.keep_previous;
    document["rows"] = Json::array();
    Table table({"row", "", ">refused, planned", ">refused, rounds", ">fits", ">bytes planned",
                 ">bytes", ""});
    std::string reason;
    bool below = false;
    for (const std::string& name : names) {
      for (const bool train : {false, true}) {
        if ((forward_ && train) || (training_.train && !train)) continue;
        console.Progress(absl::StrCat("probing ", name, train ? ", training" : ""));
        const auto probe = [&, train = train] { return Probe(name, model, train); };
        absl::StatusOr<Json> row = enforcement_ == Enforcement::kRlimit ? InChild(probe) : probe();
        if (!row.ok()) return model ? row.status() : Annotate(row.status(), name);
        AddRow(*row, table);
        below = below || (*row)["below"].get<bool>();
        if (!(*row)["ok"].get<bool>() && reason.empty()) {
          reason = absl::StrCat(name, train ? ", training: " : ": ",
                                (*row)["reason"].get<std::string>());
        }
        row->erase("below");
        document["rows"].push_back(*std::move(row));
      }
    }
    document["ok"] = reason.empty();
    console.Print(table.ToText());
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    if (reason.empty()) return absl::OkStatus();
    return WithExitCode(absl::FailedPreconditionError(reason),
                        below ? ExitCode::kOverrun : ExitCode::kFailure);
  }

 private:
  // Returns one row of the document.
  absl::StatusOr<Json> Probe(const std::string& name, const std::optional<Model>& model,
                             bool train) const {
    TrainingFlags flags = training_;
    flags.train = train;
    const std::unique_ptr<ProbeSubject> subject =
        model ? ProbedModel(*model, flags) : ProbedOperator(name, train);
    PlanRequest request;
    request.target.comp_node = execution_.device;
    request.target.threads = execution_.threads;
    request.planning.kernels.low_workspace = true;
    if (!model) request.planning.passes = kRowMajorPasses;
    ASHLAR_ASSIGN_OR_RETURN(Device* const behind, OpenDevice(execution_.device));
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<LimitedDevice> device,
                            LimitedDevice::Install(execution_.device));
    ProbeSettings settings = settings_;
    int64_t limit = LimitedDevice::kNoLimit;
    switch (enforcement_) {
      case Enforcement::kAshlar:
        limit = settings.limit;
        break;
      case Enforcement::kRlimit:
        KeepFreedMemory();
        settings.granularity = sysconf(_SC_PAGESIZE);
        break;
      case Enforcement::kDevice:
        ASHLAR_ASSIGN_OR_RETURN(settings.granularity, SmallestBlock(*behind));
        settings.counts_staging = false;
        break;
    }
    ProbeLadder ladder(*subject, request, settings, *device);
    ASHLAR_ASSIGN_OR_RETURN(const ProbeRound planned, ladder.Plan());
    device->SetLimit(limit, settings.granularity, settings.counts_staging);
    if (enforcement_ != Enforcement::kAshlar) ASHLAR_RETURN_IF_ERROR(ladder.WarmUp(planned));
    std::unique_ptr<DeviceMemory> others;
    if (enforcement_ == Enforcement::kRlimit) {
      ASHLAR_RETURN_IF_ERROR(LimitFurtherAddresses(settings.limit));
    } else if (enforcement_ == Enforcement::kDevice) {
      ASHLAR_ASSIGN_OR_RETURN(others, TakeAllBut(settings.limit, *behind));
    }
    ASHLAR_ASSIGN_OR_RETURN(const ProbeReport report, ladder.Run(planned));
    Json row = {{"name", name},
                {"mode", train ? "training" : "forward"},
                {"planned", RoundDocument(report.planned)},
                {"rounds", Json::array()},
                {"ok", report.ok()},
                {"below", report.below()}};
    for (const ProbeRound& round : report.rounds) row["rounds"].push_back(RoundDocument(round));
    if (!report.ok()) row["reason"] = report.reason();
    return row;
  }

  static void AddRow(const Json& row, Table& table) {
    std::vector<std::string> refused;
    for (const Json& round : row["rounds"]) {
      refused.push_back(absl::StrCat(round["refused"].get<int64_t>()));
    }
    const Json& first = row["rounds"][0];
    table.AddRow({FormatName(row["name"].get<std::string>()), row["mode"].get<std::string>(),
                  absl::StrCat(row["planned"]["refused"].get<int64_t>()),
                  absl::StrJoin(refused, " "), absl::StrCat(first["fits"].get<int64_t>()),
                  absl::StrCat(row["planned"]["bytes"].get<int64_t>()),
                  absl::StrCat(first["bytes"].get<int64_t>()),
                  row["ok"].get<bool>() ? "ok" : "NO"});
  }

  ModelFlags model_;
  ExecutionFlags execution_;
  TrainingFlags training_;
  ProbeSettings settings_{.limit = 64 << 20};
  std::vector<std::string> operators_;
  Enforcement enforcement_ = Enforcement::kAshlar;
  bool forward_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeProbeCommand() { return std::make_unique<ProbeCommand>(); }

}  // namespace ashlar
