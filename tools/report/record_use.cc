#include "tools/report/record_use.h"

#include "absl/strings/str_format.h"
#include "tools/format.h"

namespace ashlar {

std::string RecordLine(const RecordUse& use) {
  if (use.path.empty()) return "kernels: by the table, no record of measured ones\n";
  return absl::StrFormat("kernels: %d of %s%s as on record in %s\n", use.answered,
                         Counted(use.problems, "problem"), use.tiles ? ", and tiles," : "",
                         use.path);
}

Json RecordDocument(const RecordUse& use) {
  if (use.path.empty()) return Json();
  return {{"path", use.path},
          {"problems", use.problems},
          {"answered", use.answered},
          {"tiles", use.tiles}};
}

}  // namespace ashlar
