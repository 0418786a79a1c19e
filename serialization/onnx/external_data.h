// Tensors stored in files next to an ONNX model, or given by the caller in memory.
#ifndef ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_
#define ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "serialization/files_in_memory.h"
#include "serialization/mapped_file.h"

namespace ashlar {

// The files that a model names: the caller's, or files that are mapped once. A model may be
// untrusted. So a mapped file must be below the model's folder, not reached through a symbolic
// link, and without a second name (hard link).
class ExternalData {
 public:
  // An empty path means a model in memory, which has only the files that the caller gives.
  // `follow_links` allows symbolic links (needed for caches that name files by their hashes).
  ExternalData(std::string model_path, bool follow_links, FilesInMemory given = {})
      : model_path_(std::move(model_path)), follow_links_(follow_links), given_(std::move(given)) {}

  struct Bytes {
    std::shared_ptr<const void> owner;  // keeps the bytes alive
    const uint8_t* data = nullptr;
  };
  // Returns the tensor's `bytes` bytes. Returns InvalidArgument, with the reason, if its location
  // is invalid.
  absl::StatusOr<Bytes> Find(const onnx::TensorProto& tensor, int64_t bytes);

  std::vector<std::shared_ptr<const MappedFile>> files() const;

 private:
  absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& location);
  absl::StatusOr<FileInMemory> ContentsOf(const std::string& location);

  const std::string model_path_;
  const bool follow_links_;
  const FilesInMemory given_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;  // by location
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_
