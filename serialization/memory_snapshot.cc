#include "serialization/memory_snapshot.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "serialization/pickle.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

using Id = Pickle::Id;
using Kind = Pickle::Kind;

constexpr size_t kMostDevices = 1024;
// Lists may be in a file once and in a snapshot many times, so the work has a limit of its own.
constexpr int64_t kMostEntries = int64_t{1} << 26;
constexpr size_t kMostFrames = 64;                // that are searched for a name
constexpr int64_t kMostBytes = int64_t{1} << 60;  // so that sums of a few fit

// Bytes [begin, end) of a device's memory.
struct Range {
  int64_t begin = 0, end = 0;
};

// Reads the fields of a file's dictionaries.
class Fields {
 public:
  Fields(const Pickle& file, const std::string& name) : file_(file), name_(name) {}

  template <typename... Parts>
  absl::Status Wrong(const Parts&... parts) const {
    return Reject(name_, ": ", parts...);
  }

  // Returns a whole number from 0 to kMostBytes.
  absl::StatusOr<int64_t> Number(Id entry, absl::string_view key, absl::string_view where) const {
    const Id* const value = file_.Find(entry, key);
    if (value == nullptr) return Wrong(where, " has no '", key, "'");
    if (file_.kind(*value) != Kind::kInteger) {
      return Wrong("'", key, "' of ", where, " is no whole number");
    }
    const int64_t number = file_.integer(*value);
    if (number >= 0 && number <= kMostBytes) return number;
    return Wrong("'", key, "' of ", where, " is ", number, ", expected 0 to 2^60");
  }

  // Returns the items of a list that a dictionary has under `key`; counts them as work.
  absl::StatusOr<absl::Span<const Id>> List(Id entry, absl::string_view key,
                                            absl::string_view where) {
    const Id* const value = file_.Find(entry, key);
    if (value == nullptr) return Wrong(where, " has no '", key, "'");
    return ListAt(*value, absl::StrCat("'", key, "' of ", where));
  }

  absl::StatusOr<absl::Span<const Id>> ListAt(Id value, absl::string_view where) {
    if (file_.kind(value) != Kind::kList && file_.kind(value) != Kind::kTuple) {
      return Wrong(where, " is no list");
    }
    entries_ += static_cast<int64_t>(file_.items(value).size());
    if (entries_ > kMostEntries) return Wrong("more than ", kMostEntries, " entries");
    return file_.items(value);
  }

  absl::string_view Text(Id entry, absl::string_view key) const {
    const Id* const value = file_.Find(entry, key);
    return value != nullptr && file_.kind(*value) == Kind::kText ? file_.text(*value) : "";
  }

  absl::StatusOr<Range> Addresses(Id entry, absl::string_view begin, absl::string_view size,
                                  absl::string_view where) const {
    ASHLAR_ASSIGN_OR_RETURN(const int64_t at, Number(entry, begin, where));
    ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, Number(entry, size, where));
    if (bytes > kMostBytes - at) return Wrong(where, " ends after byte 2^60");
    return Range{at, at + bytes};
  }

  // Returns the innermost line of the program itself: of Python, and not inside PyTorch. Without
  // one, the innermost function.
  std::string NameOf(Id entry, int64_t address) const {
    std::string best, in_python;
    const Id* const frames = file_.Find(entry, "frames");
    if (frames != nullptr && file_.kind(*frames) == Kind::kList) {
      for (const Id frame : file_.items(*frames).subspan(0, kMostFrames)) {
        const absl::string_view path = Text(frame, "filename"), function = Text(frame, "name");
        const bool python = absl::EndsWith(path, ".py");
        const bool own = python && !absl::StrContains(path, "/torch/");
        if (!python && best.empty()) best = std::string(function);
        if (!own && !(in_python.empty() && python)) continue;
        const Id* const line = file_.Find(frame, "line");
        const size_t folder = path.rfind('/');
        in_python = absl::StrCat(folder == path.npos ? path : path.substr(folder + 1), ":",
                                 line != nullptr ? file_.integer(*line) : 0, " ", function);
        if (own) break;
      }
    }
    if (!in_python.empty()) best = in_python;
    return best.empty() ? absl::StrFormat("0x%x", address) : best.substr(0, 200);
  }

 private:
  const Pickle& file_;
  const std::string& name_;
  int64_t entries_ = 0;
};

// Follows the history of one device.
class DeviceHistory {
 public:
  DeviceHistory(const Pickle& file, Fields& fields, int device, int64_t alignment)
      : file_(file), fields_(fields), device_(device), alignment_(alignment) {}

