#include "tests/cases/kernel_check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/passes/pass.h"
#include "graph/status.h"
#include "opr/concat.h"
#include "runtime/device/allocation_origin.h"
#include "runtime/device/guarded_memory.h"
#include "runtime/measure/heap/heap_counter.h"
#include "tests/cases/case_graph.h"
#include "tests/support/environment.h"
#include "tests/support/kernel_request.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kGuard = 512;  // bytes on both sides of every tensor
constexpr int64_t kLine = 64;    // bytes of a cache line
constexpr uint8_t kCanary = 0xa5;
constexpr uint8_t kGarbage = 0xff;  // NaN in every floating-point dtype

// Returns the byte offset of each element of a row-major tensor in the storage of a type.
std::vector<int64_t> Offsets(const TensorType& type) {
  const int64_t size = SizeOf(type.dtype);
  std::vector<int64_t> offsets(static_cast<size_t>(type.shape.num_elements()));
  for (int64_t i = 0; i < type.shape.num_elements(); ++i) {
    int64_t element = i;
    if (type.format != Format::kDefault) {
      const Shape& s = type.shape;
      const int64_t w = i % s[3], h = i / s[3] % s[2], c = i / (s[2] * s[3]) % s[1];
      const int64_t n = i / (s[1] * s[2] * s[3]);
      const int64_t blocks = (s[1] + 15) / 16;
      switch (type.format) {
        case Format::kNHWC:
          element = ((n * s[2] + h) * s[3] + w) * s[1] + c;
          break;
        case Format::kNCHW16c:
          element = (((n * blocks + c / 16) * s[2] + h) * s[3] + w) * 16 + c % 16;
          break;
        case Format::kNHCW16c:
          element = (((n * s[2] + h) * blocks + c / 16) * s[3] + w) * 16 + c % 16;
          break;
        case Format::kDefault:
          break;
      }
    }
    offsets[static_cast<size_t>(i)] = element * size;
  }
  return offsets;
}

std::vector<char> Stored(const HostTensor& tensor, const TensorType& type) {
  std::vector<char> bytes(static_cast<size_t>(type.bytes()));
  const int64_t size = SizeOf(type.dtype);
  int64_t at = 0;
  for (const int64_t offset : Offsets(type)) {
    std::memcpy(&bytes[static_cast<size_t>(offset)], static_cast<const char*>(tensor.raw()) + at,
                static_cast<size_t>(size));
    at += size;
  }
  return bytes;
}

// Returns the tensor in `bytes`; expects all other bytes to be zero.
HostTensor Loaded(std::vector<char> bytes, const TensorType& type) {
  HostTensor tensor = HostTensor::Zeros(type);
  const auto size = static_cast<size_t>(SizeOf(type.dtype));
  char* to = static_cast<char*>(tensor.mutable_raw());
  for (const int64_t offset : Offsets(type)) {
    char* const element = &bytes[static_cast<size_t>(offset)];
    std::memcpy(to, element, size);
    std::memset(element, 0, size);
    to += size;
  }
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; }))
      << "the padding of an output is not zero";
  return tensor;
}

bool IsCanaries(const char* bytes, int64_t count) {
  return std::all_of(bytes, bytes + count,
                     [](char byte) { return static_cast<uint8_t>(byte) == kCanary; });
}

