// Float16 tensors: kernels compute in floats, and round the results they store.
#include "runtime/cpu/float16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "graph/half.h"
#include "opr/type_cvt.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/host_processor.h"
#include "tests/cases/kernel_check.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

// Tries every Float16, and floats around the midpoint between each two neighbours.
TEST(Float16, RowsAreConvertedAsTheReferenceDoes) {
  std::vector<uint16_t> halves(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  for (const Isa isa : kIsas) {
    if (!Contains(cpu::HostProcessor().isa, isa)) continue;
    SCOPED_TRACE(Name(isa));
    std::vector<float> floats(halves.size());
    cpu::WidenFor(isa)(halves.data(), floats.data(), static_cast<int64_t>(halves.size()));
    std::vector<float> near;
    for (size_t i = 0; i < halves.size(); ++i) {
      const float value = HalfToFloat(halves[i]);
      ASSERT_TRUE(std::isnan(value) ? std::isnan(floats[i])
                                    : std::memcmp(&value, &floats[i], sizeof(value)) == 0)
          << i;
      const float next = HalfToFloat(static_cast<uint16_t>(i + 1));
      const float middle = value + (next - value) / 2;
      for (const float at : {value, middle, std::nextafter(middle, value),
                             std::nextafter(middle, next), std::ldexp(value, -12)}) {
        near.push_back(at);
      }
    }
    // Rows of every length, as each has another remainder.
    std::vector<uint16_t> got(near.size());
    cpu::NarrowFor(isa)(near.data(), got.data(), static_cast<int64_t>(near.size()) - 3);
    cpu::NarrowFor(isa)(near.data() + near.size() - 3, got.data() + got.size() - 3, 3);
    for (size_t i = 0; i < near.size(); ++i) {
      const uint16_t want = FloatToHalf(near[i]);
      const auto is_nan = [](uint16_t half) { return (half & 0x7fff) > 0x7c00; };
      ASSERT_TRUE(got[i] == want || (is_nan(got[i]) && is_nan(want)))
          << near[i] << " is " << got[i] << ", expected " << want;
    }
  }
}

HostTensor As(DType dtype, const HostTensor& tensor) {
  return Value(TypeCvt({dtype}).Evaluate({tensor}))[0];
}

// Replaces every NaN by the same one.
std::string WithOneNaN(std::string halves) {
  for (size_t i = 0; i + 1 < halves.size(); i += sizeof(uint16_t)) {
    uint16_t half;
    std::memcpy(&half, halves.data() + i, sizeof(half));
    if ((half & 0x7fff) > 0x7c00) half = 0x7e00;
    std::memcpy(halves.data() + i, &half, sizeof(half));
  }
  return halves;
}

// Returns the bytes of floats, rounded to Float16.
std::string Rounded(const std::string& floats) {
  std::string halves(floats.size() / 2, '\0');
  for (size_t i = 0; i < floats.size() / sizeof(float); ++i) {
    float value;
    std::memcpy(&value, floats.data() + i * sizeof(value), sizeof(value));
    const uint16_t half = FloatToHalf(value);
    std::memcpy(halves.data() + i * sizeof(half), &half, sizeof(half));
  }
  return WithOneNaN(std::move(halves));
}

class Float16Kernels : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Operators, Float16Kernels,
                         ::testing::Values("ConvolutionForward", "ConvBiasForward",
                                           "PoolingForward", "MatrixMul", "Attention", "LayerNorm",
                                           "LRN", "Softmax"));

// A kernel's Float16 result equals its Float32 result on the same values, rounded, for any length
// of runs and any number of threads.
TEST_P(Float16Kernels, GiveWhatThoseOfFloatsGive) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  cpu::RegisterDevice();
  Device& device = *Value(OpenDevice(CompNode()));
  const absl::Span<const CaseFile> files = AllCaseFiles();
  const absl::string_view type = GetParam();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const CaseFile& each) { return each.type == type; });
  ASSERT_NE(file, files.end());
  int count = 0, compared = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    if (HasFailure() || test.inputs[0].dtype() != DType::kFloat16) return;
    if (count++ % (kSanitized ? 24 : 3) != 0) return;
    KernelCase floats = test;
    for (HostTensor& input : floats.inputs) {
      if (input.dtype() == DType::kFloat16) input = As(DType::kFloat32, input);
    }
    floats.expected.clear();
    std::vector<std::string> rounded;
    for (const KernelOutcome& outcome : CheckKernels(device, floats)) {
      const bool is_rounded = test.expected[0].dtype() == DType::kFloat16;
      rounded.push_back(is_rounded ? Rounded(outcome.outputs[0]) : WithOneNaN(outcome.outputs[0]));
    }
    KernelCase each = test;
    for (each.threads = 1; each.threads <= 3; each.threads += 2) {
      for (const KernelOutcome& outcome : CheckKernels(device, each)) {
        ++compared;
        const std::string got = WithOneNaN(outcome.outputs[0]);
        EXPECT_TRUE(std::find(rounded.begin(), rounded.end(), got) != rounded.end())
            << test.name << " by " << outcome.implementation << ", threads " << each.threads;
      }
    }
  });
  file->add(cases);
  // The first case is always compared, on one thread and on three.
  EXPECT_GE(compared, 2);
}

}  // namespace
}  // namespace ashlar::testing
