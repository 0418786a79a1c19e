#include "tools/report/layer_values.h"

#include "graph/status.h"
#include "runtime/session/run_values.h"

namespace ashlar {

absl::StatusOr<LayerValues> RunAndRecord(BoundSession& session) {
  LayerValues values;
  ASHLAR_RETURN_IF_ERROR(
      RunAndVisit(session.session(), [&](const Var& var, const HostTensor& value) {
        values[var.id] = value;
        return absl::OkStatus();
      }));
  return values;
}

}  // namespace ashlar
