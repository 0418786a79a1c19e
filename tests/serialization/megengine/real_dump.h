// The real MegEngine dump of the outside data set.
#ifndef ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_
#define ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_

#include "serialization/megengine/dump.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {

inline constexpr char kRealDump[] = "data/megengine-resnet50-b10.profile.json";

// ResNet-50, batch 10, on one GPU. Skip where HasSharedData says that it is not there.
inline const ProfileRecording& RealRecording() {
  static const ProfileRecording* const recording =
      new ProfileRecording(Value(ReadProfileDump(SharedData(kRealDump))));
  return *recording;
}

}  // namespace ashlar::testing

// First line of a test that needs it.
#define ASHLAR_NEEDS_REAL_DUMP()                                                             \
  if (!::ashlar::testing::HasSharedData(::ashlar::testing::kRealDump)) {                     \
    GTEST_SKIP() << "needs " << ::ashlar::testing::SharedData(::ashlar::testing::kRealDump); \
  }

#endif  // ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_
