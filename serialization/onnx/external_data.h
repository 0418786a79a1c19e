// Tensors that lie in files beside an ONNX model.
#ifndef ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_
#define ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serialization/mapped_file.h"

namespace ashlar {

// Maps the files that a model names, each once. A model comes from anywhere, so that a file must
// lie below the model's folder, and be neither behind a symbolic link nor have a second name.
class ExternalData {
 public:
  // An empty path is that of a model in memory, beside which there is nothing. With `follow_links`
  // links are followed (caches that keep files under their hashes need it).
  ExternalData(std::string model_path, bool follow_links)
      : model_path_(std::move(model_path)), follow_links_(follow_links) {}

  struct Bytes {
    std::shared_ptr<const MappedFile> file;  // keeps them alive
    const uint8_t* data = nullptr;
  };
  // The `bytes` bytes of a tensor. InvalidArgument says what is wrong with its place.
  absl::StatusOr<Bytes> Find(const onnx::TensorProto& tensor, int64_t bytes);

  std::vector<std::shared_ptr<const MappedFile>> files() const;

 private:
  absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& location);

  const std::string model_path_;
  const bool follow_links_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;  // by location
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_EXTERNAL_DATA_H_
