// Compares two plans.
#ifndef ASHLAR_TOOLS_REPORT_PLAN_DIFF_H_
#define ASHLAR_TOOLS_REPORT_PLAN_DIFF_H_

#include <string>

#include "runtime/plan/record/recorded_plan.h"
#include "tools/json_output.h"
#include "viewer/viewed_plan.h"

namespace ashlar {

struct NamedPlan {
  std::string name;  // of the file
  RecordedPlan plan;
  ViewedPlan view;
};

// Formats pools, bound, proof, steps and expected time of both, then the largest chunks at the peak
// of each.
std::string DiffTable(const NamedPlan& a, const NamedPlan& b);

// Returns {plans: [each], difference: {b minus a}}.
Json DiffDocument(const NamedPlan& a, const NamedPlan& b);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_PLAN_DIFF_H_
