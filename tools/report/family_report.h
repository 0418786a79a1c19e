// The points of a family of shapes, with the bytes of each and of all together.
#ifndef ASHLAR_TOOLS_REPORT_FAMILY_REPORT_H_
#define ASHLAR_TOOLS_REPORT_FAMILY_REPORT_H_

#include <string>

#include "tools/family.h"
#include "tools/json_output.h"

namespace ashlar {

std::string FamilyTable(const PlannedFamily& family);
// Returns "plan_family" of docs/json.schema.json.
Json FamilyDocument(const PlannedFamily& family);

// Returns the shapes of a point, as {"images": [1, 3, 224, 224]}.
Json ShapesDocument(const InputShapes& shapes);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_FAMILY_REPORT_H_
