// The request of PlanGraph. Its stages take only the part that they use.
#ifndef ASHLAR_RUNTIME_PLAN_REQUEST_PLAN_REQUEST_H_
#define ASHLAR_RUNTIME_PLAN_REQUEST_PLAN_REQUEST_H_

#include "runtime/plan/request/debug_options.h"
#include "runtime/plan/request/plan_target.h"
#include "runtime/plan/request/planning_options.h"

namespace ashlar {

struct PlanRequest {
  PlanTarget target;
  PlanningOptions planning;
  DebugOptions debug;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_REQUEST_PLAN_REQUEST_H_
