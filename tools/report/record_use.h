// Reports how far a plan uses measured kernel times.
#ifndef ASHLAR_TOOLS_REPORT_RECORD_USE_H_
#define ASHLAR_TOOLS_REPORT_RECORD_USE_H_

#include <string>

#include "runtime/plan/request/kernel_record.h"
#include "tools/console.h"

namespace ashlar {

// Returns "kernels: 5 of 27 problems as on record in kernels.json"; without a record, a line that
// says kernels were chosen by the table.
std::string RecordLine(const RecordUse& use);

// Returns {path, problems, answered}; null without a record.
Json RecordDocument(const RecordUse& use);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_RECORD_USE_H_