// Device memory between canaries; on the host a protected page follows. With `element` 0 it begins
// at a cache line, otherwise at an odd element. On the host, a tensor at an odd element ends
// exactly at that page, except tensors of whole cache lines: they end there if they begin at a
// cache line.
class Guarded {
 public:
  Guarded(Device& device, int64_t bytes, int64_t element) : device_(device), bytes_(bytes) {
    if (device.is_host()) {
      const int64_t rest = (kLine - bytes % kLine) % kLine;
      behind_ = element == 0 ? rest : rest == 0 ? kLine - element : 0;
      on_host_ = Value(GuardedMemory::Allocate(before_ + bytes + behind_));
      all_ = static_cast<char*>(on_host_->data());
    } else {
      before_ += element;
      on_device_ = Value(device.Allocate(before_ + bytes + behind_));
      all_ = static_cast<char*>(on_device_->data());
    }
    EXPECT_TRUE(IsOk(device.Fill(all_, kCanary, before_ + bytes + behind_)));
    Clear();
  }
  void* data() const { return all_ + before_; }
  // The address that a kernel gets: an empty tensor has none.
  void* address() const { return bytes_ == 0 ? nullptr : data(); }
  void Clear() { EXPECT_TRUE(IsOk(device_.Fill(data(), kGarbage, bytes_))); }
  void Write(const std::vector<char>& bytes) {
    EXPECT_TRUE(IsOk(device_.CopyIn(data(), bytes.data(), bytes_)));
  }
  std::vector<char> Read() const {
    std::vector<char> bytes(static_cast<size_t>(bytes_));
    EXPECT_TRUE(IsOk(device_.CopyOut(bytes.data(), data(), bytes_)));
    return bytes;
  }
  bool Intact() const {
    std::vector<char> all(static_cast<size_t>(before_ + bytes_ + behind_));
    EXPECT_TRUE(IsOk(device_.CopyOut(all.data(), all_, static_cast<int64_t>(all.size()))));
    return IsCanaries(all.data(), before_) && IsCanaries(all.data() + before_ + bytes_, behind_);
  }

 private:
  Device& device_;
  const int64_t bytes_;
  int64_t before_ = kGuard, behind_ = kGuard;  // canaries
  std::unique_ptr<GuardedMemory> on_host_;
  std::unique_ptr<DeviceMemory> on_device_;
  char* all_ = nullptr;
};

// Names the kernel if a fault occurs on the host during its lifetime. Sanitizers print their own
// reports.
class FaultReport {
 public:
  explicit FaultReport(const std::string& text) {
    text_ = text + " accessed memory outside of its tensors\n";
    if (!kSanitized) previous_ = std::signal(SIGSEGV, Write);
  }
  ~FaultReport() {
    if (!kSanitized) std::signal(SIGSEGV, previous_);
  }

 private:
  static void Write(int) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text_.data(), text_.size());
    std::signal(SIGSEGV, SIG_DFL);  // the access is repeated
  }
  static inline std::string text_;
  void (*previous_)(int) = SIG_DFL;
};

// The request of a case, and the types that its kernels must produce. For OutputCallback that is
// its tensor, not its marker.
struct Problem {
  KernelRequest request;
  std::vector<TensorType> outputs;
  std::vector<HostTensor> expected;
};

absl::StatusOr<Problem> MakeProblem(const KernelCase& test, const Processor& processor) {
  Problem problem;
  KernelRequest& request = problem.request;
  ASHLAR_ASSIGN_OR_RETURN(request, RequestOf(*test.op, test.inputs, test.formats, test.constant));
  request.policy = test.policy;
  request.processor = processor;
  request.threads = test.threads;
  const bool hands_over = test.op->role() == Role::kOutput;
  if (!hands_over) {
    std::vector<InputInfo> infos;
    for (const TensorType& type : request.inputs) infos.push_back({type});
    const FormatRule rule = test.op->storage_rules({infos, request.outputs}).format;
    for (TensorType& type : request.outputs) {
      if (rule == FormatRule::kImageInputs || type.shape.rank() != 4) continue;
      type.format = test.output_format;
    }
  }
  problem.outputs = hands_over ? std::vector{request.inputs[0]} : request.outputs;
  problem.expected = test.expected;
  if (problem.expected.empty() && hands_over) problem.expected = {test.inputs[0]};
  if (problem.expected.empty()) {
    ASHLAR_ASSIGN_OR_RETURN(problem.expected, test.op->Evaluate(test.inputs));
  }
  return problem;
}

std::string Describe(const KernelCase& test, const Problem& problem, const Kernel& kernel) {
  std::string text =
      absl::StrCat(test.name, ": ", test.op->type(), " ", ToString(test.op->params()));
  for (const TensorType& type : problem.request.inputs) {
    absl::StrAppend(&text, " ", type.ToString());
  }
  absl::StrAppend(&text, " -> ");
  for (const TensorType& type : problem.outputs) absl::StrAppend(&text, type.ToString(), " ");
  return absl::StrCat(text, "by ", kernel.implementation(), ", threads ", test.threads,
                      test.in_place ? absl::StrCat(", over input ", *test.in_place) : "",
                      test.unaligned ? ", unaligned" : "");
}

