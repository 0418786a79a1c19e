// Status macros: every function that can fail returns absl::Status or absl::StatusOr.
#ifndef ASHLAR_GRAPH_STATUS_H_
#define ASHLAR_GRAPH_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#define ASHLAR_RETURN_IF_ERROR(expr)                                \
  do {                                                              \
    if (absl::Status ashlar_status = (expr); !ashlar_status.ok()) { \
      return ashlar_status;                                         \
    }                                                               \
  } while (false)

#define ASHLAR_CONCAT_INNER_(a, b) a##b
#define ASHLAR_CONCAT_(a, b) ASHLAR_CONCAT_INNER_(a, b)

// ASHLAR_ASSIGN_OR_RETURN(auto x, F()) declares x from a StatusOr, or returns its error.
#define ASHLAR_ASSIGN_OR_RETURN(lhs, expr) \
  ASHLAR_ASSIGN_OR_RETURN_(ASHLAR_CONCAT_(status_or_, __LINE__), lhs, expr)
#define ASHLAR_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = std::move(tmp).value()

namespace ashlar {

// Prefixes the error's message with `context`: "context: message". The error keeps its payloads.
inline absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_STATUS_H_
