#include "tests/cases/cases.h"

#include <gtest/gtest.h>

#include "tests/support/kernel_request.h"
#include "tests/support/status.h"

namespace ashlar {

#define ASHLAR_OPERATOR_ROW(Type, summary) class Type;
#include "opr/operators.inc"
#undef ASHLAR_OPERATOR_ROW

namespace testing {

#define ASHLAR_OPERATOR_ROW(Type, summary) \
  template <>                              \
  void AddCases<Type>(Cases & cases);
#include "opr/operators.inc"
#undef ASHLAR_OPERATOR_ROW

// These operators run no kernel.
template <>
void AddCases<Host2DeviceCopy>(Cases&) {}
template <>
void AddCases<ImmutableTensor>(Cases&) {}
template <>
void AddCases<InputCallback>(Cases&) {}
template <>
void AddCases<SharedDeviceTensor>(Cases&) {}

double ToleranceOf(DType dtype) {
  return dtype == DType::kFloat16 ? 2e-3 : dtype == DType::kBFloat16 ? 1.6e-2 : 2e-5;
}

CaseScope CpuScope() {
  return {{Format::kNCHW16c, Format::kNHCW16c},
          {DType::kFloat32, DType::kFloat16, DType::kBFloat16},
          {std::begin(kIntegerDTypes), std::end(kIntegerDTypes)}};
}

CaseScope GpuScope(bool emulated) {
  return {{Format::kNHWC},
          {DType::kFloat32, DType::kFloat16, DType::kBFloat16},
          {DType::kInt64, DType::kInt32, DType::kInt8, DType::kUint8, DType::kUint16, DType::kInt16,
           DType::kUint32},
          !emulated};
}

std::vector<DType> Cases::WithIntegers(std::vector<DType> dtypes) const {
  dtypes.insert(dtypes.end(), scope_.integers.begin(), scope_.integers.end());
  return dtypes;
}

KernelCase Cases::WithExpected(KernelCase test) const {
  if (!test.expected.empty()) return test;
  if (test.op->role() == Role::kOutput) {
    test.expected = {test.inputs[0]};
    return test;
  }
  absl::StatusOr<std::vector<HostTensor>> values = test.op->Evaluate(test.inputs);
  EXPECT_TRUE(IsOk(values.status())) << test.name;
  if (values.ok()) test.expected = *std::move(values);
  return test;
}

void Cases::Add(KernelCase test) {
  if (!LeavesOut(test)) run_(WithExpected(std::move(test)));
}

void Cases::AddKnown(KernelCase test) {
  const std::vector<HostTensor> values = Value(test.op->Evaluate(test.inputs));
  ASSERT_EQ(values.size(), test.expected.size()) << test.name;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i].dtype(), test.expected[i].dtype()) << test.name;
    EXPECT_LE(WorstError(values[i], test.expected[i], test.floor, /*signs=*/true), test.tolerance)
        << test.name << ", output " << i;
  }
  Add(std::move(test));
}

namespace {

// Returns whether input i is an image that should lie in a device's format.
bool IsImageOf(const KernelCase& test, const std::vector<bool>& images, size_t i) {
  return i < images.size() && images[i] && test.inputs[i].shape().rank() == 4;
}

}  // namespace

void Cases::AddImages(const KernelCase& test, const std::vector<bool>& images) {
  if (LeavesOut(test)) return;
  KernelCase each = WithExpected(test);
  run_(each);
  for (const Format format : scope_.images) {
    each.formats.assign(test.inputs.size(), Format::kDefault);
    for (size_t i = 0; i < each.formats.size(); ++i) {
      if (IsImageOf(test, images, i)) each.formats[i] = format;
    }
    each.output_format = format;
    run_(each);
  }
}

void Cases::AddFormatPairs(const KernelCase& test, const std::vector<bool>& images,
                           bool from_planes) {
  if (LeavesOut(test)) return;
  KernelCase each = WithExpected(test);
  std::vector<Format> sources = scope_.images;
  if (from_planes && blocked() && test.inputs[0].shape()[1] < kChannelBlock) {
    sources.push_back(Format::kDefault);
  }
  for (const Format from : sources) {
    for (const Format to : scope_.images) {
      if (from == to) continue;
      each.formats.assign(test.inputs.size(), Format::kDefault);
      each.formats[0] = from;
      for (size_t i = 1; i < each.formats.size(); ++i) {
        if (IsImageOf(test, images, i)) each.formats[i] = to;
      }
      each.output_format = to;
      run_(each);
    }
  }
}

absl::Span<const CaseFile> AllCaseFiles() {
  static constexpr CaseFile kFiles[] = {
#define ASHLAR_OPERATOR_ROW(Type, summary) {#Type, AddCases<Type>},
#include "opr/operators.inc"
#undef ASHLAR_OPERATOR_ROW
  };
  return kFiles;
}

void ForEachCase(const CaseScope& scope, uint64_t seed, const Cases::Run& run) {
  for (const CaseFile& file : AllCaseFiles()) {
    Cases cases(scope, seed, run);
    file.add(cases);
  }
}

}  // namespace testing
}  // namespace ashlar
