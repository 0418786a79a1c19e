#include "serialization/kernel_record_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "serialization/json_file.h"
#include "serialization/json_reader.h"

namespace ashlar {
namespace {

constexpr char kRecordFormat[] = "ashlar kernel record 1";

absl::Status CheckFormat(const nlohmann::json& document) {
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace format, JsonPlace(document).Get("format"));
  ASHLAR_ASSIGN_OR_RETURN(const std::string text, format.Text());
  if (text != kRecordFormat) {
    return format.Error(absl::StrCat("'", text.substr(0, 40), "', expected '", kRecordFormat, "'"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace processors, JsonPlace(document).Get("processors"));
  return processors.Members().status();
}

// Returns the document in the file, after checking its format; null if there is no file.
absl::StatusOr<nlohmann::json> ReadDocument(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return nlohmann::json();
  ASHLAR_ASSIGN_OR_RETURN(nlohmann::json document, ReadJsonFile(path));
  if (absl::Status status = CheckFormat(document); !status.ok()) return Annotate(status, path);
  return document;
}

absl::StatusOr<int> ReadThreads(const std::string& key, const JsonPlace& place) {
  int number = 0;
  if (absl::SimpleAtoi(key, &number) && number >= 1) return number;
  return place.Error("the key is not a number of threads");
}

absl::StatusOr<KernelRecord::Choice> ReadChoice(const JsonPlace& place) {
  KernelRecord::Choice choice;
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace family, place.Get("family"));
  ASHLAR_ASSIGN_OR_RETURN(choice.family, family.Text());
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace variants, place.Get("variants"));
  ASHLAR_ASSIGN_OR_RETURN(const auto members, variants.Members());
  for (const auto& [threads, variant] : members) {
    ASHLAR_ASSIGN_OR_RETURN(const int number, ReadThreads(threads, variant));
    ASHLAR_ASSIGN_OR_RETURN(choice.variants[number], variant.Text());
  }
  return choice;
}

// A speed's name in the file, and its member. Values are per millisecond.
struct SpeedColumn {
  const char* name;
  double MeasuredSpeeds::*value;
};
constexpr SpeedColumn kSpeedColumns[] = {{"flops", &MeasuredSpeeds::flops},
                                         {"second_level_bytes", &MeasuredSpeeds::second_level},
                                         {"third_level_bytes", &MeasuredSpeeds::third_level},
                                         {"memory_bytes", &MeasuredSpeeds::memory}};

// Returns the members for a processor in one part of the document; none if it has none.
absl::StatusOr<std::vector<std::pair<std::string, JsonPlace>>> MembersOf(
    const nlohmann::json& document, const char* part, const std::string& processor) {
  const JsonPlace top(document);
  if (!top.Has(part)) return std::vector<std::pair<std::string, JsonPlace>>();
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace processors, top.Get(part));
  ASHLAR_RETURN_IF_ERROR(processors.Members().status());
  if (!processors.Has(processor.c_str())) return std::vector<std::pair<std::string, JsonPlace>>();
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace of_processor, processors.Get(processor.c_str()));
  return of_processor.Members();
}

absl::StatusOr<std::map<int, MeasuredSpeeds>> ReadSpeeds(const nlohmann::json& document,
                                                         const std::string& processor) {
  std::map<int, MeasuredSpeeds> speeds;
  ASHLAR_ASSIGN_OR_RETURN(const auto members, MembersOf(document, "speeds", processor));
  for (const auto& [threads, place] : members) {
    ASHLAR_ASSIGN_OR_RETURN(const int number, ReadThreads(threads, place));
    for (const SpeedColumn& column : kSpeedColumns) {
      ASHLAR_ASSIGN_OR_RETURN(const JsonPlace value, place.Get(column.name));
      ASHLAR_ASSIGN_OR_RETURN(const double rate, value.Number());
      if (!(rate > 0)) return value.Error("expected more than 0");
      speeds[number].*column.value = rate;
    }
  }
  return speeds;
}

absl::StatusOr<std::map<std::string, std::map<int, TileSpec>>> ReadTiles(
    const nlohmann::json& document, const std::string& processor) {
  std::map<std::string, std::map<int, TileSpec>> tiles;
  ASHLAR_ASSIGN_OR_RETURN(const auto graphs, MembersOf(document, "tiles", processor));
  for (const auto& [graph, place] : graphs) {
    ASHLAR_ASSIGN_OR_RETURN(const auto members, place.Members());
    for (const auto& [threads, text] : members) {
      ASHLAR_ASSIGN_OR_RETURN(const int number, ReadThreads(threads, text));
      ASHLAR_ASSIGN_OR_RETURN(const std::string spec, text.Text());
      const absl::StatusOr<TileSpec> parsed = TileSpec::Parse(spec);
      if (!parsed.ok()) return text.Error(parsed.status().message());
      tiles[graph][number] = *parsed;
    }
  }
  return tiles;
}

