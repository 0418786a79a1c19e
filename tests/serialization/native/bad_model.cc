#include "tests/serialization/native/bad_model.h"

#include "runtime/device/allocation_origin.h"
#include "runtime/measure/heap/heap_counter.h"
#include "tests/support/status.h"

namespace ashlar::testing {

absl::Status ReadBounded(const std::string& file, int64_t heap_besides) {
  StartHeapCounting();
  absl::Status status;
  {
    const OriginScope counted(AllocationOrigin::kOwn);
    status = ReadFile(file).status();
  }
  const int64_t bytes = StopHeapCounting().own_bytes;
  EXPECT_LE(bytes, kHeapPerByte * static_cast<int64_t>(file.size()) + heap_besides);
  return status;
}

::testing::AssertionResult Refused(const absl::Status& status, const std::string& message) {
  if (!status.ok() && status.code() != absl::StatusCode::kInvalidArgument) {
    return ::testing::AssertionFailure() << status.ToString() << ", expected InvalidArgument";
  }
  if (!status.ok() && !FailsWith(status, "m.ash")) return FailsWith(status, "m.ash");
  return FailsWith(status, message);
}

void ExpectRefused(const std::vector<BadModel>& cases) {
  ASSERT_TRUE(IsOk(ReadBounded(EncodeFile(RawModel::Convolution()))));
  for (const BadModel& bad : cases) {
    SCOPED_TRACE(bad.name);
    RawModel model = RawModel::Convolution();
    bad.change(model);
    EXPECT_TRUE(Refused(ReadBounded(EncodeFile(model)), bad.message));
  }
}

}  // namespace ashlar::testing
