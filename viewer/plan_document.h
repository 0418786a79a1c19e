// The document of a plan, which the viewer shows, `ashlar plan --json --buffers` writes
// under "plan", and programs read. docs/json.schema.json describes it as plan_document.
//
// Lists of buffers, steps, reads, views and relations are columns of equal length, so that a
// million buffers are seven arrays and no million objects.
#ifndef ASHLAR_VIEWER_PLAN_DOCUMENT_H_
#define ASHLAR_VIEWER_PLAN_DOCUMENT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "viewer/viewed_plan.h"

namespace ashlar {

nlohmann::ordered_json PlanDocument(const ViewedPlan& plan);

// The part of a tiled graph that makes a var of this name: "3" or "3,1", and "3/0" for a part
// inside of a part, of "conv1/3:halo" and the like; empty where the name has none.
std::string PartOf(absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_VIEWER_PLAN_DOCUMENT_H_
