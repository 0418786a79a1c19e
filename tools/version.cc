#include "tools/version.h"

#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_device.h"
#include "serialization/native/format.h"
#include "tools/json_output.h"

namespace ashlar {

std::string Version() { return ASHLAR_VERSION; }

std::string BuildText() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr const char* kKind = "sanitized";
#elif defined(NDEBUG)
  constexpr const char* kKind = "release";
#else
  constexpr const char* kKind = "debug";
#endif
  return absl::StrCat(kKind, ", g++ ", __VERSION__);
}

std::string VersionText() {
  return absl::StrCat(
      "ashlar ", Version(), " (", BuildText(), ")\n", "kernels    ", cpu::Libraries(), "\n",
      "devices    cpu0:0; gpu0:0 by libashlar_cuda.so, where it is (`ashlar doctor`)\n",
      "reads      .ash (version ", kNativeVersion,
      "), .onnx (`ashlar ops --onnx`), .tflite, profile "
      "dumps (.json), buffers (.csv, .pickle),\n"
      "           plans (.plan), arrays (.npy, .npz, raw), pictures (.png, .jpg, .ppm)\n"
      "writes     .ash, .onnx, .npz, profile dumps and traces (.json), plans (.plan, .csv, .svg, "
      ".html)\n"
      "documents  --json, schema version ",
      kJsonSchemaVersion, " (docs/json.schema.json)");
}

}  // namespace ashlar
