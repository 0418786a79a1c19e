// Packs open models for programs.
#ifndef ASHLAR_LIBRARY_PACK_MODEL_H_
#define ASHLAR_LIBRARY_PACK_MODEL_H_

#include "absl/status/statusor.h"
#include "library/model.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/session/executable.h"

namespace ashlar {

// Computes the packed part of a file, with which loading packs nothing: the graph rewritten for the
// request, and the weights in the layout of the kernels, packed from the plain ones. If a budget
// for the total is too small for all weights, they are packed to be streamed within it, in panels
// that fit the window that is left, and in tiles if the arena leaves too little; a note says how.
// ResourceExhausted, naming the least bytes that were found, if nothing fits; other errors are
// UsePlainWeights's and Executable::Compile's.
absl::StatusOr<PackedModel> PackModel(Model& model, PlanRequest request, const NoteListener& note);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_PACK_MODEL_H_
