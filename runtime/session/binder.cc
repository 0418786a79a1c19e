#include "runtime/session/binder.h"

#include <cstring>
#include <string>

#include "absl/strings/str_join.h"
#include "graph/region.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Returns InvalidArgument if a tensor in device memory begins at an address that kernels cannot
// use.
absl::Status CheckAlignment(const Device& device, absl::string_view name, const void* data) {
  const int64_t alignment = device.tensor_alignment();
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' begins at no multiple of ",
                                                 alignment, " bytes, as tensors have to on ",
                                                 device.comp_node().ToString()));
}

}  // namespace

Binder::Binder(const Graph& graph, const Device& device)
    : graph_(graph),
      device_(device),
      sides_{{"input", &graph.inputs(), {}, {}}, {"output", &graph.outputs(), {}, {}}} {
  const int64_t alignment = device.alignment();
  for (Bindings& side : sides_) {
    for (const Binding& binding : *side.names) {
      Tensor tensor;
      tensor.bytes = graph.var(binding.var).type.bytes();
      tensor.offset = copies_bytes_;
      copies_bytes_ = RoundUp(copies_bytes_ + tensor.bytes, alignment);
      side.tensors.push_back(tensor);
    }
  }
}

void Binder::Follow(Side side, int binding, int64_t offset, const void** slot) {
  at(side).slots.push_back({binding, offset, slot, nullptr});
}

void Binder::Follow(Side side, int binding, int64_t offset, void** slot) {
  at(side).slots.push_back({binding, offset, nullptr, slot});
}

absl::StatusOr<int> Binder::Find(const Bindings& side, absl::string_view name) const {
  for (size_t i = 0; i < side.names->size(); ++i) {
    if (name == (*side.names)[i].name) return static_cast<int>(i);
  }
  const auto append_name = [](std::string* out, const Binding& b) { out->append(b.name); };
  return absl::NotFoundError(absl::StrCat("no ", side.kind, " '", name, "'; the model has: ",
                                          absl::StrJoin(*side.names, ", ", append_name)));
}

absl::StatusOr<bool> Binder::Bind(Side side, absl::string_view name, void* data, int64_t bytes,
                                  Memory memory) {
  Bindings& bindings = at(side);
  ASHLAR_ASSIGN_OR_RETURN(const int index, Find(bindings, name));
  Tensor& tensor = bindings.tensors[index];
  if (bytes != tensor.bytes) {
    const TensorType& type = graph_.var((*bindings.names)[index].var).type;
    return absl::InvalidArgumentError(absl::StrCat(bindings.kind, " '", name, "' has ", bytes,
                                                   " bytes, expected ", type.bytes(), " for ",
                                                   type.ToString()));
  }
  void* host = nullptr;
  bool pinned = false;
  if (memory == Memory::kHost && copies_ != nullptr) {
    host = data;
    pinned = device_.IsPinned(host, bytes);
    data = copies_ + tensor.offset;
  } else {
    ASHLAR_RETURN_IF_ERROR(CheckAlignment(device_, name, data));
  }
  const bool copies_otherwise = (tensor.host == nullptr) != (host == nullptr) ||
                                tensor.pinned != pinned || (pinned && tensor.host != host);
  const bool changed = !tensor.bound || tensor.data != data || copies_otherwise;
  tensor.bound = true;
  tensor.data = data;
  tensor.host = host;
  tensor.pinned = pinned;
  checked_ = false;
  if (!changed) return false;
  for (const Slot& slot : bindings.slots) {
    if (slot.binding != index) continue;
    char* const target = static_cast<char*>(data) + slot.offset;
    if (slot.reader != nullptr) *slot.reader = target;
    if (slot.writer != nullptr) *slot.writer = target;
  }
  return true;
}

absl::StatusOr<void*> Binder::PlaceOf(absl::string_view input) {
  Bindings& inputs = at(Side::kInput);
  ASHLAR_ASSIGN_OR_RETURN(const int index, Find(inputs, input));
  Tensor& tensor = inputs.tensors[index];
  if (tensor.place == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input, "' is not in the arena: the plan was made without release_input"));
  }
  tensor.data = tensor.place;
  tensor.bound = true;
  return tensor.place;
}

void Binder::TakeReleased() {
  for (Tensor& tensor : sides_[0].tensors) {
    if (tensor.place == nullptr) continue;
    if (tensor.data == tensor.place) {
      tensor.bound = false;
    } else {
      std::memmove(tensor.place, tensor.data, static_cast<size_t>(tensor.bytes));
    }
  }
}

// A pair of outputs is one comparison; there are few, and only after a binding.
absl::Status Binder::CheckOutputsApart() const {
  const Bindings& outputs = sides_[1];
  const auto begin = [](const Tensor& tensor) {
    return static_cast<const char*>(tensor.host != nullptr ? tensor.host : tensor.data);
  };
  for (size_t i = 1; i < outputs.tensors.size(); ++i) {
    const Tensor& a = outputs.tensors[i];
    for (size_t k = 0; k < i; ++k) {
      const Tensor& b = outputs.tensors[k];
      if (begin(a) >= begin(b) + b.bytes || begin(b) >= begin(a) + a.bytes) continue;
      return absl::InvalidArgumentError(absl::StrCat("outputs '", (*outputs.names)[k].name,
                                                     "' and '", (*outputs.names)[i].name,
                                                     "' are bound to memory that overlaps"));
    }
  }
  return absl::OkStatus();
}

absl::Status Binder::CheckBound() {
  for (const Bindings& side : sides_) {
    for (size_t i = 0; i < side.tensors.size(); ++i) {
      if (side.tensors[i].bound) continue;
      if (side.tensors[i].place != nullptr && side.tensors[i].data == side.tensors[i].place) {
        return absl::FailedPreconditionError(
            absl::StrCat("input '", (*side.names)[i].name,
                         "' was overwritten by the run before: write it again, to the address in "
                         "the arena that is requested before each run"));
      }
      return absl::FailedPreconditionError(
          absl::StrCat(side.kind, " '", (*side.names)[i].name, "' is not bound"));
    }
  }
  if (!checked_) ASHLAR_RETURN_IF_ERROR(CheckOutputsApart());
  checked_ = true;
  return absl::OkStatus();
}

}  // namespace ashlar
