// Measured times of kernels, kept in a file from one planning to the next.
#ifndef ASHLAR_RUNTIME_CUDA_AUTOTUNE_CACHE_H_
#define ASHLAR_RUNTIME_CUDA_AUTOTUNE_CACHE_H_

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ashlar::cuda {

// What a time was measured for. Any change of device or library makes another key.
struct TimeKey {
  std::string device;   // "NVIDIA H200, 9.0"
  std::string library;  // "cuDNN 9.19.0"
  std::string problem;  // ConvProblem::ToString()
  std::string kernel;   // the candidate: engine and knobs

  std::string ToString() const;
};

// May be used from several threads. Several programs may use one file: the last to save wins.
class AutotuneCache {
 public:
  // Reads `path`. A file that is not there, or that is no such cache, is an empty cache; `note`
  // then says what was wrong with a file that is there.
  explicit AutotuneCache(std::string path);

  const std::string& path() const { return path_; }
  const std::string& note() const { return note_; }
  size_t size() const;

  std::optional<double> Find(const TimeKey& key) const;  // microseconds
  // Ignored unless finite and positive.
  void Add(const TimeKey& key, double microseconds);
  // Writes the file anew, whole or not at all, if there is anything new; makes its folder.
  absl::Status Save();

 private:
  const std::string path_;
  std::string note_;
  mutable std::mutex mutex_;
  std::map<std::string, double> times_;
  bool changed_ = false;
};

// $ASHLAR_CACHE, else $XDG_CACHE_HOME/ashlar, else ~/.cache/ashlar; the file "autotune.json" there.
// "" where there is no such place.
std::string DefaultAutotunePath();

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_AUTOTUNE_CACHE_H_
