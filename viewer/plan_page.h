// The viewer: a self-contained HTML page that shows plans.
#ifndef ASHLAR_VIEWER_PLAN_PAGE_H_
#define ASHLAR_VIEWER_PLAN_PAGE_H_

#include <string>
#include <vector>

#include "viewer/viewed_plan.h"

namespace ashlar {

// Returns the whole HTML file. A second plan is compared with the first. Names may contain any
// text: they are in the page as JSON without a '<', and are shown as text.
std::string PlanPage(const std::vector<ViewedPlan>& plans);

}  // namespace ashlar

#endif  // ASHLAR_VIEWER_PLAN_PAGE_H_
