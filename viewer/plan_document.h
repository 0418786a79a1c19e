// The JSON document of a plan. The viewer shows it, `ashlar plan --json --buffers` writes it under
// "plan", and programs read it. docs/json.schema.json describes it as plan_document.
//
// Lists of buffers, steps, reads, views and relations are columns of equal length: a million
// buffers are seven arrays, not a million objects.
#ifndef ASHLAR_VIEWER_PLAN_DOCUMENT_H_
#define ASHLAR_VIEWER_PLAN_DOCUMENT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "viewer/viewed_plan.h"

namespace ashlar {

nlohmann::ordered_json PlanDocument(const ViewedPlan& plan);

// Returns the tile that produces a var, from the var's name: "3", "3,1", or "3/0" for a tile inside
// a tile, of names like "conv1/3:halo". Empty if the name has none.
std::string PartOf(absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_VIEWER_PLAN_DOCUMENT_H_