  absl::Status AddEvent(Id event) {
    const std::string where = absl::StrCat("event ", events_++, " of device ", device_);
    const absl::string_view action = fields_.Text(event, "action");
    if (action == "alloc") return Allocate(event, where);
    if (action == "free_completed") return Free(event, where);
    if (action == "segment_alloc" || action == "segment_map") return Reserve(event, 1, where);
    if (action == "segment_free" || action == "segment_unmap") return Reserve(event, -1, where);
    return absl::OkStatus();  // requests, errors and notes change no memory
  }

  // After all events: a segment as it was when the snapshot was taken.
  absl::Status AddSegment(Id segment) {
    const std::string where = absl::StrCat("segment ", segments_++, " of device ", device_);
    ASHLAR_ASSIGN_OR_RETURN(const Range range,
                            fields_.Addresses(segment, "address", "total_size", where));
    ranges_.push_back(range);
    ASHLAR_RETURN_IF_ERROR(AddReserved(range.end - range.begin, where));
    ASHLAR_ASSIGN_OR_RETURN(const auto blocks, fields_.List(segment, "blocks", where));
    int64_t at = range.begin;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const std::string block = absl::StrCat("block ", i, " of ", where);
      ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, fields_.Number(blocks[i], "size", block));
      // Files of older versions give the sizes alone.
      if (file_.Find(blocks[i], "address") != nullptr) {
        ASHLAR_ASSIGN_OR_RETURN(at, fields_.Number(blocks[i], "address", block));
      }
      if (bytes > kMostBytes - at) return fields_.Wrong(block, " ends after byte 2^60");
      if (absl::StartsWith(fields_.Text(blocks[i], "state"), "active") && !live_.contains(at)) {
        ASHLAR_RETURN_IF_ERROR(AddBuffer(blocks[i], {at, at + bytes}, 0, block));
      }
      at += bytes;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<MemorySnapshot> Finish(int devices) {
    MemorySnapshot made;
    made.device = device_;
    made.devices = devices;
    made.steps = step_;
    std::vector<int64_t> change(static_cast<size_t>(step_) + 2);
    memory::TotalBytes total;
    for (memory::Buffer& buffer : buffers_) {
      if (buffer.upper == 0) buffer.upper = step_ + 1;
      ASHLAR_RETURN_IF_ERROR(total.Add(buffer));
      change[static_cast<size_t>(buffer.lower)] += buffer.size;
      change[static_cast<size_t>(buffer.upper)] -= buffer.size;
    }
    int64_t bytes = 0;
    for (const int64_t one : change) {
      bytes += one;
      made.allocated_bytes = std::max(made.allocated_bytes, bytes);
    }
    // reserved_end_ is known, so the bytes at the begin of the history follow.
    made.reserved_bytes = std::max(int64_t{0}, reserved_end_ - reserved_change_ + most_change_);
    Place(made);
    for (size_t i = 0; i < buffers_.size(); ++i) made.problem.ids.push_back(absl::StrCat(i));
    made.problem.problem.buffers = std::move(buffers_);
    made.problem.names = std::move(names_);
    return made;
  }

 private:
  absl::Status AddBuffer(Id entry, const Range& range, int64_t lower, const std::string& where) {
    memory::Buffer buffer;
    buffer.id = static_cast<int64_t>(buffers_.size());
    buffer.lower = lower;
    buffer.size = range.end - range.begin;
    buffer.alignment = alignment_;
    const auto [place, added] = live_.emplace(range.begin, buffers_.size());
    if (!added) {
      return fields_.Wrong(where, absl::StrFormat(": 0x%x is allocated already", range.begin));
    }
    buffers_.push_back(buffer);
    at_.push_back(range);
    names_.push_back(fields_.NameOf(entry, range.begin));
    return absl::OkStatus();
  }

  absl::Status Allocate(Id event, const std::string& where) {
    ASHLAR_ASSIGN_OR_RETURN(const Range range, fields_.Addresses(event, "addr", "size", where));
    return AddBuffer(event, range, ++step_, where);
  }

  absl::Status Free(Id event, const std::string& where) {
    ASHLAR_ASSIGN_OR_RETURN(const Range range, fields_.Addresses(event, "addr", "size", where));
    // Allocated before the history began.
    if (!live_.contains(range.begin)) {
      ASHLAR_RETURN_IF_ERROR(AddBuffer(event, range, 0, where));
    }
    const auto found = live_.find(range.begin);
    buffers_[found->second].upper = step_ + 1;
    live_.erase(found);
    return absl::OkStatus();
  }

