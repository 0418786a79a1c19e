#include "runtime/device/kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ashlar {

std::vector<InputInfo> KernelRequest::infos() const {
  std::vector<InputInfo> infos;
  for (size_t i = 0; i < inputs.size(); ++i) infos.push_back({inputs[i], host_values[i]});
  return infos;
}

void KernelRegistry::Register(absl::string_view type, KernelFactory factory) {
  factories_[std::string(type)] = std::move(factory);
}

void KernelRegistry::ChangeEach(const std::function<KernelFactory(KernelFactory)>& change) {
  for (auto& [type, factory] : factories_) factory = change(std::move(factory));
}

const KernelFactory* KernelRegistry::Find(absl::string_view type) const {
  const auto it = factories_.find(std::string(type));
  return it == factories_.end() ? nullptr : &it->second;
}

bool KernelRegistry::TakesChannelsLast(const KernelRequest& request) const {
  const auto blocked = [](const TensorType& type) { return IsBlocked(type.format); };
  const auto last = [](const TensorType& type) { return type.format == Format::kNHWC; };
  const auto it = channels_last_.find(request.op->type());
  switch (it == channels_last_.end() ? ChannelsLast::kNone : it->second) {
    case ChannelsLast::kNone:
      return false;
    case ChannelsLast::kImage: {
      const TensorType& image = request.inputs[0];
      return (image.dtype == DType::kFloat32 || IsQuantized(image.dtype)) && !blocked(image) &&
             std::none_of(request.inputs.begin() + 1, request.inputs.end(), last);
    }
    case ChannelsLast::kUnblocked:
      return std::none_of(request.inputs.begin(), request.inputs.end(), blocked) &&
             std::none_of(request.outputs.begin(), request.outputs.end(), blocked);
    case ChannelsLast::kAll:
      return true;
  }
  return false;
}

void KernelRegistry::RegisterWork(absl::string_view type, WorkFunction work) {
  work_[std::string(type)] = work;
}

WorkFunction KernelRegistry::FindWork(absl::string_view type) const {
  const auto it = work_.find(type);
  return it == work_.end() ? work_of_rest_ : it->second;
}

absl::Status KernelRegistry::CheckDTypes(const KernelRequest& request,
                                         const std::vector<DType>& dtypes) {
  for (size_t i = 0; !dtypes.empty() && i < request.inputs.size(); ++i) {
    const TensorType& type = request.inputs[i];
    if (request.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue ||
        std::find(dtypes.begin(), dtypes.end(), type.dtype) != dtypes.end()) {
      continue;
    }
    const auto append = [](std::string* out, DType dtype) { absl::StrAppend(out, Name(dtype)); };
    return absl::UnimplementedError(absl::StrCat("input ", i, " is ", type.ToString(),
                                                 "; the kernels of this device take ",
                                                 absl::StrJoin(dtypes, ", ", append)));
  }
  return absl::OkStatus();
}

}  // namespace ashlar
