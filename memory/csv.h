// Buffers and plans as CSV: MiniMalloc's columns, and further ones.
#ifndef ASHLAR_MEMORY_CSV_H_
#define ASHLAR_MEMORY_CSV_H_

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/buffer.h"

namespace ashlar::memory {

// A problem from a file, with the ids as they stand there. Its fixed offsets do
// not contradict each other.
struct CsvProblem {
  Problem problem;
  std::vector<std::string> ids;    // One for each buffer.
  std::vector<std::string> names;  // The same, where the file has them; else empty.
};

// Reads MiniMalloc's CSV: a header with the columns id, lower, upper, size and,
// if wanted, others, in any order; then one buffer a row. An id is any text, in
// quotes if it has commas. An empty cell of the others is as good as none:
//
//   name       Any text.
//   alignment  Bytes.
//   inside, at The id of the row that this one lies inside of, and at which byte
//              of it: both may hold these bytes at the same time.
//   group      Any text, the same in the rows that are tied by lying inside.
//   offset     Bytes, where the address is prescribed; -1: it is free.
//
// Rows are taken as they come, nothing else is kept of the text.
// `alignment`: bytes, at least, of every buffer that lies inside of no other.
// InvalidArgument names `name`, the line, and the id or the column.
absl::StatusOr<CsvProblem> ReadCsv(std::istream& in, const std::string& name,
                                   int64_t alignment = 1);
// NotFound if there is no such file.
absl::StatusOr<CsvProblem> ReadCsvFile(const std::string& path, int64_t alignment = 1);

// Writes one row for each buffer, which reads back: id,lower,upper,size,offset,
// and all columns where buffers have names or lie inside of each other. InvalidArgument where it
// would not read back: offsets count on top of all sizes, and both together end at kMaxBytes.
absl::Status WriteCsv(const CsvProblem& problem, const Plan& plan, std::ostream& out);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_CSV_H_
