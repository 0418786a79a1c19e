#include "serialization/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "graph/file_mapping.h"
#include "graph/status.h"
#include "serialization/onnx/shown.h"

namespace ashlar {
namespace {

// A descriptor that is closed unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { Reset(-1); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns the names on the path from the model's folder to the file.
absl::StatusOr<std::vector<std::string>> Steps(absl::string_view location) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("external data '", Shown(location), "': ", why));
  };
  if (location.empty()) return refuse("no location");
  if (location.find('\0') != absl::string_view::npos) return refuse("a zero byte in its name");
  if (absl::StrContains(location, "\\")) return refuse("a backslash in its name");
  if (location[0] == '/') return refuse("an absolute path; expected one below the model's folder");
  std::vector<std::string> steps;
  for (absl::string_view step : absl::StrSplit(location, '/')) {
    if (step.empty() || step == ".") continue;
    if (step == "..") return refuse("leaves the model's folder");
    steps.emplace_back(step);
  }
  if (steps.empty()) return refuse("names no file");
  return steps;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> ExternalData::Open(const std::string& location) {
  if (model_path_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its weights lie in the file ", Shown(location),
                     ", which a model in memory does not have beside it; open the file"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<std::string> steps, Steps(location));
  const std::string folder = FolderOf(model_path_);
  const std::string path = absl::StrCat(folder, "/", Shown(location));
  Descriptor at(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) return absl::ErrnoToStatus(errno, absl::StrCat(folder, ": cannot open"));
  const int no_links = follow_links_ ? 0 : O_NOFOLLOW;
  for (size_t i = 0; i < steps.size(); ++i) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    const int kind = i + 1 < steps.size() ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
    const int next = openat(at.get(), steps[i].c_str(), kind | no_links | O_CLOEXEC);
    const int error = errno;
    at.Reset(next);
    if (next >= 0) continue;
    if (error == ENOENT) {
      return absl::InvalidArgumentError(
          absl::StrCat(Shown(location), ", which ", NameOf(model_path_),
                       " refers to, is not beside it; both files are needed"));
    }
    if (error == ELOOP || (error == ENOTDIR && !follow_links_)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": '", Shown(steps[i]),
                       "' is a symbolic link or no folder; allowing external symlinks follows "
                       "links"));
    }
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot open"));
  }
  struct stat info;
  if (fstat(at.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 1 && !follow_links_) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": has ", info.st_nlink,
        " names (hard links), so that it may lie elsewhere; allowing external symlinks takes it"));
  }
  return MappedFile::Map(at.Release(), path);
}

absl::StatusOr<FileInMemory> ExternalData::ContentsOf(const std::string& location) {
  if (const auto given = given_.find(location); given != given_.end()) return given->second;
  std::shared_ptr<const MappedFile>& file = files_[location];
  if (file == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(file, mapped_->Get(location, [&] { return Open(location); }));
  }
  return FileInMemory{file->bytes(), file};
}

absl::StatusOr<ExternalData::Bytes> ExternalData::Find(const onnx::TensorProto& tensor,
                                                       int64_t bytes) {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
      continue;
    }
    if (entry.key() != "offset" && entry.key() != "length") continue;
    int64_t value = 0;
    if (!absl::SimpleAtoi(entry.value(), &value) || value < 0) {
      return absl::InvalidArgumentError(absl::StrCat("external data: ", entry.key(), " is '",
                                                     Shown(entry.value()), "', expected a number"));
    }
    if (entry.key() == "offset") {
      offset = value;
    } else {
      length = value;
    }
  }
  ASHLAR_ASSIGN_OR_RETURN(const FileInMemory file, ContentsOf(location));
  const int64_t size = static_cast<int64_t>(file.bytes.size());
  if (offset > size || length.value_or(size - offset) > size - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data: bytes ", offset, " and on of ", Shown(location),
                     length ? absl::StrCat(", ", *length, " of them,") : "", " are beyond its ",
                     size, " bytes"));
  }
  if (length.value_or(size - offset) != bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "external data has ", length.value_or(size - offset), " bytes, the shape needs ", bytes));
  }
  const uint8_t* const data = file.bytes.data() + offset;
  // Values of sizes are read at once. Weights are loaded when they are used.
  if (bytes <= kMostSizesBytes) ASHLAR_RETURN_IF_ERROR(LoadIfMapped(data, bytes));
  return Bytes{file.owner, data};
}

std::vector<std::shared_ptr<const MappedFile>> ExternalData::files() const {
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (const auto& [location, file] : files_) files.push_back(file);
  return files;
}

}  // namespace ashlar
