#include "library/model_source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "serialization/standard_input.h"
#include "serialization/tflite/import/reader.h"

namespace ashlar {

bool HasEnding(const std::string& path, absl::string_view ending) {
  return absl::EndsWithIgnoreCase(path, ending);
}

namespace {

constexpr size_t kFirstBytes = 64;
constexpr int64_t kMostPipedBytes = int64_t{1} << 31;  // as many as an ONNX file can have

// Returns the first bytes of a file, or none if it cannot be read, which its reader reports.
std::string FirstBytesOf(const ModelSource& source) {
  if (source.piped != nullptr) {
    const absl::Span<const uint8_t> bytes =
        source.piped->bytes().first(std::min(source.piped->bytes().size(), kFirstBytes));
    return std::string(bytes.begin(), bytes.end());
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(source.path, error)) return "";
  std::ifstream file(source.path, std::ios::binary);
  std::string bytes(kFirstBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// Returns whether a file that begins so is an ONNX model. A ModelProto begins with its first field,
// the IR version: 8, then a small number and the next field (producer_name, graph, opset_import).
bool BeginsOnnx(absl::string_view bytes) {
  constexpr int kOldestIrVersion = 3;  // versions 1 and 2 belong to a TensorFlow SavedModel
  constexpr int kFirstOfTwoBytes = 128;
  constexpr int kLengthDelimited = 2;  // the wire type of names and messages
  if (bytes.size() < 3 || bytes[0] != 8) return false;
  const int version = static_cast<unsigned char>(bytes[1]);
  return version >= kOldestIrVersion && version < kFirstOfTwoBytes &&
         (bytes[2] & 7) == kLengthDelimited;
}

bool BeginsTflite(absl::string_view bytes) {
  return HasTfliteMagic({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

absl::StatusOr<ModelSource> SourceOf(const std::string& path) {
  ModelSource source;
  source.path = path;
  if (IsPipe(path)) {
    ASHLAR_ASSIGN_OR_RETURN(source.piped, MapFileOrPipe(path, kMostPipedBytes));
    const std::string begin = FirstBytesOf(source);
    source.is_onnx = BeginsOnnx(begin);
    source.is_tflite = BeginsTflite(begin);
    return source;
  }
  for (const char* ending : {".ash", ".json", ".csv", ".plan"}) {
    if (HasEnding(path, ending)) return source;
  }
  const std::string begin = FirstBytesOf(source);
  source.is_tflite = HasEnding(path, ".tflite") || BeginsTflite(begin);
  source.is_onnx = !source.is_tflite && (HasEnding(path, ".onnx") || BeginsOnnx(begin));
  return source;
}

absl::Status CheckKnownKind(const ModelSource& source) {
  const std::string& path = source.path;
  const std::string begin = FirstBytesOf(source);
  const absl::string_view bytes = begin;
  constexpr absl::string_view kSavedModel("\x08\x01\x12", 3);  // version 1, then a graph
  const struct {
    size_t at;
    absl::string_view begins;
    const char* kind;
    const char* ending = "";  // without which the bytes alone say too little
  } kinds[] = {
      {4, "ORTM", "a model in ONNX Runtime's own format"},
      {0, "PK\3\4", "a PyTorch or Keras file (or another zip archive)"},
      {0, "\x80\x02", "a PyTorch file (pickled)"},
      {0, "\x89HDF", "a Keras model (HDF5)"},
      {0, "<?xml", "an OpenVINO model (XML)"},
      {0, "<net", "an OpenVINO model (XML)"},
      {0, "GGUF", "a GGUF file"},
      {0, kSavedModel, "a TensorFlow model", ".pb"},
      {0, "\n", "a TensorFlow model", ".pb"},  // a GraphDef, whose nodes come first
  };
  for (const auto& kind : kinds) {
    if (bytes.size() < kind.at || !absl::StartsWith(bytes.substr(kind.at), kind.begins)) continue;
    if (!HasEnding(path, kind.ending)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", kind.kind, ", which is not read here; export it as ONNX"));
  }
  return absl::OkStatus();
}

absl::StatusOr<OnnxSignature> SignatureOf(const ModelSource& source) {
  return source.piped != nullptr ? ReadOnnxSignatureFromBytes(source.piped->bytes(), source.path)
                                 : ReadOnnxSignature(source.path);
}

}  // namespace ashlar
