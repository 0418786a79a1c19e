// CUDA devices: memory, streams and kernels. Without a GPU, a device that can only be planned for.
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "graph/status.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/toolkit/conv_libraries.h"
#include "runtime/cuda/toolkit/matrix_mul_cublas.h"
#include "runtime/cuda/toolkit/pinned_memory.h"
#include "runtime/cuda/toolkit/stream.h"
#include "runtime/device/device_library.h"

namespace ashlar::cuda {
namespace {

// cudaMalloc aligns to at least 256 bytes. At 512, no two chunks share a sector of the second-level
// cache.
constexpr int64_t kAlignment = 512;

constexpr int kLeastForBFloat16 = 8;  // major compute capability

class DeviceBlock final : public DeviceMemory {
 public:
  DeviceBlock(int device, void* data, int64_t bytes) : device_(device) {
    data_ = data;
    bytes_ = bytes;
  }
  ~DeviceBlock() override {
    if (data_ == nullptr) return;
    static_cast<void>(cudaSetDevice(device_));
    static_cast<void>(cudaFree(data_));
  }

 private:
  int device_;
};

class PinnedBlock final : public DeviceMemory {
 public:
  PinnedBlock(void* data, int64_t bytes) {
    data_ = data;
    bytes_ = bytes;
  }
  ~PinnedBlock() override {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
  }
};

std::string CudaVersion(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string LibraryVersions() {
  int runtime = 0;
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  const size_t cudnn = cudnnGetVersion(), cublas = cublasLtGetVersion();
  return absl::StrCat("CUDA ", CudaVersion(runtime), ", cuDNN ", cudnn / 10000, ".",
                      cudnn / 100 % 100, ".", cudnn % 100, ", cuBLASLt ", cublas / 10000, ".",
                      cublas / 100 % 100, ".", cublas % 100);
}

class CudaDevice final : public Device {
 public:
  // `missing` is the reason why the device can only be planned for; "" if it exists.
  CudaDevice(CompNode comp_node, std::string missing)
      : comp_node_(comp_node), missing_(std::move(missing)) {}

  // Must be called first.
  absl::Status Prepare() {
    if (missing_.empty()) {
      ASHLAR_RETURN_IF_ERROR(OpenLibraries());
    } else {
      ASHLAR_ASSIGN_OR_RETURN(library_.described, DescribeDevice());
    }
    const LibraryDevice& library = library_;
    RegisterKernels(
        kernels_,
        {[this, &library](const ConvProblem& problem) -> absl::StatusOr<KernelList> {
           ASHLAR_RETURN_IF_ERROR(CheckPrecision(problem.src.dtype));
           ASHLAR_ASSIGN_OR_RETURN(KernelList kernels, CudnnConvolutions(problem, library));
           ASHLAR_ASSIGN_OR_RETURN(KernelList products, CublasConvolutions(problem, library));
           std::move(products.begin(), products.end(), std::back_inserter(kernels));
           return kernels;
         },
         [&library](const MatrixMulBiasParam& param, const KernelRequest& request) {
           return CublasMatrixMuls(param, request, library);
         },
         {[&library](int64_t m, int64_t n, int64_t k) {
            return CublasByteProducts(m, n, k, library);
          },
          cache_bytes_ / 2}});
    return absl::OkStatus();
  }

  CompNode comp_node() const override { return comp_node_; }
  absl::Status ready() override { return CheckThere(); }
  int64_t alignment() const override { return kAlignment; }
  int64_t tensor_alignment() const override { return 16; }  // packs of elements
  Format image_format() const override { return Format::kNHWC; }
  // cuDNN's kernels without tensor cores are for NCHW. For NHWC images they make copies, in
  // workspace of the size of input and output.
  bool leaves_images(DType precision, const KernelPolicy& policy) const override {
    return precision == DType::kFloat32 && !policy.allow_tf32;
  }
  bool runs_chains() const override { return true; }
  const KernelRegistry& kernels() const override { return kernels_; }
  std::string measured_as(const Processor& /*processor*/) const override {
    return missing_.empty() ? absl::StrCat(library_.name, ", ", LibraryVersions()) : "";
  }
  bool is_host() const override { return false; }
  // Work is submitted to streams; the thread only has to select this device.
  void UseThreads(int) override {
    if (missing_.empty()) static_cast<void>(cudaSetDevice(comp_node_.device));
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) override {
    ASHLAR_RETURN_IF_ERROR(CheckThere());
    if (bytes == 0) return std::make_unique<DeviceBlock>(comp_node_.device, nullptr, 0);
    void* data = nullptr;
    const cudaError_t error = cudaMalloc(&data, static_cast<size_t>(bytes));
    if (error == cudaSuccess) {
      return std::make_unique<DeviceBlock>(comp_node_.device, data, bytes);
    }
    if (error != cudaErrorMemoryAllocation) {
      return Annotate(Check(error, "cudaMalloc"), comp_node_.ToString());
    }
    static_cast<void>(cudaGetLastError());
    return NoMemory(bytes);
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateStaging(int64_t bytes) override {
    ASHLAR_RETURN_IF_ERROR(CheckThere());
    if (bytes == 0) return std::make_unique<PinnedBlock>(nullptr, 0);
    void* data = nullptr;
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaMallocHost(&data, static_cast<size_t>(bytes)));
    return std::make_unique<PinnedBlock>(data, bytes);
  }

  absl::Status CopyIn(void* device, const void* host, int64_t bytes) override {
    return Copy(device, host, bytes, cudaMemcpyHostToDevice);
  }
  absl::Status CopyOut(void* host, const void* device, int64_t bytes) override {
    return Copy(host, device, bytes, cudaMemcpyDeviceToHost);
  }
  absl::Status Fill(void* device, uint8_t pattern, int64_t bytes) override {
    ASHLAR_RETURN_IF_ERROR(CheckThere());
    if (bytes == 0) return absl::OkStatus();
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaMemset(device, pattern, static_cast<size_t>(bytes)));
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(nullptr));
    return absl::OkStatus();
  }