enum class How { kAtOnce, kRecorded };

void RunOnce(Device& device, const Kernel& kernel, const KernelArgs& args, KernelState* state,
             How how, bool first) {
  if (device.is_host()) {
    StartHeapCounting();
    const absl::Status status = [&] {
      const OriginScope scope(AllocationOrigin::kOwn);
      return kernel.Run(args, state);
    }();
    const HeapCounts heap = StopHeapCounting();
    EXPECT_TRUE(IsOk(status));
    EXPECT_TRUE(first || heap.own_calls == 0) << "allocated " << heap.own_bytes << " bytes";
    return;
  }
  Stream& stream = *args.stream;
  if (how == How::kRecorded) {
    ASSERT_TRUE(IsOk(stream.BeginRecording()));
  }
  const absl::Status status = kernel.Run(args, state);
  if (how == How::kRecorded) {
    ASSERT_TRUE(IsOk(stream.EndRecording()));
    ASSERT_TRUE(IsOk(stream.Replay()));
  }
  ASSERT_TRUE(IsOk(status));
  ASSERT_TRUE(IsOk(stream.Wait()));
}

// The tensors of one kernel in the device's memory.
struct Placed {
  std::vector<std::vector<char>> stored;                  // by input, in its format or packed
  std::vector<std::unique_ptr<Guarded>> inputs, outputs;  // null: not read; shared (in_place)
  std::vector<const void*> input_data;
  std::vector<void*> output_data;
};

Placed Place(Device& device, const KernelCase& test, const Problem& problem, const Kernel& kernel) {
  const std::vector<TensorType>& types = problem.request.inputs;
  const auto element = [&](const TensorType& type) {
    return test.unaligned ? SizeOf(type.dtype) : 0;
  };
  Placed placed;
  placed.stored.resize(types.size());
  placed.inputs.resize(types.size());
  placed.input_data.assign(types.size(), nullptr);
  for (size_t i = 0; i < types.size(); ++i) {
    const int index = static_cast<int>(i);
    if (test.op->input_use(index) != InputUse::kDeviceValue) continue;
    const std::optional<Packing> packing =
        problem.request.constant[i] ? kernel.packing(index) : std::nullopt;
    std::vector<char>& stored = placed.stored[i];
    if (packing) {
      const std::unique_ptr<DeviceMemory> packed =
          Value(device.AllocateStaging(packing->bytes + kGuard));
      char* const begin = static_cast<char*>(packed->data());
      char* const end = begin + packing->bytes;
      std::memset(begin, kCanary, static_cast<size_t>(packing->bytes + kGuard));
      EXPECT_TRUE(IsOk(kernel.Pack(index, test.inputs[i], begin)));
      EXPECT_TRUE(IsCanaries(end, kGuard)) << "packed more than was asked for";
      stored.assign(begin, end);
    } else {
      stored = Stored(test.inputs[i], types[i]);
    }
    placed.inputs[i] = std::make_unique<Guarded>(device, static_cast<int64_t>(stored.size()),
                                                 packing ? 0 : element(types[i]));
    placed.input_data[i] = placed.inputs[i]->address();
  }
  for (const TensorType& type : problem.outputs) {
    const bool in_place = placed.outputs.empty() && test.in_place.has_value();
    placed.outputs.push_back(
        in_place ? nullptr : std::make_unique<Guarded>(device, type.bytes(), element(type)));
    placed.output_data.push_back(in_place
                                     ? placed.inputs[static_cast<size_t>(*test.in_place)]->address()
                                     : placed.outputs.back()->address());
  }
  return placed;
}

