// Triton's backend "ashlar": the functions that the server calls. A model is a folder with
// <version>/model.ash (or .onnx, by default_model_filename). If the configuration has no inputs and
// outputs, the backend adds them.
#include <memory>
#include <string>

#include "library/triton/api.h"
#include "library/triton/errors.h"
#include "library/triton/instance.h"
#include "library/triton/model_config.h"
#include "library/triton/served_model.h"

#define ASHLAR_TRITON_EXPORT extern "C" __attribute__((visibility("default")))

namespace ashlar::triton {
namespace {

constexpr uint32_t kApiMajor = 1;
constexpr uint32_t kConfigVersion = 1;

std::string ConfigOf(TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* message = nullptr;
  Check(TRITONBACKEND_ModelConfig(model, kConfigVersion, &message));
  const char* text = nullptr;
  size_t bytes = 0;
  const std::optional<Failure> failure =
      Try([&] { Check(TRITONSERVER_MessageSerializeToJson(message, &text, &bytes)); });
  const std::string config = failure ? "" : std::string(text, bytes);
  Check(TRITONSERVER_MessageDelete(message));
  if (failure) throw *failure;
  return config;
}

void CompleteConfig(TRITONBACKEND_Model* model, const std::string& config,
                    const ServedModel& served) {
  bool wanted = false;
  Check(TRITONBACKEND_ModelAutoCompleteConfig(model, &wanted));
  if (!wanted) return;
  const std::string completed = CompletedConfig(config, served.ShownPlans());
  TRITONSERVER_Message* message = nullptr;
  Check(TRITONSERVER_MessageNewFromSerializedJson(&message, completed.data(), completed.size()));
  const std::optional<Failure> failure =
      Try([&] { Check(TRITONBACKEND_ModelSetConfig(model, kConfigVersion, message)); });
  Check(TRITONSERVER_MessageDelete(message));
  if (failure) throw *failure;
}

std::string FileOf(TRITONBACKEND_Model* model, const ModelConfig& config) {
  TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  const char* location = nullptr;
  Check(TRITONBACKEND_ModelRepository(model, &type, &location));
  if (type != TRITONBACKEND_ARTIFACT_FILESYSTEM) {
    throw Failure(TRITONSERVER_ERROR_UNSUPPORTED, "the repository is no folder");
  }
  uint64_t version = 0;
  Check(TRITONBACKEND_ModelVersion(model, &version));
  return std::string(location) + "/" + std::to_string(version) + "/" + config.file;
}

}  // namespace
}  // namespace ashlar::triton

using namespace ashlar::triton;  // NOLINT: only functions that the server calls are below

ASHLAR_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend*) {
  return ToError(Try([] {
    uint32_t major = 0, minor = 0;
    Check(TRITONBACKEND_ApiVersion(&major, &minor));
    if (major == kApiMajor) return;
    throw Failure(TRITONSERVER_ERROR_UNSUPPORTED,
                  "the server's interface for backends has version " + std::to_string(major) + "." +
                      std::to_string(minor) + "; expected " + std::to_string(kApiMajor));
  }));
}

ASHLAR_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return ToError(Try([&] {
    const std::string text = ConfigOf(model);
    const ModelConfig config = ReadConfig(text);
    ashlar::Model file(FileOf(model, config));
    if (!config.states.empty()) file = file.WithStates(config.states);
    auto served = std::make_unique<ServedModel>(file, config);
    CompleteConfig(model, text, *served);
    Check(TRITONBACKEND_ModelSetState(model, served.get()));
    static_cast<void>(served.release());
  }));
}

ASHLAR_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return ToError(Try([&] {
    void* state = nullptr;
    Check(TRITONBACKEND_ModelState(model, &state));
    delete static_cast<ServedModel*>(state);
  }));
}

ASHLAR_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(
    TRITONBACKEND_ModelInstance* instance) {
  return ToError(Try([&] {
    TRITONBACKEND_Model* model = nullptr;
    Check(TRITONBACKEND_ModelInstanceModel(instance, &model));
    void* served = nullptr;
    Check(TRITONBACKEND_ModelState(model, &served));
    auto made = std::make_unique<Instance>(*static_cast<const ServedModel*>(served), instance);
    Check(TRITONBACKEND_ModelInstanceSetState(instance, made.get()));
    static_cast<void>(made.release());
  }));
}

ASHLAR_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(
    TRITONBACKEND_ModelInstance* instance) {
  return ToError(Try([&] {
    void* state = nullptr;
    Check(TRITONBACKEND_ModelInstanceState(instance, &state));
    delete static_cast<Instance*>(state);
  }));
}

// Takes the requests, unless it returns an error.
ASHLAR_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const uint32_t count) {
  return ToError(Try([&] {
    void* state = nullptr;
    Check(TRITONBACKEND_ModelInstanceState(instance, &state));
    static_cast<Instance*>(state)->Execute(requests, count);
  }));
}
