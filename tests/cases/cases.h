// Cases of operators, made once and run everywhere: against the operator's own evaluation in double
// precision, on every device. tests/cases/<operator>.cc has those of one operator.
#ifndef ASHLAR_TESTS_CASES_CASES_H_
#define ASHLAR_TESTS_CASES_CASES_H_

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/operator.h"
#include "runtime/device/kernel.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

// An operator on given tensors. Tensors are row-major here, whatever format the kernel sees.
struct KernelCase {
  std::string name;
  OperatorPtr op;
  std::vector<HostTensor> inputs;
  std::vector<Format> formats = {};  // by input; empty: all kDefault
  Format output_format = Format::kDefault;
  std::vector<bool> constant = {};   // by input, so that it may be packed; empty: none
  std::optional<int> in_place = {};  // this input and output 0 share their memory
  // The error that an element may have over its value, or over `floor` where the value is smaller;
  // a negative floor stands for the root mean square of the tensor, which suits sums that cancel.
  double tolerance = 2e-6;
  double floor = -1;
  // The tolerance of devices with expressions and libraries of their own; negative: by dtype.
  double gpu_tolerance = -1;
  std::vector<HostTensor> expected = {};  // empty: by Operator::Evaluate
  KernelPolicy policy = {};
  bool large = false;  // takes long where threads of a GPU are emulated, and is left out there
  int threads = 1;
  bool unaligned = false;  // tensors begin at odd elements instead of cache lines
};

// The error that a GPU's sums of floats may have.
double ToleranceOf(DType dtype);

inline constexpr DType kIntegerDTypes[] = {DType::kInt64, DType::kInt32, DType::kInt8,
                                           DType::kUint8};

// The device and types that cases are made for.
struct CaseScope {
  std::vector<Format> images;  // the formats that images may lie in, besides row-major
  std::vector<DType> floats;   // the dtypes of operators that are mostly arithmetic
  bool large = true;           // cases of every size
};

CaseScope CpuScope();
CaseScope GpuScope(bool emulated);

// Makes cases for a device and hands each to a function.
class Cases {
 public:
  using Run = std::function<void(const KernelCase&)>;
  Cases(CaseScope scope, uint64_t seed, Run run)
      : scope_(std::move(scope)), seed_(seed), random_(seed), run_(std::move(run)) {}

  const CaseScope& scope() const { return scope_; }
  uint64_t seed() const { return seed_; }
  std::mt19937_64& random() { return random_; }
  int64_t Pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  HostTensor Tensor(DType dtype, const Shape& shape, double low = -2, double high = 2) {
    return RandomTensor(random_, dtype, shape, low, high);
  }
  HostTensor Tensor(const Shape& shape, double low = -2, double high = 2) {
    return Tensor(DType::kFloat32, shape, low, high);
  }
  // Integers over the dtype's whole range, its ends among them.
  HostTensor Integers(DType dtype, const Shape& shape) {
    return AnyIntegers(random_, dtype, shape);
  }
  // Whether images lie in blocks of channels.
  bool blocked() const { return IsBlocked(scope_.images[0]); }
  // Whether the device is a GPU, for cases of operators that GPUs have neither kernels for nor a
  // composition: these refuse them by name.
  bool on_gpu() const { return !blocked(); }

  // Every tensor in its format.
  void Add(KernelCase test);
  // The same, where `expected` is known by other means: the operator's own evaluation gives it,
  // too.
  void AddKnown(KernelCase test);
  // Inputs that inference refuses.
  void Reject(const std::vector<Rejection>& rejections) { ExpectRejected(rejections); }
  // Row-major, and again in each of the device's formats: inputs of rank 4 for which `images` says
  // so, and the output. Inputs behind those named are row-major.
  void AddImages(const KernelCase& test, const std::vector<bool>& images = {true});
  // From an image in one format to an output in another: between the device's own, and from
  // row-major images of less than a block of channels where `from_planes`.
  void AddFormatPairs(const KernelCase& test, const std::vector<bool>& images, bool from_planes);

 private:
  bool LeavesOut(const KernelCase& test) const { return test.large && !scope_.large; }
  KernelCase WithExpected(KernelCase test) const;

  const CaseScope scope_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  const Run run_;
};

template <typename Op>
OperatorPtr Make(typename Op::Param param) {
  return std::make_shared<const Op>(std::move(param));
}

// Defined for each operator in its file.
template <typename Op>
void AddCases(Cases& cases);

// By operator type, in the order of opr/operators.inc.
struct CaseFile {
  const char* type;
  void (*add)(Cases& cases);
};
absl::Span<const CaseFile> AllCaseFiles();

// All cases of all operators.
void ForEachCase(const CaseScope& scope, uint64_t seed, const Cases::Run& run);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_CASES_H_
