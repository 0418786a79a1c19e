// The options of `ashlar train`, and the checks of their combinations.
#ifndef ASHLAR_TOOLS_TRAIN_OPTIONS_H_
#define ASHLAR_TOOLS_TRAIN_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/options.h"
#include "tools/training_flags.h"

namespace ashlar {

class TrainOptions : public Command {
 public:
  void Declare(CLI::App& app) override;
  absl::Status CheckOptions() const override;
  std::vector<IdleOptions> Idle(const ConsoleFlags&) const override;
  std::vector<std::string> OutputFiles() const override;

 protected:
  ModelFlags model_;
  InputFlags inputs_;
  ExecutionFlags execution_;
  TrainingFlags flags_;
  std::string data_, validate_, output_, labels_, log_, curve_, checkpoint_;
  int64_t epochs_ = 1, checkpoint_every_ = 0, micro_batch_ = 0, patience_ = 0;
  double rate_ = 0.01, validate_split_ = 0;
  RateSchedule schedule_;
  bool resume_ = false;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_TRAIN_OPTIONS_H_
