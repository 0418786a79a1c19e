#include "runtime/device.h"

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

void RegisterDeviceType(CompNode::Type type, DeviceOpener opener) {
  Openers()[type] = std::move(opener);
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
