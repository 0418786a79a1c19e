// The options of `ashlar compare`, and the checks of their combinations.
#ifndef ASHLAR_TOOLS_COMPARE_OPTIONS_H_
#define ASHLAR_TOOLS_COMPARE_OPTIONS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "tools/command.h"
#include "tools/difference.h"
#include "tools/model.h"
#include "tools/options.h"

namespace ashlar {

// A metric, or the score of detections.
struct MetricChoice {
  Metric metric = Metric::kMax;
  std::optional<double> boxes;  // compares detections of this score and above
};

// The values of --atol or --rtol: one for all outputs, and others by name.
struct ToleranceFlags {
  std::vector<std::string> given;

  // Returns the tolerance of this output; nullopt if none is given for it.
  std::optional<double> Of(absl::string_view output) const;
  // Refuses values that are no tolerances.
  absl::Status Check(absl::string_view option) const;
  // Refuses names that are no outputs.
  absl::Status CheckNames(absl::string_view option, const Graph& graph) const;
};

class CompareOptions : public Command {
 public:
  void Declare(CLI::App& app) override;
  absl::Status CheckOptions() const override;
  std::vector<IdleOptions> Idle(const ConsoleFlags&) const override;

 protected:
  // Whether MODEL and OTHER are profile dumps.
  bool ComparesDumps() const;
  // Whether the reference is another plan of the model.
  bool HasOtherPlan() const;
  // Returns the options of the other side: by default the options of this side, except a precision
  // that the other device lacks.
  std::pair<ExecutionFlags, PlanningFlags> OtherFlags() const;
  // Returns the tolerance of an output; for an empty name, of all others.
  Tolerance ToleranceOf(absl::string_view output) const;

  ModelFlags model_;
  InputFlags inputs_;
  ExecutionFlags execution_, execution_b_;
  PlanningFlags planning_, planning_b_;
  std::string reference_, other_;
  std::string layers_ = "outputs";
  MetricChoice metric_;
  ToleranceFlags atol_, rtol_;
  bool fail_fast_ = false;
  Tolerance tolerance_;

 private:
  absl::Status CheckOther() const;
  absl::Status CheckReference() const;

  const CLI::App* app_ = nullptr;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_COMPARE_OPTIONS_H_
