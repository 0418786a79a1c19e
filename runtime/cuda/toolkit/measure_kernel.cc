#include "runtime/cuda/toolkit/measure_kernel.h"

#include <algorithm>
#include <vector>

#include "graph/status.h"
#include "runtime/cuda/toolkit/stream.h"

namespace ashlar::cuda {
namespace {

constexpr int kWarmUps = 2, kRuns = 7;
constexpr int kPattern = 0x3c;  // numbers of about one in 16 bits, of a hundredth in 32

class Buffer {
 public:
  absl::Status Allocate(int64_t bytes) {
    if (bytes == 0) return absl::OkStatus();
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaMalloc(&data_, static_cast<size_t>(bytes)));
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaMemset(data_, kPattern, static_cast<size_t>(bytes)));
    return absl::OkStatus();
  }
  ~Buffer() {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace

absl::StatusOr<double> MeasureKernel(const Kernel& kernel, absl::Span<const TensorType> inputs,
                                     const TensorType& output) {
  std::vector<Buffer> buffers(inputs.size() + 2);
  std::vector<const void*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASHLAR_RETURN_IF_ERROR(buffers[i].Allocate(inputs[i].bytes()));
    pointers.push_back(buffers[i].data());
  }
  Buffer &result = buffers[inputs.size()], &workspace = buffers[inputs.size() + 1];
  ASHLAR_RETURN_IF_ERROR(result.Allocate(output.bytes()));
  ASHLAR_RETURN_IF_ERROR(workspace.Allocate(kernel.workspace_bytes()));

  int device = 0;
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaGetDevice(&device));
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceStream> stream, DeviceStream::Create(device));
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<KernelState> state, kernel.NewState());
  void* outputs[] = {result.data()};
  const KernelArgs args = {pointers, outputs, workspace.data(), stream.get()};
  ASHLAR_RETURN_IF_ERROR(stream->MakeMarks(2));
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaDeviceSynchronize());  // fills go to another stream
  std::vector<double> seconds;
  for (int run = 0; run < kWarmUps + kRuns; ++run) {
    ASHLAR_RETURN_IF_ERROR(stream->Mark(0));
    ASHLAR_RETURN_IF_ERROR(kernel.Run(args, state.get()));
    ASHLAR_RETURN_IF_ERROR(stream->Mark(1));
    ASHLAR_RETURN_IF_ERROR(stream->Wait());
    ASHLAR_ASSIGN_OR_RETURN(const double time, stream->SecondsBetween(0, 1));
    if (run >= kWarmUps) seconds.push_back(time);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
  return seconds[kRuns / 2] * 1e6;
}

}  // namespace ashlar::cuda
