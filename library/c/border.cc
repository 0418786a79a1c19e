#include "library/c/border.h"

#include <mutex>
#include <optional>

#include "absl/strings/cord.h"
#include "graph/file_mapping.h"
#include "graph/needed_bytes.h"
#include "library/printable.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/device/device_library.h"
#include "runtime/mcu/mcu_device.h"

namespace ashlar::c {
namespace {

constexpr char kTold[] = "ashlar/c_status";

struct LastError {
  std::string message;
  int64_t bytes = 0;
};
thread_local LastError last_error;

struct Listener {
  std::mutex mutex;
  ashlar_log_fn log = nullptr;
  void* context = nullptr;
};
Listener& LogListener() {
  static auto* const listener = new Listener();
  return *listener;
}

ashlar_status StatusOf(const absl::Status& status) {
  if (const auto told = status.GetPayload(kTold)) {
    return static_cast<ashlar_status>(std::string(*told)[0]);
  }
  if (status.GetPayload(kDamagedFile)) return ASHLAR_REJECTED_FILE;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ASHLAR_OK;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return ASHLAR_INVALID_ARGUMENT;
    case absl::StatusCode::kResourceExhausted:
      return ASHLAR_DOES_NOT_FIT;
    case absl::StatusCode::kUnimplemented:
      return ASHLAR_UNSUPPORTED;
    case absl::StatusCode::kUnavailable:
      return ASHLAR_UNAVAILABLE;
    default:
      return ASHLAR_INTERNAL;
  }
}

}  // namespace

absl::Status WithStatus(absl::Status status, ashlar_status told) {
  if (!status.ok() && !status.GetPayload(kTold)) {
    status.SetPayload(kTold, absl::Cord(std::string(1, static_cast<char>(told))));
  }
  return status;
}

ashlar_status Told(const absl::Status& status) {
  last_error.bytes = NeededBytes(status).value_or(0);
  try {
    last_error.message = Printable(status.message());
  } catch (const std::bad_alloc&) {
    last_error.message.clear();
  }
  return StatusOf(status);
}

void RegisterDevices() {
  static std::once_flag once;
  std::call_once(once, [] {
    cpu::RegisterDevice();
    mcu::RegisterDevice();
    RegisterDeviceLibrary(CompNode::Type::kGpu, "libashlar_cuda.so");
  });
}

void Log(const std::string& message) {
  const std::string line = Printable(message);
  Listener& listener = LogListener();
  const std::lock_guard<std::mutex> lock(listener.mutex);
  if (listener.log != nullptr) listener.log(listener.context, line.c_str());
}

}  // namespace ashlar::c

using ashlar::c::last_error;
using ashlar::c::LogListener;

int ashlar_version(void) { return ASHLAR_VERSION; }

const char* ashlar_error_message(void) { return last_error.message.c_str(); }

int64_t ashlar_error_bytes(void) { return last_error.bytes; }

void ashlar_set_log(ashlar_log_fn log, void* context) {
  auto& listener = LogListener();
  const std::lock_guard<std::mutex> lock(listener.mutex);
  listener.log = log;
  listener.context = context;
}