// Returns the tolerance on a device. On the host sums are of floats, and 16-bit results are rounded
// once. That is one unit in the last place, as the expected value is rounded too.
double ToleranceOn(const Device& device, const KernelCase& test, const Problem& problem) {
  if (device.is_host()) {
    const KernelRequest& request = problem.request;
    std::vector<InputInfo> infos;
    for (const TensorType& type : request.inputs) infos.push_back({type});
    const DType dtype = request.outputs[0].dtype;
    const bool rounds = test.tolerance > 0 && IsFloat(dtype) && SizeOf(dtype) == 2 &&
                        !test.op->storage_rules({infos, request.outputs}).moves;
    return test.tolerance + (!rounds ? 0 : dtype == DType::kFloat16 ? 0x1p-10 : 0x1p-7);
  }
  if (test.gpu_tolerance >= 0) return test.gpu_tolerance;
  const DType dtype = test.inputs[0].dtype();
  return test.tolerance == 0 && !IsFloat(dtype) ? 0 : ToleranceOf(dtype);
}

// Returns how many elements are not finite or differ by more than the tolerance, and the first.
std::string DescribeDifferences(const HostTensor& got, const HostTensor& want, double tolerance) {
  int64_t count = 0;
  std::string first;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const double g = got.At(i), w = want.At(i);
    if (g == w || std::abs(g - w) <= tolerance) continue;
    if (count++ < 8) absl::StrAppend(&first, " [", i, "] ", g, " for ", w, ";");
  }
  return absl::StrCat(count, " of ", want.num_elements(), " elements are far:", first);
}

KernelOutcome CheckKernel(Device& device, const KernelCase& test, const Problem& problem,
                          const Kernel& kernel) {
  const std::string described = Describe(test, problem, kernel);
  SCOPED_TRACE(described);
  const FaultReport report(described);
  KernelOutcome outcome{kernel.implementation(), kernel.workspace_bytes()};
  Placed placed = Place(device, test, problem, kernel);
  const Guarded* const over =
      test.in_place ? placed.inputs[static_cast<size_t>(*test.in_place)].get() : nullptr;
  Guarded workspace(device, kernel.workspace_bytes(), 0);
  const std::unique_ptr<Stream> stream = Value(device.NewStream({}));
  const std::unique_ptr<KernelState> state = Value(kernel.NewState());
  const KernelArgs args = {placed.input_data, absl::MakeSpan(placed.output_data), workspace.data(),
                           stream.get()};
  const double tolerance = ToleranceOn(device, test, problem);
  for (int run = 0; run < (device.is_host() ? 2 : 3); ++run) {
    for (size_t i = 0; i < placed.inputs.size(); ++i) {
      if (placed.inputs[i] != nullptr) placed.inputs[i]->Write(placed.stored[i]);
    }
    for (const auto& output : placed.outputs) {
      if (output != nullptr) output->Clear();
    }
    workspace.Clear();
    RunOnce(device, kernel, args, state.get(), run == 2 ? How::kRecorded : How::kAtOnce, run == 0);
    if (::testing::Test::HasFatalFailure()) return outcome;
    EXPECT_TRUE(workspace.Intact()) << "wrote outside the workspace";
    for (size_t i = 0; i < placed.inputs.size(); ++i) {
      const Guarded* const input = placed.inputs[i].get();
      if (input == nullptr) continue;
      EXPECT_TRUE(input->Intact()) << "wrote outside input " << i;
      if (input != over) {
        EXPECT_TRUE(input->Read() == placed.stored[i]) << "wrote to input " << i;
      }
    }
    outcome.outputs.clear();
    for (size_t i = 0; i < problem.outputs.size(); ++i) {
      const Guarded& buffer = placed.outputs[i] != nullptr ? *placed.outputs[i] : *over;
      EXPECT_TRUE(buffer.Intact()) << "wrote outside output " << i;
      const HostTensor got = Loaded(buffer.Read(), problem.outputs[i]);
      EXPECT_LE(WorstError(got, problem.expected[i], test.floor, SignsOfZerosCount(*test.op)),
                tolerance)
          << "run " << run << ": " << DescribeDifferences(got, problem.expected[i], tolerance);
      outcome.outputs.emplace_back(static_cast<const char*>(got.raw()),
                                   static_cast<size_t>(got.bytes()));
    }
  }
  return outcome;
}

