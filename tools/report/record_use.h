// Reports how far a plan uses measured kernel times.
#ifndef ASHLAR_TOOLS_REPORT_RECORD_USE_H_
#define ASHLAR_TOOLS_REPORT_RECORD_USE_H_

#include <string>

#include "runtime/plan/request/kernel_record.h"
#include "tools/console.h"

namespace ashlar {

// Returns "kernels: 5 of 27 measured by `ashlar tune`, ... (kernels.json)", counting kernels for
// equal operators once; without a record, a line that says that a table chose them.
std::string RecordLine(const RecordUse& use);

// Returns {path, problems, answered}; null without a record.
Json RecordDocument(const RecordUse& use);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_RECORD_USE_H_