// The disk is the machine's, whatever processor is planned for.
absl::StatusOr<std::optional<DiskSpeed>> ReadDisk(const nlohmann::json& document) {
  const JsonPlace top(document);
  if (!top.Has("disk")) return std::nullopt;
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace place, top.Get("disk"));
  DiskSpeed disk;
  for (const auto& [name, value] :
       {std::pair{"read_ms", &disk.read_ms}, std::pair{"bytes", &disk.bytes_per_ms}}) {
    ASHLAR_ASSIGN_OR_RETURN(const JsonPlace number, place.Get(name));
    ASHLAR_ASSIGN_OR_RETURN(*value, number.Number());
    if (!(*value > 0)) return number.Error("expected more than 0");
  }
  return disk;
}

// A lock on a folder, for processes that all use it. If the system cannot lock, nothing waits.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  const int fd_;
};

absl::StatusOr<KernelRecord> ReadRecord(const nlohmann::json& document,
                                        const std::string& processor) {
  KernelRecord record;
  if (document.is_null()) return record;
  ASHLAR_ASSIGN_OR_RETURN(record.speeds, ReadSpeeds(document, processor));
  ASHLAR_ASSIGN_OR_RETURN(record.tiles, ReadTiles(document, processor));
  ASHLAR_ASSIGN_OR_RETURN(record.disk, ReadDisk(document));
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace processors, JsonPlace(document).Get("processors"));
  if (!processors.Has(processor.c_str())) return record;
  ASHLAR_ASSIGN_OR_RETURN(const JsonPlace problems, processors.Get(processor.c_str()));
  ASHLAR_ASSIGN_OR_RETURN(const auto members, problems.Members());
  for (const auto& [key, place] : members) {
    ASHLAR_ASSIGN_OR_RETURN(record.choices[key], ReadChoice(place));
  }
  return record;
}

}  // namespace

absl::StatusOr<KernelRecord> LoadKernelRecord(const std::string& path,
                                              const std::string& processor) {
  ASHLAR_ASSIGN_OR_RETURN(const nlohmann::json document, ReadDocument(path));
  absl::StatusOr<KernelRecord> record = ReadRecord(document, processor);
  if (!record.ok()) return Annotate(record.status(), path);
  if (!record->choices.empty() || !record->speeds.empty() || !record->tiles.empty() ||
      record->disk) {
    record->path = path;
  }
  return record;
}

absl::Status MergeKernelRecord(const std::string& path, const std::string& processor,
                               const KernelRecord& record) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(path, ": its folder cannot be made: ", error.message()));
  }
  const FolderLock lock(folder.empty() ? "." : folder.string());
  ASHLAR_ASSIGN_OR_RETURN(nlohmann::json before, ReadDocument(path));
  nlohmann::ordered_json document;
  document["format"] = kRecordFormat;
  document["processors"] = nlohmann::ordered_json::object();
  if (!before.is_null()) document["processors"] = before["processors"];
  nlohmann::ordered_json problems = nlohmann::ordered_json::object();
  if (document["processors"].contains(processor)) problems = document["processors"][processor];
  for (const auto& [key, choice] : record.choices) {
    nlohmann::ordered_json variants = nlohmann::ordered_json::object();
    for (const auto& [threads, variant] : choice.variants) {
      variants[absl::StrCat(threads)] = variant;
    }
    problems[key] = {{"family", choice.family}, {"variants", std::move(variants)}};
  }
  document["processors"][processor] = std::move(problems);
  if (before.contains("speeds")) document["speeds"] = before["speeds"];
  for (const auto& [threads, speeds] : record.speeds) {
    nlohmann::ordered_json& row = document["speeds"][processor][absl::StrCat(threads)];
    for (const SpeedColumn& column : kSpeedColumns) row[column.name] = speeds.*column.value;
  }
  if (before.contains("disk")) document["disk"] = before["disk"];
  if (record.disk) {
    document["disk"] = {{"read_ms", record.disk->read_ms}, {"bytes", record.disk->bytes_per_ms}};
  }
  if (before.contains("tiles")) document["tiles"] = before["tiles"];
  for (const auto& [graph, by_threads] : record.tiles) {
    for (const auto& [threads, tiles] : by_threads) {
      document["tiles"][processor][graph][absl::StrCat(threads)] = tiles.ToString();
    }
  }
  return WriteJsonFile(path, document, 1);
}

}  // namespace ashlar