  absl::Status AddReserved(int64_t bytes, const std::string& where) {
    if (bytes > kMostBytes - reserved_end_) {
      return fields_.Wrong(where, ": all segments have more than 2^60 bytes");
    }
    reserved_end_ += bytes;
    return absl::OkStatus();
  }

  absl::Status Reserve(Id event, int sign, const std::string& where) {
    ASHLAR_ASSIGN_OR_RETURN(const Range range, fields_.Addresses(event, "addr", "size", where));
    ranges_.push_back(range);
    const int64_t bytes = range.end - range.begin;
    if (bytes > kMostBytes - std::abs(reserved_change_)) {
      return fields_.Wrong(where, ": all segments have more than 2^60 bytes");
    }
    reserved_change_ += sign * bytes;
    most_change_ = std::max(most_change_, reserved_change_);
    return absl::OkStatus();
  }

  // Maps addresses to offsets without the gaps that no segment ever had.
  void Place(MemorySnapshot& made) {
    std::vector<Range> ranges = std::move(ranges_);
    ranges.insert(ranges.end(), at_.begin(), at_.end());
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> joined;
    std::vector<int64_t> offset_of;  // one for each joined range
    for (const Range& range : ranges) {
      if (!joined.empty() && range.begin <= joined.back().end) {
        joined.back().end = std::max(joined.back().end, range.end);
      } else {
        joined.push_back(range);
      }
    }
    for (const Range& range : joined) {
      offset_of.push_back(made.span_bytes);
      made.span_bytes += range.end - range.begin;
    }
    for (const Range& range : at_) {
      const auto after =
          std::upper_bound(joined.begin(), joined.end(), range.begin,
                           [](int64_t address, const Range& one) { return address < one.begin; });
      const auto index = static_cast<size_t>(after - joined.begin() - 1);
      made.offsets.push_back(offset_of[index] + range.begin - joined[index].begin);
    }
  }

  const Pickle& file_;
  Fields& fields_;
  const int device_;
  const int64_t alignment_;
  int64_t events_ = 0, segments_ = 0, step_ = 0;
  std::vector<memory::Buffer> buffers_;  // upper 0: still allocated
  std::vector<std::string> names_;
  std::vector<Range> at_, ranges_;             // of buffers; of segments
  absl::flat_hash_map<int64_t, size_t> live_;  // buffers by address
  // Bytes of segments: at the end; the change over the history, and the most of it.
  int64_t reserved_end_ = 0, reserved_change_ = 0, most_change_ = 0;
};

}  // namespace

absl::StatusOr<MemorySnapshot> ReadMemorySnapshot(absl::Span<const uint8_t> bytes,
                                                  const std::string& name, int64_t alignment) {
  ASHLAR_ASSIGN_OR_RETURN(const Pickle file, Pickle::Read(bytes, name));
  Fields fields(file, name);
  ASHLAR_ASSIGN_OR_RETURN(const auto segments,
                          fields.List(file.root(), "segments", "the snapshot"));
  absl::Span<const Id> traces;
  if (file.Find(file.root(), "device_traces") != nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(traces, fields.List(file.root(), "device_traces", "the snapshot"));
  }
  std::vector<std::vector<Id>> segments_of(traces.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(const int64_t device,
                            fields.Number(segments[i], "device", absl::StrCat("segment ", i)));
    if (device >= int64_t{kMostDevices})
      return fields.Wrong("segment ", i, " is of device ", device);
    segments_of.resize(std::max(segments_of.size(), static_cast<size_t>(device) + 1));
    segments_of[static_cast<size_t>(device)].push_back(segments[i]);
  }
  if (segments_of.size() > kMostDevices) return fields.Wrong(segments_of.size(), " devices");
  std::optional<MemorySnapshot> largest;
  const auto devices = static_cast<int>(segments_of.size());
  for (int device = 0; device < devices; ++device) {
    const auto index = static_cast<size_t>(device);
    DeviceHistory history(file, fields, device, std::max(alignment, kSnapshotAlignment));
    if (index < traces.size()) {
      ASHLAR_ASSIGN_OR_RETURN(
          const auto events,
          fields.ListAt(traces[index], absl::StrCat("the trace of device ", device)));
      for (const Id event : events) ASHLAR_RETURN_IF_ERROR(history.AddEvent(event));
    }
    for (const Id one : segments_of[index]) ASHLAR_RETURN_IF_ERROR(history.AddSegment(one));
    ASHLAR_ASSIGN_OR_RETURN(MemorySnapshot made, history.Finish(devices));
    if (!largest || made.allocated_bytes > largest->allocated_bytes) largest = std::move(made);
  }
  if (!largest) return fields.Wrong("the snapshot has no device");
  return *std::move(largest);
}

}  // namespace ashlar
