// Cases of operators, defined once and run on every device: kernels are compared with the
// operator's own evaluation in double precision. tests/cases/<operator>.cc has the cases of one
// operator.
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

// An operator on given tensors. Tensors are row-major here, in whatever format the kernel gets
// them.
struct KernelCase {
  std::string name;
  OperatorPtr op;
  std::vector<HostTensor> inputs;
  std::vector<Format> formats = {};  // by input; empty: all kDefault
  Format output_format = Format::kDefault;
  std::vector<bool> constant = {};   // by input, if it is constant and may be packed; empty: none
  std::optional<int> in_place = {};  // this input and output 0 share their memory
  // The largest error of an element relative to its value, or to `floor` if the value is smaller. A
  // negative floor stands for the root mean square of the tensor, which suits sums that cancel.
  double tolerance = 2e-6;
  double floor = -1;
  // The tolerance of devices with their own expressions and libraries; negative: by dtype.
  double gpu_tolerance = -1;
  std::vector<HostTensor> expected = {};  // empty: by Operator::Evaluate
  KernelPolicy policy = {};
  bool large = false;  // slow on emulated GPU threads, and left out there
  int threads = 1;
  bool unaligned = false;  // tensors begin at odd elements instead of cache lines
};

// Returns the largest error of a GPU's sums of floats.
double ToleranceOf(DType dtype);

// The device and the types for which cases are generated.
struct CaseScope {
  std::vector<Format> images;        // the formats of images, in addition to row-major
  std::vector<DType> floats;         // the dtypes of operators that are mostly arithmetic
  std::vector<DType> integers = {};  // of kIntegerDTypes
  bool large = true;                 // cases of every size
};

CaseScope CpuScope();
CaseScope GpuScope(bool emulated);

// Generates cases for a device and hands each to a function.
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
  // Returns integers over the dtype's whole range, both ends included.
  HostTensor Integers(DType dtype, const Shape& shape) {
    return AnyIntegers(random_, dtype, shape);
  }
  // Returns whether images lie in blocks of channels.
  bool blocked() const { return IsBlocked(scope_.images[0]); }
  // Returns whether the device is a GPU. GPUs refuse by name the operators for which they have
  // neither a kernel nor a composition.
  bool on_gpu() const { return !blocked(); }

  // Returns whether the device computes in the dtype.
  bool Computes(DType dtype) const {
    return !on_gpu() || (dtype != DType::kFloat64 && dtype != DType::kUint64);
  }
  // Returns the dtypes and the device's integers.
  std::vector<DType> WithIntegers(std::vector<DType> dtypes) const;

  // Adds the case with every tensor in its given format.
  void Add(KernelCase test);
  // Adds the case like Add, with `expected` known from another source: the operator's own
  // evaluation must give it too.
  void AddKnown(KernelCase test);
  // Adds inputs that inference refuses.
  void Reject(const std::vector<Rejection>& rejections) { ExpectRejected(rejections); }
  // Adds the case row-major, and again in each of the device's formats. The output and the inputs
  // of rank 4 that `images` names take the format; inputs after the end of `images` are row-major.
  void AddImages(const KernelCase& test, const std::vector<bool>& images = {true});
  // Adds cases from an image in one format to an output in another. The pairs are those between the
  // device's own formats and, if `from_planes`, from row-major images of less than a block of
  // channels.
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

// The cases of an operator type, in the order of opr/operators.inc.
struct CaseFile {
  const char* type;
  void (*add)(Cases& cases);
};
absl::Span<const CaseFile> AllCaseFiles();

// Calls `run` with all cases of all operators.
void ForEachCase(const CaseScope& scope, uint64_t seed, const Cases::Run& run);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_CASES_H_
