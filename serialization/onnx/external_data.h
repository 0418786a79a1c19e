// Elements of tensors outside of the messages of an ONNX model: in files next to it, in files that
// the caller gives in memory, and in the model's own file.
#ifndef ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_
#define ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "serialization/files_in_memory.h"
#include "serialization/mapped_files.h"
#include "serialization/onnx/large_tensors.h"

namespace ashlar {

// The files that a model names: the caller's, or files that are mapped once. A model may be
// untrusted. So a mapped file must be below the model's folder, not reached through a symbolic
// link, and without a second name (hard link).
class ExternalData {
 public:
  // An empty path means a model in memory, which has only the files that the caller gives.
  // `follow_links` allows symbolic links (needed for caches that name files by their hashes). Other
  // readings of the model may share `mapped`, which may be null.
  ExternalData(std::string model_path, bool follow_links, FilesInMemory given = {},
               std::shared_ptr<MappedFiles> mapped = nullptr)
      : model_path_(std::move(model_path)),
        follow_links_(follow_links),
        given_(std::move(given)),
        mapped_(mapped != nullptr ? std::move(mapped) : std::make_shared<MappedFiles>()) {}

  struct Bytes {
    std::shared_ptr<const void> owner;  // keeps the bytes alive; null: the caller does
    const void* data = nullptr;
  };
  // Returns the tensor's `bytes` bytes. Returns InvalidArgument, with the reason, if its location
  // is invalid.
  absl::StatusOr<Bytes> Find(const onnx::TensorProto& tensor, int64_t bytes);

  std::vector<std::shared_ptr<const MappedFile>> files() const;

  // Elements that were left out of a message (large_tensors.h), by its address.
  struct Apart {
    LargeTensor tensor;
    std::shared_ptr<const void> owner;
  };
  void AddApart(const onnx::TensorProto& tensor, Apart apart) {
    apart_[&tensor] = std::move(apart);
  }
  const Apart* FindApart(const onnx::TensorProto& tensor) const {
    const auto found = apart_.find(&tensor);
    return found != apart_.end() ? &found->second : nullptr;
  }

 private:
  absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& location);
  absl::StatusOr<FileInMemory> ContentsOf(const std::string& location);

  const std::string model_path_;
  const bool follow_links_;
  const FilesInMemory given_;
  const std::shared_ptr<MappedFiles> mapped_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;  // by location
  absl::flat_hash_map<const onnx::TensorProto*, Apart> apart_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_
