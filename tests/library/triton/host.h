// A stand-in for the Triton server: the objects of its backend interface, so that the backend runs
// without a server.
#ifndef ASHLAR_TESTS_LIBRARY_TRITON_HOST_H_
#define ASHLAR_TESTS_LIBRARY_TRITON_HOST_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "library/triton/api.h"

struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  std::string message;
};

struct TRITONSERVER_Message {
  std::string text;
};

struct TRITONBACKEND_Model {
  std::string config, location;
  bool complete = true;
  void* state = nullptr;
};

struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_Model* model = nullptr;
  void* state = nullptr;
  std::vector<uint64_t> batches;  // rows of each run
  int succeeded = 0, failed = 0;
};

struct TRITONBACKEND_Input {
  std::string name;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_FP32;
  std::vector<int64_t> shape;
  std::vector<std::vector<float>> buffers;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
};

struct TRITONBACKEND_Output {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> data;
};

struct TRITONBACKEND_Response {
  std::list<TRITONBACKEND_Output> outputs;
  std::string error;  // of the response sent
  int sent = 0;
};

struct TRITONBACKEND_Request {
  std::map<std::string, TRITONBACKEND_Input> inputs;
  std::vector<std::string> wanted;
  uint32_t flags = 0;
  TRITONBACKEND_Response response;
  int released = 0;
};

// The functions that the backend defines.
extern "C" {
TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend);
TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model);
TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       uint32_t count);
}

namespace ashlar::triton::testing {

// Deletes the error and returns its message; "" for none.
std::string Taken(TRITONSERVER_Error* error);

}  // namespace ashlar::triton::testing

#endif  // ASHLAR_TESTS_LIBRARY_TRITON_HOST_H_