  absl::Status Pin(void* data, int64_t bytes) override {
    ASHLAR_RETURN_IF_ERROR(CheckThere());
    return Annotate(pinned_.Pin(data, bytes), comp_node_.ToString());
  }
  absl::Status Unpin(void* data) override {
    ASHLAR_RETURN_IF_ERROR(CheckThere());
    return Annotate(pinned_.Unpin(data), comp_node_.ToString());
  }
  bool IsPinned(const void* data, int64_t bytes) const override {
    return pinned_.Holds(data, bytes);
  }

  absl::StatusOr<std::unique_ptr<Stream>> NewStream(const StreamUse& use) override {
    ASHLAR_RETURN_IF_ERROR(CheckThere());
    return DeviceStream::Create(comp_node_.device, use.callers, HandleFor(use.arena));
  }

  std::optional<MemoryState> memory() override {
    size_t free = 0, total = 0;
    if (!CheckThere().ok() || !Check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo").ok()) {
      return std::nullopt;
    }
    return MemoryState{static_cast<int64_t>(free), static_cast<int64_t>(total)};
  }

  std::vector<std::pair<std::string, std::string>> facts() override {
    std::vector<std::pair<std::string, std::string>> facts = {
        {"CUDA libraries", LibraryVersions()}};
    if (!missing_.empty()) return facts;
    int driver = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    facts.emplace_back("CUDA device", library_.name);
    facts.emplace_back("CUDA driver", CudaVersion(driver));
    if (const std::optional<MemoryState> state = memory()) {
      facts.emplace_back("device memory",
                         absl::StrCat(state->free, " bytes free of ", state->total));
    }
    return facts;
  }

