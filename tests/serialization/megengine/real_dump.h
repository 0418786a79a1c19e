// The real MegEngine dump of the external data set.
#ifndef ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_
#define ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_

#include "serialization/megengine/dump.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {

inline constexpr char kRealDump[] = "data/megengine-resnet50-b10.profile.json";

// Returns ResNet-50, batch 10, on one GPU. Tests must skip if HasSharedData finds no file.
inline const ProfileRecording& RealRecording() {
  static const ProfileRecording* const recording =
      new ProfileRecording(Value(ReadProfileDump(SharedData(kRealDump))));
  return *recording;
}

}  // namespace ashlar::testing

// The first line of a test that needs the dump.
#define ASHLAR_NEEDS_REAL_DUMP()                                                             \
  if (!::ashlar::testing::HasSharedData(::ashlar::testing::kRealDump)) {                     \
    GTEST_SKIP() << "needs " << ::ashlar::testing::SharedData(::ashlar::testing::kRealDump); \
  }

#endif  // ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_
