// The options with which a model was packed, as text. They are the options of a request on which
// weights or their graph depend: models packed with different ones cannot replace each other.
#ifndef ASHLAR_RUNTIME_PLAN_RECORD_PACKING_OPTIONS_H_
#define ASHLAR_RUNTIME_PLAN_RECORD_PACKING_OPTIONS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar {

// Returns "layouts 2, passes all, prefer memory, tile 0-216:lines112". Options with the default are
// left out, except the passes.
std::string PackingOptionsText(const PlanRequest& request);

// Returns a request with these options. FailedPrecondition for the text of another version.
absl::StatusOr<PlanRequest> ParsePackingOptions(absl::string_view text);

// Returns FailedPrecondition that names the options that differ. The budget that tiles were found
// for need not be repeated.
absl::Status CheckSamePacking(const PlanRequest& packed, const PlanRequest& asked);

// Sets the options with which a file was packed, except `given` ones (names of RequestOptions). If
// the request's budget differs from the file's, tiles and kernels are chosen anew. No effect for
// the text of another version.
void TakePackedOptions(absl::string_view packed,
                       absl::FunctionRef<bool(absl::string_view name)> given, PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORD_PACKING_OPTIONS_H_
