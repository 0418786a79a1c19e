// A file mapped into memory, read-only, and a list of all such files. Memory of a mapped file can
// fail: if the disk reports an error, or the file was shortened, a read is the signal SIGBUS.
//
// The list links the mappings themselves, so that it has no limit. A handler of signals may search
// it: a thread holds its lock for a few instructions, which read no mapped bytes.
#ifndef ASHLAR_GRAPH_FILE_MAPPING_H_
#define ASHLAR_GRAPH_FILE_MAPPING_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace ashlar {

// A payload of errors that are found in a model's file after it was opened.
inline constexpr char kDamagedFile[] = "ashlar/damaged_file";

// Returns the same error, with kDamagedFile.
absl::Status DamagedFile(absl::Status status);

class FileMapping {
 public:
  // Takes over `bytes` bytes that mmap has returned; 0: nothing is mapped. `path` is for errors.
  FileMapping(const void* data, int64_t bytes, std::string path);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  const void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  // Brings bytes into memory, so that reading them soon is no signal. If they cannot be read,
  // DataLoss with kDamagedFile, which names the file. Does nothing before Linux 5.14.
  absl::Status Load(const void* data, int64_t bytes) const;
  // Returns the error of bytes that cannot be read.
  absl::Status CannotRead(const void* data, int64_t bytes) const;

  const std::string& path() const { return path_; }

  // Returns the mapping that an address lies in; null if none has it. It stays valid as long as the
  // caller may read that address.
  static const FileMapping* Find(const void* address);

 private:
  const void* const data_;
  const int64_t bytes_;
  const std::string path_;
  // Under the lock of the list: the next mapping, and the pointer to this one (null: not in it).
  FileMapping* next_ = nullptr;
  FileMapping** to_this_ = nullptr;
};

// Constants of at most so many bytes may be sizes, which inference reads.
inline constexpr int64_t kMostSizesBytes = 64 << 10;

// Load for bytes of any mapped file; OK for all other bytes.
absl::Status LoadIfMapped(const void* data, int64_t bytes);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_FILE_MAPPING_H_
