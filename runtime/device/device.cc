#include "runtime/device/device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "graph/status.h"

namespace ashlar {
namespace {

std::map<CompNode::Type, DeviceOpener>& Openers() {
  static auto* const openers = new std::map<CompNode::Type, DeviceOpener>();
  return *openers;
}

}  // namespace

absl::Status Stream::WaitForEvent(void* /*event*/) {
  return absl::UnimplementedError("this device's streams know no events of the caller's");
}

absl::Status Stream::RecordEvent(void* event) { return WaitForEvent(event); }

absl::Status Device::Pin(void* /*data*/, int64_t /*bytes*/) { return absl::OkStatus(); }

absl::Status Device::Unpin(void* /*data*/) { return absl::OkStatus(); }

absl::Status Device::CopyIn(void* device, const void* host, int64_t bytes) {
  if (bytes > 0) std::memcpy(device, host, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status Device::CopyOut(void* host, const void* device, int64_t bytes) {
  if (bytes > 0) std::memcpy(host, device, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status Device::Fill(void* device, uint8_t pattern, int64_t bytes) {
  if (bytes > 0) std::memset(device, pattern, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

DeviceOpener RegisterDeviceType(CompNode::Type type, DeviceOpener opener) {
  return std::exchange(Openers()[type], std::move(opener));
}

absl::StatusOr<Device*> OpenDevice(const CompNode& comp_node) {
  const auto it = Openers().find(comp_node.type);
  if (it == Openers().end()) {
    return absl::UnavailableError(
        absl::StrCat("device ", comp_node.ToString(), ": this build has no backend for it"));
  }
  return it->second(comp_node);
}

}  // namespace ashlar
