#include "library/triton/errors.h"

namespace ashlar::triton {

TRITONSERVER_Error_Code CodeOf(ashlar_status status) {
  switch (status) {
    case ASHLAR_INVALID_ARGUMENT:
    case ASHLAR_REJECTED_FILE:
      return TRITONSERVER_ERROR_INVALID_ARG;
    case ASHLAR_DOES_NOT_FIT:
    case ASHLAR_UNAVAILABLE:
    case ASHLAR_BUSY:
      return TRITONSERVER_ERROR_UNAVAILABLE;
    case ASHLAR_UNSUPPORTED:
      return TRITONSERVER_ERROR_UNSUPPORTED;
    default:
      return TRITONSERVER_ERROR_INTERNAL;
  }
}

}  // namespace ashlar::triton
