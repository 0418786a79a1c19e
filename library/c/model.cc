// Models behind the C interface.
#include <memory>
#include <utility>

#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"

using ashlar::c::Call;
using ashlar::c::CheckGiven;
using ashlar::c::WithStatus;

namespace {

// Every error of opening a file, but for the lack of memory, is told as the file's.
absl::Status Rejected(const absl::Status& status) {
  if (absl::IsResourceExhausted(status) || absl::IsUnimplemented(status)) return status;
  return WithStatus(status, ASHLAR_REJECTED_FILE);
}

}  // namespace

ashlar_status ashlar_model_open(const char* path, ashlar_model** model) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(path, "path"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    ashlar::OpenOptions options;
    options.note = ashlar::c::Log;
    const bool onnx = ashlar::HasEnding(path, ".onnx");
    absl::StatusOr<ashlar::Model> opened = ashlar::OpenModel(path, options);
    auto made = std::make_unique<ashlar_model>();
    if (onnx) made->path = path;
    if (opened.ok()) {
      made->model = *std::move(opened);
    } else if (onnx && absl::IsFailedPrecondition(opened.status())) {
      made->needs_shapes = opened.status();
    } else {
      return Rejected(opened.status());
    }
    *model = made.release();
    return absl::OkStatus();
  });
}

ashlar_status ashlar_model_open_bytes(const void* bytes, size_t size, ashlar_model** model) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(bytes, "bytes"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    absl::StatusOr<ashlar::Model> opened =
        ashlar::OpenModelInMemory({static_cast<const uint8_t*>(bytes), size});
    if (!opened.ok()) return Rejected(opened.status());
    *model = new ashlar_model{*std::move(opened), "", absl::OkStatus()};
    return absl::OkStatus();
  });
}

ashlar_status ashlar_model_join(const ashlar_model* first, const ashlar_model* second,
                                ashlar_model** joined) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(first, "first"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(second, "second"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(joined, "joined"));
    ASHLAR_RETURN_IF_ERROR(first->needs_shapes);
    ASHLAR_RETURN_IF_ERROR(second->needs_shapes);
    absl::StatusOr<ashlar::Model> both = ashlar::JoinModels(first->model, second->model);
    if (!both.ok()) return both.status();
    *joined = new ashlar_model{*std::move(both), "", absl::OkStatus()};
    return absl::OkStatus();
  });
}

void ashlar_model_release(ashlar_model* model) { delete model; }
