// The request of PlanGraph. Its stages take only the part that they use.
#ifndef ASHLAR_RUNTIME_PLAN_PLAN_REQUEST_H_
#define ASHLAR_RUNTIME_PLAN_PLAN_REQUEST_H_

#include "runtime/plan/checks.h"
#include "runtime/plan/means.h"
#include "runtime/plan/wishes.h"

namespace ashlar {

struct PlanRequest {
  Wishes wishes;
  Means means;
  Checks checks;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PLAN_REQUEST_H_
