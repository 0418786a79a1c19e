// Quantised tensors for cases.
#ifndef ASHLAR_TESTS_CASES_QUANTIZED_H_
#define ASHLAR_TESTS_CASES_QUANTIZED_H_

#include <vector>

#include "tests/cases/cases.h"
#include "tests/support/status.h"

namespace ashlar::testing {

// Returns any integers of the dtype, both extremes among them.
inline HostTensor QuantizedTensor(Cases& cases, DType dtype, const Shape& shape,
                                  std::vector<float> scales, int32_t zero_point = 0) {
  HostTensor tensor = HostTensor::Zeros(StoredAs(dtype), shape);
  const bool is_unsigned = dtype == DType::kQuantized8Asymm;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.Set(i, static_cast<double>(is_unsigned ? cases.Pick(0, 255) : cases.Pick(-128, 127)));
  }
  return tensor.As(dtype, Value(Quantization::Make(dtype, std::move(scales), zero_point)));
}

inline constexpr DType kBytes[] = {DType::kQuantized8Asymm, DType::kQuantizedS8};

// Adds the case row-major and with channels last, compared bit by bit. `images` names the inputs
// that are images.
inline void AddQuantized(Cases& cases, KernelCase test, const std::vector<bool>& images) {
  test.tolerance = 0;
  cases.Add(test);
  test.output_format = Format::kNHWC;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    test.formats.push_back(images[i] ? Format::kNHWC : Format::kDefault);
  }
  cases.Add(test);
  test.formats[0] = Format::kDefault;  // planes in, channels last out
  cases.Add(std::move(test));
}

// Adds a case that only moves bytes: row-major, and with channels last if inputs and output may be
// images.
inline void AddMoved(Cases& cases, KernelCase test, bool images) {
  test.tolerance = 0;
  cases.Add(test);
  if (!images) return;
  test.formats.assign(test.inputs.size(), Format::kNHWC);
  test.output_format = Format::kNHWC;
  cases.Add(std::move(test));
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_QUANTIZED_H_
