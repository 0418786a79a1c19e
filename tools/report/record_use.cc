#include "tools/report/record_use.h"

#include "absl/strings/str_format.h"
#include "tools/format.h"

namespace ashlar {

std::string RecordLine(const RecordUse& use) {
  if (use.path.empty()) return "kernels: chosen by a table; `ashlar tune` measures them\n";
  const int others = use.problems - use.answered;
  return absl::StrFormat("kernels: %d of %d measured by `ashlar tune` (%s)%s%s\n", use.answered,
                         use.problems, use.path,
                         others > 0 ? absl::StrFormat(", %d chosen by a table", others) : "",
                         use.tiles ? "; tiles measured, too" : "");
}

Json RecordDocument(const RecordUse& use) {
  if (use.path.empty()) return Json();
  return {{"path", use.path},
          {"problems", use.problems},
          {"answered", use.answered},
          {"tiles", use.tiles}};
}

}  // namespace ashlar
