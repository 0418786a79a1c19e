#include "tools/report/loss_log.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace ashlar {

absl::StatusOr<LossLog> LossLog::Open(const std::string& path) {
  LossLog log;
  if (path.empty()) return log;
  log.file_.reset(std::fopen(path.c_str(), "w"));
  if (log.file_ == nullptr) {
    return absl::UnknownError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  std::fputs("step,epoch,loss,learning_rate\n", log.file_.get());
  return log;
}

void LossLog::Add(int64_t step, int64_t epoch, float loss, double rate) {
  if (file_ == nullptr) return;
  std::fprintf(file_.get(), "%lld,%lld,%.9g,%.9g\n", static_cast<long long>(step),
               static_cast<long long>(epoch), static_cast<double>(loss), rate);
  std::fflush(file_.get());
}

}  // namespace ashlar
