// ashlar doctor: describes this machine and this build.
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/device/device.h"
#include "serialization/kernel_record_file.h"
#include "serialization/kernel_record_path.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/memory_group.h"
#include "tools/options.h"
#include "tools/report/table.h"
#include "tools/version.h"

namespace ashlar {
namespace {

// The instruction sets that kernels use, by their names in /proc/cpuinfo.
constexpr const char* kFeatures[] = {
    "sse4_2",   "avx",      "avx2",        "fma",         "f16c",     "avx512f",  "avx512bw",
    "avx512vl", "avx512dq", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16",
    "asimd",    "asimddp",  "i8mm",        "bf16",        "sve"};

// Returns the first value of "key : value" or "key: value" in a file of /proc; "" if there is none.
std::string ProcValue(const char* path, absl::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) == key) {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return "";
}

std::string CpuFeatures() {
  const std::string flags =  // x86 and Arm
      absl::StrCat(ProcValue("/proc/cpuinfo", "flags"), " ",
                   ProcValue("/proc/cpuinfo", "Features"));
  const std::set<std::string> present = absl::StrSplit(flags, ' ');
  std::vector<std::string> found;
  for (const char* feature : kFeatures) {
    if (present.count(feature) != 0) found.push_back(feature);
  }
  return found.empty() ? "unknown" : absl::StrJoin(found, " ");
}

// Returns a value such as "16041808 kB" of /proc/meminfo in bytes; nothing if it is not known.
std::optional<int64_t> Memory(absl::string_view key) {
  const std::string text = ProcValue("/proc/meminfo", key);
  int64_t kib = 0;
  if (!absl::SimpleAtoi(text.substr(0, text.find(' ')), &kib)) return std::nullopt;
  return kib * 1024;
}

// Returns the limit of the process's address space in bytes; nothing if there is none.
std::optional<int64_t> AddressLimit() {
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(limit.rlim_cur);
}

std::string BytesOr(const std::optional<int64_t>& bytes, const char* none) {
  return bytes ? FormatBytes(*bytes) : none;
}

Json BytesDocument(const std::optional<int64_t>& bytes) { return bytes ? Json(*bytes) : Json(); }

std::string SystemKernel() {
  struct utsname name = {};
  if (uname(&name) != 0) return "unknown";
  return absl::StrCat(name.sysname, " ", name.release, " ", name.machine);
}

using Facts = std::vector<std::pair<std::string, std::string>>;

// Returns the path of the kernel record, the number of its measurements for the processor, and the
// measured speeds.
Facts KernelRecordFacts(const absl::StatusOr<Device*>& cpu,
                        const std::optional<Processor>& processor) {
  const std::string path = DefaultKernelRecordPath();
  if (path.empty() || !cpu.ok()) return {{"kernel record", "none"}};
  const absl::StatusOr<KernelRecord> record =
      LoadKernelRecord(path, (*cpu)->measured_as(processor.value_or((*cpu)->processor())));
  if (!record.ok()) return {{"kernel record", std::string(record.status().message())}};
  std::string known = Counted(record->choices.size(), "kernel");
  // Models that are fastest whole are recorded, too, without tiles.
  const auto tiled =
      std::count_if(record->tiles.begin(), record->tiles.end(), [](const auto& model) {
        return std::any_of(model.second.begin(), model.second.end(),
                           [](const auto& tiles) { return !tiles.second.empty(); });
      });
  if (tiled > 0) absl::StrAppend(&known, ", tiles of ", Counted(tiled, "model"));
  Facts facts = {{"kernel record", absl::StrCat(path, ": ", known)}};
  for (const auto& [threads, speeds] : record->speeds) {
    constexpr double kGiga = 1e6;  // 1e9 a second, in units per millisecond
    facts.push_back(
        {absl::StrCat("speed on ", threads),
         absl::StrFormat("%.1f GFLOP/s; GB/s read: %.1f second level, %.1f third level, "
                         "%.1f memory",
                         speeds.flops / kGiga, speeds.second_level / kGiga,
                         speeds.third_level / kGiga, speeds.memory / kGiga)});
  }
  if (record->disk) {
    facts.push_back(
        {"disk", absl::StrFormat("%.2f GB/s, %.3f ms a read", record->disk->bytes_per_ms / 1e6,
                                 record->disk->read_ms)});
  }
  return facts;
}

class DoctorCommand final : public Command {
 public:
  void Declare(CLI::App&) override {}

  absl::Status Run(Console& console) override {
    ASHLAR_ASSIGN_OR_RETURN(const std::optional<Processor> other, DefaultProcessor());
    const std::string host = cpu::HostProcessor().ToString();
    const std::string planned_for = other ? other->ToString() : host;
    const absl::StatusOr<Device*> cpu = OpenDevice({CompNode::Type::kCpu, 0, 0});
    const absl::StatusOr<Device*> gpu = OpenDevice({CompNode::Type::kGpu, 0, 0});
    const auto state = [](const absl::StatusOr<Device*>& device) {
      const absl::Status status = device.ok() ? (*device)->ready() : device.status();
      return status.ok() ? "ready" : std::string(status.message());
    };
    const std::optional<int64_t> memory = Memory("MemTotal"), available = Memory("MemAvailable"),
                                 group_limit = MemoryGroupLimit(), address_limit = AddressLimit();
    Facts facts = {
        {"version", Version()},
        {"build", BuildText()},
        {"kernel", SystemKernel()},
        {"processor", ProcValue("/proc/cpuinfo", "model name")},
        {"features", CpuFeatures()},
        {"plans for",
         other ? absl::StrCat(planned_for, " (", kProcessorVariable, "), this one is ", host)
               : host},
        {"processors", absl::StrCat(sysconf(_SC_NPROCESSORS_ONLN))},
        {"usable", absl::StrCat(DefaultThreads())},
        {"memory", BytesOr(memory, "unknown")},
        {"available", BytesOr(available, "unknown")},
        {"group limit", BytesOr(group_limit, "none")},
        {"address limit", BytesOr(address_limit, "none")},
        {"libraries", cpu::Libraries()},
    };
    const Facts record_facts = KernelRecordFacts(cpu, other);
    facts.insert(facts.end(), record_facts.begin(), record_facts.end());
    facts.push_back({"cpu0:0", state(cpu)});
    facts.push_back({"gpu0:0", state(gpu)});
    if (gpu.ok()) {
      const auto more = (*gpu)->facts();
      facts.insert(facts.end(), more.begin(), more.end());
    }
    Table table({"fact", "value"});
    Json document = console.Document(CompNode(), DefaultThreads());
    document["processor"] = planned_for;
    document["processors"] = sysconf(_SC_NPROCESSORS_ONLN);
    document["memory_bytes"] = BytesDocument(memory);
    document["available_bytes"] = BytesDocument(available);
    document["group_limit_bytes"] = BytesDocument(group_limit);
    document["address_limit_bytes"] = BytesDocument(address_limit);
    const std::string record = DefaultKernelRecordPath();
    document["kernel_record"] = record.empty() ? Json() : Json(record);
    for (const auto& [name, value] : facts) {
      table.AddRow({name, value});
      document["facts"][name] = value;
    }
    console.Print(table.ToText());
    return console.Write(document);
  }
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace ashlar
