// Packed files in the C interface: their weights are used directly from the file.
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "library/c/plan_options.h"
#include "library/pack_model.h"
#include "serialization/native/writer.h"

namespace ashlar::c {

namespace {

absl::Status Pack(const ashlar_model& model, const ashlar_plan_options& options, const char* path,
                  const Watched& watched) {
  if (!HasEnding(path, ".ash")) {
    return InvalidArgument(absl::StrCat("path ", path, " is not a .ash file"));
  }
  if (options.share != nullptr) {
    return InvalidArgument("share: a packed file holds the weights of one plan");
  }
  ASHLAR_ASSIGN_OR_RETURN(Model source, ModelFor(model, options));
  ASHLAR_ASSIGN_OR_RETURN(const PlanRequest request, RequestFor(source, options, watched));
  if (request.target.comp_node.type != CompNode::Type::kCpu) {
    return InvalidArgument(
        absl::StrCat("device ", options.device, ": weights are packed for the host"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const PackedModel packed, PackModel(source, request, /*note=*/nullptr));
  return WithStatus(WriteModel(source.graph, packed, path, FileAxesOf(source), LettingGoOf(source)),
                    ASHLAR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ashlar::c

ashlar_status ashlar_model_pack(const ashlar_model* model, const ashlar_plan_options* options,
                                const char* path) {
  return ashlar::c::Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(ashlar::c::CheckGiven(model, "model"));
    ASHLAR_RETURN_IF_ERROR(ashlar::c::CheckGiven(path, "path"));
    ashlar_plan_options given;
    ASHLAR_RETURN_IF_ERROR(ashlar::c::Read(options, "ashlar_plan_options", given));
    return ashlar::c::RunWatched({given.time_limit, given.progress, given.progress_context},
                                 [&](const ashlar::c::Watched& watched) {
                                   return ashlar::c::Pack(*model, given, path, watched);
                                 });
  });
}
