// The part of a plan that comes of a record of measured kernels, for reports.
#ifndef ASHLAR_TOOLS_RECORD_USE_H_
#define ASHLAR_TOOLS_RECORD_USE_H_

#include <string>

#include "runtime/plan/kernel_record.h"
#include "tools/console.h"

namespace ashlar {

// "kernels: 5 of 27 problems as on record in kernels.json"; by the table, where there is no record.
std::string RecordLine(const RecordUse& use);

// {path, problems, answered}; null where there is no record.
Json RecordDocument(const RecordUse& use);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_RECORD_USE_H_
