#include "tests/runtime/cpu/kernel_harness.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device/allocation_origin.h"
#include "runtime/measure/heap_counter.h"
#include "tests/support/kernel_request.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kGuard = 256;  // bytes on both sides of every tensor
constexpr uint8_t kCanary = 0xa5;
constexpr uint8_t kGarbage = 0xff;  // NaN in every floating-point dtype

// Bytes between canaries, filled with garbage, `shift` bytes behind a cache line.
class GuardedBuffer {
 public:
  GuardedBuffer(int64_t bytes, int64_t shift)
      : bytes_(bytes), storage_(bytes + 2 * kGuard + 64, kCanary) {
    const auto base = reinterpret_cast<uintptr_t>(storage_.data()) + kGuard;
    data_ = storage_.data() + kGuard + (64 - base % 64) % 64 + shift;
    Clear();
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  uint8_t* data() { return data_; }
  int64_t bytes() const { return bytes_; }
  void Clear() { std::memset(data_, kGarbage, bytes_); }
  std::vector<uint8_t> Copy() const { return {data_, data_ + bytes_}; }
  bool Intact() const {
    const auto is_canary = [](uint8_t byte) { return byte == kCanary; };
    return std::all_of(storage_.data(), static_cast<const uint8_t*>(data_), is_canary) &&
           std::all_of(static_cast<const uint8_t*>(data_) + bytes_,
                       storage_.data() + storage_.size(), is_canary);
  }

 private:
  int64_t bytes_;
  std::vector<uint8_t> storage_;
  uint8_t* data_;
};

// The byte offset of each element of a row-major tensor in its storage.
std::vector<int64_t> Offsets(const TensorType& type) {
  const int64_t size = SizeOf(type.dtype);
  std::vector<int64_t> offsets(type.shape.num_elements());
  for (int64_t i = 0; i < static_cast<int64_t>(offsets.size()); ++i) {
    int64_t element = i;
    if (IsBlocked(type.format)) {
      const int64_t channels = type.shape[1], rows = type.shape[2], width = type.shape[3];
      const int64_t n = i / width / rows / channels, c = i / width / rows % channels;
      const int64_t h = i / width % rows, w = i % width;
      const int64_t blocks = (channels + 15) / 16, block = c / 16;
      const int64_t row = type.format == Format::kNCHW16c ? (n * blocks + block) * rows + h
                                                          : (n * rows + h) * blocks + block;
      element = (row * width + w) * 16 + c % 16;
    }
    offsets[i] = element * size;
  }
  return offsets;
}

void Store(const HostTensor& tensor, const TensorType& type, uint8_t* storage) {
  std::memset(storage, 0, type.bytes());
  const int64_t size = SizeOf(type.dtype);
  const std::vector<int64_t> offsets = Offsets(type);
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::memcpy(storage + offsets[i], static_cast<const uint8_t*>(tensor.raw()) + i * size, size);
  }
}

// The tensor in `storage`; `padding_is_zero` says whether all other bytes of it are zero.
HostTensor Load(const TensorType& type, std::vector<uint8_t> storage, bool* padding_is_zero) {
  HostTensor tensor = HostTensor::Zeros(type.dtype, type.shape);
  const int64_t size = SizeOf(type.dtype);
  const std::vector<int64_t> offsets = Offsets(type);
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::memcpy(static_cast<uint8_t*>(tensor.mutable_raw()) + i * size, &storage[offsets[i]], size);
    std::memset(&storage[offsets[i]], 0, size);
  }
  *padding_is_zero =
      std::all_of(storage.begin(), storage.end(), [](uint8_t byte) { return byte == 0; });
  return tensor;
}

// The request of a case and the values that its kernels must give.
struct Problem {
  KernelRequest request;
  std::vector<TensorType> outputs;  // where OutputCallback has one tensor, not its marker
  std::vector<HostTensor> expected;
};

absl::StatusOr<Problem> MakeProblem(const KernelCase& test) {
  Problem problem;
  KernelRequest& request = problem.request;
  ASHLAR_ASSIGN_OR_RETURN(request,
                          testing::RequestOf(*test.op, test.inputs, test.formats, test.constant));
  request.processor = HostProcessor();
  request.threads = test.threads;
  if (test.op->role() == Role::kOutput) {
    problem.outputs = {request.inputs[0]};
    problem.expected = {test.inputs[0]};
    return problem;
  }
  for (TensorType& type : request.outputs) type.format = test.output_format;
  problem.outputs = request.outputs;
  problem.expected = test.expected;
  if (problem.expected.empty()) {
    ASHLAR_ASSIGN_OR_RETURN(problem.expected, test.op->Evaluate(test.inputs));
  }
  return problem;
}

std::string Describe(const KernelCase& test, const Problem& problem, const Kernel& kernel) {
  std::string text = absl::StrCat(test.op->type(), " ", ToString(test.op->params()));
  for (const TensorType& type : problem.request.inputs)
    absl::StrAppend(&text, " ", type.ToString());
  absl::StrAppend(&text, " -> ");
  for (const TensorType& type : problem.outputs) absl::StrAppend(&text, type.ToString(), " ");
  return absl::StrCat(text, "by ", kernel.implementation(), ", threads ", test.threads,
                      test.in_place ? absl::StrCat(", over input ", *test.in_place) : "",
                      test.unaligned ? ", unaligned" : "");
}

