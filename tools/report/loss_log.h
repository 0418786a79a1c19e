// The table of losses, a line a step, written while the training runs.
#ifndef ASHLAR_TOOLS_REPORT_LOSS_LOG_H_
#define ASHLAR_TOOLS_REPORT_LOSS_LOG_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace ashlar {

class LossLog {
 public:
  // Opens the file and writes the heads of its columns. Does nothing if `path` is empty.
  static absl::StatusOr<LossLog> Open(const std::string& path);
  void Add(int64_t step, int64_t epoch, float loss, double rate);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_LOSS_LOG_H_
