// The real MegEngine dump of the external data set.
#ifndef ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_
#define ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_

#include "serialization/megengine/dump.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {

inline constexpr char kRealDump[] = "data/megengine-resnet50-b10.profile.json";

// Returns ResNet-50, batch 10, on one GPU.
inline const ProfileRecording& RealRecording() {
  static const ProfileRecording* const recording =
      new ProfileRecording(Value(ReadProfileDump(SharedData(kRealDump))));
  return *recording;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_MEGENGINE_REAL_DUMP_H_
