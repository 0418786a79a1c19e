// The viewer: a page of its own with plans in it, which asks for nothing else.
#ifndef ASHLAR_VIEWER_PLAN_PAGE_H_
#define ASHLAR_VIEWER_PLAN_PAGE_H_

#include <string>
#include <vector>

#include "viewer/viewed_plan.h"

namespace ashlar {

// The whole HTML file. A second plan is compared with the first. Names may hold anything: they are
// in the page as JSON without a '<', and are shown as text.
std::string PlanPage(const std::vector<ViewedPlan>& plans);

}  // namespace ashlar

#endif  // ASHLAR_VIEWER_PLAN_PAGE_H_
