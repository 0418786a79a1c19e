// A model at every point of the family of shapes that --shape declares: planned together, with one
// arena and one copy of the weights.
#ifndef ASHLAR_TOOLS_FAMILY_H_
#define ASHLAR_TOOLS_FAMILY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "library/plan_model.h"
#include "library/shape_family.h"
#include "runtime/measure/heap/heap_counter.h"
#include "runtime/session/session.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

// Returns the family of --shape; nullopt if no input has several shapes. A usage error quotes a
// text that is none.
absl::StatusOr<std::optional<ShapeFamily>> FamilyOf(const ModelFlags& flags);

// Returns a usage error if an option does not go with a family.
absl::Status CheckTogether(const ShapeFamily& family, const PlanningFlags& planning);

// Returns the options for the model at one point.
ModelFlags AtPoint(const ModelFlags& flags, const InputShapes& point);

// Returns the point whose shapes the arrays of --input have, as the model's options convert them;
// without --input the last point, whose sizes are the largest. kRejectedInput lists the declared
// sizes. A usage error says if pictures of one size (--pixels 480x640) leave a choice.
absl::StatusOr<size_t> ChoosePoint(const ShapeFamily& family, const ModelFlags& flags,
                                   const InputFlags& inputs);

// Returns the options for the model at the point that the inputs choose; the same options if there
// is no family. A note names the point.
absl::StatusOr<ModelFlags> AtChosenPoint(const ModelFlags& flags, const PlanningFlags& planning,
                                         const InputFlags& inputs, Console& console);

struct PlannedFamily {
  ShapeFamily shapes;               // without combinations of sizes that the model refuses
  std::vector<PlannedModel> plans;  // by point; they share weights, or the window of streamed ones
  size_t refused = 0;               // combinations that the model refuses

  int64_t weights = 0;            // bytes, in one pool or window
  int64_t weights_apart() const;  // bytes of all plans without sharing
  int64_t arena() const;          // bytes, the largest
};

// Plans every point. If several inputs vary, leaves out combinations that the model refuses.
// Errors name the point.
absl::StatusOr<PlannedFamily> PlanFamily(const ShapeFamily& family, const ModelFlags& flags,
                                         ExecutionFlags& execution, const PlanningFlags& planning,
                                         Console& console);

// Packs the weights once, and creates a session for each point, all in one arena.
absl::StatusOr<std::vector<std::unique_ptr<Session>>> SessionsOf(PlannedFamily family);

struct FamilySwitching {
  int64_t runs = 0;
  HeapCounts heap;        // of all runs after the first of each point
  int64_t differing = 0;  // runs whose results differ from the first run of the point
};

// Runs the points in random order, each `runs` times on average, on random inputs of their own.
absl::StatusOr<FamilySwitching> SwitchBetweenPoints(PlannedFamily family, int runs, uint64_t seed);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_FAMILY_H_
