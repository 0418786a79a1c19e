// Time and memory of a recorded run.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_RECORDING_SUMMARY_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_RECORDING_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memory/csv.h"
#include "serialization/megengine/dump.h"

namespace ashlar {

struct TypeTotals {
  int operators = 0;
  double device = 0;         // seconds from start to end, as MegEngine's profile_analyze counts
  double device_kernel = 0;  // part of it since the start of the kernels
  double host = 0;
  int64_t memory = 0;       // bytes read and written
  int64_t computation = 0;  // scalar operations
  void Add(const TypeTotals& other);
};

// Returns the totals of one operator; `operators` is 1.
TypeTotals TotalsOf(const DumpOperator& op);
// Returns the totals of the operators in comp_seq, by type.
std::map<std::string, TypeTotals> TotalsByType(const ProfileRecording& recording);

// The addresses of the vars without persistent storage.
//
// The blocks of a dynamic allocator are far apart, so the distance between the outermost addresses
// means nothing. The union of the address ranges counts instead. `placement` closes the gaps
// between connected ranges: its offsets are below union_bytes. Lifetimes are steps of comp_seq.
struct RecordedMemory {
  int vars = 0;
  int extents = 0;
  int64_t union_bytes = 0;
  int64_t union_without_input_bytes = 0;  // without the outputs of InputCallback
  bool has_input = false;                 // whether the caller's input had an address
  int64_t peak_bytes = 0;                 // the most bytes in use at any step
  memory::CsvProblem placement;
  memory::Plan plan;               // the recorded offsets of `placement`
  std::vector<std::string> names;  // one for each buffer
};

RecordedMemory SummarizeMemory(const ProfileRecording& recording);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_RECORDING_SUMMARY_H_
