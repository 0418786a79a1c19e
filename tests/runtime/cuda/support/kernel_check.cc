#include "tests/runtime/cuda/support/kernel_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "graph/status.h"
#include "tests/support/kernel_request.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kGuard = 512;  // bytes on both sides of every tensor
constexpr uint8_t kCanary = 0xa5;
constexpr uint8_t kGarbage = 0xff;  // NaN in every floating-point dtype

// The element of a type's storage at which row-major element i lies.
int64_t Place(const TensorType& type, int64_t i) {
  if (type.format == Format::kDefault) return i;
  const Shape& s = type.shape;
  const ImageStrides steps = StridesOf(type);
  const int64_t w = i % s[3], h = i / s[3] % s[2], c = i / (s[2] * s[3]) % s[1];
  return i / (s[1] * s[2] * s[3]) * steps.n + c * steps.c + h * steps.h + w * steps.w;
}

std::vector<char> Stored(const HostTensor& tensor, const TensorType& type) {
  std::vector<char> bytes(static_cast<size_t>(type.bytes()));
  const int64_t size = SizeOf(type.dtype);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    std::memcpy(&bytes[static_cast<size_t>(Place(type, i) * size)],
                static_cast<const char*>(tensor.raw()) + i * size, static_cast<size_t>(size));
  }
  return bytes;
}

HostTensor Loaded(const std::vector<char>& bytes, const TensorType& type) {
  HostTensor tensor = HostTensor::Zeros(type.dtype, type.shape);
  const int64_t size = SizeOf(type.dtype);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    std::memcpy(static_cast<char*>(tensor.mutable_raw()) + i * size,
                &bytes[static_cast<size_t>(Place(type, i) * size)], static_cast<size_t>(size));
  }
  return tensor;
}

// Device memory between canaries.
class Guarded {
 public:
  Guarded(Device& device, int64_t bytes)
      : device_(device), bytes_(bytes), memory_(Value(device.Allocate(bytes + 2 * kGuard))) {
    EXPECT_TRUE(IsOk(device.Fill(memory_->data(), kCanary, memory_->bytes())));
    Clear();
  }
  void* data() const { return static_cast<char*>(memory_->data()) + kGuard; }
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
    std::vector<char> all(static_cast<size_t>(memory_->bytes()));
    EXPECT_TRUE(IsOk(device_.CopyOut(all.data(), memory_->data(), memory_->bytes())));
    const auto is_canary = [](char byte) { return static_cast<uint8_t>(byte) == kCanary; };
    return std::all_of(all.begin(), all.begin() + kGuard, is_canary) &&
           std::all_of(all.end() - kGuard, all.end(), is_canary);
  }

 private:
  Device& device_;
  int64_t bytes_;
  std::unique_ptr<DeviceMemory> memory_;
};

struct Problem {
  KernelRequest request;
  TensorType output;  // of OutputCallback its tensor, not its marker
  HostTensor expected;
};

absl::StatusOr<Problem> MakeProblem(const KernelCase& test) {
  Problem problem;
  KernelRequest& request = problem.request;
  ASHLAR_ASSIGN_OR_RETURN(request,
                          testing::RequestOf(*test.op, test.inputs, test.formats, test.constant));
  request.policy = test.policy;
  if (test.op->role() == Role::kOutput) {
    problem.output = request.inputs[0];
    problem.expected = test.inputs[0];
    return problem;
  }
  request.outputs[0].format = test.output_format;
  problem.output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, test.op->Evaluate(test.inputs));
  problem.expected = values[0];
  return problem;
}

enum class How { kAtOnce, kRecorded };

void RunOnce(const Kernel& kernel, const KernelArgs& args, KernelState* state, How how) {
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

void CheckKernel(Device& device, const KernelCase& test, const Problem& problem,
                 const Kernel& kernel) {
  SCOPED_TRACE(absl::StrCat(test.name, ": ", test.op->type(), " ", ToString(test.op->params()),
                            " by ", kernel.implementation()));
  const KernelRequest& request = problem.request;
  std::vector<std::unique_ptr<Guarded>> inputs(request.inputs.size());
  std::vector<std::vector<char>> stored(inputs.size());
  std::vector<const void*> input_data(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int index = static_cast<int>(i);
    if (test.op->input_use(index) != InputUse::kDeviceValue) continue;
    const std::optional<Packing> packing =
        request.constant[i] ? kernel.packing(index) : std::nullopt;
    if (packing) {
      stored[i].resize(static_cast<size_t>(packing->bytes));
      EXPECT_TRUE(IsOk(kernel.Pack(index, test.inputs[i], stored[i].data())));
    } else {
      stored[i] = Stored(test.inputs[i], request.inputs[i]);
    }
    inputs[i] = std::make_unique<Guarded>(device, static_cast<int64_t>(stored[i].size()));
    input_data[i] = inputs[i]->data();
  }
  std::unique_ptr<Guarded> own_output;
  if (!test.in_place) own_output = std::make_unique<Guarded>(device, problem.output.bytes());
  Guarded& output = test.in_place ? *inputs[static_cast<size_t>(*test.in_place)] : *own_output;
  std::vector<void*> output_data = {output.data()};
  Guarded workspace(device, kernel.workspace_bytes());
  const std::unique_ptr<Stream> stream = Value(device.NewStream());
  const std::unique_ptr<KernelState> state = Value(kernel.NewState());
  const KernelArgs args = {input_data, absl::MakeSpan(output_data), workspace.data(), stream.get()};

  for (How how : {How::kAtOnce, How::kAtOnce, How::kRecorded}) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != nullptr) inputs[i]->Write(stored[i]);
    }
    if (own_output != nullptr) own_output->Clear();
    workspace.Clear();
    RunOnce(kernel, args, state.get(), how);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_TRUE(workspace.Intact()) << "wrote outside the workspace";
    EXPECT_TRUE(output.Intact()) << "wrote outside the output";
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr || inputs[i].get() == &output) continue;
      EXPECT_TRUE(inputs[i]->Intact() && inputs[i]->Read() == stored[i]) << "wrote to input " << i;
    }
    EXPECT_LE(WorstError(Loaded(output.Read(), problem.output), problem.expected, /*floor=*/-1,
                         SignsOfZerosCount(*test.op)),
              test.tolerance);
  }
}

}  // namespace

std::vector<std::string> CheckKernels(Device& device, const KernelCase& test) {
  std::vector<std::string> implementations;
  const absl::StatusOr<Problem> problem = MakeProblem(test);
  EXPECT_TRUE(problem.ok()) << test.name << ": " << problem.status();
  const KernelFactory* factory = device.kernels().Find(test.op->type());
  EXPECT_NE(factory, nullptr) << "no kernel for " << test.op->type();
  if (!problem.ok() || factory == nullptr) return implementations;
  device.UseThreads(1);
  const absl::StatusOr<KernelList> kernels = (*factory)(problem->request);
  EXPECT_TRUE(kernels.ok()) << test.name << ": " << kernels.status();
  if (!kernels.ok()) return implementations;
  EXPECT_FALSE(kernels->empty());
  for (const std::unique_ptr<Kernel>& kernel : *kernels) {
    CheckKernel(device, test, *problem, *kernel);
    implementations.push_back(kernel->implementation());
  }
  return implementations;
}

}  // namespace ashlar::testing
