// Reads and writes buffers and plans as CSV: MiniMalloc's columns, and further ones.
#ifndef ASHLAR_MEMORY_CSV_H_
#define ASHLAR_MEMORY_CSV_H_

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "memory/problem/buffer.h"

namespace ashlar::memory {

// A problem from a file, with the ids of the file. Its fixed offsets do not contradict each other.
struct CsvProblem {
  Problem problem;
  std::vector<std::string> ids;    // one for each buffer
  std::vector<std::string> names;  // one for each buffer if the file has names, otherwise empty
};

// Reads MiniMalloc's CSV: a header with the columns id, lower, upper, size and optional others, in
// any order; then one buffer per row. An id is any text, quoted if it has commas. Empty cells of
// optional columns have no effect:
//
//   name       Any text.
//   alignment  Bytes.
//   inside, at The id of the row that this one lies inside of, and the offset in bytes:
//              both may hold these bytes at the same time.
//   group      Any text, the same in the rows that are tied by lying inside.
//   offset     Bytes, if the address is prescribed; -1: it is free.
//
// Rows are read one by one; the text is not stored. `alignment`: minimum alignment in bytes of
// every buffer that lies inside no other. InvalidArgument names `name`, the line, and the id or the
// column.
absl::StatusOr<CsvProblem> ReadCsv(std::istream& in, const std::string& name,
                                   int64_t alignment = 1);
// NotFound if the file does not exist.
absl::StatusOr<CsvProblem> ReadCsvFile(const std::string& path, int64_t alignment = 1);

// Returns an id for each buffer of a file: its own, then "ID.1" and so on for others of that id, as
// sub-buffers of one var have.
std::vector<std::string> IdsInFile(absl::Span<const Buffer> buffers);

// Writes one row per buffer, which ReadCsv can read: id,lower,upper,size,offset. Writes all columns
// if buffers have names or lie inside each other. InvalidArgument if the result could not be read:
// when reading, offsets count in addition to all sizes, up to kMaxBytes together.
absl::Status WriteCsv(const CsvProblem& problem, const Plan& plan, std::ostream& out);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_CSV_H_
