#include "runtime/cuda/autotune_cache.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ashlar::cuda {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr uintmax_t kMaxBytes = 64 << 20;

bool IsTime(double microseconds) { return std::isfinite(microseconds) && microseconds > 0; }

// What is wrong with the text; "" if it was read.
std::string ReadTimes(const std::string& text, std::map<std::string, double>& times) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return "it is not a JSON object";
  const auto version = document.find("schema_version");
  if (version == document.end() || !version->is_number_integer() || *version != kVersion) {
    return absl::StrCat("its schema_version is not ", kVersion);
  }
  const auto entries = document.find("microseconds");
  if (entries == document.end() || !entries->is_object()) return "it has no object 'microseconds'";
  for (const auto& [key, value] : entries->items()) {
    if (!value.is_number() || !IsTime(value.get<double>())) {
      times.clear();
      return absl::StrCat("'", key.substr(0, 80), "' is no time");
    }
    times[key] = value.get<double>();
  }
  return "";
}

}  // namespace

std::string TimeKey::ToString() const {
  return absl::StrCat(device, " | ", library, " | ", problem, " | ", kernel);
}

AutotuneCache::AutotuneCache(std::string path) : path_(std::move(path)) {
  std::error_code error;
  if (path_.empty() || !std::filesystem::is_regular_file(path_, error)) return;
  if (std::filesystem::file_size(path_, error) > kMaxBytes || error) {
    note_ = absl::StrCat(path_, ": larger than ", kMaxBytes, " bytes; measuring anew");
    return;
  }
  std::ifstream file(path_, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string problem = file.bad() ? "it cannot be read" : ReadTimes(text, times_);
  if (!problem.empty()) note_ = absl::StrCat(path_, ": ", problem, "; measuring anew");
}

size_t AutotuneCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return times_.size();
}

std::optional<double> AutotuneCache::Find(const TimeKey& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = times_.find(key.ToString());
  return it == times_.end() ? std::nullopt : std::optional<double>(it->second);
}

void AutotuneCache::Add(const TimeKey& key, double microseconds) {
  if (!IsTime(microseconds)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  times_[key.ToString()] = microseconds;
  changed_ = true;
}

absl::Status AutotuneCache::Save() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!changed_ || path_.empty()) return absl::OkStatus();
  Json document = {{"schema_version", kVersion}, {"microseconds", Json::object()}};
  for (const auto& [key, microseconds] : times_) document["microseconds"][key] = microseconds;

  std::error_code error;
  const std::filesystem::path target(path_);
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  const std::string temporary = absl::StrCat(path_, ".", getpid());
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << document.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
    file.close();
    if (!file) {
      std::remove(temporary.c_str());
      return absl::UnavailableError(absl::StrCat(path_, ": cannot be written"));
    }
  }
  std::filesystem::rename(temporary, target, error);
  if (error) {
    std::remove(temporary.c_str());
    return absl::UnavailableError(absl::StrCat(path_, ": ", error.message()));
  }
  changed_ = false;
  return absl::OkStatus();
}

std::string DefaultAutotunePath() {
  const auto from = [](const char* variable, absl::string_view folder) {
    const char* const value = std::getenv(variable);
    return value == nullptr || *value == '\0' ? "" : absl::StrCat(value, folder, "/autotune.json");
  };
  std::string path = from("ASHLAR_CACHE", "");
  if (path.empty()) path = from("XDG_CACHE_HOME", "/ashlar");
  if (path.empty()) path = from("HOME", "/.cache/ashlar");
  return path;
}

}  // namespace ashlar::cuda