 private:
  absl::Status OpenLibraries() {
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaSetDevice(comp_node_.device));
    cudaDeviceProp properties = {};
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, comp_node_.device));
    library_.name = absl::StrCat(properties.name, ", ", properties.major, ".", properties.minor);
    major_ = properties.major;
    cache_bytes_ = properties.l2CacheSize;
    ASHLAR_CUDA_RETURN_IF_ERROR(cudnnCreate(&library_.cudnn));
    ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtCreate(&library_.cublas));
    return absl::OkStatus();
  }

  // Without library kernels, only our own loops remain, which take 30 times as long.
  absl::Status CheckPrecision(DType dtype) const {
    if (dtype != DType::kBFloat16 || !missing_.empty() || major_ >= kLeastForBFloat16) {
      return absl::OkStatus();
    }
    return absl::UnimplementedError(absl::StrCat("BFloat16 needs a compute capability of ",
                                                 kLeastForBFloat16, ".0, this is ", library_.name,
                                                 "; Float16 is for it, too"));
  }

  absl::Status CheckThere() const {
    if (!missing_.empty()) {
      return absl::UnavailableError(absl::StrCat("device ", comp_node_.ToString(), ": ", missing_,
                                                 "; a model can be planned for it, not run"));
    }
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaSetDevice(comp_node_.device));
    return absl::OkStatus();
  }

  // Returns the handle of an arena's streams. They share one, because each handle holds device
  // memory and an event.
  std::shared_ptr<CudnnHandle> HandleFor(const void* arena) {
    if (arena == nullptr) return std::make_shared<CudnnHandle>(comp_node_.device);
    const std::lock_guard<std::mutex> lock(handles_mutex_);
    std::erase_if(handles_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<CudnnHandle>& place = handles_[arena];
    std::shared_ptr<CudnnHandle> handle = place.lock();
    if (handle == nullptr) {
      handle = std::make_shared<CudnnHandle>(comp_node_.device);
      place = handle;
    }
    return handle;
  }

  absl::Status Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
    ASHLAR_RETURN_IF_ERROR(CheckThere());
    if (bytes == 0) return absl::OkStatus();
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaMemcpy(to, from, static_cast<size_t>(bytes), kind));
    // For pageable memory, the copy may return before the last bytes have arrived.
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(nullptr));
    return absl::OkStatus();
  }

  // Returns an error: too much for the device, or only for the memory that others have left.
  absl::Status NoMemory(int64_t bytes) {
    const MemoryState state = memory().value_or(MemoryState());
    const std::string figures = absl::StrCat(comp_node_.ToString(), ": ", bytes, " bytes needed, ",
                                             state.free, " free of ", state.total);
    if (bytes > state.total) return absl::ResourceExhaustedError(figures);
    return absl::UnavailableError(
        absl::StrCat(figures, ": others hold the rest; try again when they are gone"));
  }

  const CompNode comp_node_;
  const std::string missing_;
  LibraryDevice library_;
  PinnedMemory pinned_;
  std::mutex handles_mutex_;
  std::map<const void*, std::weak_ptr<CudnnHandle>> handles_;  // by arena, while streams use them
  int major_ = 0;                                              // compute capability
  int64_t cache_bytes_ = 0;                                    // second-level cache
  KernelRegistry kernels_;
};

// Returns the number of devices, and if there is none, the reason.
int CountDevices(std::string& why) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  static_cast<void>(cudaGetLastError());
  int driver = 0;  // stays 0 if there is no driver
  static_cast<void>(cudaDriverGetVersion(&driver));
  if (driver == 0) {
    why = "no CUDA device, and no NVIDIA driver on this machine";
  } else if (error == cudaErrorInsufficientDriver) {
    why = absl::StrCat("no CUDA device: the driver is for CUDA ", CudaVersion(driver),
                       ", this library for ", CudaVersion(CUDART_VERSION));
  } else if (error == cudaSuccess) {
    why = "no CUDA device on this machine";
  } else {
    why = absl::StrCat("no CUDA device answers (", cudaGetErrorString(error), ")");
  }
  return 0;
}

absl::StatusOr<Device*> Open(const CompNode& comp_node) {
  static std::mutex mutex;
  static auto* const devices = new std::map<int, std::unique_ptr<CudaDevice>>();
  const std::lock_guard<std::mutex> lock(mutex);
  if (comp_node.stream != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", comp_node.ToString(),
                     ": every session has a stream of its own; ask for stream 0"));
  }
  std::string missing;
  const int count = CountDevices(missing);
  if (count > 0 && comp_node.device >= count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", comp_node.ToString(), ": there ", count == 1 ? "is 1 device" : "are ",
        count == 1 ? "" : absl::StrCat(count, " devices"), ", counted from 0"));
  }
  std::unique_ptr<CudaDevice>& device = (*devices)[comp_node.device];
  if (device == nullptr) {
    auto opened = std::make_unique<CudaDevice>(comp_node, std::move(missing));
    if (absl::Status status = opened->Prepare(); !status.ok()) {
      return Annotate(status, absl::StrCat("device ", comp_node.ToString()));
    }
    device = std::move(opened);
  }
  return device.get();
}

}  // namespace
}  // namespace ashlar::cuda

extern "C" __attribute__((visibility("default"))) const ashlar::DeviceLibrary ashlar_device_library;
const ashlar::DeviceLibrary ashlar_device_library = {ashlar::kDeviceLibraryBuild,
                                                     ashlar::cuda::Open};
