#include "runtime/device/allocation_origin.h"

namespace ashlar {
namespace {

thread_local AllocationOrigin current_origin = AllocationOrigin::kOther;

}  // namespace

AllocationOrigin CurrentOrigin() { return current_origin; }

OriginScope::OriginScope(AllocationOrigin origin) : previous_(current_origin) {
  current_origin = origin;
}

OriginScope::~OriginScope() { current_origin = previous_; }

}  // namespace ashlar
