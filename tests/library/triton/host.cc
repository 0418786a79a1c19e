#include "tests/library/triton/host.h"

#include <functional>
#include <numeric>

namespace {

TRITONSERVER_Error* NotFound(const std::string& what) {
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_NOT_FOUND, what.c_str());
}

int64_t Elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

namespace ashlar::triton::testing {

std::string Taken(TRITONSERVER_Error* error) {
  const std::string message = error == nullptr ? "" : error->message;
  TRITONSERVER_ErrorDelete(error);
  return message;
}

}  // namespace ashlar::triton::testing

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* message) {
  return new TRITONSERVER_Error{code, message};
}
TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) { return error->code; }
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) { return error->message.c_str(); }
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) { delete error; }

TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* text, size_t bytes) {
  *message = new TRITONSERVER_Message{std::string(text, bytes)};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                        const char** text, size_t* bytes) {
  *text = message->text.data();
  *bytes = message->text.size();
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  delete message;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) {
  *major = 1;
  *minor = 19;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model*, uint64_t* version) {
  *version = 1;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model,
                                                  TRITONBACKEND_ArtifactType* type,
                                                  const char** location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->location.c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, uint32_t,
                                              TRITONSERVER_Message** config) {
  *config = new TRITONSERVER_Message{model->config};
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model* model,
                                                          bool* wanted) {
  *wanted = model->complete;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model, uint32_t,
                                                 TRITONSERVER_Message* config) {
  model->config = config->text;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state) {
  *state = model->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state) {
  model->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance,
                                                     TRITONBACKEND_Model** model) {
  *model = instance->model;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance,
                                                     void** state) {
  *state = instance->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance,
                                                        void* state) {
  instance->state = state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request*, bool success, uint64_t begin,
    uint64_t compute_begin, uint64_t compute_end, uint64_t end) {
  const bool ordered = begin <= compute_begin && compute_begin <= compute_end && compute_end <= end;
  ++(success && ordered ? instance->succeeded : instance->failed);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, uint64_t rows, uint64_t, uint64_t, uint64_t, uint64_t) {
  instance->batches.push_back(rows);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestFlags(TRITONBACKEND_Request* request, uint32_t* flags) {
  *flags = request->flags;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name,
                                               TRITONBACKEND_Input** input) {
  const auto found = request->inputs.find(name);
  if (found == request->inputs.end()) return NotFound(name);
  *input = &found->second;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                     uint32_t* count) {
  *count = static_cast<uint32_t>(request->wanted.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request, uint32_t index,
                                                    const char** name) {
  *name = request->wanted[index].c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, uint32_t) {
  ++request->released;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  TRITONSERVER_DataType* type,
                                                  const int64_t** shape, uint32_t* rank,
                                                  uint64_t* bytes, uint32_t* buffers) {
  *name = input->name.c_str();
  *type = input->type;
  *shape = input->shape.data();
  *rank = static_cast<uint32_t>(input->shape.size());
  *bytes = 0;
  for (const auto& buffer : input->buffers) *bytes += buffer.size() * sizeof(float);
  *buffers = static_cast<uint32_t>(input->buffers.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, uint32_t index,
                                              const void** data, uint64_t* bytes,
                                              TRITONSERVER_MemoryType* memory, int64_t*) {
  *data = input->buffers[index].data();
  *bytes = input->buffers[index].size() * sizeof(float);
  *memory = input->memory;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request) {
  *response = &request->response;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 TRITONSERVER_DataType, const int64_t* shape,
                                                 uint32_t rank) {
  *output = &response->outputs.emplace_back(
      TRITONBACKEND_Output{name, std::vector<int64_t>(shape, shape + rank), {}});
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** data,
                                               uint64_t bytes, TRITONSERVER_MemoryType* memory,
                                               int64_t*) {
  if (bytes != static_cast<uint64_t>(Elements(output->shape)) * sizeof(float)) {
    return NotFound("a buffer of so many bytes");
  }
  output->data.assign(bytes / sizeof(float), -1);
  *data = output->data.data();
  *memory = TRITONSERVER_MEMORY_CPU;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, uint32_t,
                                               TRITONSERVER_Error* error) {
  ++response->sent;
  if (error != nullptr) response->error = error->message;
  return nullptr;
}
