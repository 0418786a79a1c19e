// Errors at the boundary to Triton: exceptions on this side, the server's objects on the other.
#ifndef ASHLAR_LIBRARY_TRITON_ERRORS_H_
#define ASHLAR_LIBRARY_TRITON_ERRORS_H_

#include <ashlar/ashlar.hpp>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "library/triton/api.h"

namespace ashlar::triton {

// An error for the server, or for a request.
class Failure : public std::runtime_error {
 public:
  Failure(TRITONSERVER_Error_Code code, const std::string& message)
      : std::runtime_error(message), code(code) {}
  TRITONSERVER_Error_Code code;
};

inline Failure InvalidArgument(const std::string& message) {
  return Failure(TRITONSERVER_ERROR_INVALID_ARG, message);
}

// Throws the error that one of the server's functions returned.
inline void Check(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  const Failure failure(TRITONSERVER_ErrorCode(error), TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
  throw failure;
}

TRITONSERVER_Error_Code CodeOf(ashlar_status status);

// Returns the error that `body` throws, or nothing if it succeeds.
template <typename Body>
std::optional<Failure> Try(const Body& body) noexcept {
  try {
    body();
    return std::nullopt;
  } catch (const Failure& failure) {
    return failure;
  } catch (const Error& error) {
    return Failure(CodeOf(error.status), error.what());
  } catch (const std::exception& error) {
    return Failure(TRITONSERVER_ERROR_INTERNAL, error.what());
  }
}

// Converts it to an error object of the server; the caller deletes it.
inline TRITONSERVER_Error* ToError(const std::optional<Failure>& failure) {
  return failure ? TRITONSERVER_ErrorNew(failure->code, failure->what()) : nullptr;
}

}  // namespace ashlar::triton

#endif  // ASHLAR_LIBRARY_TRITON_ERRORS_H_