// Returns whether devices without a kernel compose the operator of others.
// tests/runtime/cpu/compositions_test.cc compares the compositions.
bool IsComposed(const KernelCase& test) {
  const CaseGraph whole = GraphOf(test);
  const Graph made =
      Value(Compose(whole.graph, [&](const Operator& op) { return op.type() != test.op->type(); }));
  return std::none_of(made.nodes().begin(), made.nodes().end(),
                      [&](const OperatorNode& node) { return node.op->type() == test.op->type(); });
}

// racecheck of compute-sanitizer ends with library kernels that are launched in clusters.
bool OwnKernelsAlone() { return NumberFrom("ASHLAR_OWN_KERNELS", 0) > 0; }

bool IsOfLibrary(const Kernel& kernel) {
  const std::string name = kernel.implementation();
  return absl::StrContains(name, "cudnn:") || absl::StrContains(name, "cublaslt");
}

}  // namespace

std::vector<KernelOutcome> CheckKernels(Device& device, const KernelCase& test) {
  return CheckKernels(device, test, device.processor());
}

std::vector<KernelOutcome> CheckKernels(Device& device, const KernelCase& test,
                                        const Processor& processor, absl::string_view only) {
  std::vector<KernelOutcome> outcomes;
  const absl::StatusOr<Problem> problem = MakeProblem(test, processor);
  EXPECT_TRUE(problem.ok()) << test.name << ": " << problem.status();
  const KernelFactory* factory = device.kernels().Find(test.op->type());
  if (!problem.ok()) return outcomes;
  if (factory == nullptr) {
    EXPECT_TRUE(IsComposed(test)) << "no kernel for " << test.op->type();
    return outcomes;
  }
  device.UseThreads(test.threads);
  const absl::StatusOr<KernelList> kernels = (*factory)(problem->request);
  EXPECT_TRUE(kernels.ok()) << test.name << ": " << kernels.status();
  if (!kernels.ok()) return outcomes;
  EXPECT_FALSE(kernels->empty());
  for (const std::unique_ptr<Kernel>& kernel : *kernels) {
    if (!only.empty() && kernel->implementation() != only) continue;
    if (OwnKernelsAlone() && IsOfLibrary(*kernel)) continue;
    // Skips a candidate that its library would refuse in preparation: if all candidates are listed,
    // none has been prepared yet.
    constexpr int64_t kMore = int64_t{1} << 50;  // than any device has
    if (test.policy.all_candidates && kernel->workspace_bytes() > kMore) continue;
    outcomes.push_back(CheckKernel(device, test, *problem, *kernel));
  }
  return outcomes;
}

void CheckMoves(Device& device) {
  ASSERT_TRUE(device.moves_overlapping());
  constexpr int kMoved = 24, kOther = 12, kWhole = kMoved + kOther;
  std::mt19937_64 random(1);
  const std::vector<HostTensor> inputs = {RandomTensor(random, DType::kInt8, {6, 4}, -99, 99),
                                          RandomTensor(random, DType::kInt8, {3, 4}, -99, 99)};
  const auto op = Make<Concat>({0});
  for (const size_t count : {1, 2}) {
    const std::vector<HostTensor> given(inputs.begin(), inputs.begin() + count);
    const HostTensor expected = Value(op->Evaluate(given))[0];
    const KernelRequest request = Value(RequestOf(*op, given, {}, {}));
    const KernelList kernels = Value((*device.kernels().Find(op->type()))(request));
    for (int distance = -kMoved; distance <= kWhole; ++distance) {
      SCOPED_TRACE(::testing::Message() << count << " inputs, " << distance << " bytes away");
      std::vector<char> memory(kMoved + kWhole + kMoved);
      char* const to = &memory[kMoved];
      std::memcpy(to + distance, given[0].raw(), kMoved);
      std::vector<const void*> from = {to + distance};
      if (count == 2) from.push_back(given[1].raw());
      void* const outputs[] = {to};
      EXPECT_TRUE(IsOk(kernels[0]->Run({from, outputs}, nullptr)));
      EXPECT_EQ(std::memcmp(to, expected.raw(), static_cast<size_t>(expected.bytes())), 0);
    }
  }
}

}  // namespace ashlar::testing
