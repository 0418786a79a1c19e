// Tensors of 16-bit floats: kernels compute in floats, and round the results they store.
#include "runtime/cpu/float16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/half.h"
#include "opr/type_cvt.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/host_processor.h"
#include "tests/cases/kernel_check.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

// The operators' own conversions, which the kernels must reproduce.
struct Reference {
  DType dtype;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
  uint16_t infinity;
};
constexpr Reference kReferences[] = {
    {DType::kFloat16, HalfToFloat, FloatToHalf, 0x7c00},
    {DType::kBFloat16, BFloat16ToFloat, FloatToBFloat16, 0x7f80},
};

const Reference& ReferenceOf(DType dtype) { return kReferences[dtype == DType::kBFloat16]; }

bool IsNaN(const Reference& reference, uint16_t half) {
  return (half & 0x7fff) > reference.infinity;
}

class Rows : public ::testing::TestWithParam<Reference> {};
INSTANTIATE_TEST_SUITE_P(Halves, Rows, ::testing::ValuesIn(kReferences),
                         [](const auto& test) { return std::string(Name(test.param.dtype)); });

// Tries every number, and floats around the midpoint between each two neighbours.
TEST_P(Rows, AreConvertedAsTheReferenceDoes) {
  const Reference& reference = GetParam();
  std::vector<uint16_t> halves(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  for (const Isa isa : kIsas) {
    if (!Contains(cpu::HostProcessor().isa, isa)) continue;
    SCOPED_TRACE(Name(isa));
    std::vector<float> floats(halves.size());
    cpu::WidenFor(reference.dtype, isa)(halves.data(), floats.data(),
                                        static_cast<int64_t>(halves.size()));
    std::vector<float> near;
    for (size_t i = 0; i < halves.size(); ++i) {
      const float value = reference.widen(halves[i]);
      ASSERT_TRUE(std::isnan(value) ? std::isnan(floats[i])
                                    : std::memcmp(&value, &floats[i], sizeof(value)) == 0)
          << i;
      const float next = reference.widen(static_cast<uint16_t>(i + 1));
      const float middle = value + (next - value) / 2;
      for (const float at : {value, middle, std::nextafter(middle, value),
                             std::nextafter(middle, next), std::ldexp(value, -12)}) {
        near.push_back(at);
      }
    }
    // Rows of every length, as each has another remainder.
    std::vector<uint16_t> got(near.size());
    const cpu::NarrowFunction narrow = cpu::NarrowFor(reference.dtype, isa);
    narrow(near.data(), got.data(), static_cast<int64_t>(near.size()) - 3);
    narrow(near.data() + near.size() - 3, got.data() + got.size() - 3, 3);
    for (size_t i = 0; i < near.size(); ++i) {
      const uint16_t want = reference.narrow(near[i]);
      ASSERT_TRUE(got[i] == want || (IsNaN(reference, got[i]) && IsNaN(reference, want)))
          << near[i] << " is " << got[i] << ", expected " << want;
    }
  }
}

HostTensor As(DType dtype, const HostTensor& tensor) {
  return Value(TypeCvt({dtype}).Evaluate({tensor}))[0];
}

// Replaces every NaN by the same one.
std::string WithOneNaN(const Reference& reference, std::string halves) {
  for (size_t i = 0; i + 1 < halves.size(); i += sizeof(uint16_t)) {
    uint16_t half;
    std::memcpy(&half, halves.data() + i, sizeof(half));
    if (IsNaN(reference, half)) half = 0x7fff;
    std::memcpy(halves.data() + i, &half, sizeof(half));
  }
  return halves;
}

// Returns the bytes of floats, rounded to 16 bits.
std::string Rounded(const Reference& reference, const std::string& floats) {
  std::string halves(floats.size() / 2, '\0');
  for (size_t i = 0; i < floats.size() / sizeof(float); ++i) {
    float value;
    std::memcpy(&value, floats.data() + i * sizeof(value), sizeof(value));
    const uint16_t half = reference.narrow(value);
    std::memcpy(halves.data() + i * sizeof(half), &half, sizeof(half));
  }
  return WithOneNaN(reference, std::move(halves));
}

class HalfKernels : public ::testing::TestWithParam<std::tuple<const char*, DType>> {};
INSTANTIATE_TEST_SUITE_P(
    Operators, HalfKernels,
    ::testing::Combine(::testing::Values("ConvolutionForward", "ConvBiasForward", "PoolingForward",
                                         "MatrixMul", "Attention", "LayerNorm", "LRN", "Softmax"),
                       ::testing::Values(DType::kFloat16, DType::kBFloat16)),
    [](const auto& test) {
      return absl::StrCat(std::get<0>(test.param), Name(std::get<1>(test.param)));
    });

// A kernel's result of 16 bits equals its Float32 result on the same values, rounded, for any
// length of runs and any number of threads.
TEST_P(HalfKernels, GiveWhatThoseOfFloatsGive) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  cpu::RegisterDevice();
  Device& device = *Value(OpenDevice(CompNode()));
  // Instructions for BFloat16 add products in an order of their own (amx_test.cc).
  Processor processor = device.processor();
  processor.bf16 = processor.amx_bf16 = false;
  const absl::Span<const CaseFile> files = AllCaseFiles();
  const absl::string_view type = std::get<0>(GetParam());
  const DType dtype = std::get<1>(GetParam());
  const Reference& reference = ReferenceOf(dtype);
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const CaseFile& each) { return each.type == type; });
  ASSERT_NE(file, files.end());
  int count = 0, compared = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    if (HasFailure() || test.inputs[0].dtype() != dtype) return;
    if (count++ % (kSanitized ? 24 : 3) != 0) return;
    KernelCase floats = test;
    for (HostTensor& input : floats.inputs) {
      if (input.dtype() == dtype) input = As(DType::kFloat32, input);
    }
    floats.expected.clear();
    std::vector<std::string> rounded;
    for (const KernelOutcome& outcome : CheckKernels(device, floats, processor)) {
      const std::string& bytes = outcome.outputs[0];
      rounded.push_back(test.expected[0].dtype() == dtype ? Rounded(reference, bytes)
                                                          : WithOneNaN(reference, bytes));
    }
    KernelCase each = test;
    for (each.threads = 1; each.threads <= 3; each.threads += 2) {
      for (const KernelOutcome& outcome : CheckKernels(device, each, processor)) {
        ++compared;
        const std::string got = WithOneNaN(reference, outcome.outputs[0]);
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
