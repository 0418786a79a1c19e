// Mapped files that several readings of a model share.
#ifndef ASHLAR_SERIALIZATION_MAPPED_FILES_H_
#define ASHLAR_SERIALIZATION_MAPPED_FILES_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/status.h"
#include "serialization/mapped_file.h"

namespace ashlar {

// Maps each file once, so that equal constants have equal addresses. Any number of threads may use
// it.
class MappedFiles {
 public:
  using Map = absl::FunctionRef<absl::StatusOr<std::shared_ptr<const MappedFile>>()>;
  // Returns the file of that name, which `map` maps at first.
  absl::StatusOr<std::shared_ptr<const MappedFile>> Get(const std::string& name, Map map) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<const MappedFile>& file = files_[name];
    if (file == nullptr) {
      ASHLAR_ASSIGN_OR_RETURN(file, map());
    }
    return file;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MAPPED_FILES_H_
