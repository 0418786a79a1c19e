// The boundary of the C interface: the code that begins and ends each of its functions.
#ifndef ASHLAR_LIBRARY_C_BORDER_H_
#define ASHLAR_LIBRARY_C_BORDER_H_

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/host_memory.h"
#include "graph/status.h"
#include "library/include/ashlar/ashlar.h"

namespace ashlar::c {

// Returns an error that the caller sees as `told`, whatever its code.
absl::Status WithStatus(absl::Status status, ashlar_status told);
inline absl::Status InvalidArgument(absl::string_view message) {
  return absl::InvalidArgumentError(message);
}

// Stores an error for ashlar_error_message and ashlar_error_bytes of this thread.
ashlar_status Told(const absl::Status& status);

// Registers the devices at the first call.
void RegisterDevices();

// Calls `body`, which returns an absl::Status. Exceptions from `body` become errors.
template <typename Body>
ashlar_status Call(const Body& body) noexcept {
  try {
    RegisterDevices();
    const absl::Status status = body();
    return status.ok() ? ASHLAR_OK : Told(status);
  } catch (const HostMemoryExhausted& error) {
    return Told(error.status());
  } catch (const std::bad_alloc&) {
    return Told(HostMemoryError("the host's memory does not suffice"));
  } catch (const std::exception& error) {
    return Told(absl::InternalError(error.what()));
  }
}

// The caller's structs begin with the size that they had when the caller was compiled.
inline constexpr size_t kLeastStruct = sizeof(size_t);

// Copies the caller's struct into `result`. Fields that it lacks are zero; null is read as a struct
// of zeros.
template <typename T>
absl::Status Read(const T* given, absl::string_view type, T& result) {
  result = T();
  if (given == nullptr) return absl::OkStatus();
  if (given->size < kLeastStruct) {
    return InvalidArgument(absl::StrCat(type, ".size is ", given->size, ": set it by ASHLAR_INIT"));
  }
  std::memcpy(&result, given, std::min(sizeof(T), given->size));
  return absl::OkStatus();
}

// Fills the fields that the caller's struct has; its size stays.
template <typename T>
absl::Status Write(const T& value, absl::string_view type, T* target) {
  if (target == nullptr || target->size < kLeastStruct) {
    return InvalidArgument(absl::StrCat(type, " is null, or has no size: set it by ASHLAR_INIT"));
  }
  constexpr size_t kFirst = sizeof(size_t);
  std::memcpy(reinterpret_cast<char*>(target) + kFirst,
              reinterpret_cast<const char*>(&value) + kFirst,
              std::min(sizeof(T), target->size) - kFirst);
  return absl::OkStatus();
}

// Returns InvalidArgument with the pointer's name if it is null.
inline absl::Status CheckGiven(const void* pointer, absl::string_view name) {
  if (pointer != nullptr) return absl::OkStatus();
  return InvalidArgument(absl::StrCat(name, " is NULL"));
}

// Runs a call that makes one object from another: calls make(source, options), which returns an
// absl::StatusOr<std::unique_ptr<Made>>, and returns the object to the caller.
template <typename Source, typename Made, typename Options, typename Make>
ashlar_status CallToMake(Source* source, absl::string_view source_name, Made** made,
                         absl::string_view made_name, const Options* options,
                         absl::string_view options_type, const Make& make) noexcept {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(source, source_name));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(made, made_name));
    Options given;
    ASHLAR_RETURN_IF_ERROR(Read(options, options_type, given));
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<Made> object, make(*source, given));
    *made = object.release();
    return absl::OkStatus();
  });
}

// Returns a list of `owner` to the caller. `name` names the owner in errors.
template <typename Owner, typename T>
ashlar_status Hand(const Owner* owner, absl::string_view name, const std::vector<T> Owner::*list,
                   const T** first, size_t* count) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(owner, name));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(first, "first"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(count, "count"));
    *first = (owner->*list).data();
    *count = (owner->*list).size();
    return absl::OkStatus();
  });
}

// Writes a line to the caller's log.
void Log(const std::string& line);

}  // namespace ashlar::c

#endif  // ASHLAR_LIBRARY_C_BORDER_H_
