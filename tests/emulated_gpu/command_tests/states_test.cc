// States that read each other, on the emulated GPU: runs one after the other, beside the graph
// whose outputs are fed back.
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/emulated_gpu/command_tests/emulated_command.h"
#include "tests/support/crossing_states.h"
#include "tests/support/fed_back.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

class EmulatedStatesTest : public EmulatedCommandTest {};

TEST_F(EmulatedStatesTest, CrossingStatesAgreeWithOutputsFedBack) {
  constexpr int64_t kSteps = 4;
  std::mt19937_64 random(5);
  Shape all = kCrossingImage;
  all[0] = kSteps;
  const HostTensor x = RandomTensor(random, all);
  ASSERT_TRUE(IsOk(WriteNpy(x, Path("x.npy"))));
  for (const CrossingStates& test : MakeCrossingStates()) {
    SCOPED_TRACE(test.name);
    ASSERT_TRUE(IsOk(WriteModel(test.graph, Path("crossing.ash"))));
    std::string states;
    for (const auto& [output, input] : test.links) {
      absl::StrAppend(&states, " --state ", output, "=", input);
    }
    Succeed("run crossing.ash --device gpu0:0 --steps --input x=x.npy -o y.npz" + states);
    const NamedTensors outputs = Value(ReadNpz(Path("y.npz")));
    FedBack reference(test.graph, test.links);
    const int64_t frame = kCrossingImage.num_elements();
    for (int64_t step = 0; step < kSteps; ++step) {
      const auto part = [&](const HostTensor& of) {
        const float* const from = of.data<float>().data() + step * frame;
        return HostTensor::FromValues<float>(DType::kFloat32, kCrossingImage,
                                             absl::MakeConstSpan(from, static_cast<size_t>(frame)));
      };
      const auto expected = reference.Step("x", part(x));
      for (const auto& [name, tensor] : outputs) {
        EXPECT_TRUE(Near(part(tensor), expected.at(name), 1e-3)) << name << " of step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
