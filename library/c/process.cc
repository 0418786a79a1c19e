// The process behind the C interface: memory that is locked.
#include "library/c/border.h"
#include "runtime/device/code_pages.h"

ashlar_status ashlar_lock_code(int32_t everything) {
  return ashlar::c::Call([&]() -> absl::Status {
    using ashlar::CodeOf;
    if (everything != 0 && everything != 1) {
      return ashlar::c::InvalidArgument(absl::StrCat("everything is ", everything));
    }
    return ashlar::LockCodeOnUse(everything == 1 ? CodeOf::kProgram : CodeOf::kThisLibrary);
  });
}
