// The options of `ashlar plan`, and the checks of their combinations.
#ifndef ASHLAR_TOOLS_PLAN_OPTIONS_H_
#define ASHLAR_TOOLS_PLAN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/problem/solution.h"
#include "tools/command.h"
#include "tools/options.h"
#include "tools/plan_picture.h"
#include "tools/training_flags.h"

namespace ashlar {

class PlanOptions : public Command {
 public:
  void Declare(CLI::App& app) override;
  absl::Status CheckOptions() const override;
  std::vector<IdleOptions> Idle(const ConsoleFlags& console) const override;
  std::vector<std::string> OutputFiles() const override;

 protected:
  // Whether MODEL is a CSV file of buffers.
  bool PlansBuffers() const;
  bool PlansSnapshot() const;  // whose buffers come from PyTorch's memory snapshot
  // Whether the plan is written into a TensorFlow Lite model.
  bool WritesTflite() const;
  PlanFormat format() const;
  // Whether every buffer is shown, by the viewer or in a document.
  bool shows_all() const { return format() == PlanFormat::kHtml || buffers_; }
  std::optional<int64_t> capacity() const;
  memory::SearchLimits limits() const;

  ModelFlags model_;
  ExecutionFlags execution_;
  PlanningFlags planning_;
  TrainingFlags training_;
  WorkspaceSource workspace_ = WorkspaceSource::kKernel;
  int64_t capacity_ = 0;
  bool frontier_ = false, buffers_ = false, share_arena_ = false, int8_twin_ = false,
       validate_ = false;
  std::vector<std::string> more_;  // further models after MODEL
  std::string compare_, output_, tile_info_, diff_;
  PlanFormat format_ = PlanFormat::kTable;

 private:
  absl::Status CheckFrontierOptions() const;
  absl::Status CheckTwinOptions() const;
  absl::Status CheckDiffOptions() const;
  absl::Status CheckShareOptions() const;
  absl::Status CheckFamilyOptions() const;
  // Returns a usage error if an option for a single plan is given. `told` follows the option's name
  // in the message: " is about ...".
  absl::Status CheckNone(absl::Span<const char* const> options, absl::string_view told) const;

  const CLI::App* app_ = nullptr;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PLAN_OPTIONS_H_