KernelOutcome CheckKernel(const KernelCase& test, const Problem& problem, const Kernel& kernel,
                          double tolerance) {
  SCOPED_TRACE(Describe(test, problem, kernel));
  KernelOutcome outcome{kernel.implementation(), kernel.workspace_bytes(), 0};
  const KernelRequest& request = problem.request;
  const auto shift = [&](const TensorType& type) {
    return test.unaligned ? SizeOf(type.dtype) : 0;
  };

  std::vector<std::unique_ptr<GuardedBuffer>> inputs(request.inputs.size()), outputs;
  std::vector<const void*> input_data(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (test.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) continue;
    const std::optional<Packing> packing =
        request.constant[i] ? kernel.packing(static_cast<int>(i)) : std::nullopt;
    const int64_t bytes = packing ? packing->bytes : request.inputs[i].bytes();
    inputs[i] = std::make_unique<GuardedBuffer>(bytes, packing ? 0 : shift(request.inputs[i]));
    input_data[i] = inputs[i]->data();
    if (packing) {
      const absl::Status packed =
          kernel.Pack(static_cast<int>(i), test.inputs[i], inputs[i]->data());
      EXPECT_TRUE(packed.ok()) << packed;
    }
  }
  std::vector<void*> output_data;
  for (const TensorType& type : problem.outputs) {
    if (output_data.empty() && test.in_place) {
      outputs.push_back(nullptr);
      output_data.push_back(inputs[*test.in_place]->data());
      continue;
    }
    outputs.push_back(std::make_unique<GuardedBuffer>(type.bytes(), shift(type)));
    output_data.push_back(outputs.back()->data());
  }
  GuardedBuffer workspace(kernel.workspace_bytes(), 0);

  absl::StatusOr<std::unique_ptr<KernelState>> state = kernel.NewState();
  EXPECT_TRUE(state.ok()) << state.status();
  if (!state.ok()) return outcome;
  for (int run = 0; run < 2; ++run) {
    std::vector<std::vector<uint8_t>> before(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) continue;
      const bool packed = request.constant[i] && kernel.packing(static_cast<int>(i));
      if (!packed) Store(test.inputs[i], request.inputs[i], inputs[i]->data());
      before[i] = inputs[i]->Copy();
    }
    for (const auto& output : outputs) {
      if (output != nullptr) output->Clear();
    }
    workspace.Clear();
    StartHeapCounting();
    const absl::Status status = [&] {
      const OriginScope scope(AllocationOrigin::kOwn);
      return kernel.Run({input_data, output_data, workspace.data()}, state->get());
    }();
    const HeapCounts heap = StopHeapCounting();
    EXPECT_TRUE(run == 0 || heap.own_calls == 0) << "allocated " << heap.own_bytes << " bytes";
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(workspace.Intact()) << "wrote outside the workspace";
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) continue;
      EXPECT_TRUE(inputs[i]->Intact()) << "wrote outside input " << i;
      if (test.in_place != static_cast<int>(i)) {
        EXPECT_EQ(inputs[i]->Copy(), before[i]) << "wrote to input " << i;
      }
    }
    for (size_t i = 0; i < problem.outputs.size(); ++i) {
      const GuardedBuffer& buffer = outputs[i] ? *outputs[i] : *inputs[*test.in_place];
      EXPECT_TRUE(buffer.Intact()) << "wrote outside output " << i;
      bool padding_is_zero = false;
      const HostTensor got = Load(problem.outputs[i], buffer.Copy(), &padding_is_zero);
      EXPECT_TRUE(padding_is_zero) << "the padding of output " << i << " is not zero";
      outcome.worst_error =
          std::max(outcome.worst_error, testing::WorstError(got, problem.expected[i], test.floor,
                                                            testing::SignsOfZerosCount(*test.op)));
      outcome.outputs.resize(problem.outputs.size());
      outcome.outputs[i].assign(static_cast<const char*>(got.raw()), got.bytes());
    }
  }
  EXPECT_LE(outcome.worst_error, tolerance);
  return outcome;
}

}  // namespace

std::vector<KernelOutcome> CheckKernels(const KernelCase& test, double tolerance) {
  static const KernelRegistry* const registry = [] {
    auto* kernels = new KernelRegistry();
    RegisterKernels(*kernels);
    return kernels;
  }();
  std::vector<KernelOutcome> outcomes;
  const absl::StatusOr<Problem> problem = MakeProblem(test);
  EXPECT_TRUE(problem.ok()) << problem.status();
  const KernelFactory* factory = registry->Find(test.op->type());
  EXPECT_NE(factory, nullptr) << "no kernel for " << test.op->type();
  if (!problem.ok() || factory == nullptr) return outcomes;
  omp_set_num_threads(test.threads);
  ThreadPool::Shared().Reserve(test.threads);
  const absl::StatusOr<KernelList> kernels = (*factory)(problem->request);
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  if (!kernels.ok()) return outcomes;
  EXPECT_FALSE(kernels->empty());
  for (const std::unique_ptr<Kernel>& kernel : *kernels) {
    outcomes.push_back(CheckKernel(test, *problem, *kernel, tolerance));
  }
  return outcomes;
}

}  // namespace ashlar::cpu
