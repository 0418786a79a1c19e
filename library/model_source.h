// The files of models: of which kind they are, by ending and first bytes.
#ifndef ASHLAR_LIBRARY_MODEL_SOURCE_H_
#define ASHLAR_LIBRARY_MODEL_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serialization/mapped_file.h"
#include "serialization/onnx/import/reader.h"

namespace ashlar {

// Returns whether a path ends in `ending` (".csv"), ignoring case.
bool HasEnding(const std::string& path, absl::string_view ending);

// A model's file.
struct ModelSource {
  std::string path;
  std::shared_ptr<const MappedFile> piped;  // the content of a pipe, which can be read only once
  // By the file's ending or, if that does not tell, by its first bytes.
  bool is_onnx = false, is_tflite = false;
};

// Returns the source of a model. Reads a pipe to its end; errors are from reading it.
absl::StatusOr<ModelSource> SourceOf(const std::string& path);

// Returns InvalidArgument for a model of another program, by its first bytes.
absl::Status CheckKnownKind(const ModelSource& source);

// Returns the inputs and outputs that an ONNX source declares.
absl::StatusOr<OnnxSignature> SignatureOf(const ModelSource& source);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_MODEL_SOURCE_H_
